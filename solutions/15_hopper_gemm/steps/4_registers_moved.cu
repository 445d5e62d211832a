// Step 4, registers moved: the producer needs few registers and gives the others to the consumers (setmaxnreg), which have
// 128 sums in each thread.
#include "steps.h"

__global__ void __launch_bounds__(3 * WARPGROUP, 1)
    registers_moved_kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
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
        registers_down_to<40>();
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
        registers_up_to<232>();
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

void step_registers_moved(struct matrices x)
{
    launch_in_clusters(registers_moved_kernel, divide_up(x.m, STEP_M) * divide_up(x.n, STEP_N), 3 * WARPGROUP,
                       STEP_STAGES * (STEP_A + STEP_B) + STEP_BARRIERS, 1, 0, step_map(x.a, x.m, x.k, STEP_M),
                       step_map(x.b, x.n, x.k, STEP_N), x);
}
