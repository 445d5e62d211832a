// expect: uninitialized-read at line 7
/** The copy to the device is one element short, and only the last thread notices. */
#include "detecting.h"

static __global__ void scale_kernel(const float *in, float *out)
{
    out[threadIdx.x] = 2.0f * in[threadIdx.x]; // here
}

int main(void)
{
    const float host[33] = {1.0f};
    float *in = device_array<float>(33), *out = device_array<float>(33);
    require(cudaMemcpy(in, host, 32 * sizeof *in, cudaMemcpyHostToDevice), "cudaMemcpy");
    scale_kernel<<<1, 33>>>(in, out);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}
