// expect: none
/** The same, with a register of its own for it. */
#include "detecting.h"

static __global__ void ptx_kernel(int *out)
{
    int d;
    asm("{ .reg .b64 t; cvt.s64.s32 t, %1; add.s64 t, t, 1; cvt.u32.u64 %0, t; }"
        : "=r"(d)
        : "r"((int)threadIdx.x));
    out[threadIdx.x] = d;
}

int main(void)
{
    int *out = device_array<int>(64);
    ptx_kernel<<<1, 32>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
