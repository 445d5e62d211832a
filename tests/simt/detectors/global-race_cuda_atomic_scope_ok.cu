// expect: none
/** A word a block may have a cuda::atomic_ref of block scope; what all blocks share has one of the device. */
#include "detecting.h"

#include <cuda/atomic>

static __global__ void count_kernel(int *out)
{
    cuda::atomic_ref<int, cuda::thread_scope_block>(out[1 + blockIdx.x]).fetch_add(1, cuda::memory_order_relaxed);
    cuda::atomic_ref<int, cuda::thread_scope_device>(*out).fetch_add(1, cuda::memory_order_relaxed);
}

int main(void)
{
    int *out = device_array<int>(5);
    require(cudaMemset(out, 0, 5 * sizeof *out), "cudaMemset");
    count_kernel<<<4, 64>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
