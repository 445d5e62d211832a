// [student: head]
/*
 * Attention on Hopper as FlashAttention-3 computes it: tensor cores never wait for exp.
 *
 *     producer      TMA -> K ring, V ring              one thread issues, hardware copies
 *     consumer 0    S1 O0 | softmax 1   | S2 O1 | softmax 2   | ...        S = Q K^T of the next tile, O += P V of this one,
 *     consumer 1          | S1 O0 | softmax 1   | S2 O1 | softmax 2 ...    issued together, in turn with the other consumer
 *
 * A consumer is a warpgroup with 64 query rows. S, P and O stay in its registers. That is head_dim 128. With 64 a block is one
 * such warpgroup, which loads for itself: three blocks fit an SM, and while one computes exp, the others' products run.
 *
 * Paper: Shah, Bikshandi, Zhang, Thakkar, Ramani, Dao 2024, "FlashAttention-3", Algorithms 1 and 2.
 * Run:   build/bin/warpwise check 16 --kernel solutions/16_hopper_attention/hopper_attention.cu
 */
// [/student]
#include "hopper_attention.h"

#include "attention_tiles.h"
#include "e4m3_rows.h" // given for part "fp8"
#include "softmax_rows.h"
#include "wgmma_attention.h" // wgmma_shared() for S = Q K^T, wgmma_registers() for O += P V
#include "wgmma_e4m3.h"      // the same for part "fp8"

/* ---- loading -------------------------------------------------------------------------------------------- */

/** The producer: one thread loads Q, K and V of all tiles of its block, as soon as there is room: K one tile ahead of V. */
template <typename SIZE>
__device__ inline void load_tiles(const struct attention &p, const struct shared_memory &s)
{
    // [student: load_tiles]
    int tiles = p.args.batch * p.args.heads * p.query_tiles;
    int q_parity = 1; // here and in the rings: in the first round all is empty, and no wait blocks
    struct ring k = {0, 1}, v = {0, 1};
    for (int index = (int)blockIdx.x; index < tiles; index += (int)gridDim.x, q_parity ^= 1) {
        struct query_tile tile = find_query_tile<SIZE>(p, index);
        mbarrier_wait(s.q_empty, q_parity);
        load_queries<SIZE>(p, s, tile);
        for (int i = tile.count; i >= 0; i--) {
            if (i > 0) {
                mbarrier_wait(&s.k.empty[k.stage], k.parity);
                load_keys<SIZE>(s.k, k.stage, i - 1, tile.kv_bh);
                advance<SIZE::STAGES>(&k);
            }
            if (i < tile.count) {
                mbarrier_wait(&s.v.empty[v.stage], v.parity);
                load_keys<SIZE>(s.v, v.stage, i, tile.kv_bh);
                advance<SIZE::STAGES>(&v);
            }
        }
    }
    // [/student]
}

/** Without a producer: one thread loads Q of the block's only tile, and fills the stages. release() loads the rest. */
template <typename SIZE>
__device__ inline void load_first(const struct attention &p, const struct shared_memory &s)
{
    // [student: load_first]
    struct query_tile tile = find_query_tile<SIZE>(p, (int)blockIdx.x);
    load_queries<SIZE>(p, s, tile);
    for (int i = 0; i < SIZE::STAGES && i < tile.count; i++) {
        load_keys<SIZE>(s.k, i, tile.count - 1 - i, tile.kv_bh);
        load_keys<SIZE>(s.v, i, tile.count - 1 - i, tile.kv_bh);
    }
    // [/student]
}

/** The consumer is done with tile number @p tile, in this stage. Without a producer it loads the next one that goes there. */
template <typename SIZE>
__device__ inline void release(const struct stages &from, int stage, int tile, int head)
{
    // [student: release]
    if (threadIdx.x % WARPGROUP != 0) return;
    if (SIZE::PRODUCERS > 0)
        mbarrier_arrive(&from.empty[stage]);
    else if (tile >= SIZE::STAGES)
        load_keys<SIZE>(from, stage, tile - SIZE::STAGES, head);
    // [/student]
}

