// expect: none
/** The group is formed by those that shuffle. */
#include "detecting.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

static __global__ void neighbour_kernel(int *data) /* [4, 32] */
{
    if (threadIdx.x < 16) {
        const cg::coalesced_group active = cg::coalesced_threads();
        data[threadIdx.x] = active.shfl((int)threadIdx.x, 3);
    }
    data[threadIdx.x] = 0;
}

int main(void)
{
    int *data = device_array<int>(4 * 32);
    void *arguments[] = {&data};
    (void)arguments;
    neighbour_kernel<<<1, 32>>>(data);
    expect_outcome(cudaSuccess);
    release(data);
    return 0;
}
