// Step 8, TMA store: C goes through shared memory, 64 columns at a time, and leaves in whole rows of 128 bytes while the next
// ones are written. Shared memory is written by ordinary stores and read by TMA: a fence stands between the two proxies.
#include "steps.h"

enum { CLUSTER = 2, OUT_BLOCK = 64 * STEP_ROW, OUT_TWO = 2 };

/** Sums of 64 x 64 to shared memory, swizzled: lane 4g + q writes elements 2q, 2q + 1 of row g of four matrices at a time. */
__device__ inline void write_out(char *buffer, const float *sum)
{
    int lane = (int)threadIdx.x % 32, row = (int)threadIdx.x % WARPGROUP / 32 * 16 + lane % 16;
#pragma unroll
    for (int i = 0; i < 32; i += 8) {
        uint32_t x[4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            half2 pair = __floats2half2_rn(sum[i + 2 * j], sum[i + 2 * j + 1]);
            x[j] = *(uint32_t *)&pair;
        }
        store_matrices(buffer + ((row * STEP_ROW + i * 4 + lane / 16 * 16) ^ (row % 8 * 16)), x);
    }
}

__global__ void __launch_bounds__(3 * WARPGROUP, 1)
    tma_store_kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                     const __grid_constant__ CUtensorMap c, struct matrices x)
{
#if HOPPER_CODE
    extern __shared__ __align__(1024) char shared[]; // the stages, C on its way out, the mbarriers
    uint64_t *full = (uint64_t *)(shared + STEP_STAGES * (STEP_A + STEP_B) + 2 * OUT_TWO * OUT_BLOCK);
    uint64_t *empty = full + STEP_STAGES;
    int tiles_m = divide_up(divide_up(x.m, STEP_M), CLUSTER), tiles_n = divide_up(x.n, STEP_N);
    int group = (int)threadIdx.x / WARPGROUP - 1, rank = cluster_rank();
    struct ring ring = {0, group < 0}; // the producer waits for parity 1: in the first round stages are empty
    for (int i = 0; i < STEP_STAGES && threadIdx.x == 0; i++) {
        mbarrier_init(&full[i], 1);
        mbarrier_init(&empty[i], 2 * CLUSTER);
    }
    if (threadIdx.x == 0) mbarrier_init_fence();
    cluster_sync(); // the mbarriers of both blocks are there
    if (group < 0) {
        registers_down_to<40>();
        for (int tile = (int)blockIdx.x / CLUSTER; threadIdx.x == 0 && tile < tiles_m * tiles_n;
             tile += (int)gridDim.x / CLUSTER) {
            struct tile_index at = raster_tile<STEP_RASTER / 2>(tile, tiles_m, tiles_n);
            int row = (at.row * CLUSTER + rank) * STEP_M, column = at.column * STEP_N;
            for (int k = 0; k < x.k; k += STEP_K, advance<STEP_STAGES>(&ring)) {
                char *stage = shared + ring.stage * (STEP_A + STEP_B);
                uint64_t *loaded = &full[ring.stage];
                mbarrier_wait(&empty[ring.stage], ring.parity);
                mbarrier_arrive_expect(loaded, STEP_A + STEP_B);
                tensor_load(stage, &a, k, row, loaded);
                tensor_multicast(stage + STEP_A + rank * STEP_B / 2, &b, k, column + rank * STEP_N / 2,
                                 loaded, 3);
            }
        }
    } else {
        registers_up_to<232>();
        for (int tile = (int)blockIdx.x / CLUSTER; tile < tiles_m * tiles_n;
             tile += (int)gridDim.x / CLUSTER) {
            struct tile_index at = raster_tile<STEP_RASTER / 2>(tile, tiles_m, tiles_n);
            int row = (at.row * CLUSTER + rank) * STEP_M, column = at.column * STEP_N;
            float sum[STEP_SUMS] = {};
            for (int k = 0; k < x.k; k += STEP_K, advance<STEP_STAGES>(&ring)) {
                char *stage = shared + ring.stage * (STEP_A + STEP_B);
                mbarrier_wait(&full[ring.stage], ring.parity);
                wgmma_fence();
                step_multiply(sum, stage + group * STEP_A / 2, stage + STEP_A);
                wgmma_commit();
                wgmma_wait<0>(); // the product is complete: its slices may be overwritten
                if (threadIdx.x % WARPGROUP < CLUSTER)
                    mbarrier_arrive_at(&empty[ring.stage], (int)threadIdx.x % WARPGROUP);
            }
            char *out = shared + STEP_STAGES * (STEP_A + STEP_B) + group * OUT_TWO * OUT_BLOCK;
#pragma unroll
            for (int i = 0; i < STEP_N / 64; i++) {
                char *buffer = out + i % OUT_TWO * OUT_BLOCK;
                if (threadIdx.x % WARPGROUP == 0) bulk_wait_read<OUT_TWO - 1>();
                named_barrier(1 + group, WARPGROUP); // TMA has read what this buffer held
                write_out(buffer, &sum[32 * i]);
                async_proxy_fence();
                named_barrier(1 + group, WARPGROUP); // the buffer is written
                if (threadIdx.x % WARPGROUP == 0) {
                    tensor_store(&c, column + i * 64, row + group * 64, buffer);
                    bulk_commit();
                }
            }
        }
        if (threadIdx.x % WARPGROUP == 0) bulk_wait_read<0>(); // TMA still reads shared memory
    }
    cluster_sync(); // nobody arrives at a block that has ended
#endif
}

void step_tma_store(struct matrices x)
{
    int tiles = divide_up(divide_up(x.m, STEP_M), CLUSTER) * divide_up(x.n, STEP_N);
    int clusters = min(tiles, device_attribute(cudaDevAttrMultiProcessorCount) / CLUSTER);
    launch_in_clusters(tma_store_kernel, clusters * CLUSTER, 3 * WARPGROUP,
                       STEP_STAGES * (STEP_A + STEP_B) + 2 * OUT_TWO * OUT_BLOCK + STEP_BARRIERS, CLUSTER, 0,
                       step_map(x.a, x.m, x.k, STEP_M), step_map(x.b, x.n, x.k, STEP_N / CLUSTER),
                       step_map(x.c, x.m, x.n, 64), x);
}
