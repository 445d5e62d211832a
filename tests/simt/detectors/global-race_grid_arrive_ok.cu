// expect: none
/** What is written before barrier_arrive() is there behind the wait; between the two a block does work of its own. */
#include "detecting.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

static __global__ void neighbour_kernel(int *data) /* [2, 4, 32] */
{
    const cg::grid_group grid = cg::this_grid();
    data[grid.thread_rank()] = (int)grid.thread_rank();
    cg::grid_group::arrival_token token = grid.barrier_arrive();
    data[4 * 32 + grid.thread_rank()] = 1;
    grid.barrier_wait(static_cast<cg::grid_group::arrival_token &&>(token));
    const int other = data[(grid.thread_rank() + 32) % grid.size()];
    data[4 * 32 + grid.thread_rank()] += other;
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
