// expect: shared-race at lines 8, 9
/** Lanes of one warp exchange values without __syncwarp: since Volta they need not run in step. */
#include "detecting.h"

static __global__ void reverse_kernel(int *out)
{
    __shared__ int values[32];
    values[threadIdx.x] = (int)threadIdx.x;      // here
    out[threadIdx.x] = values[31 - threadIdx.x]; // here
}

int main(void)
{
    int *out = device_array<int>(32);
    reverse_kernel<<<1, 32>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
