/*
 * The backward pass on Hopper as FlashAttention-3 does it: head_dim 128 in f16 and bf16. All else is the solution's.
 *
 *     producer     TMA -> K and V once, then a ring of Q and one of dO                        one thread issues, hardware copies
 *     consumer 0   dP | P = exp(S)   dV | dS -> shared   S of the next tile   dQ, dK | dQ -> shared ...
 *     consumer 1   the same with the other 64 keys; only dQ = dS K needs the dS of both
 *     adder 0, 1   dQ of consumer 0, 1: from shared to device memory, where TMA adds it
 *
 * A block has 128 keys. A consumer is a warpgroup with 64 of them, whose dK and dV stay in its registers. It computes S^T and dP^T,
 * so P^T lies in its registers as dV += P^T dO wants it. Left of a bar is what tensor cores do meanwhile.
 *
 * Deterministic: the blocks of a head add to a tile of dQ in the order of their keys, each after the one before it. All take the
 * tiles of queries from the last one down: with a mask, too, they begin together, and are then one step apart.
 *
 * Paper: Shah et al. 2024, "FlashAttention-3", appendix B.
 */
#include "attention_backward.h"

#include "hopper.h"
#include "wgmma_attention.h"
#include "wgmma_tiles.h"

size_t solution_workspace_bytes(const struct attention_backward_args *args);

// The solution serves f32, other head_dims and other GPUs, by names of its own.
#define attention_backward_workspace_bytes solution_workspace_bytes
#define attention_backward_f32 solution_f32
#define attention_backward_f16 solution_f16
#define attention_backward_bf16 solution_bf16
#include "../../../solutions/14_attention_backward/attention_backward.cu"
#undef attention_backward_workspace_bytes
#undef attention_backward_f32
#undef attention_backward_f16
#undef attention_backward_bf16

enum {
    DIM = 128,                             ///< head_dim
    CONSUMERS = 2,                         ///< warpgroups that multiply
    THREADS = (1 + CONSUMERS) * WARPGROUP, ///< of a block: the first warpgroup loads and adds
    KEYS = 128,                            ///< of a block
    GROUP_KEYS = KEYS / CONSUMERS,         ///< of a consumer: rows of a wgmma
    Q_STAGES = 3,                       ///< tiles of Q that are here or on their way: S is a tile ahead of dK
    STAGES = 2,                         ///< tiles of dO, and of dS
    BLOCK_COLUMNS = 64,                 ///< columns of a tile that lie together ...
    ROW_BYTES = 128,                    ///< ... in rows of so many bytes
    MMA_K = 16,                         ///< depth of a wgmma
    STEP_BYTES = MMA_K * ROW_BYTES,     ///< 16 rows
    K_BLOCK_BYTES = KEYS * ROW_BYTES,   ///< 64 columns of K or V
    Q_BLOCK_BYTES = TILE_Q * ROW_BYTES, ///< 64 columns of Q or dO
    K_BYTES = KEYS * DIM * 2,           ///< K or V
    Q_BYTES = TILE_Q * DIM * 2,         ///< Q or dO
    DS_BYTES = KEYS * TILE_Q * 2,       ///< dS^T
    HALF = TILE_Q * BLOCK_COLUMNS,      ///< floats of dQ of a consumer, in the order of its registers
    TERM_BYTES = TILE_Q * sizeof(struct row_terms),
    SCORES = TILE_Q / 2, ///< of S^T and dP^T in a thread
    SUMS = DIM / 2,      ///< of dK and dV in a thread
    DS_BARRIER = 1,      ///< a named barrier of the consumers
    PRODUCER_REGISTERS = 24,
    CONSUMER_REGISTERS = 240
};

/** The kernels' arguments. */
struct backward_tiles {
    CUtensorMap q, dout, k, v; ///< as TMA sees them: matrices of 128 columns, a head each
    struct attention_backward_args args;
    struct backward_plan plan;
    float scale;  ///< on dQ and dK
    float factor; ///< on products: scale * log2(e), or half of it if that is beyond float
    int halved;   ///< 1: half of it
    /** deterministic: blocks that have begun, then for each half of each tile of dQ those that have added; else NULL */
    unsigned *turns;
};

