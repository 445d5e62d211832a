// expect: misaligned at line 14
/** The tile is swizzled by 128 bytes and begins 128 bytes into the pattern of 1024. */
#include "warpgroups.h"

static __global__ void ptx_kernel(float *out)
{
    __shared__ __align__(1024) half tile[80 * 64];
    float d[4] = {0};
    fill(tile, 80 * 64);
    PROXY_FENCE();
    __syncthreads();
    const uint64_t x = describe(tile + 64, 0, 1024) | 1ull << 62, y = describe(tile + 64 * 64, 0, 1024) | 1ull << 62;
    WGMMA_FENCE();
    MULTIPLY(d, x, y); // here
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    store(out, d);
}

int main(void)
{
    run(ptx_kernel, GROUP, cudaErrorMisalignedAddress);
    return 0;
}
