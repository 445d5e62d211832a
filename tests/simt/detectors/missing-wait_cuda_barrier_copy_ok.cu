// expect: none
/** A block copies with cuda::memcpy_async, and meets at the barrier that the copies report to. */
#include <cooperative_groups.h>
#include <cuda/barrier>

#include "detecting.h"

static __global__ void turn_kernel(const int *in, int *out)
{
    __shared__ alignas(16) int tile[128];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> there;
    if (threadIdx.x == 0) init(&there, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(cooperative_groups::this_thread_block(), tile, in, sizeof tile, there);
    there.arrive_and_wait();
    out[threadIdx.x] = tile[127 - threadIdx.x];
}

int main(void)
{
    const int host[128] = {1};
    int *in = upload(host, 128), *out = device_array<int>(128);
    turn_kernel<<<1, 128>>>(in, out);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}