/** What a block keeps in shared memory. */
struct block_memory {
    alignas(1024) char k[K_BYTES];
    char v[K_BYTES];
    char q[Q_STAGES][Q_BYTES];
    char dout[STAGES][Q_BYTES];
    char ds[STAGES][DS_BYTES];
    float dq[CONSUMERS][HALF];
    struct row_terms terms[Q_STAGES][TILE_Q]; ///< of the rows of Q
    uint64_t kv_full;                         ///< mbarriers: K and V are there
    uint64_t q_full[Q_STAGES];                ///< Q and terms are there
    uint64_t q_empty[Q_STAGES];               ///< both consumers are done with them
    uint64_t dout_full[STAGES];               ///< dO is there
    uint64_t dout_empty[STAGES];              ///< both consumers are done with it
    uint64_t dq_full[CONSUMERS];              ///< dQ of a consumer is there
    uint64_t dq_empty[CONSUMERS];             ///< it has been read
    int index;                                ///< which of all blocks this is
};

/** A block's keys, and where its walk over tiles of queries is: from the last one down to first_tile, of each head of the group. */
struct key_walk {
    int kv_bh, key_tile, first_key;
    int first_tile; ///< the first that sees its keys
    int steps;      ///< all tiles of all heads
    int bh, tile;   ///< head, and tile of queries
};

__device__ inline struct key_walk begin_walk(const struct backward_tiles &p, int index)
{
    int all = p.args.batch * p.args.kv_heads, group = p.args.heads / p.args.kv_heads;
    struct key_walk walk;
    walk.kv_bh = index % all; // neighbours have other heads: with a mask, those with most to do begin first
    walk.key_tile = index / all;
    walk.first_key = walk.key_tile * KEYS;
    walk.first_tile = first_query_that_sees(p.args, walk.first_key) / TILE_Q;
    walk.steps = (p.plan.q_tiles - walk.first_tile) * group;
    walk.bh = walk.kv_bh * group;
    walk.tile = p.plan.q_tiles - 1;
    return walk;
}

__device__ inline void next_tile(struct key_walk *walk, int q_tiles)
{
    if (--walk->tile >= walk->first_tile) return;
    walk->tile = q_tiles - 1, walk->bh++;
}

/* ---- the producer, and those who add dQ ------------------------------------------------------------------ */

/** One thread loads ROWS rows of 128 columns. */
template <int ROWS>
__device__ inline void load_tile(char *to, const CUtensorMap *map, int row, int head, uint64_t *full)
{
    for (int i = 0; i < DIM / BLOCK_COLUMNS; i++)
        head_load(to + i * ROWS * ROW_BYTES, map, i * BLOCK_COLUMNS, row, head, full);
}

/** The producer: one thread loads all tiles of its block, as soon as there is room. */
__device__ inline void load_tiles(const struct backward_tiles &p, struct block_memory *s,
                                  struct key_walk walk)
{
    mbarrier_arrive_expect(&s->kv_full, 2 * K_BYTES);
    load_tile<KEYS>(s->k, &p.k, walk.first_key, walk.kv_bh, &s->kv_full);
    load_tile<KEYS>(s->v, &p.v, walk.first_key, walk.kv_bh, &s->kv_full);
    struct ring q = {0, 1}, dout = {0, 1}; // in the first round all is empty, and no wait blocks
    for (int step = 0; step < walk.steps; step++, next_tile(&walk, p.plan.q_tiles)) {
        int row = walk.tile * TILE_Q;
        uint64_t *full = &s->q_full[q.stage];
        mbarrier_wait(&s->q_empty[q.stage], q.parity);
        mbarrier_arrive_expect(full, Q_BYTES + TERM_BYTES);
        load_tile<TILE_Q>(s->q[q.stage], &p.q, row, walk.bh, full);
        bulk_load(s->terms[q.stage], p.plan.terms + (size_t)walk.bh * p.plan.q_tiles * TILE_Q + row,
                  TERM_BYTES, full);
        advance<Q_STAGES>(&q);
        mbarrier_wait(&s->dout_empty[dout.stage], dout.parity);
        mbarrier_arrive_expect(&s->dout_full[dout.stage], Q_BYTES);
        load_tile<TILE_Q>(s->dout[dout.stage], &p.dout, row, walk.bh, &s->dout_full[dout.stage]);
        advance<STAGES>(&dout);
    }
}

