// expect: none
/** Device memory, local arrays and the arguments themselves are all a kernel's to read. */
#include "detecting.h"

struct weights {
    float values[8];
};

static __global__ void scale_kernel(const float *in, struct weights weights, float *out)
{
    float local[8];
    const float *pointer = threadIdx.x % 2 ? local : weights.values;
    for (int k = 0; k < 8; k++) local[k] = (float)k;
    out[threadIdx.x] = pointer[threadIdx.x % 8] * in[threadIdx.x];
}

int main(void)
{
    const struct weights weights = {{1.0f, 2.0f}};
    const float host[32] = {1.0f};
    float *in = upload(host, 32), *out = device_array<float>(32);
    scale_kernel<<<1, 32>>>(in, weights, out);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}
