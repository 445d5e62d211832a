// expect: none
/** The value comes from the same tile. */
#include "detecting.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

static __global__ void neighbour_kernel(int *data) /* [4, 32] */
{
    __shared__ int slots[32];
    const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    slots[threadIdx.x] = (int)threadIdx.x;
    tile.sync();
    data[threadIdx.x] = slots[threadIdx.x ^ 7];
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
