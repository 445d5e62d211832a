// expect: divergent-barrier at line 10
// says: all threads of the grid must come
/** A part of a warp returns before the barrier of the grid. */
#include "detecting.h"

#include <cooperative_groups.h>

static __global__ void halves_kernel(void)
{
    if (threadIdx.x < 16) cooperative_groups::this_grid().sync(); // here
}

int main(void)
{
    require(cudaLaunchCooperativeKernel((const void *)halves_kernel, dim3(2), dim3(32), NULL, 0, NULL), "launch");
    expect_outcome(cudaErrorLaunchTimeout);
    return 0;
}