/* ---- the two products, in turn -------------------------------------------------------------------------- */

/** Waits until the consumer before this one has issued its products. */
template <typename SIZE> __device__ inline void wait_for_turn(void)
{
    // [student: wait_for_turn]
    int group = consumer<SIZE>();
    if (SIZE::IN_TURN) named_barrier(TURN_BARRIER + group, 2 * WARPGROUP);
    // [/student]
}

/** The next consumer may issue its products. */
template <typename SIZE> __device__ inline void pass_turn(void)
{
    // [student: pass_turn]
    int next = (consumer<SIZE>() + 1) % SIZE::CONSUMERS;
    if (SIZE::IN_TURN) named_barrier_arrive(TURN_BARRIER + next, 2 * WARPGROUP);
    // [/student]
}

/** Issues S = Q K^T: 64 rows of Q, all keys of a stage, 16 columns at a time. */
template <typename T, typename SIZE>
__device__ inline void multiply_q_k(float (&scores)[SIZE::SCORES], const struct shared_memory &s, int stage)
{
    // [student: multiply_q_k]
    int group = consumer<SIZE>();
    uint64_t q = tile_descriptor(shared_address(s.q + group * GROUP_ROWS * ROW_BYTES), 0);
    uint64_t k = tile_descriptor(shared_address(s.k.tiles + stage * SIZE::KV_BYTES), 0);
#pragma unroll
    for (int i = 0; i < SIZE::ROW_STEPS; i++) { // along a row, then to the next block of columns
        int block = i * MMA_BYTES / ROW_BYTES, byte = i * MMA_BYTES % ROW_BYTES;
        wgmma_shared(scores, q + (block * SIZE::Q_BLOCK_BYTES + byte) / 16,
                     k + (block * SIZE::KV_BLOCK_BYTES + byte) / 16, i > 0, T());
    }
    // [/student]
}

/** Issues O += P V: the weights from registers, 16 keys of a stage at a time. */
template <typename T, typename SIZE>
__device__ inline void multiply_p_v(float (&o)[SIZE::SUMS], const uint32_t (&weights)[SIZE::WEIGHTS],
                                    const struct shared_memory &s, int stage)
{
    // [student: multiply_p_v]
    uint64_t v = tile_descriptor(shared_address(s.v.tiles + stage * SIZE::KV_BYTES), SIZE::KV_BLOCK_BYTES);
#pragma unroll
    for (int i = 0; i < SIZE::KEY_STEPS; i++)
        wgmma_registers(o, &weights[4 * i], v + i * SIZE::KEY_STEP_BYTES / 16, T());
    // [/student]
}

/** The scores of tile number @p i of the keys. No other product runs meanwhile. */
template <typename T, typename SIZE>
__device__ inline void find_scores(float (&scores)[SIZE::SCORES], const struct attention &p,
                                   const struct shared_memory &s, const struct ring *ring, int i, int head)
{
    // [student: find_scores]
    mbarrier_wait(&s.k.full[ring->stage], ring->parity);
    wgmma_fence();
    multiply_q_k<T, SIZE>(scores, s, ring->stage);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_hold(scores);
    release<SIZE>(s.k, ring->stage, i, head);
    if (p.factor != 1.0f) multiply_scores(scores, p.factor);
    // [/student]
}

/** O += P V. No other product runs meanwhile. */
template <typename T, typename SIZE>
__device__ inline void add_values(float (&o)[SIZE::SUMS], const uint32_t (&weights)[SIZE::WEIGHTS],
                                  const struct shared_memory &s, int stage)
{
    // [student: add_values]
    wgmma_fence();
    multiply_p_v<T, SIZE>(o, weights, s, stage);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_hold(o);
    // [/student]
}

/* ---- the consumers -------------------------------------------------------------------------------------- */

