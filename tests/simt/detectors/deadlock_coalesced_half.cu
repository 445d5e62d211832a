// expect: deadlock at line 12
/** A group of 32 threads is asked to shuffle by half of them. */
#include "detecting.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

static __global__ void neighbour_kernel(int *data) /* [4, 32] */
{
    const cg::coalesced_group active = cg::coalesced_threads();
    if (threadIdx.x < 16) data[threadIdx.x] = active.shfl((int)threadIdx.x, 3); // here
    data[threadIdx.x] = 0;
}

int main(void)
{
    int *data = device_array<int>(4 * 32);
    void *arguments[] = {&data};
    (void)arguments;
    neighbour_kernel<<<1, 32>>>(data);
    expect_outcome(cudaErrorLaunchTimeout);
    abandon(data);
    return 0;
}
