// expect: none
/** All threads go round equally often, as many times as the block says. */
#include "detecting.h"

static __global__ void rounds_kernel(int *out)
{
    __shared__ int turns[64];
    turns[threadIdx.x] = (int)threadIdx.x;
    for (unsigned round = 0; round < 2 + blockIdx.x; round++) {
        __syncthreads(); /* the turns of the last round are there */
        const int next = turns[(threadIdx.x + 1) % 64];
        __syncthreads(); /* all have read before anyone writes */
        turns[threadIdx.x] = next;
    }
    out[blockIdx.x * 64 + threadIdx.x] = turns[threadIdx.x];
}

int main(void)
{
    int *out = device_array<int>(3 * 64);
    rounds_kernel<<<3, 64>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
