// expect: none
/** The sums are cleared in every block. */
#include "detecting.h"

enum { THREADS = 64 };

static __global__ void accumulate_kernel(float *out)
{
    __shared__ float sums[THREADS];
    sums[threadIdx.x] = 0.0f;
    for (int round = 0; round < 3; round++) sums[threadIdx.x] += 1.0f;
    out[blockIdx.x * THREADS + threadIdx.x] = sums[threadIdx.x];
}

int main(void)
{
    float *out = device_array<float>(4 * THREADS);
    accumulate_kernel<<<4, THREADS>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
