// expect: shared-race at lines 8, 10
/** __syncwarp orders the lanes of one warp only; the value comes from another. */
#include "detecting.h"

static __global__ void exchange_kernel(int *out)
{
    __shared__ int values[64];
    values[threadIdx.x] = (int)threadIdx.x; // here
    __syncwarp();
    out[threadIdx.x] = values[63 - threadIdx.x]; // here
}

int main(void)
{
    int *out = device_array<int>(64);
    exchange_kernel<<<1, 64>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
