// expect: none
/** Whole warps that have finished do not keep a barrier waiting. */
#include "detecting.h"

static __global__ void exit_kernel(int *out)
{
    __shared__ int values[64];
    out[threadIdx.x] = 0;
    if (threadIdx.x >= 64) return;
    values[threadIdx.x] = (int)threadIdx.x;
    __syncthreads(); /* the 64 values are there */
    out[threadIdx.x] = values[63 - threadIdx.x];
}

int main(void)
{
    int *out = device_array<int>(128);
    exit_kernel<<<1, 128>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
