// expect: out-of-bounds
/** A bulk copy goes to a local array, which is no global memory, and may be gone when the copy arrives. */
#include <cuda/ptx>

#include "detecting.h"

namespace ptx = cuda::ptx;

static __global__ void store_kernel(int *out)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    __shared__ alignas(128) int tile[128];
    alignas(16) int local[4] = {};
    tile[threadIdx.x] = (int)threadIdx.x;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, local, tile, sizeof local);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>{});
        out[0] = local[1];
    }
#endif
}

int main(void)
{
    int *out = device_array<int>(128);
    store_kernel<<<1, 128>>>(out);
    expect_outcome(cudaErrorIllegalAddress);
    release(out);
    return 0;
}
