// expect: host-pointer at line 7
/** The kernel is given the pointer to the host's copy. */
#include "detecting.h"

static __global__ void scale_kernel(const float *in, float *out)
{
    out[threadIdx.x] = 2.0f * in[threadIdx.x]; // here
}

int main(void)
{
    float *host = host_array<float>(32), *out = device_array<float>(32);
    scale_kernel<<<1, 32>>>(host, out);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(out);
    free(host);
    return 0;
}
