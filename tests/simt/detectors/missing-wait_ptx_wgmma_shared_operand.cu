// expect: missing-wait at lines 20, 24
/** Two warpgroups multiply with one A; each waits for its own product, then the first one writes the next A. */
#include "warpgroups.h"

static __global__ void ptx_kernel(float *out)
{
    __shared__ __align__(128) half a[A_HALVES], b[2][B_HALVES];
    const unsigned group = threadIdx.x / GROUP;
    float d[4] = {0};
    if (group == 0) {
        fill(a, A_HALVES);
        fill(b[0], B_HALVES);
        fill(b[1], B_HALVES);
    }
    PROXY_FENCE();
    __syncthreads();
    const uint64_t x = describe(a, 128, 256), y = describe(b[group], 128, 256);
    WGMMA_FENCE();
    __syncthreads();
    MULTIPLY(d, x, y); // here
    WGMMA_COMMIT();
    __syncthreads();
    WGMMA_WAIT(0);
    if (group == 0) a[threadIdx.x] = __float2half(2.0f); // here
    if (group == 0) store(out, d);
}

int main(void)
{
    run(ptx_kernel, 2 * GROUP, cudaSuccess);
    return 0;
}
