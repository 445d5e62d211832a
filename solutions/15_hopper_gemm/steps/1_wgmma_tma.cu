// Step 1, wgmma and TMA: one warpgroup multiplies 64 x 64 tiles. One thread asks for the slices of A and B, everybody waits
// for them, multiplies, and waits again.
#include "steps.h"

enum { FIRST_TILE = 64, FIRST_BYTES = FIRST_TILE * STEP_ROW };

__global__ void __launch_bounds__(WARPGROUP)
    wgmma_tma_kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                     struct matrices x)
{
#if HOPPER_CODE
    extern __shared__ __align__(1024) char shared[]; // a slice of A, one of B, the mbarrier
    uint64_t *full = (uint64_t *)(shared + 2 * FIRST_BYTES);
    int tiles_n = divide_up(x.n, FIRST_TILE);
    int row = (int)blockIdx.x / tiles_n * FIRST_TILE, column = (int)blockIdx.x % tiles_n * FIRST_TILE;
    if (threadIdx.x == 0) mbarrier_init(full, 1);
    if (threadIdx.x == 0) mbarrier_init_fence();
    __syncthreads(); // the mbarrier is there before anybody waits at it
    float sum[FIRST_TILE / 2] = {};
    for (int k = 0, parity = 0; k < x.k; k += STEP_K, parity ^= 1) {
        if (threadIdx.x == 0) {
            mbarrier_arrive_expect(full, 2 * FIRST_BYTES);
            tensor_load(shared, &a, k, row, full);
            tensor_load(shared + FIRST_BYTES, &b, k, column, full);
        }
        mbarrier_wait(full, parity);
        wgmma_fence();
        step_multiply(sum, shared, shared + FIRST_BYTES);
        wgmma_commit();
        wgmma_wait<0>(); // the product of all four warps is complete: its slices may be overwritten
    }
    step_store(x, row, column, sum);
#endif
}

void step_wgmma_tma(struct matrices x)
{
    launch_in_clusters(wgmma_tma_kernel, divide_up(x.m, FIRST_TILE) * divide_up(x.n, FIRST_TILE), WARPGROUP,
                       2 * FIRST_BYTES + STEP_BARRIERS, 1, 0, step_map(x.a, x.m, x.k, FIRST_TILE),
                       step_map(x.b, x.n, x.k, FIRST_TILE), x);
}
