/*
 * The backward pass on Hopper, head_dim 128 in f16 and bf16, as FlashAttention-3 does it. The rest is the solution's.
 *
 *     producer      TMA -> K, V once; ring of Q, dO and terms          one thread issues, hardware copies
 *     consumer 0    dP | P = exp  | dV | dS | dK | dS -> shared | S of the next tile, dQ | dQ -> shared ...
 *     consumer 1       64 keys each; only dQ = dS K needs the dS of both
 *     adder 0, 1    dQ of consumer 0, 1: shared -> device memory, added there by TMA
 *
 * A block has 128 keys. A consumer is a warpgroup with 64 of them, whose dK and dV stay in its registers. While it computes P, the
 * tensor cores compute its dP; while it computes dS, its dV; while it stores dS, its dK.
 *
 * Deterministic: the blocks of a head add to a tile of dQ in the order of their keys, each waits for the one before it. All take
 * the tiles of queries from the last one down, so with a mask, too, they begin together and stay a step apart.
 *
 * Paper: Shah et al. 2024, "FlashAttention-3", section 3.4 and appendix B.1.
 * Run:   build/bin/warpwise check 14 --kernel tests/variants/14_attention_backward/hopper.cu
 */
#include "attention_backward.h"

#include "hopper.h"
#include "wgmma_attention.h"
#include "wgmma_tiles.h"

size_t solution_workspace_bytes(const struct attention_backward_args *args);

// The solution serves f32, other head_dims and other GPUs, under names of its own.
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
    HOPPER_DIM = 128,                        ///< head_dim
    CONSUMERS = 2,                           ///< warpgroups that multiply
    HOPPER_THREADS = (1 + CONSUMERS) * WARPGROUP,
    KEYS = 128,                              ///< of a block
    GROUP_KEYS = KEYS / CONSUMERS,           ///< rows of a wgmma
#ifndef Q_STAGES
#define Q_STAGES 3
#endif
    STAGES = 2,                              ///< tiles of dO, and of dS
    BLOCK_COLUMNS = 64,                      ///< columns of a tile that lie together ...
    ROW_BYTES = 128,                         ///< ... in rows of so many bytes
    MMA_K = 16,                              ///< of a wgmma
    STEP_BYTES = MMA_K * ROW_BYTES,          ///< 16 rows
    K_BLOCK_BYTES = KEYS * ROW_BYTES,        ///< 64 columns of K or V
    Q_BLOCK_BYTES = TILE_Q * ROW_BYTES,      ///< 64 columns of Q or dO
    K_BYTES = KEYS * HOPPER_DIM * 2,         ///< K or V
    Q_BYTES = TILE_Q * HOPPER_DIM * 2,       ///< Q or dO
    DS_BYTES = KEYS * TILE_Q * 2,            ///< dS^T
    HALF_BYTES = TILE_Q * BLOCK_COLUMNS * 4, ///< dQ of a consumer: 64 columns, in the order of its registers
    HALF_ELEMENTS = HALF_BYTES / 4,
    TERM_BYTES = TILE_Q * 8,
    SCORES = TILE_Q / 2,                     ///< of a thread: 64 keys by TILE_Q queries, of 128 threads
    SUMS = HOPPER_DIM / 2,                   ///< of dK, of dV
    DS_BARRIER = 1,                          ///< a named barrier of the consumers
    PRODUCER_REGISTERS = 24,
    CONSUMER_REGISTERS = 240
};

/** The kernel's arguments. */
struct hopper_backward {
    CUtensorMap q, dout, k, v; ///< as TMA sees them: matrices of 128 columns, a head each
    struct attention_backward_args args;
    struct backward_plan plan;
    float scale;    ///< on dK
    float factor;   ///< on products, times log2(e); half of that if it is beyond float
    int halved;     ///< 1: it is half of that
    int key_tiles;  ///< of a K/V head
    unsigned *turns; ///< [1 + batch * heads * q_tiles * CONSUMERS] tickets, and who may add to a half of a tile; NULL: in any order
};

