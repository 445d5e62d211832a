// expect: missing-wait at lines 13, 17
/** The other warp may have waited long ago: without a barrier after that, nobody here can know. */
#include "detecting.h"

#include <cuda_pipeline.h>

enum { THREADS = 64 };

static __global__ void copy_kernel(const float *in, float *out)
{
    __shared__ float tile[THREADS];
    const int i = (int)threadIdx.x;
    __pipeline_memcpy_async(&tile[i], &in[i], 4); // here
    __pipeline_commit();
    __syncthreads();
    __pipeline_wait_prior(0);
    if (i >= 32) out[i] = tile[i - 32]; // here
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
