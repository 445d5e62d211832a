// expect: none
/** The ragged tile is filled up with zeros. */
#include "detecting.h"

enum { THREADS = 64 };

static __global__ void sum_kernel(const float *in, int n, float *out)
{
    extern __shared__ float tile[];
    const int i = (int)threadIdx.x;
    float sum = 0.0f;
    tile[i] = i < n ? in[i] : 0.0f;
    __syncthreads(); /* the tile is complete */
    for (int k = 0; k < THREADS; k++) sum += tile[k];
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
