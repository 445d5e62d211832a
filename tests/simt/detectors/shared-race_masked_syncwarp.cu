// expect: shared-race at lines 9, 12
/** A __syncwarp orders the lanes that its mask names: those that wrote are not among them, even though they have ended. */
#include "detecting.h"

static __global__ void swap_kernel(int *out)
{
    __shared__ int x[32];
    const unsigned t = threadIdx.x;
    if (t >= 16) x[t] = 5; // here
    if (t < 16) {
        __syncwarp(0x0000ffffu); /* the upper lanes are not asked */
        out[t] = x[31 - t];      // here
    }
}

int main(void)
{
    int *out = device_array<int>(16);
    swap_kernel<<<1, 32>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