/** Waits until @p count blocks have added, and sees what they did. */
__device__ inline void wait_for_turn(const unsigned *turn, unsigned count)
{
    unsigned now;
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(turn) : "memory");
    while (now != count);
}

/** One more has added. */
__device__ inline void pass_turn(unsigned *turn)
{
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" : : "l"(turn) : "memory");
}

/** One thread adds dQ of consumer @p group to its half of the accumulator of each tile. */
__device__ inline void add_tiles(const struct backward_tiles &p, struct block_memory *s, struct key_walk walk,
                                 int group)
{
    for (int step = 0; step < walk.steps; step++, next_tile(&walk, p.plan.q_tiles)) {
        size_t half = ((size_t)walk.bh * p.plan.q_tiles + walk.tile) * CONSUMERS + group;
        mbarrier_wait(&s->dq_full[group], step % 2);
        if (p.turns != NULL) {
            wait_for_turn(p.turns + 1 + half, (unsigned)walk.key_tile);
            async_proxy_fence_all(); // between what it has seen and TMA
        }
        bulk_add(p.plan.accumulators + half * HALF, s->dq[group], HALF * sizeof(float));
        bulk_commit();
        bulk_wait_read<0>();
        mbarrier_arrive(&s->dq_empty[group]);
        if (p.turns == NULL) continue;
        bulk_wait(); // it has been added
        pass_turn(p.turns + 1 + half);
    }
}

/* ---- products: they are issued, and complete after wgmma_wait() ------------------------------------------ */

/** S^T = K Q^T, or dP^T = V dO^T: 64 keys by 64 queries. */
template <typename T>
__device__ inline void multiply_by_keys(float (&sum)[SCORES], const char *keys, const char *queries)
{
    uint64_t a = tile_descriptor(shared_address(keys), 0), b = tile_descriptor(shared_address(queries), 0);
#pragma unroll
    for (int i = 0; i < DIM / MMA_K; i++) {
        int block = i * MMA_K / BLOCK_COLUMNS, byte = i * MMA_K * 2 % ROW_BYTES;
        wgmma_shared(sum, a + (block * K_BLOCK_BYTES + byte) / 16, b + (block * Q_BLOCK_BYTES + byte) / 16,
                     i > 0, T());
    }
}

/** dV += P^T dO. */
template <typename T>
__device__ inline void add_to_dv(float (&dv)[SUMS], const uint32_t (&weights)[SCORES / 2], const char *dout)
{
    uint64_t b = tile_descriptor(shared_address(dout), Q_BLOCK_BYTES);
#pragma unroll
    for (int i = 0; i < TILE_Q / MMA_K; i++)
        wgmma_registers(dv, &weights[4 * i], b + i * STEP_BYTES / 16, T());
}

/** dK += dS^T Q: 64 keys of dS^T. */
template <typename T> __device__ inline void add_to_dk(float (&dk)[SUMS], const char *ds, const char *q)
{
    uint64_t a = tile_descriptor(shared_address(ds), 0),
             b = tile_descriptor(shared_address(q), Q_BLOCK_BYTES);
#pragma unroll
    for (int i = 0; i < TILE_Q / MMA_K; i++)
        wgmma<0, 1>(dk, a + i * MMA_K * 2 / 16, b + i * STEP_BYTES / 16, T());
}

