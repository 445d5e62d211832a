// expect: shared-race at lines 10, 11
/** The total is read while other threads may still add to it. */
#include "detecting.h"

static __global__ void total_kernel(int *out)
{
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();          /* the total is cleared */
    atomicAdd(&total, 1);     // here
    out[threadIdx.x] = total; // here
}

int main(void)
{
    int *out = device_array<int>(64);
    total_kernel<<<1, 64>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