/** Adds tile number @p i of the keys, one step after the other; MASKED: some rows do not see all of it. */
template <typename T, typename SIZE, int MASKED>
__device__ inline void add_alone(struct row_state<SIZE::SUMS> *rows, const struct attention &p,
                                 const struct shared_memory &s, struct query_tile tile, int i,
                                 struct ring *ring)
{
    // [student: add_alone]
    int group = consumer<SIZE>(), stage = ring->stage, key = i * SIZE::TILE_KV;
    int query = tile.first + first_row<SIZE>(), last = p.args.q_len - 1;
    int seen[2] = {keys_seen(p.args, min(query, last)) - key, keys_seen(p.args, min(query + 8, last)) - key};
    int fewest = keys_seen(p.args, min(tile.first + group * GROUP_ROWS, last)) - key;
    int end = min(p.args.kv_len - key, (int)SIZE::TILE_KV); // past it are zeros
    float scores[SIZE::SCORES], correction[2], scales = tile_scales<SIZE>(p, tile, i);
    uint32_t weights[SIZE::WEIGHTS];
    find_scores<T, SIZE>(scores, p, s, ring, i, tile.kv_bh);
    if (MASKED) mask_scores(scores, seen);
    if (weigh_scores<SIZE::HEADROOM>(scores, rows, score_scale<SIZE>(scales), correction))
        rescale_sums(rows->o, correction);
    round_weights<T>(weights, scores);
    mbarrier_wait(&s.v.full[stage], ring->parity);
    if (!MASKED || !add_hidden_values<T, SIZE>(rows, weights, s.v.tiles + stage * SIZE::KV_BYTES,
                                               &s.answers[4 * group], seen, fewest, end))
        add_values<T, SIZE>(rows->o, weights, s, stage);
    release<SIZE>(s.v, stage, i, tile.kv_bh);
    advance<SIZE::STAGES>(ring);
    // [/student]
}

/** Adds the tiles of keys that all rows see whole, down to tile 0: S of one beside O += P V of the one before. */
template <typename T, typename SIZE>
__device__ inline void add_whole(struct row_state<SIZE::SUMS> *rows, const struct attention &p,
                                 const struct shared_memory &s, struct query_tile tile, struct ring *ring)
{
    // [student: add_whole]
    float scores[SIZE::SCORES], correction[2], scales = tile_scales<SIZE>(p, tile, tile.whole - 1);
    uint32_t weights[SIZE::WEIGHTS];
    find_scores<T, SIZE>(scores, p, s, ring, tile.whole - 1, tile.kv_bh);
    if (weigh_scores<SIZE::HEADROOM>(scores, rows, score_scale<SIZE>(scales), correction))
        rescale_sums(rows->o, correction);
    round_weights<T>(weights, scores);
    for (int i = tile.whole - 2; i >= 0; i--) {
        struct ring before = *ring; // where V of the tile before is
        advance<SIZE::STAGES>(ring);
        scales = tile_scales<SIZE>(p, tile, i);
        mbarrier_wait(&s.k.full[ring->stage], ring->parity);
        wait_for_turn<SIZE>();
        wgmma_fence();
        multiply_q_k<T, SIZE>(scores, s, ring->stage);
        wgmma_commit();
        mbarrier_wait(&s.v.full[before.stage], before.parity);
        multiply_p_v<T, SIZE>(rows->o, weights, s, before.stage);
        wgmma_commit();
        pass_turn<SIZE>();
        wgmma_wait<1>(); // S is complete, O need not be
        wgmma_hold(scores);
        release<SIZE>(s.k, ring->stage, i, tile.kv_bh);
        if (p.factor != 1.0f) multiply_scores(scores, p.factor);
        int rises = weigh_scores<SIZE::HEADROOM>(scores, rows, score_scale<SIZE>(scales), correction);
        wgmma_wait<0>();
        wgmma_hold(rows->o);
        release<SIZE>(s.v, before.stage, i + 1, tile.kv_bh);
        if (rises) rescale_sums(rows->o, correction);
        round_weights<T>(weights, scores);
    }
    mbarrier_wait(&s.v.full[ring->stage], ring->parity);
    add_values<T, SIZE>(rows->o, weights, s, ring->stage);
    release<SIZE>(s.v, ring->stage, 0, tile.kv_bh);
    advance<SIZE::STAGES>(ring);
    // [/student]
}