/** dQ = dS K: all queries by 64 columns. */
template <typename T> __device__ inline void multiply_ds_k(float (&dq)[SCORES], const char *ds, const char *k)
{
    uint64_t a = tile_descriptor(shared_address(ds), 0), b = tile_descriptor(shared_address(k), 0);
#pragma unroll
    for (int i = 0; i < KEYS / MMA_K; i++)
        wgmma_across(dq, a + i * STEP_BYTES / 16, b + i * STEP_BYTES / 16, i > 0, T());
}

/* ---- the consumers --------------------------------------------------------------------------------------- */

/** S^T becomes P^T. @p key is the thread's first, @p query that of the tile. */
__device__ inline void find_weights(float (&s)[SCORES], const struct backward_tiles &p,
                                    const struct row_terms *terms, int masked, int key, int query)
{
    int column = (int)threadIdx.x % 4 * 2;
    if (p.halved)
#pragma unroll
        for (int i = 0; i < SCORES; i++) s[i] *= 2.0f;
#pragma unroll
    for (int j = 0; j < TILE_Q / 8; j++) {
        float4 two = *(const float4 *)&terms[8 * j + column]; // lse and D of a query, and of the next
#pragma unroll
        for (int i = 0; i < 4; i++)
            s[4 * j + i] = exp2_fast(s[4 * j + i] * p.factor - (i % 2 ? two.z : two.x));
    }
    if (!masked) return;
#pragma unroll
    for (int i = 0; i < SCORES; i++)
        if (key + i / 2 % 2 * 8 >= keys_seen(p.args, query + i / 4 * 8 + column + i % 2)) s[i] = 0.0f;
}

/** Rounded, two to a register: A of the next product. */
template <typename T>
__device__ inline void round_weights(uint32_t (&rounded)[SCORES / 2], const float (&x)[SCORES])
{
#pragma unroll
    for (int i = 0; i < SCORES / 2; i++) rounded[i] = pack_elements<T>(x[2 * i], x[2 * i + 1]);
}

/** dS^T = P^T (dP^T - D), rounded, goes to shared memory: rows are keys. */
template <typename T>
__device__ inline void store_ds(char *ds, int group, const struct row_terms *terms, const float (&p)[SCORES],
                                const float (&dp)[SCORES])
{
    int lane = (int)threadIdx.x % 32, column = lane % 4 * 2;
    int row = group * GROUP_KEYS + (int)threadIdx.x % WARPGROUP / 32 * 16 + lane % 16;
#pragma unroll
    for (int i = 0; i < SCORES; i += 8) { // 16 queries
        uint32_t x[4];
#pragma unroll
        for (int j = 0; j < 2; j++) {
            float4 two = *(const float4 *)&terms[2 * i + 8 * j + column];
            int at = i + 4 * j;
            x[2 * j] = pack_elements<T>(p[at] * (dp[at] - two.y), p[at + 1] * (dp[at + 1] - two.w));
            x[2 * j + 1] =
                pack_elements<T>(p[at + 2] * (dp[at + 2] - two.y), p[at + 3] * (dp[at + 3] - two.w));
        }
        store_matrices(ds + ((row * ROW_BYTES + i * 4 + lane / 16 * 16) ^ (row % 8 * 16)), x); // swizzled
    }
}

/** dQ goes to shared memory, and its adder begins. */
__device__ inline void send_dq(struct block_memory *s, int group, int step, const float (&dq)[SCORES])
{
    float4 *to = (float4 *)s->dq[group] + threadIdx.x % WARPGROUP;
    mbarrier_wait(&s->dq_empty[group], (step + 1) % 2);
#pragma unroll
    for (int i = 0; i < SCORES / 4; i++)
        to[i * WARPGROUP] = make_float4(dq[4 * i], dq[4 * i + 1], dq[4 * i + 2], dq[4 * i + 3]);
    async_proxy_fence();
    mbarrier_arrive(&s->dq_full[group]);
}

