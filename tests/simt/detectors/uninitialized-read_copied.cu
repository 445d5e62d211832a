// expect: uninitialized-read at line 7
/** Copying memory never written is no mistake by itself; reading the copy is one. */
#include "detecting.h"

static __global__ void scale_kernel(const float *in, float *out)
{
    out[threadIdx.x] = 2.0f * in[threadIdx.x]; // here
}

int main(void)
{
    float *first = device_array<float>(32), *second = device_array<float>(32);
    require(cudaMemset(first, 0, 31 * sizeof *first), "cudaMemset");
    require(cudaMemcpy(second, first, 32 * sizeof *first, cudaMemcpyDeviceToDevice), "cudaMemcpy");
    scale_kernel<<<1, 32>>>(second, first);
    expect_outcome(cudaSuccess);
    release(first);
    release(second);
    return 0;
}
