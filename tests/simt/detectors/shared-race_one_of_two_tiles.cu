// expect: shared-race at lines 16, 18
/** Double buffering with one barrier too few: the third tile is written over the first while that is still
 * read. */
#include "detecting.h"

enum { THREADS = 64, TILES = 5 };

static __global__ void sum_kernel(const float *in, float *out)
{
    __shared__ float tiles[2][THREADS];
    float sum = 0.0f;
    tiles[0][threadIdx.x] = in[threadIdx.x];
    __syncthreads(); /* the first tile is complete */
    for (int t = 0; t < TILES; t++) {
        float *next = tiles[(t + 1) % 2], *now = tiles[t % 2];
        if (t + 1 < TILES) next[threadIdx.x] = in[(t + 1) * THREADS + threadIdx.x]; // here
        if (t % 2 == 0) __syncthreads();       /* wrong: only every second time */
        sum += now[THREADS - 1 - threadIdx.x]; // here
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
