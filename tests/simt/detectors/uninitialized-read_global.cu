// expect: uninitialized-read at line 7
/** A sum is added to memory that cudaMalloc did not clear. */
#include "detecting.h"

static __global__ void accumulate_kernel(float *sums)
{
    sums[threadIdx.x] += 1.0f; // here
}

int main(void)
{
    float *sums = device_array<float>(32);
    accumulate_kernel<<<1, 32>>>(sums);
    expect_outcome(cudaSuccess);
    release(sums);
    return 0;
}
