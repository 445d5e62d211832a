// expect: missing-wait at lines 18, 22
/** The producer's warp sees a flag, which orders nothing, and overwrites the stage. */
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
        while (atomicAdd(&flag, 0) == 0) continue;
        b[threadIdx.x - GROUP] = __float2half(2.0f); // here
        return;
    }
    WGMMA_FENCE();
    MULTIPLY(d, x, y); // here
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    if (threadIdx.x == 96) atomicExch(&flag, 1);
    store(out, d);
}

int main(void)
{
    run(ptx_kernel, GROUP + 32, cudaSuccess);
    return 0;
}
