// expect: unsupported at line 13
/** A barrier of the grid after an ordinary launch, whose blocks need not be there at once. */
#include "detecting.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

static __global__ void neighbour_kernel(int *data) /* [4, 32] */
{
    const cg::grid_group grid = cg::this_grid();
    data[grid.thread_rank()] = 1;
    grid.sync(); // here
}

int main(void)
{
    int *data = device_array<int>(4 * 32);
    void *arguments[] = {&data};
    (void)arguments;
    neighbour_kernel<<<4, 32>>>(data);
    expect_outcome(cudaErrorLaunchFailure);
    abandon(data);
    return 0;
}