/** The shared memory of a block. */
struct block_memory {
    alignas(1024) char k[K_BYTES];
    char v[K_BYTES];
    char q[Q_STAGES][Q_BYTES];
    char dout[STAGES][Q_BYTES];
    char ds[STAGES][DS_BYTES];
    char dq[CONSUMERS][HALF_BYTES];
    struct row_terms terms[Q_STAGES][TILE_Q];
    uint64_t kv_full;             ///< K and V are there
    uint64_t q_full[Q_STAGES];    ///< Q and terms are there
    uint64_t q_empty[Q_STAGES];   ///< both consumers are done with them
    uint64_t dout_full[STAGES];   ///< dO is there
    uint64_t dout_empty[STAGES];  ///< both consumers are done with it
    uint64_t dq_full[CONSUMERS];  ///< a consumer's dQ is there
    uint64_t dq_empty[CONSUMERS]; ///< and has been read
    int ticket;
};

/** A block's keys, and its walk over tiles of queries: of each head of the group from the last one down to first_tile. */
struct hopper_walk {
    int kv_bh, key_tile, first_key, first_tile, last_tile;
    int steps; ///< tiles of all heads
    int bh;    ///< where the walk is: the head ...
    int tile;  ///< ... and the tile of it
};

__device__ inline struct hopper_walk begin_walk(const struct hopper_backward &p, int index)
{
    int all = p.args.batch * p.args.kv_heads, group = p.args.heads / p.args.kv_heads;
    struct hopper_walk walk;
#ifdef BY_HEAD
    int tiles = p.key_tiles;
    walk.kv_bh = index / tiles, walk.key_tile = index % tiles;
#else
    walk.kv_bh = index % all; // neighbours have other heads: with a mask, those with most to do begin first
    walk.key_tile = index / all;
#endif
    walk.first_key = walk.key_tile * KEYS;
    walk.first_tile = first_query_that_sees(p.args, walk.first_key) / TILE_Q;
    walk.last_tile = p.plan.q_tiles - 1;
    walk.steps = (p.plan.q_tiles - walk.first_tile) * group;
    walk.bh = walk.kv_bh * group;
    walk.tile = walk.last_tile;
    return walk;
}

__device__ inline void next_tile(struct hopper_walk *walk)
{
    if (--walk->tile >= walk->first_tile) return;
    walk->tile = walk->last_tile, walk->bh++;
}

/** Where half @p half of a tile of dQ begins. */
__device__ inline size_t half_of(const struct hopper_backward &p, int bh, int tile, int half)
{
    return ((size_t)bh * p.plan.q_tiles + tile) * CONSUMERS + half;
}

/* ---- the producer, and those who add dQ ------------------------------------------------------------------ */

__device__ inline void load_all(const struct hopper_backward &p, struct block_memory *s, struct hopper_walk walk)
{
    mbarrier_arrive_expect(&s->kv_full, 2 * K_BYTES);
    for (int i = 0; i < 2; i++) {
        head_load(s->k + i * K_BLOCK_BYTES, &p.k, i * BLOCK_COLUMNS, walk.first_key, walk.kv_bh, &s->kv_full);
        head_load(s->v + i * K_BLOCK_BYTES, &p.v, i * BLOCK_COLUMNS, walk.first_key, walk.kv_bh, &s->kv_full);
    }
    struct ring q = {0, 1}, dout = {0, 1}; // in the first round all is empty, and no wait blocks
    for (int step = 0; step < walk.steps; step++, next_tile(&walk)) {
        int row = walk.tile * TILE_Q;
        const struct row_terms *terms = p.plan.terms + ((size_t)walk.bh * p.plan.q_tiles * TILE_Q + row);
        mbarrier_wait(&s->q_empty[q.stage], q.parity);
        mbarrier_arrive_expect(&s->q_full[q.stage], Q_BYTES + TERM_BYTES);
        for (int c = 0; c < 2; c++)
            head_load(s->q[q.stage] + c * Q_BLOCK_BYTES, &p.q, c * BLOCK_COLUMNS, row, walk.bh, &s->q_full[q.stage]);
        bulk_load(s->terms[q.stage], terms, TERM_BYTES, &s->q_full[q.stage]);
        advance<Q_STAGES>(&q);
        mbarrier_wait(&s->dout_empty[dout.stage], dout.parity);
        mbarrier_arrive_expect(&s->dout_full[dout.stage], Q_BYTES);
        for (int c = 0; c < 2; c++)
            head_load(s->dout[dout.stage] + c * Q_BLOCK_BYTES, &p.dout, c * BLOCK_COLUMNS, row, walk.bh,
                      &s->dout_full[dout.stage]);
        advance<STAGES>(&dout);
    }
}

