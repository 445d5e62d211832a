// expect: none
/** A releasing one does. */
#include "detecting.h"

static __global__ void ptx_kernel(int *out)
{
    __shared__ int words[64];
    const int i = (int)threadIdx.x;
    words[i] = i;
    asm volatile("barrier.cluster.arrive.release.aligned;" : : : "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory");
    out[i] = words[63 - i];
}

int main(void)
{
    int *out = device_array<int>(64);
    ptx_kernel<<<1, 64>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
