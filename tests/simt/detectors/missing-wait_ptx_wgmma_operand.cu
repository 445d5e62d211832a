// expect: missing-wait at lines 15, 18
/** The next tile is written over B while the product may still read it. */
#include "warpgroups.h"

static __global__ void ptx_kernel(float *out)
{
    __shared__ __align__(128) half a[A_HALVES], b[B_HALVES];
    float d[4] = {0};
    fill(a, A_HALVES);
    fill(b, B_HALVES);
    PROXY_FENCE();
    __syncthreads();
    const uint64_t x = describe(a, 128, 256), y = describe(b, 128, 256);
    WGMMA_FENCE();
    MULTIPLY(d, x, y); // here
    WGMMA_COMMIT();
    __syncthreads();
    b[threadIdx.x] = __float2half(2.0f); // here
    WGMMA_WAIT(0);
    store(out, d);
}

int main(void)
{
    run(ptx_kernel, GROUP, cudaSuccess);
    return 0;
}
