// Step 5, ping-pong: a consumer issues the product with V of one tile together with that with K of the next, and the consumers do
// so in turn, at a named barrier each. So the softmax of one falls into the products of the other, tile after tile.
#include "steps.h"

template <typename SIZE>
__global__ void __launch_bounds__(3 * WARPGROUP, 1)
    ping_pong_kernel(const __grid_constant__ struct step_maps maps, struct problem x)
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
    if (consumer<SIZE>() == 1) named_barrier_arrive(TURN_BARRIER, 2 * WARPGROUP); // consumer 0 begins
    mbarrier_wait(&s.k.full[0], 0);
    wgmma_fence();
    step_scores<SIZE>(scores, q, s.k.tiles);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_hold(scores);
    done_with(&s.k.empty[0]);
    step_softmax<SIZE>(weights, scores, &rows);
    for (int i = 1; i < tiles; i++) { // S of tile i, O of tile i - 1
        struct ring before = ring;
        advance<SIZE::STAGES>(&ring);
        mbarrier_wait(&s.k.full[ring.stage], ring.parity);
        named_barrier(TURN_BARRIER + consumer<SIZE>(), 2 * WARPGROUP); // this consumer's turn
        wgmma_fence();
        step_scores<SIZE>(scores, q, s.k.tiles + ring.stage * SIZE::KV_BYTES);
        mbarrier_wait(&s.v.full[before.stage], before.parity);
        step_values<SIZE>(rows.o, weights, s.v.tiles + before.stage * SIZE::KV_BYTES);
        wgmma_commit();
        named_barrier_arrive(TURN_BARRIER + 1 - consumer<SIZE>(), 2 * WARPGROUP); // the other one's
        wgmma_wait<0>();
        wgmma_hold(scores);
        wgmma_hold(rows.o);
        done_with(&s.k.empty[ring.stage]);
        done_with(&s.v.empty[before.stage]);
        step_softmax<SIZE>(weights, scores, &rows);
    }
    mbarrier_wait(&s.v.full[ring.stage], ring.parity);
    wgmma_fence();
    step_values<SIZE>(rows.o, weights, s.v.tiles + ring.stage * SIZE::KV_BYTES);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_hold(rows.o);
    if (consumer<SIZE>() == 0) named_barrier(TURN_BARRIER, 2 * WARPGROUP); // the last one that was passed on
    step_store<SIZE>(x, (size_t)head * x.length + query + consumer<SIZE>() * GROUP_ROWS, rows);
#endif
}

template <int HEAD_DIM> static void launch_ping_pong(const struct problem &x)
{
    typedef struct tile_sizes<HEAD_DIM, 1, 2, 128, 2, 1> size;
    launch_in_clusters(ping_pong_kernel<size>, x.heads * x.length / size::TILE_Q, size::THREADS,
                       size::SHARED_BYTES, 1, 0, make_maps<size>(x), x);
}

void step_ping_pong(struct problem x)
{
    x.head_dim == 64 ? launch_ping_pong<64>(x) : launch_ping_pong<128>(x);
}
