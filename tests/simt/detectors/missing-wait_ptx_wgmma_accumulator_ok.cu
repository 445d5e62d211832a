// expect: none
/** They are read after the wait. */
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
    MULTIPLY(d, x, y);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    out[threadIdx.x] = d[0];
}

int main(void)
{
    run(ptx_kernel, GROUP, cudaSuccess);
    return 0;
}
