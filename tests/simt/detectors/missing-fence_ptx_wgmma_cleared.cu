// expect: missing-fence at line 17
/** The accumulators are cleared after the fence. */
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
    for (int tile = 0; tile < 2; tile++) {
        if (tile == 0) WGMMA_FENCE();
        for (int i = 0; i < 4; i++) d[i] = 0.0f;
        MULTIPLY(d, x, y); // here
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        store(out + 4 * GROUP * tile, d);
    }
}

int main(void)
{
    run(ptx_kernel, GROUP, cudaSuccess);
    return 0;
}
