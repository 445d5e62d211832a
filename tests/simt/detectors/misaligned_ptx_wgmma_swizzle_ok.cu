// expect: none
/** It begins where the pattern does. */
#include "warpgroups.h"

static __global__ void ptx_kernel(float *out)
{
    __shared__ __align__(1024) half tile[72 * 64];
    float d[4] = {0};
    fill(tile, 72 * 64);
    PROXY_FENCE();
    __syncthreads();
    const uint64_t x = describe(tile, 0, 1024) | 1ull << 62, y = describe(tile + 64 * 64, 0, 1024) | 1ull << 62;
    WGMMA_FENCE();
    MULTIPLY(d, x, y);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    store(out, d);
}

int main(void)
{
    run(ptx_kernel, GROUP, cudaSuccess);
    return 0;
}
