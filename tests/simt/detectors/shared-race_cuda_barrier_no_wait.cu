// expect: shared-race at lines 14, 16
/** Threads arrive at a cuda::barrier, and read before they have waited. */
#include <cuda/barrier>

#include "detecting.h"

static __global__ void turn_kernel(int *out)
{
    __shared__ int value[128];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> met;
    if (threadIdx.x == 0) init(&met, blockDim.x);
    __syncthreads();
    value[threadIdx.x] = (int)threadIdx.x; // here
    auto token = met.arrive();
    const int other = value[127 - threadIdx.x]; // here
    met.wait(std::move(token));
    out[threadIdx.x] = other;
}

int main(void)
{
    int *out = device_array<int>(128);
    turn_kernel<<<1, 128>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
