// expect: divergent-barrier at line 15
/** Warps 1 to 4 of a block of five make no warpgroup: the fifth is in none. */
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
    if (threadIdx.x < 32) return;
    WGMMA_FENCE(); // here
    MULTIPLY(d, x, y);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    store(out, d);
}

int main(void)
{
    run(ptx_kernel, GROUP + 32, cudaErrorLaunchFailure);
    return 0;
}