/** The thread's rows of dK or dV, @p key and the one 8 below, times @p factor, if they are wanted. */
template <typename T>
__device__ inline void write_sums(void *to, const struct backward_tiles &p, int kv_bh, int key, float factor,
                                  const float (&sum)[SUMS])
{
    if (to == NULL) return;
#pragma unroll
    for (int h = 0; h < 2; h++, key += 8) {
        T *row = (T *)to + ((size_t)kv_bh * p.args.kv_len + key) * DIM + threadIdx.x % 4 * 2;
#pragma unroll
        for (int j = 0; j < DIM / 8; j++)
            if (key < p.args.kv_len)
                store_pair(row + j * 8, sum[4 * j + 2 * h] * factor, sum[4 * j + 2 * h + 1] * factor);
    }
}

/** S^T of the first tile. */
template <typename T>
__device__ inline void begin_scores(float (&scores)[SCORES], struct block_memory *s, const char *k)
{
    mbarrier_wait(&s->kv_full, 0);
    mbarrier_wait(&s->q_full[0], 0);
    wgmma_fence();
    multiply_by_keys<T>(scores, k, s->q[0]);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_hold(scores);
}

/** A consumer: dK and dV of its 64 keys, and its 64 columns of dQ of each tile. */
template <typename T>
__device__ inline void consume(const struct backward_tiles &p, struct block_memory *s, struct key_walk walk)
{
    // The same in all lanes, as lesson 16's consumer() says.
    int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / WARPGROUP, 0) - 1;
    int first = threadIdx.x % WARPGROUP == 0, wants_dq = p.args.dq != NULL;
    int key = walk.first_key + (int)threadIdx.x / 32 * 16 - WARPGROUP / 2 + (int)threadIdx.x % 32 / 4;
    const char *k = s->k + group * GROUP_KEYS * ROW_BYTES, *v = s->v + group * GROUP_KEYS * ROW_BYTES;
    float dk[SUMS] = {}, dv[SUMS] = {}, scores[SCORES];
    struct ring q = {0, 0}, o = {0, 0};
    begin_scores<T>(scores, s, k);
    for (int step = 0; step < walk.steps; step++, next_tile(&walk, p.plan.q_tiles), advance<STAGES>(&o)) {
        int stage = q.stage, query = walk.tile * TILE_Q, more = step + 1 < walk.steps;
        int masked = walk.first_key + KEYS > keys_seen(p.args, query); // otherwise every query sees every key
        float dp[SCORES]; // dP^T, then dQ: both at a time would not fit into registers
        uint32_t weights[SCORES / 2];
        mbarrier_wait(&s->dout_full[o.stage], o.parity);
        wgmma_fence();
        multiply_by_keys<T>(dp, v, s->dout[o.stage]);
        wgmma_commit();
        find_weights(scores, p, s->terms[stage], masked, key, query);
        round_weights<T>(weights, scores);
        wgmma_fence();
        add_to_dv<T>(dv, weights, s->dout[o.stage]);
        wgmma_commit();
        wgmma_wait<1>(); // all but dV
        wgmma_hold(dp);
        store_ds<T>(s->ds[o.stage], group, s->terms[stage], scores, dp);
        async_proxy_fence();
        if (more) advance<Q_STAGES>(&q);
        if (more) mbarrier_wait(&s->q_full[q.stage], q.parity);
        wgmma_fence();
        multiply_by_keys<T>(scores, k, s->q[q.stage]); // of the next tile; the last one once more
        // dS is complete, that of two steps before has been read, and so have the terms.
        named_barrier(DS_BARRIER, CONSUMERS * WARPGROUP);
        if (wants_dq) multiply_ds_k<T>(dp, s->ds[o.stage], s->k + group * K_BLOCK_BYTES);
        wgmma_commit();
        add_to_dk<T>(dk, s->ds[o.stage] + group * GROUP_KEYS * ROW_BYTES, s->q[stage]);
        wgmma_commit();
        wgmma_wait<1>(); // all but dK
        wgmma_hold(scores), wgmma_hold(dv), wgmma_hold(dp);
        if (first) mbarrier_arrive(&s->dout_empty[o.stage]);
        if (wants_dq) send_dq(s, group, step, dp);
        wgmma_wait<0>();
        wgmma_hold(dk);
        if (first) mbarrier_arrive(&s->q_empty[stage]);
    }
    write_sums<T>(p.args.dk, p, walk.kv_bh, key, p.scale, dk);
    write_sums<T>(p.args.dv, p, walk.kv_bh, key, 1.0f, dv);
}

