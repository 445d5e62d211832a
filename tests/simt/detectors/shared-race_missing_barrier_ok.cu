// expect: none
/** The same exchange with its barrier. */
#include "detecting.h"

enum { THREADS = 64 };

static __global__ void exchange_kernel(float *out)
{
    __shared__ float values[THREADS];
    values[threadIdx.x] = (float)threadIdx.x;
    __syncthreads(); /* the other warp's values are there */
    out[threadIdx.x] = values[threadIdx.x ^ 32];
}

int main(void)
{
    float *out = device_array<float>(THREADS);
    exchange_kernel<<<1, THREADS>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
