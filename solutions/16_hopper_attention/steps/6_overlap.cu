// Step 6, overlap within a warpgroup: it waits for S only, and computes softmax while its own product with V still runs. O is
// corrected afterwards, and P gets its registers only then.
#include "steps.h"

template <typename SIZE>
__global__ void __launch_bounds__(3 * WARPGROUP, 1)
    overlap_kernel(const __grid_constant__ struct step_maps maps, struct problem x)
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
        wgmma_commit();
        mbarrier_wait(&s.v.full[before.stage], before.parity);
        step_values<SIZE>(rows.o, weights, s.v.tiles + before.stage * SIZE::KV_BYTES);
        wgmma_commit();
        named_barrier_arrive(TURN_BARRIER + 1 - consumer<SIZE>(), 2 * WARPGROUP); // the other one's
        wgmma_wait<1>(); // S is complete, O need not be
        wgmma_hold(scores);
        done_with(&s.k.empty[ring.stage]);
        float correction[2];
        int rises = weigh_scores(scores, &rows, step_scale<SIZE>(), correction);
        wgmma_wait<0>();
        wgmma_hold(rows.o);
        done_with(&s.v.empty[before.stage]);
        if (rises) rescale_sums(rows.o, correction);
        round_weights<half>(weights, scores);
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

template <int HEAD_DIM> static void launch_overlap(const struct problem &x)
{
    typedef struct tile_sizes<HEAD_DIM, 1, 2, 128, 2, 1> size;
    launch_in_clusters(overlap_kernel<size>, x.heads * x.length / size::TILE_Q, size::THREADS,
                       size::SHARED_BYTES, 1, 0, make_maps<size>(x), x);
}

void step_overlap(struct problem x)
{
    x.head_dim == 64 ? launch_overlap<64>(x) : launch_overlap<128>(x);
}