/** A consumer without rows multiplies nothing: it releases tiles of K and V when they are there, and passes its turns on. */
template <typename SIZE>
__device__ inline void pass_tiles(const struct shared_memory &s, struct query_tile tile, struct ring *ring)
{
    // [student: pass_tiles]
    int own =
        OWN_BARRIER +
        consumer<
            SIZE>(); // one thread releases: all four warps must have left the wait, which no product says here
    for (int i = tile.count - 1; i >= 0; i--, advance<SIZE::STAGES>(ring)) {
        mbarrier_wait(&s.k.full[ring->stage], ring->parity);
        named_barrier(own, WARPGROUP);
        release<SIZE>(s.k, ring->stage, i, tile.kv_bh);
        if (i < tile.whole - 1) wait_for_turn<SIZE>(), pass_turn<SIZE>();
        mbarrier_wait(&s.v.full[ring->stage], ring->parity);
        named_barrier(own, WARPGROUP);
        release<SIZE>(s.v, ring->stage, i, tile.kv_bh);
    }
    // [/student]
}

/** Divides O by l, once, and writes a consumer's rows: to shared memory, and from there by TMA. */
template <typename T, typename SIZE>
__device__ inline void write_rows(const struct attention &p, const struct shared_memory &s,
                                  struct query_tile tile, const struct row_state<SIZE::SUMS> *rows)
{
    // [student: write_rows]
    int group = consumer<SIZE>(), lane = (int)threadIdx.x % 32;
    int first = threadIdx.x % WARPGROUP == 0, query = tile.first + first_row<SIZE>();
    char *out = s.out + group * SIZE::OUT_BYTES;
    float factor[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float l = row_sum(rows->l[h]);
        factor[h] = factor_of(l) * value_scale<SIZE>(p, tile); // a row that sees nothing becomes zeros
        if (p.args.lse != NULL && lane % 4 == 0 && query + 8 * h < p.args.q_len)
            p.args.lse[(size_t)tile.bh * p.args.q_len + query + 8 * h] = rows->m[h] * LN_2 + logf(l);
    }
    if (first) bulk_wait_read<0>();
    named_barrier(OWN_BARRIER + group, WARPGROUP); // TMA has read what was here before
    int row = (int)threadIdx.x % WARPGROUP / 32 * 16 + lane % 16;
#pragma unroll
    for (int i = 0; i < SIZE::SUMS; i += 8) { // 16 columns: rows 0 to 7 and 8 to 15, then 8 columns on
        uint32_t x[4];
#pragma unroll
        for (int j = 0; j < 4; j++)
            x[j] =
                pack_elements<T>(rows->o[i + 2 * j] * factor[j % 2], rows->o[i + 2 * j + 1] * factor[j % 2]);
        store_matrices(out + i / 32 * SIZE::OUT_BLOCK_BYTES + swizzled(row, i % 32 * 4 + lane / 16 * 16), x);
    }
    async_proxy_fence();                           // TMA reads it
    named_barrier(OWN_BARRIER + group, WARPGROUP); // all of it is written
    if (!first) return;
    for (int i = 0; i < SIZE::OUT_BLOCKS; i++)
        head_store(&p.out, i * BLOCK_COLUMNS, tile.first + group * GROUP_ROWS, tile.bh,
                   out + i * SIZE::OUT_BLOCK_BYTES);
    bulk_commit();
    // [/student]
}

