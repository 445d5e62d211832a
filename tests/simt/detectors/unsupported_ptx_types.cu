// expect: unsupported at line 8
/** A register of 32 bits where one of 64 is asked for. */
#include "detecting.h"

static __global__ void ptx_kernel(int *out)
{
    int d;
    asm("{ .reg .b64 t; add.s64 t, %1, 1; cvt.u32.u64 %0, t; }" : "=r"(d) : "r"((int)threadIdx.x)); // here
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
