// expect: deadlock at line 10
/** Two warpgroups ask for 240 registers, and the third keeps 40: 520 of a thread are more than the 512 there are. */
#include "detecting.h"

static __global__ void __launch_bounds__(384, 1) ptx_kernel(int *out)
{
    if (threadIdx.x < 128)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    else
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;"); // here
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
