// expect: none
/** The last warp of the group, after its wait, meets the producer at a barrier: it speaks for all four. */
#include "warpgroups.h"

static __global__ void ptx_kernel(float *out)
{
    __shared__ __align__(128) half a[A_HALVES], b[B_HALVES];
    __shared__ int flag;
    float d[4] = {0};
    if (threadIdx.x < GROUP) fill(a, A_HALVES);
    if (threadIdx.x < GROUP) fill(b, B_HALVES);
    if (threadIdx.x == 0) flag = 0;
    PROXY_FENCE();
    __syncthreads();
    const uint64_t x = describe(a, 128, 256), y = describe(b, 128, 256);
    if (threadIdx.x >= GROUP) {
        asm volatile("bar.sync 1, 64;" : : : "memory");
        b[threadIdx.x - GROUP] = __float2half(2.0f);
        return;
    }
    WGMMA_FENCE();
    MULTIPLY(d, x, y);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    if (threadIdx.x >= 96) asm volatile("bar.arrive 1, 64;" : : : "memory");
    if (flag == 0) store(out, d);
}

int main(void)
{
    run(ptx_kernel, GROUP + 32, cudaSuccess);
    return 0;
}
