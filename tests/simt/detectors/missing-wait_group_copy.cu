// expect: missing-wait at lines 15, 17
/** A block copies together and meets, but does not wait for the copy. */
#include "detecting.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

#include <cooperative_groups/memcpy_async.h>

static __global__ void neighbour_kernel(int *data) /* [4, 32] */
{
    __shared__ alignas(16) int stage[32];
    const cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, stage, data + 32, sizeof stage); // here
    block.sync();
    data[threadIdx.x] = stage[31 - threadIdx.x]; // here
}

int main(void)
{
    int *data = device_array<int>(4 * 32);
    void *arguments[] = {&data};
    require(cudaMemset(data, 0, 4 * 32 * sizeof *data), "cudaMemset");
    (void)arguments;
    neighbour_kernel<<<1, 32>>>(data);
    expect_outcome(cudaSuccess);
    release(data);
    return 0;
}
