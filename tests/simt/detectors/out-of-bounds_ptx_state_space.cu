// expect: out-of-bounds at line 8
/** ld.const takes an address of constant memory, and this is one of global memory. */
#include "detecting.h"

static __global__ void ptx_kernel(int *out)
{
    int value;
    asm volatile("ld.const.s32 %0, [%1];" : "=r"(value) : "l"(out + threadIdx.x) : "memory"); // here
    out[threadIdx.x] = value;
}

int main(void)
{
    int *out = device_array<int>(64);
    ptx_kernel<<<1, 32>>>(out);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(out);
    return 0;
}