__device__ inline unsigned load_acquire(const unsigned *from)
{
    unsigned x;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(x) : "l"(from) : "memory");
    return x;
}

__device__ inline void add_release(unsigned *to)
{
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" : : "l"(to) : "memory");
}

/** One thread adds dQ of consumer @p half to device memory. */
__device__ inline void add_halves(const struct hopper_backward &p, struct block_memory *s, struct hopper_walk walk,
                                  int half)
{
    for (int step = 0; step < walk.steps; step++, next_tile(&walk)) {
        size_t at = half_of(p, walk.bh, walk.tile, half);
        mbarrier_wait(&s->dq_full[half], step & 1);
        if (p.turns != NULL) {
            while (load_acquire(p.turns + 1 + at) != (unsigned)walk.key_tile) {}
            async_proxy_fence_all();
        }
#ifndef NO_ADD
        bulk_add(p.plan.accumulators + at * HALF_ELEMENTS, s->dq[half], HALF_BYTES);
#endif
        bulk_commit();
        bulk_wait_read<0>();
        mbarrier_arrive(&s->dq_empty[half]);
        if (p.turns == NULL) continue;
        bulk_wait();
        async_proxy_fence_all();
        add_release(p.turns + 1 + at);
    }
}

/* ---- the consumers --------------------------------------------------------------------------------------- */

/** Issues S^T = K Q^T, or dP^T = V dO^T: 64 keys of @p keys, all queries of a stage. */
template <typename T>
__device__ inline void multiply_by_keys(float (&sum)[SCORES], const char *keys, const char *queries)
{
    uint64_t a = tile_descriptor(shared_address(keys), 0), b = tile_descriptor(shared_address(queries), 0);
#pragma unroll
    for (int i = 0; i < HOPPER_DIM / MMA_K; i++) {
        int block = i * MMA_K / BLOCK_COLUMNS, byte = i * MMA_K * 2 % ROW_BYTES;
        wgmma_shared(sum, a + (block * K_BLOCK_BYTES + byte) / 16, b + (block * Q_BLOCK_BYTES + byte) / 16, i > 0, T());
    }
}

/** Issues dV += P^T dO: the weights from registers. */
template <typename T>
__device__ inline void add_by_queries(float (&sum)[SUMS], const uint32_t (&weights)[SCORES / 2], const char *queries)
{
    uint64_t b = tile_descriptor(shared_address(queries), Q_BLOCK_BYTES);
#pragma unroll
    for (int i = 0; i < TILE_Q / MMA_K; i++)
        wgmma_registers(sum, &weights[4 * i], b + i * STEP_BYTES / 16, T());
}

/** Issues dK += dS^T Q: the weights from shared memory, this consumer's rows. */
template <typename T>
__device__ inline void add_by_shared(float (&sum)[SUMS], const char *ds, const char *queries)
{
    uint64_t a = tile_descriptor(shared_address(ds), 0), b = tile_descriptor(shared_address(queries), Q_BLOCK_BYTES);
#pragma unroll
    for (int i = 0; i < TILE_Q / MMA_K; i++) wgmma<0, 1>(sum, a + i * MMA_K * 2 / 16, b + i * STEP_BYTES / 16, T());
}

/** Issues dQ = dS K: all queries, 64 columns of K. */
template <typename T>
__device__ inline void multiply_ds_k(float (&dq)[SCORES], const char *ds, const char *k)
{
    uint64_t a = tile_descriptor(shared_address(ds), 0), b = tile_descriptor(shared_address(k), 0);
#pragma unroll
    for (int i = 0; i < KEYS / MMA_K; i++)
        wgmma_across(dq, a + i * STEP_BYTES / 16, b + i * STEP_BYTES / 16, i > 0, T());
}

