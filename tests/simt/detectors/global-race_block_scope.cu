// expect: global-race at line 7
/** An atomic of block scope is one for its own block: four blocks add to one word. */
#include "detecting.h"

static __global__ void count_kernel(int *out)
{
    atomicAdd_block(out, 1); // here
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
