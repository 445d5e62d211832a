// expect: divergent-barrier at line 7
/** One barrier, for 64 threads by one warp and for 128 by the others. */
#include "detecting.h"

static __global__ void ptx_kernel(int *out)
{
    asm volatile("bar.sync 3, %0;" : : "r"(threadIdx.x < 32 ? 64 : 128) : "memory"); // here
    out[threadIdx.x] = 1;
}

int main(void)
{
    int *out = device_array<int>(128);
    ptx_kernel<<<1, 128>>>(out);
    expect_outcome(cudaErrorLaunchFailure);
    abandon(out);
    return 0;
}
