// expect: out-of-bounds at line 7
/** A kernel writes past the end of managed memory. */
#include "detecting.h"

static __global__ void fill_kernel(int *managed) /* [32] */
{
    managed[threadIdx.x + 1] = 0; // here
}

int main(void)
{
    int *managed;
    require(cudaMallocManaged(&managed, 32 * sizeof *managed), "cudaMallocManaged");
    fill_kernel<<<1, 32>>>(managed);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(managed);
    return 0;
}