/* ---- the kernels ------------------------------------------------------------------------------------------ */

/** Sets up the mbarriers and gives every warp its work. */
template <typename T>
__global__ void __launch_bounds__(THREADS, 1) hopper_kernel(const __grid_constant__ struct backward_tiles p)
{
#if HOPPER_CODE
    extern __shared__ __align__(1024) char hopper_shared[];
    struct block_memory *s = (struct block_memory *)hopper_shared;
    int warp = (int)threadIdx.x / 32, first = threadIdx.x % 32 == 0;
    if (threadIdx.x == 0) {
        mbarrier_init(&s->kv_full, 1);
        for (int i = 0; i < Q_STAGES; i++)
            mbarrier_init(&s->q_full[i], 1), mbarrier_init(&s->q_empty[i], CONSUMERS);
        for (int i = 0; i < STAGES; i++)
            mbarrier_init(&s->dout_full[i], 1), mbarrier_init(&s->dout_empty[i], CONSUMERS);
        for (int i = 0; i < CONSUMERS; i++)
            mbarrier_init(&s->dq_full[i], WARPGROUP), mbarrier_init(&s->dq_empty[i], 1);
        mbarrier_init_fence();
        // Whoever waits for its turn waits for blocks that have begun.
        s->index = p.turns != NULL ? (int)atomicAdd(p.turns, 1u) : (int)blockIdx.x;
    }
    __syncthreads(); // the mbarriers and the index are there
    struct key_walk walk = begin_walk(p, s->index);
    if (warp < WARPGROUP / 32) {
        registers_down_to<PRODUCER_REGISTERS>();
        if (warp == 0 && first) load_tiles(p, s, walk);
        if (warp > 0 && warp <= CONSUMERS && first && p.args.dq != NULL) add_tiles(p, s, walk, warp - 1);
    } else {
        registers_up_to<CONSUMER_REGISTERS>();
        consume<T>(p, s, walk);
    }
#endif
}

/** dq from its accumulators, four elements per thread: two of a row, and two of the row 8 below. */
template <typename T>
__global__ void __launch_bounds__(ROW_THREADS) round_kernel(const __grid_constant__ struct backward_tiles p)
{
    size_t at = (size_t)blockIdx.x * ROW_THREADS + threadIdx.x, half = at / (HALF / 4);
    int tile = (int)(half / CONSUMERS), i = (int)(at % (HALF / 4)), lane = i % 32;
    int row = tile % p.plan.q_tiles * TILE_Q + i % WARPGROUP / 32 * 16 + lane / 4;
    int column = (int)(half % CONSUMERS) * BLOCK_COLUMNS + i / WARPGROUP * 8 + lane % 4 * 2;
    float4 x = ((const float4 *)p.plan.accumulators)[at];
    T *to = (T *)p.args.dq + ((size_t)(tile / p.plan.q_tiles) * p.args.q_len + row) * DIM + column;
    if (row < p.args.q_len) store_pair(to, x.x * p.scale, x.y * p.scale);
    if (row + 8 < p.args.q_len) store_pair(to + 8 * DIM, x.z * p.scale, x.w * p.scale);
}

/* ---- entry points ------------------------------------------------------------------------------------------ */

/** Words of `turns`; none if every tile of dQ has one addend. */
static size_t count_turns(const struct attention_backward_args *args)
{
    if (!args->deterministic || args->dq == NULL || args->kv_len <= KEYS) return 0;
    return 1 + attention_backward_padded_rows(args) / TILE_Q * CONSUMERS;
}

