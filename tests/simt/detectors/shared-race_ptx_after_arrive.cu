// expect: shared-race at lines 13, 16
/** What is written after bar.arrive is not what the consumers wait for. */
#include "detecting.h"

/** Warp 0 fills the tile for warp 1, which has the second half of a pair of barriers. */
static __global__ void ptx_kernel(int *out)
{
    __shared__ int tile[32];
    const int lane = (int)threadIdx.x % 32;
    if (threadIdx.x < 32) {
        tile[lane] = lane;
        asm volatile("bar.arrive 1, 64;" : : : "memory"); /* the tile is full */
        tile[lane] = -1;                                  // here
    } else if (threadIdx.x < 64) {
        asm volatile("bar.sync 1, 64;" : : : "memory");
        out[lane] = tile[31 - lane]; // here
    }
}

int main(void)
{
    int *out = device_array<int>(64);
    ptx_kernel<<<1, 96>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
