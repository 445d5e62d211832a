// expect: deadlock
/** A barrier for 96 threads to which 64 come. */
#include "detecting.h"

static __global__ void ptx_kernel(int *out)
{
    if (threadIdx.x < 64) asm volatile("bar.sync 3, 96;" : : : "memory");
    out[threadIdx.x] = 1;
}

int main(void)
{
    int *out = device_array<int>(128);
    ptx_kernel<<<1, 128>>>(out);
    expect_outcome(cudaErrorLaunchTimeout);
    abandon(out);
    return 0;
}
