// expect: unsupported at line 9
// says: operands within operands within operands
/** Braces in braces. */
#include "detecting.h"

static __global__ void ptx_kernel(long long *out)
{
    unsigned value;
    asm volatile("mov.b32 %0, {{{{{{%1, %1}, %1}, %1}, %1}, %1}, %1};" : "=r"(value) : "r"(threadIdx.x)); // here
    out[threadIdx.x] = value;
}

int main(void)
{
    long long *out = device_array<long long>(32);
    ptx_kernel<<<1, 32>>>(out);
    expect_outcome(cudaErrorLaunchFailure);
    abandon(out);
    return 0;
}