/** A consumer takes its 64 rows of every tile of queries of its block: first the keys that not all rows see, then the others. */
template <typename T, typename SIZE>
__device__ inline void attend_tiles(const struct attention &p, struct shared_memory s)
{
    // [student: attend_tiles]
    int group = consumer<SIZE>(), q_parity = 0;
    int tiles = p.args.batch * p.args.heads * p.query_tiles;
    struct ring ring = {0, 0};                           // of K; the same tile of V is in the same stage
    if (group == SIZE::CONSUMERS - 1) pass_turn<SIZE>(); // consumer 0 begins
    for (int index = (int)blockIdx.x; index < tiles; index += (int)gridDim.x, q_parity ^= 1) {
        struct query_tile tile = find_query_tile<SIZE>(p, index);
        struct row_state<SIZE::SUMS> rows;
        clear_rows(&rows);
        mbarrier_wait(s.q_full, q_parity);
        if (tile.first + group * GROUP_ROWS < p.args.q_len) {
            int i = tile.count - 1;
            for (; i >= tile.whole; i--) add_alone<T, SIZE, 1>(&rows, p, s, tile, i, &ring);
            if (SIZE::CONSUMERS > 1 && i >= 0) add_whole<T, SIZE>(&rows, p, s, tile, &ring);
            for (; SIZE::CONSUMERS == 1 && i >= 0; i--) add_alone<T, SIZE, 0>(&rows, p, s, tile, i, &ring);
        } else {
            pass_tiles<SIZE>(s, tile, &ring);
        }
        if (threadIdx.x % WARPGROUP == 0) mbarrier_arrive(s.q_empty); // the next Q may come
        if (tile.first + group * GROUP_ROWS < p.args.q_len) write_rows<T, SIZE>(p, s, tile, &rows);
    }
    if (group == 0) wait_for_turn<SIZE>();                 // the turn that the last consumer has passed on
    if (threadIdx.x % WARPGROUP == 0) bulk_wait_read<0>(); // TMA still reads shared memory
    // [/student]
}

/* ---- the kernel ----------------------------------------------------------------------------------------- */

/** Sets up the mbarriers and gives every warpgroup its work. */
template <typename T, typename SIZE>
__global__ void __launch_bounds__(SIZE::THREADS, SIZE::BLOCKS)
    attention_kernel(const __grid_constant__ struct attention p)
{
#if HOPPER_CODE
    // [student: attention_kernel]
    extern __shared__ __align__(1024) char shared[];
    struct shared_memory s = divide_shared<SIZE>(shared, &p.k, &p.v);
    if (threadIdx.x == 0) {
        mbarrier_init(s.q_full, 1), mbarrier_init(s.q_empty, SIZE::CONSUMERS);
        for (int i = 0; i < SIZE::STAGES; i++) {
            mbarrier_init(&s.k.full[i], 1), mbarrier_init(&s.k.empty[i], SIZE::CONSUMERS);
            mbarrier_init(&s.v.full[i], 1), mbarrier_init(&s.v.empty[i], SIZE::CONSUMERS);
        }
        mbarrier_init_fence();
    }
    __syncthreads(); // the mbarriers are there before anybody arrives at one
    if (SIZE::PRODUCERS == 0) {
        if (threadIdx.x == 0) load_first<SIZE>(p, s);
        attend_tiles<T, SIZE>(p, s);
    } else if (threadIdx.x < WARPGROUP) {
        registers_down_to<SIZE::PRODUCER_REGISTERS>();
        if (threadIdx.x == 0) load_tiles<SIZE>(p, s);
    } else {
        registers_up_to<SIZE::CONSUMER_REGISTERS>();
        attend_tiles<T, SIZE>(p, s);
    }
    // [/student]
#endif
}

/** Describes to TMA what it copies: boxes of 64 columns and as many rows as are copied at once. */
template <typename SIZE> static int describe(struct attention *p)
{
    // [student: describe]
    const struct attention_args &x = p->args;
    CUtensorMapDataType type =
        x.dtype == DTYPE_F16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    int heads = x.batch * x.heads, kv_heads = x.batch * x.kv_heads;
    int columns = SIZE::HEAD_DIM, v_rows = x.kv_len;
    if (SIZE::ELEMENT_BYTES == 1) { // copied in pairs; tiles of V are transposed, and all of them are whole
        columns /= 2, v_rows = divide_up(x.kv_len, SIZE::TILE_KV) * SIZE::HEAD_DIM;
    }
    return heads_map(&p->q, type, x.q, heads, x.q_len, columns, SIZE::TILE_Q) &&
           heads_map(&p->k, type, x.k, kv_heads, x.kv_len, columns, SIZE::TILE_KV) &&
           heads_map(&p->v, type, x.v, kv_heads, v_rows, columns, SIZE::TILE_KV) &&
           heads_map(&p->out, type, x.out, heads, x.q_len, SIZE::HEAD_DIM, GROUP_ROWS);
    // [/student]
}

