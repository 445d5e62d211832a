// Step 1, one warpgroup: 64 queries, both products by wgmma. All threads copy the tiles, and wait until they are there.
#include "steps.h"

/** Copies a tile to where wgmma looks for it. */
template <int ROWS, int HEAD_DIM> __device__ inline void copy_rows(char *to, const half *from)
{
#pragma unroll 4
    for (int at = (int)threadIdx.x * 8; at < ROWS * HEAD_DIM; at += WARPGROUP * 8) {
        int row = at / HEAD_DIM, column = at % HEAD_DIM;
        char *block = to + column / BLOCK_COLUMNS * ROWS * ROW_BYTES;
        *(uint4 *)(block + swizzled(row, column % BLOCK_COLUMNS * 2)) = *(const uint4 *)(from + at);
    }
}

template <typename SIZE> __global__ void __launch_bounds__(WARPGROUP) one_warpgroup_kernel(struct problem x)
{
#if HOPPER_CODE
    extern __shared__ __align__(1024) char shared[];
    char *k = shared + SIZE::Q_BYTES, *v = k + SIZE::KV_BYTES;
    size_t first = (size_t)blockIdx.x * SIZE::TILE_Q, head = first / x.length * x.length;
    float scores[SIZE::SCORES];
    uint32_t weights[SIZE::WEIGHTS];
    struct row_state<SIZE::SUMS> rows;
    clear_rows(&rows);
    copy_rows<SIZE::TILE_Q, SIZE::HEAD_DIM>(shared, x.q + first * SIZE::HEAD_DIM);
    for (int key = 0; key < x.length; key += SIZE::TILE_KV) {
        copy_rows<SIZE::TILE_KV, SIZE::HEAD_DIM>(k, x.k + (head + key) * SIZE::HEAD_DIM);
        copy_rows<SIZE::TILE_KV, SIZE::HEAD_DIM>(v, x.v + (head + key) * SIZE::HEAD_DIM);
        async_proxy_fence(); // wgmma reads by another way than these threads wrote
        __syncthreads();     // the tiles are complete
        wgmma_fence();
        step_scores<SIZE>(scores, shared, k);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_hold(scores);
        step_softmax<SIZE>(weights, scores, &rows);
        wgmma_fence();
        step_values<SIZE>(rows.o, weights, v);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_hold(rows.o); // a product is complete for all of its warpgroup: nobody reads the tiles any more
    }
    step_store<SIZE>(x, first, rows);
#endif
}

template <int HEAD_DIM> static void launch_one_warpgroup(const struct problem &x)
{
    typedef struct tile_sizes<HEAD_DIM, 0, 1, 128, 1, 1> size;
    launch_in_clusters(one_warpgroup_kernel<size>, x.heads * x.length / size::TILE_Q, WARPGROUP,
                       size::SHARED_BYTES, 1, 0, x);
}

void step_one_warpgroup(struct problem x)
{
    x.head_dim == 64 ? launch_one_warpgroup<64>(x) : launch_one_warpgroup<128>(x);
}
