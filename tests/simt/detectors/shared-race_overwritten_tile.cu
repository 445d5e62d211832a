// expect: shared-race at lines 12, 14
/** The barrier after a tile's use is missing: a fast warp overwrites what a slow one still reads. */
#include "detecting.h"

enum { THREADS = 64, TILES = 3 };

static __global__ void sum_kernel(const float *in, float *out)
{
    __shared__ float tile[THREADS];
    float sum = 0.0f;
    for (int t = 0; t < TILES; t++) {
        tile[threadIdx.x] = in[t * THREADS + threadIdx.x]; // here
        __syncthreads();                                   /* the tile is complete */
        for (int k = 0; k < THREADS; k++) sum += tile[k];  // here
    }
    out[threadIdx.x] = sum;
}

int main(void)
{
    const float host[TILES * THREADS] = {1.0f};
    float *in = upload(host, TILES * THREADS), *out = device_array<float>(THREADS);
    sum_kernel<<<1, THREADS>>>(in, out);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}
