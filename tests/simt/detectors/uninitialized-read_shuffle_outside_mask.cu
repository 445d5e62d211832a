// expect: uninitialized-read at line 10
// says: with mask 0x0000000f reads lane 4, which takes no part
/** Four lanes add up eight, of which the other four do not take part in the shuffle. */
#include "detecting.h"

static __global__ void sum_kernel(const float *x, float *out)
{
    float v = x[threadIdx.x];
    if (threadIdx.x < 4) {
        for (int step = 4; step > 0; step /= 2) v += __shfl_down_sync(0xf, v, step); // here
        if (threadIdx.x == 0) out[0] = v;
    }
}

int main(void)
{
    float *x = device_array<float>(32), *out = device_array<float>(1);
    require(cudaMemset(x, 0, 32 * sizeof *x), "cudaMemset");
    sum_kernel<<<1, 32>>>(x, out);
    expect_outcome(cudaSuccess);
    release(x);
    release(out);
    return 0;
}