/** S^T becomes P^T, in float. @p key is the thread's first. */
__device__ inline void weigh_keys(const struct hopper_backward &p, const struct row_terms *terms, int masked, int key,
                                  int first_query, float (&s)[SCORES])
{
    int column = (int)threadIdx.x % 4 * 2;
    if (p.halved)
#pragma unroll
        for (int i = 0; i < SCORES; i++) s[i] *= 2.0f;
#pragma unroll
    for (int j = 0; j < TILE_Q / 8; j++) {
        float4 term = *(const float4 *)&terms[j * 8 + column]; // lse, D, and those of the next query
#pragma unroll
        for (int i = 0; i < 4; i++) 
#ifdef NO_EXP
            s[4 * j + i] = s[4 * j + i] * p.factor - (i % 2 ? term.z : term.x);
#else
            s[4 * j + i] = exp2_fast(s[4 * j + i] * p.factor - (i % 2 ? term.z : term.x));
#endif

    }
    if (!masked) return;
#pragma unroll
    for (int i = 0; i < SCORES; i++)
        if (key + i / 2 % 2 * 8 >= keys_seen(p.args, first_query + i / 4 * 8 + column + i % 2)) s[i] = 0.0f;
}

/** Rounds to 16 bits: two sums of a row to a register, as A of the next product. */
template <typename T> __device__ inline void round_all(uint32_t (&rounded)[SCORES / 2], const float (&x)[SCORES])
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
    for (int i = 0; i < TILE_Q / MMA_K; i++) {
        uint32_t rounded[4];
#pragma unroll
        for (int j = 0; j < 4; j += 2) { // 8 queries
            int at = 8 * i + 2 * j;
            float4 term = *(const float4 *)&terms[16 * i + 4 * j + column];
            rounded[j] = pack_elements<T>(p[at] * (dp[at] - term.y), p[at + 1] * (dp[at + 1] - term.w));
            rounded[j + 1] = pack_elements<T>(p[at + 2] * (dp[at + 2] - term.y), p[at + 3] * (dp[at + 3] - term.w));
        }
        store_matrices(ds + ((row * ROW_BYTES + i * 32 + lane / 16 * 16) ^ row % 8 * 16), rounded); // swizzled
    }
}

/** A consumer's dQ goes to shared memory in the order of registers, and its adder may begin. */
__device__ inline void send_dq(struct block_memory *s, int group, int step, const float (&dq)[SCORES])
{
    float4 *to = (float4 *)s->dq[group] + threadIdx.x % WARPGROUP;
    mbarrier_wait(&s->dq_empty[group], (step & 1) ^ 1);
#pragma unroll
    for (int i = 0; i < SCORES / 4; i++)
        to[i * WARPGROUP] = make_float4(dq[4 * i], dq[4 * i + 1], dq[4 * i + 2], dq[4 * i + 3]);
    async_proxy_fence();
    mbarrier_arrive(&s->dq_full[group]);
}

#ifdef RED
__device__ inline void send_red(float *to, const float (&dq)[SCORES])
{
#pragma unroll
    for (int i = 0; i < SCORES / 4; i++)
        asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
                     :
                     : "l"(to + (i * WARPGROUP + threadIdx.x % WARPGROUP) * 4), "f"(dq[4 * i]), "f"(dq[4 * i + 1]),
                       "f"(dq[4 * i + 2]), "f"(dq[4 * i + 3])
                     : "memory");
}
#define send_dq(s, group, step, dq) send_red(p.plan.accumulators + half_of(p, walk.bh, walk.tile, group) * HALF_ELEMENTS, dq)
#define add_halves(p, s, walk, half) (void)0
#endif
/** Rows of dK or dV of a thread, times @p factor, if they are wanted. */
template <typename T>
__device__ inline void write_sums(void *to, const struct hopper_backward &p, const struct hopper_walk &walk, int key,
                                  float factor, const float (&sum)[SUMS])
{
    if (to == NULL) return;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        T *row = (T *)to + ((size_t)walk.kv_bh * p.args.kv_len + key + 8 * h) * HOPPER_DIM + threadIdx.x % 4 * 2;
#pragma unroll
        for (int j = 0; j < HOPPER_DIM / 8; j++)
            if (key + 8 * h < p.args.kv_len)
                store_pair(row + j * 8, sum[4 * j + 2 * h] * factor, sum[4 * j + 2 * h + 1] * factor);
    }
}

