// expect: global-race at lines 13, 15
/** What is written between barrier_arrive() and barrier_wait() of the grid need not be there when other blocks go on. */
#include "detecting.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

static __global__ void neighbour_kernel(int *data) /* [2, 4, 32] */
{
    const cg::grid_group grid = cg::this_grid();
    cg::grid_group::arrival_token token = grid.barrier_arrive();
    data[grid.thread_rank()] = (int)grid.thread_rank(); // here
    grid.barrier_wait(static_cast<cg::grid_group::arrival_token &&>(token));
    const int other = data[(grid.thread_rank() + 32) % grid.size()]; // here
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
