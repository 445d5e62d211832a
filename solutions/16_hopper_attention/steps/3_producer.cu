// Step 3, a producer: a warpgroup of its own loads into a ring of two stages, as soon as they are empty. The consumer never meets
// a barrier of the whole block, and finds its tiles there.
#include "steps.h"

template <typename SIZE>
__global__ void __launch_bounds__(2 * WARPGROUP)
    producer_kernel(const __grid_constant__ struct step_maps maps, struct problem x)
{
#if HOPPER_CODE
    extern __shared__ __align__(1024) char shared[];
    struct shared_memory s = divide_shared<SIZE>(shared, &maps.k, &maps.v);
    int query = (int)blockIdx.x * SIZE::TILE_Q % x.length, head = (int)blockIdx.x * SIZE::TILE_Q / x.length;
    int tiles = x.length / SIZE::TILE_KV;
    if (threadIdx.x == 0) make_barriers<SIZE>(s);
    __syncthreads(); // the mbarriers are there
    if (threadIdx.x < WARPGROUP) {
        if (threadIdx.x == 0) produce<SIZE>(maps, s, tiles, query, head);
        return;
    }
    float scores[SIZE::SCORES];
    uint32_t weights[SIZE::WEIGHTS];
    struct row_state<SIZE::SUMS> rows;
    struct ring ring = {0, 0};
    clear_rows(&rows);
    mbarrier_wait(s.q_full, 0);
    for (int i = 0; i < tiles; i++, advance<SIZE::STAGES>(&ring)) {
        mbarrier_wait(&s.k.full[ring.stage], ring.parity);
        wgmma_fence();
        step_scores<SIZE>(scores, s.q, s.k.tiles + ring.stage * SIZE::KV_BYTES);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_hold(scores);
        done_with(&s.k.empty[ring.stage]);
        step_softmax<SIZE>(weights, scores, &rows);
        mbarrier_wait(&s.v.full[ring.stage], ring.parity);
        wgmma_fence();
        step_values<SIZE>(rows.o, weights, s.v.tiles + ring.stage * SIZE::KV_BYTES);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_hold(rows.o);
        done_with(&s.v.empty[ring.stage]);
    }
    step_store<SIZE>(x, (size_t)head * x.length + query, rows);
#endif
}

template <int HEAD_DIM> static void launch_producer(const struct problem &x)
{
    typedef struct tile_sizes<HEAD_DIM, 1, 1, 128, 2, 1> size;
    launch_in_clusters(producer_kernel<size>, x.heads * x.length / size::TILE_Q, size::THREADS,
                       size::SHARED_BYTES, 1, 0, make_maps<size>(x), x);
}

void step_producer(struct problem x)
{
    x.head_dim == 64 ? launch_producer<64>(x) : launch_producer<128>(x);
}
