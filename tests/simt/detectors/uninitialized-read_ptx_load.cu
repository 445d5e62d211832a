// expect: uninitialized-read at line 8
/** A PTX load of device memory that nobody wrote. */
#include "detecting.h"

static __global__ void ptx_kernel(int *out)
{
    int d;
    asm volatile("ld.global.nc.s32 %0, [%1];" : "=r"(d) : "l"(out + 32)); // here
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
