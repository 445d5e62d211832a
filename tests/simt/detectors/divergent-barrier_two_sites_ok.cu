// expect: none
/** Two barriers in the branches of a condition that is the same for the whole block. */
#include "detecting.h"

static __global__ void branches_kernel(int *out)
{
    __shared__ int values[64];
    const unsigned first = blockIdx.x * 64;
    values[threadIdx.x] = (int)threadIdx.x;
    if (blockIdx.x % 2 == 0) {
        __syncthreads(); /* the other warp's values are there */
        out[first + threadIdx.x] = values[threadIdx.x ^ 32];
    } else {
        __syncthreads(); /* the other warp's values are there */
        out[first + threadIdx.x] = values[63 - threadIdx.x];
    }
}

int main(void)
{
    int *out = device_array<int>(4 * 64);
    branches_kernel<<<4, 64>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
