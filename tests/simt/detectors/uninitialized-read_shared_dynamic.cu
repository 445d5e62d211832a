// expect: uninitialized-read at line 14
/** The ragged tile leaves its last rows unwritten, and they are summed all the same. */
#include "detecting.h"

enum { THREADS = 64 };

static __global__ void sum_kernel(const float *in, int n, float *out)
{
    extern __shared__ float tile[];
    const int i = (int)threadIdx.x;
    float sum = 0.0f;
    if (i < n) tile[i] = in[i];
    __syncthreads();                                  /* the tile is complete */
    for (int k = 0; k < THREADS; k++) sum += tile[k]; // here
    out[i] = sum;
}

int main(void)
{
    const float host[50] = {1.0f};
    float *in = upload(host, 50), *out = device_array<float>(THREADS);
    sum_kernel<<<1, THREADS, THREADS * sizeof(float)>>>(in, 50, out);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}
