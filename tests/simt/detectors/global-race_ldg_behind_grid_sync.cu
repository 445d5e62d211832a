// expect: global-race at lines 12, 14
/** __ldg() is for what the kernel does not write: no barrier, the grid's neither, brings its values there. */
#include "detecting.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

static __global__ void neighbour_kernel(int *data) /* [2, 4, 32] */
{
    const cg::grid_group grid = cg::this_grid();
    data[grid.thread_rank()] = (int)grid.thread_rank(); // here
    grid.sync();
    const int other = __ldg(&data[(grid.thread_rank() + 32) % grid.size()]); // here
    data[4 * 32 + grid.thread_rank()] = other;
}

int main(void)
{
    int *data = device_array<int>(2 * 4 * 32);
    void *arguments[] = {&data};
    (void)cudaLaunchCooperativeKernel(neighbour_kernel, dim3(4), dim3(32), arguments);
    expect_outcome(cudaSuccess);
    release(data);
    return 0;
}
