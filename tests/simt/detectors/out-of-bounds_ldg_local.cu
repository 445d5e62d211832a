// expect: out-of-bounds at line 8
/** __ldg is ld.global.nc, and a local array has no address in global memory. */
#include "detecting.h"

static __global__ void ldg_kernel(int *out, int at)
{
    int table[4] = {1, 2, 3, 4};
    out[threadIdx.x] = __ldg(&table[at]); // here
}

int main(void)
{
    int *out = device_array<int>(64);
    ldg_kernel<<<1, 32>>>(out, 2);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(out);
    return 0;
}
