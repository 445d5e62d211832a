// expect: none
/** Two groups of a block, each with a barrier of its own. */
#include "detecting.h"

static __global__ void ptx_kernel(int *out)
{
    __shared__ int tile[128];
    tile[threadIdx.x] = 1;
    asm volatile("bar.sync %0, 64;" : : "r"(1 + (int)threadIdx.x / 64) : "memory");
    out[threadIdx.x] = tile[threadIdx.x ^ 32];
}

int main(void)
{
    int *out = device_array<int>(128);
    ptx_kernel<<<1, 128>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
