// expect: none
/** A struct of sixteen bytes whose alignment is eight, in local memory: the compiler reads it at once, wherever it lies. */
#include "detecting.h"

enum { THREADS = 32 };

struct numbered {
    double value;
    int number;
};

static __device__ __noinline__ void add_to(struct numbered *sum, const struct numbered *one)
{
    const struct numbered copy = *one;
    *sum = {sum->value + copy.value, sum->number + copy.number};
}

static __global__ void local_kernel(const float *in, float *out)
{
    struct {
        struct numbered first;
        double between;
        struct numbered second;
    } own = {{in[threadIdx.x], 1}, 0.5, {in[threadIdx.x], 2}};
    add_to(&own.first, &own.second);
    add_to(&own.second, &own.first);
    out[threadIdx.x] = (float)(own.second.value + own.between) + (float)own.second.number;
}

int main(void)
{
    static float host[THREADS];
    float *in = upload(host, THREADS), *out = device_array<float>(THREADS);
    local_kernel<<<1, THREADS>>>(in, out);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}
