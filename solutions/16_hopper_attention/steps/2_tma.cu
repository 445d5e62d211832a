// Step 2, TMA: one thread starts the copies, and no register takes part. K of the next tile is on its way under softmax and the
// product with V, and V under the product with K.
#include "steps.h"

template <typename SIZE>
__global__ void __launch_bounds__(WARPGROUP)
    tma_kernel(const __grid_constant__ struct step_maps maps, struct problem x)
{
#if HOPPER_CODE
    extern __shared__ __align__(1024) char shared[];
    struct shared_memory s = divide_shared<SIZE>(shared, &maps.k, &maps.v);
    int query = (int)blockIdx.x * SIZE::TILE_Q % x.length, head = (int)blockIdx.x * SIZE::TILE_Q / x.length;
    if (threadIdx.x == 0) {
        mbarrier_init(s.k.full, 1), mbarrier_init(s.v.full, 1);
        mbarrier_init_fence();
        mbarrier_arrive_expect(s.k.full, SIZE::Q_BYTES + SIZE::KV_BYTES);
        load_rows<SIZE::TILE_Q, SIZE::COLUMN_BLOCKS>(s.q, &maps.q, query, head, s.k.full);
        load_rows<SIZE::TILE_KV, SIZE::COLUMN_BLOCKS>(s.k.tiles, &maps.k, 0, head, s.k.full);
    }
    __syncthreads(); // the mbarriers are there
    float scores[SIZE::SCORES];
    uint32_t weights[SIZE::WEIGHTS];
    struct row_state<SIZE::SUMS> rows;
    clear_rows(&rows);
    for (int key = 0, parity = 0; key < x.length; key += SIZE::TILE_KV, parity ^= 1) {
        if (threadIdx.x == 0) {
            mbarrier_arrive_expect(s.v.full, SIZE::KV_BYTES);
            load_rows<SIZE::TILE_KV, SIZE::COLUMN_BLOCKS>(s.v.tiles, &maps.v, key, head, s.v.full);
        }
        mbarrier_wait(s.k.full, parity);
        wgmma_fence();
        step_scores<SIZE>(scores, s.q, s.k.tiles);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_hold(scores); // the product is complete for all of the warpgroup: nobody reads K any more
        if (threadIdx.x == 0 && key + SIZE::TILE_KV < x.length) {
            mbarrier_arrive_expect(s.k.full, SIZE::KV_BYTES);
            load_rows<SIZE::TILE_KV, SIZE::COLUMN_BLOCKS>(s.k.tiles, &maps.k, key + SIZE::TILE_KV, head,
                                                          s.k.full);
        }
        step_softmax<SIZE>(weights, scores, &rows);
        mbarrier_wait(s.v.full, parity);
        wgmma_fence();
        step_values<SIZE>(rows.o, weights, s.v.tiles);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_hold(rows.o);
    }
    step_store<SIZE>(x, (size_t)head * x.length + query, rows);
#endif
}

template <int HEAD_DIM> static void launch_tma(const struct problem &x)
{
    typedef struct tile_sizes<HEAD_DIM, 0, 1, 128, 1, 1> size;
    launch_in_clusters(tma_kernel<size>, x.heads * x.length / size::TILE_Q, WARPGROUP, size::SHARED_BYTES, 1,
                       0, make_maps<size>(x), x);
}

void step_tma(struct problem x)
{
    x.head_dim == 64 ? launch_tma<64>(x) : launch_tma<128>(x);
}
