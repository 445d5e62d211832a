// Step 2, larger tiles: two warpgroups multiply 128 x 256, 128 sums per thread. A number that comes from memory is used in
// two to four times as many products, and one wgmma is four times as long.
#include "steps.h"

__global__ void __launch_bounds__(2 * WARPGROUP)
    larger_tiles_kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                        struct matrices x)
{
#if HOPPER_CODE
    extern __shared__ __align__(1024) char shared[]; // a slice of A, one of B, the mbarrier
    uint64_t *full = (uint64_t *)(shared + STEP_A + STEP_B);
    int tiles_n = divide_up(x.n, STEP_N), group = (int)threadIdx.x / WARPGROUP;
    int row = (int)blockIdx.x / tiles_n * STEP_M, column = (int)blockIdx.x % tiles_n * STEP_N;
    if (threadIdx.x == 0) mbarrier_init(full, 1);
    if (threadIdx.x == 0) mbarrier_init_fence();
    __syncthreads(); // the mbarrier is there before anybody waits at it
    float sum[STEP_SUMS] = {};
    for (int k = 0, parity = 0; k < x.k; k += STEP_K, parity ^= 1) {
        if (threadIdx.x == 0) {
            mbarrier_arrive_expect(full, STEP_A + STEP_B);
            tensor_load(shared, &a, k, row, full);
            tensor_load(shared + STEP_A, &b, k, column, full);
        }
        mbarrier_wait(full, parity);
        wgmma_fence();
        step_multiply(sum, shared + group * STEP_A / 2, shared + STEP_A);
        wgmma_commit();
        wgmma_wait<0>(); // the product is complete: its slices may be overwritten
        __syncthreads(); // that of the other warpgroup, too
    }
    step_store(x, row + group * 64, column, sum);
#endif
}

void step_larger_tiles(struct matrices x)
{
    launch_in_clusters(larger_tiles_kernel, divide_up(x.m, STEP_M) * divide_up(x.n, STEP_N), 2 * WARPGROUP,
                       STEP_A + STEP_B + STEP_BARRIERS, 1, 0, step_map(x.a, x.m, x.k, STEP_M),
                       step_map(x.b, x.n, x.k, STEP_N), x);
}
