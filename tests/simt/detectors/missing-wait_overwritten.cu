// expect: missing-wait at lines 13, 15
/** A thread writes where its copy has yet to land: the copy wins, or the thread. */
#include "detecting.h"

#include <cuda_pipeline.h>

enum { THREADS = 64 };

static __global__ void copy_kernel(const float *in, float *out)
{
    __shared__ float tile[THREADS];
    const int i = (int)threadIdx.x;
    __pipeline_memcpy_async(&tile[i], &in[i], 4); // here
    __pipeline_commit();
    if (i >= 48) tile[i] = 0.0f; // here
    __pipeline_wait_prior(0);
    __syncthreads(); /* the tile is whole */
    out[i] = tile[i ^ 32];
}

int main(void)
{
    static float host[4 * THREADS];
    float *in = upload(host, 4 * THREADS), *out = device_array<float>(4 * THREADS);
    copy_kernel<<<1, THREADS>>>(in, out);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}
