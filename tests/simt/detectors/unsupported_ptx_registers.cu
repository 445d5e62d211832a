// expect: unsupported at line 9
// says: more than 1024 registers in one asm statement
/** Ranges of registers whose numbers add up to 5 in 32 bits. */
#include "detecting.h"

static __global__ void ptx_kernel(long long *out)
{
    long long value = threadIdx.x;
    asm volatile("{.reg .b64 a<2147483647>, b<2147483647>, c<7>;" // here
                 "mov.b64 a3000, %0; mov.b64 %0, a3000;}"
                 : "+l"(value));
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
