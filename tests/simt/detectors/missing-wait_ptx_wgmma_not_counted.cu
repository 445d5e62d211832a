// expect: missing-wait at lines 27, 37
/** Of two warpgroups the first gives the stage back, and the mbarrier counts one: the producer comes after the product of the first. */
#include "warpgroups.h"

#include "../hopper.h"

static __global__ void ptx_kernel(float *out)
{
    __shared__ __align__(128) half a[A_HALVES], b[B_HALVES];
    __shared__ __align__(8) uint64_t full, empty;
    float d[4] = {0};
    if (threadIdx.x < GROUP) {
        fill(a, A_HALVES);
        fill(b, B_HALVES);
    }
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        mbarrier_init(&empty, 1);
    }
    proxy_fence();
    __syncthreads();
    const uint64_t x = describe(a, 128, 256), y = describe(b, 128, 256);
    if (threadIdx.x < 2 * GROUP) {
        for (uint32_t step = 0; step < 2; step++) {
            mbarrier_wait(&full, step);
            WGMMA_FENCE();
            MULTIPLY(d, x, y); // here
            WGMMA_COMMIT();
            asm volatile("bar.sync 1, 256;" : : : "memory"); // both products are on their way
            WGMMA_WAIT(0);
            if (threadIdx.x == 0) mbarrier_arrive(&empty);
        }
        store(out, d);
    } else if (threadIdx.x == 2 * GROUP) {
        mbarrier_arrive(&full);
        mbarrier_wait(&empty, 0);
        b[0] = __float2half(2.0f); // here
        proxy_fence();
        mbarrier_arrive(&full);
    }
}

int main(void)
{
    run(ptx_kernel, 2 * GROUP + 32, cudaSuccess);
    return 0;
}
