// expect: none
/** Threads release the stage of a pipeline when they have read it. */
#include <cooperative_groups.h>
#include <cuda/pipeline>

#include "detecting.h"

static __global__ void ring_kernel(const int *in, int *out)
{
    __shared__ alignas(16) int ring[64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
    cooperative_groups::thread_block block = cooperative_groups::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int sum = 0;
    for (int tile = 0; tile < 6; tile++) {
        pipe.producer_acquire();
        cuda::memcpy_async(block, ring, in + 64 * tile, cuda::aligned_size_t<16>(256), pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        sum += ring[63 - threadIdx.x];
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

int main(void)
{
    const int host[384] = {1};
    int *in = upload(host, 384), *out = device_array<int>(64);
    ring_kernel<<<1, 64>>>(in, out);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}
