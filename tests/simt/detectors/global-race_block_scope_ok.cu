// expect: none
/** A word a block may have atomics of block scope; what all blocks share has those of the device. */
#include "detecting.h"

static __global__ void count_kernel(int *out)
{
    atomicAdd_block(out + 1 + blockIdx.x, 1);
    atomicAdd(out, 1);
}

int main(void)
{
    int *out = device_array<int>(5);
    require(cudaMemset(out, 0, 5 * sizeof *out), "cudaMemset");
    count_kernel<<<4, 64>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