/** Describes to TMA what it copies. */
static int describe(struct backward_tiles *p)
{
    const struct attention_backward_args &x = p->args;
    CUtensorMapDataType type =
        x.dtype == DTYPE_F16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    int heads = x.batch * x.heads, kv_heads = x.batch * x.kv_heads;
    return heads_map(&p->q, type, x.q, heads, x.q_len, DIM, TILE_Q) &&
           heads_map(&p->dout, type, x.dout, heads, x.q_len, DIM, TILE_Q) &&
           heads_map(&p->k, type, x.k, kv_heads, x.kv_len, DIM, KEYS) &&
           heads_map(&p->v, type, x.v, kv_heads, x.kv_len, DIM, KEYS);
}

/** The three kernels. */
template <typename T>
static enum kernel_status launch_hopper(const struct attention_backward_args *args, cudaStream_t stream)
{
    struct backward_tiles p = {};
    size_t turns = count_turns(args), rows = attention_backward_padded_rows(args);
    p.args = *args;
    p.args.deterministic = 0; // one accumulator, which prepare() fills with zeros
    p.plan = make_plan(&p.args, KEYS);
    p.scale = backward_scale(args);
    p.halved = isinf(p.scale * LOG2_E);
    p.factor = p.scale * (p.halved ? LOG2_E / 2 : LOG2_E);
    if (turns > 0) p.turns = (unsigned *)(p.plan.accumulators + rows * DIM);
    if (!describe(&p)) return KERNEL_CUDA_ERROR;
    if (turns > 0 && cudaMemsetAsync(p.turns, 0, turns * sizeof *p.turns, stream) != cudaSuccess)
        return KERNEL_CUDA_ERROR;
    prepare<T, DIM>(&p.args, p.plan, stream);
    launch_in_clusters(hopper_kernel<T>, args->batch * args->kv_heads * p.plan.steps, THREADS,
                       (int)sizeof(struct block_memory), 1, stream, p);
    if (args->dq != NULL)
        round_kernel<T><<<(unsigned)(rows * (DIM / 4) / ROW_THREADS), ROW_THREADS, 0, stream>>>(p);
    return launch_status();
}

size_t attention_backward_workspace_bytes(const struct attention_backward_args *args)
{
    size_t bytes = solution_workspace_bytes(args);
    if (bytes == 0 || args->head_dim != DIM) return bytes;
    size_t rows = attention_backward_padded_rows(args), sums = args->dq == NULL ? 0 : DIM * sizeof(float);
    size_t own = rows * (sizeof(struct row_terms) + sums) + count_turns(args) * sizeof(unsigned);
    return own > bytes ? own : bytes;
}

/** The solution's, which also refuses what it refuses before the workspace; on Hopper with head_dim 128 the kernels above. */
template <typename T>
static enum kernel_status backward_here(const struct attention_backward_args *args, enum dtype dtype,
                                        cudaStream_t stream)
{
    int chip = device_attribute(cudaDevAttrComputeCapabilityMajor);
    if (attention_backward_args_check(args, sizeof(uint4), 0) != KERNEL_OK || args->dtype != dtype ||
        args->head_dim != DIM || chip < 8)
        return backward<T>(args, dtype, stream);
    enum kernel_status status =
        attention_backward_args_check(args, sizeof(uint4), attention_backward_workspace_bytes(args));
    if (status != KERNEL_OK) return status;
    return chip == 9 ? launch_hopper<T>(args, stream) : backward<T>(args, dtype, stream);
}

enum kernel_status attention_backward_f32(const struct attention_backward_args *args, cudaStream_t stream)
{
    return solution_f32(args, stream);
}

enum kernel_status attention_backward_f16(const struct attention_backward_args *args, cudaStream_t stream)
{
    return backward_here<__half>(args, DTYPE_F16, stream);
}

enum kernel_status attention_backward_bf16(const struct attention_backward_args *args, cudaStream_t stream)
{
    return backward_here<__nv_bfloat16>(args, DTYPE_BF16, stream);
}