template <typename T>
__device__ inline void consume(const struct hopper_backward &p, struct block_memory *s, struct hopper_walk walk)
{
    int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / WARPGROUP, 0) - 1;
    int first = threadIdx.x % WARPGROUP == 0, wants_dq = p.args.dq != NULL;
    int key = walk.first_key + group * GROUP_KEYS + (int)threadIdx.x % WARPGROUP / 32 * 16 + (int)threadIdx.x % 32 / 4;
    const char *own_k = s->k + group * GROUP_KEYS * ROW_BYTES, *own_v = s->v + group * GROUP_KEYS * ROW_BYTES;
    float dk[SUMS] = {}, dv[SUMS] = {}, scores[SCORES];
    struct ring ring = {0, 0};
    mbarrier_wait(&s->kv_full, 0);
    mbarrier_wait(&s->q_full[0], 0);
    wgmma_fence();
    multiply_by_keys<T>(scores, own_k, s->q[0]);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_hold(scores);
    struct ring dout = {0, 0};
    for (int step = 0; step < walk.steps; step++, next_tile(&walk), advance<STAGES>(&dout)) {
        int i = ring.stage, j = dout.stage, query = walk.tile * TILE_Q;
        int masked = walk.first_key + KEYS > keys_seen(p.args, query); // otherwise every query sees every key
        float dp[SCORES]; // dP^T, then dQ
        uint32_t weights[SCORES / 2];
        mbarrier_wait(&s->dout_full[j], dout.parity);
        wgmma_fence();
        multiply_by_keys<T>(dp, own_v, s->dout[j]);
        wgmma_commit();
        weigh_keys(p, s->terms[i], masked, key, query, scores); // beside dP
        round_all<T>(weights, scores);
        wgmma_fence();
        add_by_queries<T>(dv, weights, s->dout[j]);
        wgmma_commit();
        wgmma_wait<1>(); // all but dV
        wgmma_hold(dp);
#ifdef CARRY
        wgmma_hold(dk);
        if (first && step > 0) mbarrier_arrive(&s->q_empty[i == 0 ? Q_STAGES - 1 : i - 1]);
#endif
        store_ds<T>(s->ds[j], group, s->terms[i], scores, dp); // beside dV
        async_proxy_fence();
        if (step + 1 < walk.steps) advance<Q_STAGES>(&ring); // the last S is computed twice
#ifdef S_EARLY
        if (step + 1 < walk.steps) mbarrier_wait(&s->q_full[ring.stage], ring.parity);
        wgmma_fence();
        multiply_by_keys<T>(scores, own_k, s->q[ring.stage]);
        wgmma_commit();
#endif
        // dS is complete, that of two steps before has been read, and so have the terms.
#ifndef NO_BAR
        named_barrier(DS_BARRIER, CONSUMERS * WARPGROUP);
#endif
#ifndef S_EARLY
        if (step + 1 < walk.steps) mbarrier_wait(&s->q_full[ring.stage], ring.parity);
#endif
        wgmma_fence();
        if (wants_dq) multiply_ds_k<T>(dp, s->ds[j], s->k + group * K_BLOCK_BYTES);
        wgmma_commit();
        add_by_shared<T>(dk, s->ds[j] + group * GROUP_KEYS * ROW_BYTES, s->q[i]);
        wgmma_commit();
#ifndef S_EARLY
        multiply_by_keys<T>(scores, own_k, s->q[ring.stage]);
        wgmma_commit();
        wgmma_wait<2>(); // all but dK and S
#else
        wgmma_wait<1>(); // all but dK
        wgmma_hold(scores);
#endif
        wgmma_hold(dv), wgmma_hold(dp);
        if (first) mbarrier_arrive(&s->dout_empty[j]);
        if (wants_dq) send_dq(s, group, step, dp); // beside dK and S
#ifndef CARRY
        wgmma_wait<0>();
        wgmma_hold(dk), wgmma_hold(scores);
        if (first) mbarrier_arrive(&s->q_empty[i]);
#elif !defined(S_EARLY)
        wgmma_wait<0>();
        wgmma_hold(scores);
#endif
    }
#ifdef CARRY
    wgmma_wait<0>();
    wgmma_hold(dk);
#endif
    write_sums<T>(p.args.dk, p, walk, key, p.scale, dk);
    write_sums<T>(p.args.dv, p, walk, key, 1.0f, dv);
}

/* ---- the kernel ------------------------------------------------------------------------------------------- */

