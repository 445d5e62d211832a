// expect: missing-proxy-fence at lines 11, 15
/** The operands are written by the generic proxy, and only a barrier follows. */
#include "warpgroups.h"

static __global__ void ptx_kernel(float *out)
{
    __shared__ __align__(128) half a[A_HALVES], b[B_HALVES];
    float d[4] = {0};
    fill(a, A_HALVES);
    PROXY_FENCE();
    if (threadIdx.x < B_HALVES) b[threadIdx.x] = __float2half(1.0f); // here
    __syncthreads();
    const uint64_t x = describe(a, 128, 256), y = describe(b, 128, 256);
    WGMMA_FENCE();
    MULTIPLY(d, x, y); // here
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    store(out, d);
}

int main(void)
{
    run(ptx_kernel, GROUP, cudaSuccess);
    return 0;
}
