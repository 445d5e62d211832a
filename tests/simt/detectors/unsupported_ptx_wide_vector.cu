// expect: unsupported at line 9
// says: a vector of 4 elements of .b64: it has 16 bytes at most
/** A vector of 32 bytes. */
#include "detecting.h"

static __global__ void ptx_kernel(long long *out)
{
    long long a, b, c, d;
    asm volatile("ld.global.v4.b64 {%0, %1, %2, %3}, [%4];" // here
                 : "=l"(a), "=l"(b), "=l"(c), "=l"(d)
                 : "l"(out)
                 : "memory");
    out[threadIdx.x] = a + b + c + d;
}

int main(void)
{
    long long *out = device_array<long long>(32);
    ptx_kernel<<<1, 32>>>(out);
    expect_outcome(cudaErrorLaunchFailure);
    abandon(out);
    return 0;
}