/** Starts a block for every tile of queries, or, with a producer and few keys, one for every SM. */
template <typename T, typename SIZE>
static enum kernel_status launch(const struct attention_args *args, cudaStream_t stream)
{
    // [student: launch]
    struct attention p = {};
    p.args = *args;
    p.scale = attention_scale(args) * LOG2_E;
    p.factor = p.scale < 0.0f ? -1.0f : 1.0f;
    if (isinf(p.scale)) p.scale = args->scale * (LOG2_E / 2), p.factor *= 2.0f;
    p.query_tiles = divide_up(args->q_len, SIZE::TILE_Q);
    find_scales<SIZE>(&p);
    int heads = args->batch * args->heads, group = args->heads / args->kv_heads;
    // Of K and V together.
    size_t head_bytes = 2 * (size_t)args->kv_len * SIZE::HEAD_DIM * SIZE::ELEMENT_BYTES;
    size_t section = L2_BYTES / head_bytes * (size_t)group; // query heads whose K and V fit
    p.section = section < 1 ? 1 : section < (size_t)heads ? (int)section : heads;
    if (!describe<SIZE>(&p)) return KERNEL_CUDA_ERROR;
    int blocks = heads * p.query_tiles;
    // Blocks that stay load ahead into their next tile. Long tiles are better handed out as SMs come free.
    if (SIZE::PRODUCERS > 0 && args->kv_len < LONG_KEYS)
        blocks = min(blocks, device_attribute(cudaDevAttrMultiProcessorCount));
    launch_in_clusters(attention_kernel<T, SIZE>, blocks, SIZE::THREADS, SIZE::SHARED_BYTES, 1, stream, p);
    return launch_status();
    // [/student]
}

/* ---- parts "f16" and "bf16" ----------------------------------------------------------------------------- */

/** Checks the arguments and finds the kernel for head_dim: tile sizes must be known when compiling. */
template <typename T>
static enum kernel_status attention(const struct attention_args *args, enum dtype dtype, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, 16, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim != 64 && args->head_dim != 128) return KERNEL_INVALID_DIMENSION;
    if (device_attribute(cudaDevAttrComputeCapabilityMajor) != 9) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    return args->head_dim == 64 ? launch<T, tile_of_64>(args, stream) : launch<T, tile_of_128>(args, stream);
}

enum kernel_status hopper_attention_f16(const struct attention_args *args, cudaStream_t stream)
{
    return attention<half>(args, DTYPE_F16, stream);
}

enum kernel_status hopper_attention_bf16(const struct attention_args *args, cudaStream_t stream)
{
    return attention<__nv_bfloat16>(args, DTYPE_BF16, stream);
}

/* ---- part "fp8": Q, K and V become E4M3 ----------------------------------------------------------------- */

/** The largest @p largest of the block, in every thread; @p words is shared memory, a word per warp. */
__device__ inline float largest_of_block(float *words, float largest)
{
    // [student: largest_of_block]
    for (int distance = 16; distance > 0; distance /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(ALL_LANES, largest, distance));
    if (threadIdx.x % 32 == 0) words[threadIdx.x / 32] = largest;
    __syncthreads(); // those of all warps are there
    for (int i = 0; i < QUANTISE_THREADS / 32; i++) largest = fmaxf(largest, words[i]);
    return largest;
    // [/student]
}

/**
 * A block of 128 rows of a head of Q, K or V: rotated unless it is V, their scale found, and, if there is a place for codes,
 * rounded. A warp has 16 rows, a lane eight of every 32 columns of two of them; Q and K have them in the same order.
 */