/** The terms of every row, and zeros into its accumulator: 16 threads per padded row. */
template <typename T>
__global__ void __launch_bounds__(ROW_THREADS) terms_kernel(const __grid_constant__ struct hopper_backward p)
{
    enum { ROW_LANES = HOPPER_DIM * 2 / 16 };
    size_t at = (size_t)blockIdx.x * ROW_THREADS + threadIdx.x, padded = at / ROW_LANES;
    int part = (int)(at % ROW_LANES), length = p.plan.q_tiles * TILE_Q, row = (int)(padded % length);
    int there = row < p.args.q_len;
    size_t real = padded / length * p.args.q_len + row;
    float d = 0.0f;
    if (there) {
        uint4 x = ((const uint4 *)p.args.dout)[real * ROW_LANES + part], y = ((const uint4 *)p.args.out)[real * ROW_LANES + part];
        const uint32_t a[] = {x.x, x.y, x.z, x.w}, b[] = {y.x, y.y, y.z, y.w};
#pragma unroll
        for (int i = 0; i < 8; i++) d += unpack_element<T>(a[i / 2], i % 2) * unpack_element<T>(b[i / 2], i % 2);
    }
#pragma unroll
    for (int other = ROW_LANES / 2; other > 0; other /= 2) d += __shfl_xor_sync(0xffffffffu, d, other);
    int blind = !there || keys_seen(p.args, row) == 0;
    if (part == 0) {
        p.plan.terms[padded].lse = blind ? INFINITY : p.args.lse[real] * LOG2_E;
        p.plan.terms[padded].d = blind ? 0.0f : d;
    }
    float4 *zeros = (float4 *)(p.plan.accumulators + padded * HOPPER_DIM) + part;
    if (p.args.dq != NULL) zeros[0] = zeros[ROW_LANES] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

template <typename T>
__global__ void __launch_bounds__(HOPPER_THREADS, 1) hopper_kernel(const __grid_constant__ struct hopper_backward p)
{
#if HOPPER_CODE
    extern __shared__ __align__(1024) char hopper_shared[];
    struct block_memory *s = (struct block_memory *)hopper_shared;
    if (threadIdx.x == 0) {
        mbarrier_init(&s->kv_full, 1);
        for (int i = 0; i < Q_STAGES; i++)
            mbarrier_init(&s->q_full[i], 1), mbarrier_init(&s->q_empty[i], CONSUMERS);
        for (int i = 0; i < STAGES; i++)
            mbarrier_init(&s->dout_full[i], 1), mbarrier_init(&s->dout_empty[i], CONSUMERS);
        for (int i = 0; i < CONSUMERS; i++)
            mbarrier_init(&s->dq_full[i], WARPGROUP), mbarrier_init(&s->dq_empty[i], 1);
        mbarrier_init_fence();
        s->ticket = p.turns != NULL ? (int)atomicAdd(p.turns, 1u) : (int)blockIdx.x;
    }
    __syncthreads(); // the mbarriers are there before anybody arrives at one
    struct hopper_walk walk = begin_walk(p, s->ticket);
    if (threadIdx.x < WARPGROUP) {
        registers_down_to<PRODUCER_REGISTERS>();
        if (threadIdx.x == 0) load_all(p, s, walk);
        if (threadIdx.x % 32 == 0 && threadIdx.x / 32 >= 1 && threadIdx.x / 32 <= CONSUMERS && p.args.dq != NULL)
            add_halves(p, s, walk, (int)threadIdx.x / 32 - 1);
    } else {
        registers_up_to<CONSUMER_REGISTERS>();
        consume<T>(p, s, walk);
    }
#endif
}

/** dq from its accumulators: a float4 is two elements of a row, and of the row 8 below. */
template <typename T>
__global__ void __launch_bounds__(ROW_THREADS) round_dq_kernel(const __grid_constant__ struct hopper_backward p)
{
    enum { QUADS = TILE_Q * HOPPER_DIM / 4, HALF_QUADS = QUADS / CONSUMERS };
    size_t at = (size_t)blockIdx.x * ROW_THREADS + threadIdx.x;
    int in_tile = (int)(at % QUADS), half = in_tile / HALF_QUADS, thread = in_tile % WARPGROUP;
    int tile = (int)(at / QUADS), row = tile % p.plan.q_tiles * TILE_Q + thread / 32 * 16 + thread % 32 / 4;
    int column = half * BLOCK_COLUMNS + in_tile % HALF_QUADS / WARPGROUP * 8 + thread % 4 * 2;
    float4 x = ((const float4 *)p.plan.accumulators)[at];
    T *to = (T *)p.args.dq + ((size_t)(tile / p.plan.q_tiles) * p.args.q_len + row) * HOPPER_DIM + column;
    if (row < p.args.q_len) store_pair(to, x.x * p.scale, x.y * p.scale);
    if (row + 8 < p.args.q_len) store_pair(to + 8 * HOPPER_DIM, x.z * p.scale, x.w * p.scale);
}

/** Words for the order of additions: none, where every tile of dQ has one addend. */
static size_t count_turns(const struct attention_backward_args *args)
{
    if (!args->deterministic || args->dq == NULL || args->kv_len <= KEYS) return 0;
    return 1 + attention_backward_padded_rows(args) / TILE_Q * CONSUMERS;
}

static int describe(struct hopper_backward *p)
{
    const struct attention_backward_args &x = p->args;
    CUtensorMapDataType type =
        x.dtype == DTYPE_F16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    int heads = x.batch * x.heads, kv_heads = x.batch * x.kv_heads;
    return heads_map(&p->q, type, x.q, heads, x.q_len, HOPPER_DIM, TILE_Q) &&
           heads_map(&p->dout, type, x.dout, heads, x.q_len, HOPPER_DIM, TILE_Q) &&
           heads_map(&p->k, type, x.k, kv_heads, x.kv_len, HOPPER_DIM, KEYS) &&
           heads_map(&p->v, type, x.v, kv_heads, x.kv_len, HOPPER_DIM, KEYS);
}

template <typename T>
static enum kernel_status launch_hopper(const struct attention_backward_args *args, cudaStream_t stream)
{
    struct hopper_backward p = {};
    p.args = *args;
    p.args.deterministic = 0; // one accumulator, zeroed by prepare_kernel
    p.plan = make_plan(&p.args, KEYS);
    p.scale = backward_scale(args);
    p.halved = isinf(p.scale * LOG2_E);
    p.factor = p.scale * (p.halved ? LOG2_E / 2 : LOG2_E);
    p.key_tiles = divide_up(args->kv_len, KEYS);
    size_t turns = count_turns(args), rows = attention_backward_padded_rows(args);
    if (turns > 0) p.turns = (unsigned *)(p.plan.accumulators + rows * HOPPER_DIM);
    if (!describe(&p)) return KERNEL_CUDA_ERROR;
    if (turns > 0 && cudaMemsetAsync(p.turns, 0, turns * sizeof *p.turns, stream) != cudaSuccess)
        return KERNEL_CUDA_ERROR;
#ifdef SLOW_TERMS
    prepare<T, HOPPER_DIM>(&p.args, p.plan, stream);
#else
    terms_kernel<T><<<(unsigned)(rows * (HOPPER_DIM * 2 / 16) / ROW_THREADS), ROW_THREADS, 0, stream>>>(p);
#endif
    launch_in_clusters(hopper_kernel<T>, args->batch * args->kv_heads * p.key_tiles, HOPPER_THREADS,
                       (int)sizeof(struct block_memory), 1, stream, p);
    if (args->dq != NULL)
        round_dq_kernel<T>
            <<<(unsigned)(rows * (HOPPER_DIM / 4) / ROW_THREADS), ROW_THREADS, 0, stream>>>(p);
    return launch_status();
}

/* ---- entry points ------------------------------------------------------------------------------------- */

size_t attention_backward_workspace_bytes(const struct attention_backward_args *args)
{
    size_t bytes = solution_workspace_bytes(args);
    if (bytes == 0 || args->head_dim != HOPPER_DIM) return bytes;
    size_t rows = attention_backward_padded_rows(args), sums = args->dq == NULL ? 0 : HOPPER_DIM * sizeof(float);
    size_t own = rows * (sizeof(struct row_terms) + sums) + count_turns(args) * sizeof(unsigned);
    return own > bytes ? own : bytes;
}

/** The solution's, unless this is a Hopper GPU and head_dim is 128. The solution refuses what is refused before the workspace. */
template <typename T>
static enum kernel_status backward_here(const struct attention_backward_args *args, enum dtype dtype,
                                        cudaStream_t stream)
{
    int chip = device_attribute(cudaDevAttrComputeCapabilityMajor);
    if (attention_backward_args_check(args, sizeof(uint4), 0) != KERNEL_OK || args->dtype != dtype ||
        args->head_dim != HOPPER_DIM || chip < 8)
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
