// expect: unsupported at line 8
/** An instruction there is, with a modifier that ptxas does not take. */
#include "detecting.h"

static __global__ void ptx_kernel(int *out)
{
    int d;
    asm("add.rn.s32 %0, %1, 1;" : "=r"(d) : "r"((int)threadIdx.x)); // here
    out[threadIdx.x] = d;
}

int main(void)
{
    int *out = device_array<int>(64);
    ptx_kernel<<<1, 32>>>(out);
    expect_outcome(cudaErrorLaunchFailure);
    abandon(out);
    return 0;
}
