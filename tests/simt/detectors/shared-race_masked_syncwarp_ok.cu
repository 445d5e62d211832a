// expect: none
/** The half that reads waits for the half that wrote, and then for itself only; lanes that have ended hold up nobody. */
#include "detecting.h"

static __global__ void swap_kernel(int *out)
{
    __shared__ int x[32], y[32];
    const unsigned t = threadIdx.x;
    if (t >= 16) x[t] = 5;
    __syncwarp();
    if (t >= 16) return;
    y[t] = x[31 - t];
    __syncwarp(0x0000ffffu); /* the lower half among itself */
    out[t] = y[15 - t];
    __syncwarp(); /* names lanes that have ended */
    y[15 - t] = 1;
}

int main(void)
{
    int *out = device_array<int>(16);
    swap_kernel<<<1, 32>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