template <typename T>
__global__ void __launch_bounds__(QUANTISE_THREADS, 2)
    quantise_rows_kernel(const __grid_constant__ struct rows_to_round jobs,
                         const __grid_constant__ struct rotation rotation)
{
    // [student: quantise_rows]
    __shared__ float words[QUANTISE_THREADS / 32];
    int index = (int)blockIdx.x, job = index < jobs.ends[0] ? 0 : index < jobs.ends[1] ? 1 : 2;
    if (job > 0) index -= jobs.ends[job - 1];
    int rows = jobs.rows[job], blocks = divide_up(rows, E4M3_ROWS), lane = (int)threadIdx.x % 32;
    int first = index % blocks * E4M3_ROWS + (int)threadIdx.x / 32 * 16 + lane / 4; // row of the head
    size_t row = (size_t)(index / blocks) * (size_t)rows + (size_t)first;           // row of all
    uint4 from[2][4];
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int b = 0; b < 4; b++) {
            from[h][b] = make_uint4(0, 0, 0, 0);
            if (first + 8 * h < rows)
                from[h][b] = *(const uint4 *)((const T *)jobs.x[job] + (row + 8 * h) * E4M3_COLUMNS + 32 * b +
                                              lane % 4 * 8);
        }
    float x[4][4][4], largest = 0.0f;
    rotate<T>(x, from, rotation, job < 2 && rotation.applies);
#pragma unroll
    for (int i = 0; i < 64; i++) largest = fmaxf(largest, fabsf(x[i / 16][i / 4 % 4][i % 4]));
    if (largest == INFINITY) { // rare
        largest = 0.0f;
#pragma unroll
        for (int i = 0; i < 64; i++) largest = fmaxf(largest, finite_size(x[i / 16][i / 4 % 4][i % 4]));
    }
    float scale = e4m3_scale(largest_of_block(words, largest)), inverse = 1.0f / scale;
    if (threadIdx.x == 0) jobs.scales[job][index] = scale;
    if (jobs.codes[job] == NULL) return;
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int b = 0; b < 4; b++) { // the 32 columns of a wgmma stay together, in any order
            uint32_t word[2];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const float(&of)[4] = x[b][2 * i], (&next)[4] = x[b][2 * i + 1];
                // Exact: the scale is a power of two.
                float four[4] = {of[2 * h] * inverse, of[2 * h + 1] * inverse, next[2 * h] * inverse,
                                 next[2 * h + 1] * inverse};
                word[i] = e4m3_word(four);
            }
            if (first + 8 * h < rows)
                *(uint2 *)(jobs.codes[job] + (row + 8 * h) * E4M3_COLUMNS + 32 * b + lane % 4 * 8) =
                    make_uint2(word[0], word[1]);
        }
    // [/student]
}

/** A tile of 128 keys of V: rounded with the scale of its head, and transposed. What is past the last key becomes zeros. */
template <typename T>
__global__ void __launch_bounds__(QUANTISE_THREADS)
    quantise_values_kernel(const T *v, uint8_t *codes, const float *tile_scales, float *scales, int rows)
{
    // [student: quantise_values]
    constexpr int WORDS = E4M3_ROWS / 4, LANES = E4M3_COLUMNS / 4;
    // A column of V per row; the XOR spreads it over banks.
    __shared__ uint32_t transposed[E4M3_COLUMNS][WORDS];
    int tiles = divide_up(rows, E4M3_ROWS), head = (int)blockIdx.x / tiles, tile = (int)blockIdx.x % tiles;
    int lane = (int)threadIdx.x % LANES, first = tile * E4M3_ROWS;
    float scale = 0.0f;
    for (int i = lane; i < tiles; i += LANES) scale = fmaxf(scale, tile_scales[head * tiles + i]);
    for (int distance = 16; distance > 0; distance /= 2)
        scale = fmaxf(scale, __shfl_xor_sync(ALL_LANES, scale, distance));
    if (tile == 0 && threadIdx.x == 0) scales[head] = scale;
    float inverse = 1.0f / scale; // exact: a power of two
#pragma unroll
    for (int word = (int)threadIdx.x / LANES; word < WORDS; word += QUANTISE_THREADS / LANES) {
        float of[4][4]; // [key][column]
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int row = first + key_at(4 * word + i);
            of[i][0] = of[i][1] = of[i][2] = of[i][3] = 0.0f;
            if (row < rows) load_four(of[i], v + ((size_t)head * rows + row) * E4M3_COLUMNS + 4 * lane);
        }
#pragma unroll
        for (int c = 0; c < 4; c++) {
            float four[4] = {of[0][c] * inverse, of[1][c] * inverse, of[2][c] * inverse, of[3][c] * inverse};
            transposed[4 * lane + c][word ^ lane] = e4m3_word(four);
        }
    }
    __syncthreads(); // every thread reads what others have written
    uint32_t *to = (uint32_t *)codes + (size_t)blockIdx.x * E4M3_COLUMNS * WORDS;
