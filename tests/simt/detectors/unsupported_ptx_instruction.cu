// expect: unsupported at line 8
/** An instruction that is not in the table. */
#include "detecting.h"

static __global__ void ptx_kernel(int *out)
{
    int d;
    asm volatile("txq.width.b32 %0, [%1];" : "=r"(d) : "l"((unsigned long long)out)); // here
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
