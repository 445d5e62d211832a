// expect: global-race at line 7
/** Blocks add to one total with a plain +=. */
#include "detecting.h"

static __global__ void count_kernel(int *total)
{
    if (threadIdx.x == 0) *total += 1; // here
}

int main(void)
{
    int *total = device_array<int>(1);
    require(cudaMemset(total, 0, sizeof *total), "cudaMemset");
    count_kernel<<<8, 32>>>(total);
    expect_outcome(cudaSuccess);
    release(total);
    return 0;
}