#pragma unroll
    for (int i = (int)threadIdx.x; i < E4M3_COLUMNS * WORDS; i += QUANTISE_THREADS)
        to[i] = transposed[i / WORDS][i % WORDS ^ i / WORDS / 4];
    // [/student]
}

/** Rounds Q, K and V into the workspace, and launches attention of what is there. */
template <typename T, typename E4M3>
static enum kernel_status attention_e4m3(const struct attention_args *args, unsigned seed,
                                         cudaStream_t stream)
{
    // [student: attention_e4m3]
    struct e4m3_places places = e4m3_workspace(args);
    uint8_t *to = (uint8_t *)args->workspace;
    struct attention_args rounded = *args;
    rounded.q = to + places.q, rounded.k = to + places.k, rounded.v = to + places.v;
    rounded.scale = e4m3_score_scale(args, seed); // the rotation multiplies products by 128
    unsigned q_blocks = (unsigned)(args->batch * args->heads * divide_up(args->q_len, E4M3_ROWS));
    unsigned kv_blocks = (unsigned)(args->batch * args->kv_heads * divide_up(args->kv_len, E4M3_ROWS));
    float *v_scales = (float *)(to + places.v_scales), *v_tiles = (float *)(to + places.v_tiles);
    struct rows_to_round jobs = {
        {args->q, args->k, args->v}, // of V only the scales: its codes are transposed
        {to + places.q, to + places.k, NULL},
        {(float *)(to + places.q_scales), (float *)(to + places.k_scales), v_tiles},
        {args->q_len, args->kv_len, args->kv_len},
        {(int)q_blocks, (int)(q_blocks + kv_blocks)}};
    quantise_rows_kernel<T>
        <<<q_blocks + 2 * kv_blocks, QUANTISE_THREADS, 0, stream>>>(jobs, rotation_of(seed));
    quantise_values_kernel<T><<<kv_blocks, QUANTISE_THREADS, 0, stream>>>((const T *)args->v, to + places.v,
                                                                          v_tiles, v_scales, args->kv_len);
    enum kernel_status status = launch_status();
    return status == KERNEL_OK ? launch<E4M3, tile_of_e4m3>(&rounded, stream) : status;
    // [/student]
}

size_t hopper_attention_fp8_workspace_bytes(const struct attention_args *args)
{
    return e4m3_workspace(args).bytes;
}

enum kernel_status hopper_attention_fp8(const struct attention_args *args, unsigned seed, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, 16, e4m3_workspace(args).bytes);
    if (status != KERNEL_OK) return status;
    if (args->dtype != DTYPE_F16 && args->dtype != DTYPE_BF16) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim != E4M3_COLUMNS) return KERNEL_INVALID_DIMENSION;
    if (device_attribute(cudaDevAttrComputeCapabilityMajor) != 9) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    return args->dtype == DTYPE_F16 ? attention_e4m3<half, e4m3_to_f16>(args, seed, stream)
                                    : attention_e4m3<__nv_bfloat16, e4m3_to_bf16>(args, seed, stream);
}
