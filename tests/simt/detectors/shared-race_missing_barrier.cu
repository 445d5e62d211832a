// expect: shared-race at lines 10, 11
/** A value is read that a thread of another warp writes, with no barrier between. */
#include "detecting.h"

enum { THREADS = 64 };

static __global__ void exchange_kernel(float *out)
{
    __shared__ float values[THREADS];
    values[threadIdx.x] = (float)threadIdx.x;    // here
    out[threadIdx.x] = values[threadIdx.x ^ 32]; // here
}

int main(void)
{
    float *out = device_array<float>(THREADS);
    exchange_kernel<<<1, THREADS>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
