// expect: missing-wait at lines 15, 18
/** Copies that were never committed belong to no group that could be waited for. */
#include "detecting.h"

#include <cuda_pipeline.h>

enum { THREADS = 64 };

static __global__ void copy_kernel(const float *in, float *out)
{
    __shared__ float tile[THREADS];
    const int i = (int)threadIdx.x;
    tile[i] = -1.0f;
    __syncthreads();                              /* what the copies will overwrite has been written */
    __pipeline_memcpy_async(&tile[i], &in[i], 4); // here
    __pipeline_wait_prior(0);
    __syncthreads();       /* the tile is whole? */
    out[i] = tile[i ^ 32]; // here
}

int main(void)
{
    static float host[4 * THREADS];
    float *in = upload(host, 4 * THREADS), *out = device_array<float>(4 * THREADS);
    copy_kernel<<<1, THREADS>>>(in, out);
    expect_outcome(cudaSuccess);
    download(host, out, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (host[i] != -1.0f) printf("a copy has landed that nobody could wait for: %g\n", host[i]);
    release(in);
    release(out);
    return 0;
}
