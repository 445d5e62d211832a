// Step 4, two consumers: 128 queries share each tile of K and V, so half as much is loaded. Registers go from the producer to those
// who multiply. While one consumer computes softmax, the other may multiply; nobody sees to it that it does.
#include "steps.h"

template <typename SIZE>
__global__ void __launch_bounds__(3 * WARPGROUP, 1)
    two_consumers_kernel(const __grid_constant__ struct step_maps maps, struct problem x)
{
#if HOPPER_CODE
    extern __shared__ __align__(1024) char shared[];
    struct shared_memory s = divide_shared<SIZE>(shared, &maps.k, &maps.v);
    int query = (int)blockIdx.x * SIZE::TILE_Q % x.length, head = (int)blockIdx.x * SIZE::TILE_Q / x.length;
    int tiles = x.length / SIZE::TILE_KV;
    if (threadIdx.x == 0) make_barriers<SIZE>(s);
    __syncthreads(); // the mbarriers are there
    if (threadIdx.x < WARPGROUP) {
        registers_down_to<SIZE::PRODUCER_REGISTERS>();
        if (threadIdx.x == 0) produce<SIZE>(maps, s, tiles, query, head);
        return;
    }
    registers_up_to<SIZE::CONSUMER_REGISTERS>();
    const char *q = s.q + consumer<SIZE>() * GROUP_ROWS * ROW_BYTES;
    float scores[SIZE::SCORES];
    uint32_t weights[SIZE::WEIGHTS];
    struct row_state<SIZE::SUMS> rows;
    struct ring ring = {0, 0};
    clear_rows(&rows);
    mbarrier_wait(s.q_full, 0);
    for (int i = 0; i < tiles; i++, advance<SIZE::STAGES>(&ring)) {
        mbarrier_wait(&s.k.full[ring.stage], ring.parity);
        wgmma_fence();
        step_scores<SIZE>(scores, q, s.k.tiles + ring.stage * SIZE::KV_BYTES);
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
    step_store<SIZE>(x, (size_t)head * x.length + query + consumer<SIZE>() * GROUP_ROWS, rows);
#endif
}

template <int HEAD_DIM> static void launch_two_consumers(const struct problem &x)
{
    typedef struct tile_sizes<HEAD_DIM, 1, 2, 128, 2, 1> size;
    launch_in_clusters(two_consumers_kernel<size>, x.heads * x.length / size::TILE_Q, size::THREADS,
                       size::SHARED_BYTES, 1, 0, make_maps<size>(x), x);
}

void step_two_consumers(struct problem x)
{
    x.head_dim == 64 ? launch_two_consumers<64>(x) : launch_two_consumers<128>(x);
}
