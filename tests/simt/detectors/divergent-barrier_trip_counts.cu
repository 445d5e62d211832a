// expect: divergent-barrier at lines 9, 13
/** Warps go round the loop a different number of times, and the barrier is inside. */
#include "detecting.h"

static __global__ void rounds_kernel(int *out)
{
    const unsigned rounds = 2 + threadIdx.x / 32;
    for (unsigned round = 0; round < rounds; round++) {
        __syncthreads(); // here
    }
    out[threadIdx.x] = 1;
    if (threadIdx.x < 32) {
        __syncthreads(); // here
    }
}

int main(void)
{
    int *out = device_array<int>(64);
    rounds_kernel<<<1, 64>>>(out);
    (void)cudaDeviceSynchronize();
    abandon(out);
    return 0;
}
