// Step 6, few arrivals: one thread produces, and one of each consuming warpgroup says that a stage is empty. Steps 3 to 5 had
// 128 arrivals per stage at one mbarrier and 256 at the other.
#include "steps.h"

__global__ void __launch_bounds__(3 * WARPGROUP, 1)
    few_arrivals_kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
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
        mbarrier_init(&full[i], 1);
        mbarrier_init(&empty[i], 2);
    }
    if (threadIdx.x == 0) mbarrier_init_fence();
    __syncthreads(); // the mbarriers are there
    if (group < 0) {
        registers_down_to<40>();
        for (int tile = (int)blockIdx.x; threadIdx.x == 0 && tile < tiles_m * tiles_n;
             tile += (int)gridDim.x) {
            struct tile_index at = raster_tile<STEP_RASTER>(tile, tiles_m, tiles_n);
            int row = at.row * STEP_M, column = at.column * STEP_N;
            for (int k = 0; k < x.k; k += STEP_K, advance<STEP_STAGES>(&ring)) {
                char *stage = shared + ring.stage * (STEP_A + STEP_B);
                uint64_t *loaded = &full[ring.stage];
                mbarrier_wait(&empty[ring.stage], ring.parity);
                mbarrier_arrive_expect(loaded, STEP_A + STEP_B);
                tensor_load(stage, &a, k, row, loaded);
                tensor_load(stage + STEP_A, &b, k, column, loaded);
            }
        }
    } else {
        registers_up_to<232>();
        for (int tile = (int)blockIdx.x; tile < tiles_m * tiles_n; tile += (int)gridDim.x) {
            struct tile_index at = raster_tile<STEP_RASTER>(tile, tiles_m, tiles_n);
            int row = at.row * STEP_M, column = at.column * STEP_N;
            float sum[STEP_SUMS] = {};
            for (int k = 0; k < x.k; k += STEP_K, advance<STEP_STAGES>(&ring)) {
                char *stage = shared + ring.stage * (STEP_A + STEP_B);
                mbarrier_wait(&full[ring.stage], ring.parity);
                wgmma_fence();
                step_multiply(sum, stage + group * STEP_A / 2, stage + STEP_A);
                wgmma_commit();
                wgmma_wait<0>(); // the product is complete: its slices may be overwritten
                if (threadIdx.x % WARPGROUP == 0) mbarrier_arrive(&empty[ring.stage]);
            }
            step_store(x, row + group * 64, column, sum);
        }
    }
#endif
}

void step_few_arrivals(struct matrices x)
{
    int tiles = divide_up(x.m, STEP_M) * divide_up(x.n, STEP_N);
    launch_in_clusters(few_arrivals_kernel, min(tiles, device_attribute(cudaDevAttrMultiProcessorCount)),
                       3 * WARPGROUP, STEP_STAGES * (STEP_A + STEP_B) + STEP_BARRIERS, 1, 0,
                       step_map(x.a, x.m, x.k, STEP_M), step_map(x.b, x.n, x.k, STEP_N), x);
}
