// Step 3, producer and consumers: one warpgroup loads slices into a ring of four stages, the two others multiply them. Per
// stage an mbarrier says that it is full, another that it is empty; every thread arrives at them, as at a __syncthreads().
#include "steps.h"

__global__ void __launch_bounds__(3 * WARPGROUP, 1)
    producer_consumers_kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                              struct matrices x)
{
#if HOPPER_CODE
    extern __shared__ __align__(1024) char shared[]; // the stages, the mbarriers
    uint64_t *full = (uint64_t *)(shared + STEP_STAGES * (STEP_A + STEP_B));
    uint64_t *empty = full + STEP_STAGES;
    int tiles_m = divide_up(x.m, STEP_M), tiles_n = divide_up(x.n, STEP_N);
    int group = (int)threadIdx.x / WARPGROUP - 1;
    struct ring ring = {0, group < 0}; // the producer waits for parity 1: in the first round stages are empty
    for (int i = 0; i < STEP_STAGES && threadIdx.x == 0; i++) {
        mbarrier_init(&full[i], WARPGROUP);
        mbarrier_init(&empty[i], 2 * WARPGROUP);
    }
    if (threadIdx.x == 0) mbarrier_init_fence();
    __syncthreads(); // the mbarriers are there
    if (group < 0) {
        int row = (int)blockIdx.x % tiles_m * STEP_M, column = (int)blockIdx.x / tiles_m * STEP_N;
        for (int k = 0; k < x.k; k += STEP_K, advance<STEP_STAGES>(&ring)) {
            char *stage = shared + ring.stage * (STEP_A + STEP_B);
            uint64_t *loaded = &full[ring.stage];
            mbarrier_wait(&empty[ring.stage], ring.parity);
            if (threadIdx.x == 0) {
                mbarrier_arrive_expect(loaded, STEP_A + STEP_B);
                tensor_load(stage, &a, k, row, loaded);
                tensor_load(stage + STEP_A, &b, k, column, loaded);
            } else {
                mbarrier_arrive(loaded);
            }
        }
    } else {
        int row = (int)blockIdx.x % tiles_m * STEP_M, column = (int)blockIdx.x / tiles_m * STEP_N;
        float sum[STEP_SUMS] = {};
        for (int k = 0; k < x.k; k += STEP_K, advance<STEP_STAGES>(&ring)) {
            char *stage = shared + ring.stage * (STEP_A + STEP_B);
            mbarrier_wait(&full[ring.stage], ring.parity);
            wgmma_fence();
            step_multiply(sum, stage + group * STEP_A / 2, stage + STEP_A);
            wgmma_commit();
            wgmma_wait<0>(); // the product is complete: its slices may be overwritten
            mbarrier_arrive(&empty[ring.stage]);
        }
        step_store(x, row + group * 64, column, sum);
    }
#endif
}

void step_producer_consumers(struct matrices x)
{
    launch_in_clusters(producer_consumers_kernel, divide_up(x.m, STEP_M) * divide_up(x.n, STEP_N),
                       3 * WARPGROUP, STEP_STAGES * (STEP_A + STEP_B) + STEP_BARRIERS, 1, 0,
                       step_map(x.a, x.m, x.k, STEP_M), step_map(x.b, x.n, x.k, STEP_N), x);
}
