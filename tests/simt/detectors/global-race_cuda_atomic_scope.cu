// expect: global-race at line 9
/** A cuda::atomic_ref of block scope is one for its own block: four blocks add to one word. */
#include "detecting.h"

#include <cuda/atomic>

static __global__ void count_kernel(int *out)
{
    cuda::atomic_ref<int, cuda::thread_scope_block>(*out).fetch_add(1, cuda::memory_order_relaxed); // here
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
