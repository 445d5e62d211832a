// expect: unsupported at line 9
// says: the special register %40 is not on this device
/** An operand that the statement has not, by a number that nvcc leaves as it is. */
#include "detecting.h"

static __global__ void ptx_kernel(long long *out)
{
    long long value;
    asm volatile("mov.b64 %0, %%40;" : "=l"(value)); // here
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
