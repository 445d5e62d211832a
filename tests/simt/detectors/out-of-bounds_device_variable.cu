// expect: out-of-bounds at line 9
/** One element beyond a __device__ array that has a neighbour. */
#include "detecting.h"

static __device__ float table[10], neighbour[10];

static __global__ void fill_kernel(float *out)
{
    table[threadIdx.x] = 1.0f; // here
    out[threadIdx.x] = neighbour[0] + table[threadIdx.x];
}

int main(void)
{
    float *out = device_array<float>(11);
    fill_kernel<<<1, 10>>>(out);
    expect_outcome(cudaSuccess);
    fill_kernel<<<1, 11>>>(out);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(out);
    return 0;
}
