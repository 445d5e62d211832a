// expect: global-race at line 9
/** Blocks count in a __device__ variable without an atomic. */
#include "detecting.h"

static __device__ unsigned counter;

static __global__ void count_kernel(void)
{
    if (threadIdx.x == 0) counter++; // here
}

int main(void)
{
    count_kernel<<<4, 32>>>();
    expect_outcome(cudaSuccess);
    return 0;
}
