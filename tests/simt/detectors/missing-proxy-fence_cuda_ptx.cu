// expect: missing-proxy-fence at lines 13, 16
/** A tile that threads wrote is stored by a bulk copy of cuda::ptx, and only a barrier is between. */
#include <cuda/ptx>

#include "detecting.h"

namespace ptx = cuda::ptx;

static __global__ void store_kernel(int *out)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    __shared__ alignas(128) int tile[128];
    tile[threadIdx.x] = (int)threadIdx.x; // here
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, tile, sizeof tile); // here
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>{});
    }
#endif
}

int main(void)
{
    int *out = device_array<int>(128);
    store_kernel<<<1, 128>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
