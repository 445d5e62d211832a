// expect: none
/** What lies past the end of the source is filled with zeros, and not read. */
#include "detecting.h"

#include <cuda_pipeline.h>

enum { THREADS = 64 };

static __global__ void copy_kernel(const float *in, float *out)
{
    __shared__ __align__(16) float tile[4 * THREADS + 4];
    const int i = 4 * (int)threadIdx.x;
    __pipeline_memcpy_async(&tile[i], &in[i + 4], 16, i + 4 < 4 * THREADS ? 0 : 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads(); /* the tile is whole */
    out[i] = tile[i ^ 128];
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
