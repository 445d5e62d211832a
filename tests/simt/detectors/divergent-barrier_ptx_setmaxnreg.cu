// expect: divergent-barrier at line 7
/** Half of a warpgroup gives registers back. */
#include "detecting.h"

static __global__ void __launch_bounds__(384, 1) ptx_kernel(int *out)
{
    if (threadIdx.x < 64) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;"); // here
    out[threadIdx.x] = (int)threadIdx.x;
}

int main(void)
{
    int *out = device_array<int>(384);
    ptx_kernel<<<1, 384>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
