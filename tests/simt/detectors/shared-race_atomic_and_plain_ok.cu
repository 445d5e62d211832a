// expect: none
/** Atomics among themselves never race; plain accesses are kept apart by barriers. */
#include "detecting.h"

static __global__ void total_kernel(int *out)
{
    __shared__ int total, largest;
    if (threadIdx.x == 0) total = largest = 0;
    __syncthreads(); /* both are cleared */
    atomicAdd(&total, 1);
    atomicMax(&largest, (int)threadIdx.x);
    atomicExch(&largest, 1000);
    __syncthreads(); /* all have added */
    out[threadIdx.x] = total + largest;
}

int main(void)
{
    int *out = device_array<int>(64);
    total_kernel<<<1, 64>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
