// expect: none
/** All that the launch gives, once much and once little. */
#include "detecting.h"

enum { THREADS = 64 };

static __global__ void stage_kernel(float *out)
{
    extern __shared__ float stage[];
    stage[threadIdx.x] = 1.0f;
    __syncthreads(); /* the neighbour's value is there */
    out[threadIdx.x] = stage[threadIdx.x ^ 1];
}

int main(void)
{
    float *out = device_array<float>(THREADS);
    stage_kernel<<<1, THREADS, THREADS * sizeof(float)>>>(out);
    stage_kernel<<<1, 2, 2 * sizeof(float)>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
