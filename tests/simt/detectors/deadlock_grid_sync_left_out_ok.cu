// expect: none
/** All blocks come to the barrier of the grid. */
#include "detecting.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

static __global__ void neighbour_kernel(int *data) /* [4, 32] */
{
    const cg::grid_group grid = cg::this_grid();
    data[grid.thread_rank()] = 1;
    grid.sync();
}

int main(void)
{
    int *data = device_array<int>(4 * 32);
    void *arguments[] = {&data};
    (void)cudaLaunchCooperativeKernel(neighbour_kernel, dim3(4), dim3(32), arguments);
    expect_outcome(cudaSuccess);
    release(data);
    return 0;
}
