// expect: shared-race at lines 9, 11
/** The word is read after the arrival, before the wait. */
#include "detecting.h"

static __global__ void ptx_kernel(int *out)
{
    __shared__ int words[64];
    const int i = (int)threadIdx.x;
    words[i] = i; // here
    asm volatile("barrier.cluster.arrive.aligned;" : : : "memory");
    out[i] = words[63 - i]; // here
    asm volatile("barrier.cluster.wait.aligned;" : : : "memory");
}

int main(void)
{
    int *out = device_array<int>(64);
    ptx_kernel<<<1, 64>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
