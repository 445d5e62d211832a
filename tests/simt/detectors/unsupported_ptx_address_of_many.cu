// expect: unsupported at line 11
// says: more than 128 elements
/** An address of 512 parts. */
#include "detecting.h"

#define EIGHT(x) x "," x "," x "," x "," x "," x "," x "," x

static __global__ void ptx_kernel(long long *out)
{
    unsigned value;
    asm volatile("ld.global.b32 %0, [" EIGHT(EIGHT(EIGHT("%1"))) "];" : "=r"(value) : "l"(out)); // here
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
