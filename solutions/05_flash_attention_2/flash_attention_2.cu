// [student: head]
/*
 * FlashAttention-2: a block owns a tile of query rows and walks over all keys that they see. What it knows of
 * its rows, (m, l) and the unnormalised O, stays in registers from the first key to the last. So blocks need
 * nothing of each other, O is divided once, and nothing but O goes back to memory.
 *
 *                 keys:   tile 0   tile 1   tile 2  ...
 *      Q tile 0   block   ----------------------->            grid: (Q tile, head, batch), all in x
 *      Q tile 1   block   ----------------------->
 *
 *      a block's 4 warps split its rows, not the keys: a warp has every score of its rows.
 *
 *      one warp:   32 rows  x  64 keys of S,  then 32 rows  x  64 columns of O       (head_dim 64)
 *      one lane:    8 rows  x   8 keys             8 rows   x   8 columns
 *
 * Paper: Dao 2023, "FlashAttention-2", Algorithm 1 and sections 3.1 to 3.3.
 * Run:   build/bin/warpwise check 05 --kernel solutions/05_flash_attention_2/flash_attention_2.cu
 */
// [/student]
#include "flash_attention_2.h"

#include <cuda_fp16.h>

#include "attention_rows.h"
#include "kernel_launch.h"
#include "vector_elements.h"
#include "lane_places.h" // which rows, keys and columns a lane has

enum {
    VECTOR = 4,          // floats that one load from shared memory brings
    PAD = 4,             // floats after each row of Q, K and V: the next row begins 4 banks further
    TILE_P = 16,         // k-slice of P V: keys whose probabilities pass through shared memory at a time
    P_PAD = 8,           // floats after each row of P: the next one begins 8 banks further
    MIN_BLOCKS = 2,      // per SM: the compiler may spend half of the registers on a block
    SHARED_BYTES = 65536 // what a block may have on every device from sm_75 on
};

#define LOG2_E 1.44269504f ///< exp(x) = exp2(x * LOG2_E), and exp2 is what the hardware has
#define LN_2 0.69314718f   ///< 1 / LOG2_E

/** Sizes that depend on head_dim, such that O, S and the tiles fit in registers and shared memory. */
template <int HEAD_DIM> struct sizes {
    enum {
        ROWS = HEAD_DIM == 128 ? 4 : 8,      // query rows of a thread, ROW_LANES apart
        WARP_ROWS = ROW_LANES * ROWS,        // query rows of a warp
        TILE_Q = WARPS * WARP_ROWS,          // query rows of a block: 128, or 64 if head_dim is 128
        TILE_KV = HEAD_DIM == 128 ? 32 : 64, // keys of a tile
        KEYS = TILE_KV / COLUMN_LANES,       // keys of a thread, COLUMN_LANES apart
        COLUMNS = HEAD_DIM / COLUMN_LANES    // columns of O of a thread: groups of VECTOR, 32 apart
    };
};

/** What a block keeps in shared memory. kv holds first K, then V. */
template <int HEAD_DIM> struct shared_tiles {
    float q[sizes<HEAD_DIM>::TILE_Q][HEAD_DIM + PAD];
    float kv[sizes<HEAD_DIM>::TILE_KV][HEAD_DIM + PAD];
    float p[sizes<HEAD_DIM>::TILE_Q][TILE_P + P_PAD];
};

static_assert(sizeof(struct shared_tiles<32>) <= SHARED_BYTES, "a block must fit on every device");
static_assert(sizeof(struct shared_tiles<64>) <= SHARED_BYTES, "a block must fit on every device");
static_assert(sizeof(struct shared_tiles<128>) <= SHARED_BYTES, "a block must fit on every device");

/** What a thread knows of its rows. */
template <int HEAD_DIM> struct row_state {
    float m[sizes<HEAD_DIM>::ROWS];                           // largest score so far, times log2(e)
    float l[sizes<HEAD_DIM>::ROWS];                           // sum of exp2(score - m), this thread's keys
    float o[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::COLUMNS]; // sum of exp2(score - m) * V, all keys
};

/** Which tile of queries a block works on, and where its head begins. */
struct query_tile {
    int bh;    // batch * heads + head
    int kv_bh; // batch * kv_heads + K/V head that this head reads
    int first; // first query of the tile
    int rows;  // queries in the tile: TILE_Q, or what is left at the end of the head
};

/* ---- tiles -------------------------------------------------------------------------------------------- */

/**
 * The tile of queries of block @p index. Blocks start in the order of their numbers: with a causal mask the
 * last tiles of all heads have the most keys and begin first, so that short ones fill up the end.
 */
template <int TILE_Q>
__device__ inline struct query_tile find_query_tile(const struct attention_args &args, int index)
{
    // [student: find_query_tile]
    int tiles = divide_up(args.q_len, TILE_Q), heads = args.batch * args.heads;
    struct query_tile tile;
    tile.bh = index % heads;
    tile.kv_bh = tile.bh / (args.heads / args.kv_heads); // as in lesson 01: heads = kv_heads * group
    tile.first = (tiles - 1 - index / heads) * TILE_Q;
    tile.rows = min(args.q_len - tile.first, TILE_Q);
    return tile;
    // [/student]
}

/**
 * Copies ROWS rows into a tile, as floats, times @p factor; rows that do not exist become zeros. A thread
 * first asks for all its 16-byte vectors, then stores: it waits once, not once per vector.
 */
template <typename T, int HEAD_DIM, int ROWS>
__device__ inline void load_tile(float (*tile)[HEAD_DIM + PAD], // [ROWS][HEAD_DIM]
                                 const T *from,                 // [rows, HEAD_DIM]
                                 int rows, float factor)
{
    constexpr int ELEMS = 16 / sizeof(T);                   // of a vector
    constexpr int ACROSS = HEAD_DIM / ELEMS;                // vectors of a row
    constexpr int THREAD_VECTORS = ROWS * ACROSS / THREADS; // vectors of a thread
    static_assert(THREAD_VECTORS * THREADS == ROWS * ACROSS,
                  "every thread copies the same number of vectors");
    // [student: load_tile]
    uint4 fetched[THREAD_VECTORS];
    for (int i = 0; i < THREAD_VECTORS; i++) {
        int at = (int)threadIdx.x + i * THREADS; // neighbouring threads, neighbouring vectors
        uint4 nothing = {0, 0, 0, 0};
        fetched[i] = at / ACROSS < rows ? ((const uint4 *)from)[at] : nothing;
    }
    for (int i = 0; i < THREAD_VECTORS; i++) {
        int at = (int)threadIdx.x + i * THREADS;
        float *to = tile[at / ACROSS] + at % ACROSS * ELEMS;
        alignas(16) T stored[ELEMS];
        alignas(16) float x[ELEMS];
        *(uint4 *)stored = fetched[i];
        for (int j = 0; j < ELEMS; j++) x[j] = to_float(stored[j]) * factor;
        for (int j = 0; j < ELEMS; j += VECTOR) copy_vector(to + j, x + j);
    }
    // [/student]
}

/* ---- the lanes of a row ------------------------------------------------------------------------------- */

/** The largest @p value of the 8 lanes that share a row. All 32 lanes must call it. */
__device__ inline float row_max(float value)
{
    // [student: row_max]
    for (int distance = 2; distance <= COLUMN_LANES; distance *= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
    return value;
    // [/student]
}

/** The sum over the 8 lanes that share a row. All 32 lanes must call it. */
__device__ inline float row_sum(float value)
{
    // [student: row_sum]
    for (int distance = 2; distance <= COLUMN_LANES; distance *= 2)
        value += __shfl_xor_sync(0xffffffffu, value, distance);
    return value;
    // [/student]
}

/* ---- one tile of keys --------------------------------------------------------------------------------- */

/** S = Q K^T of a thread's rows and keys. */
template <int HEAD_DIM>
__device__ inline void multiply_q_k(float s[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::KEYS],
                                    const struct shared_tiles<HEAD_DIM> *tiles)
{
    // [student: multiply_q_k]
    typedef struct sizes<HEAD_DIM> size;
    int row = first_row<size::WARP_ROWS>(), key = column_lane();
    for (int i = 0; i < size::ROWS; i++)
        for (int j = 0; j < size::KEYS; j++) s[i][j] = 0.0f;
#pragma unroll 1
    for (int d = 0; d < HEAD_DIM; d += VECTOR) {
        alignas(16) float q[size::ROWS][VECTOR], k[VECTOR];
        for (int i = 0; i < size::ROWS; i++) copy_vector(q[i], &tiles->q[row + i * ROW_LANES][d]);
        for (int j = 0; j < size::KEYS; j++) {
            copy_vector(k, &tiles->kv[key + j * COLUMN_LANES][d]);
            for (int x = 0; x < VECTOR; x++)
                for (int i = 0; i < size::ROWS; i++) s[i][j] += q[i][x] * k[x];
        }
    }
    // [/student]
}

/** Scores of keys that a row does not see become -infinity. @p seen counts from the tile's first key on. */
template <int HEAD_DIM>
__device__ inline void mask_scores(float s[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::KEYS],
                                   const int seen[sizes<HEAD_DIM>::ROWS])
{
    // [student: mask_scores]
    for (int i = 0; i < sizes<HEAD_DIM>::ROWS; i++)
        for (int j = 0; j < sizes<HEAD_DIM>::KEYS; j++)
            if (column_lane() + j * COLUMN_LANES >= seen[i]) s[i][j] = -INFINITY;
    // [/student]
}

/** One step of online softmax: scores become exp2(score - m); l and O are corrected to the new m. */
template <int HEAD_DIM>
__device__ inline void update_rows(struct row_state<HEAD_DIM> *rows,
                                   float s[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::KEYS])
{
    // [student: update_rows]
    typedef struct sizes<HEAD_DIM> size;
    for (int i = 0; i < size::ROWS; i++) {
        float m = rows->m[i];
        for (int j = 0; j < size::KEYS; j++) m = fmaxf(m, s[i][j]);
        m = row_max(m);
        float shift = shift_of(m);
        float correction = exp2f(rows->m[i] - shift); // what was summed up so far refers to the old maximum
        rows->m[i] = m;
        rows->l[i] *= correction;
        for (int c = 0; c < size::COLUMNS; c++) rows->o[i][c] *= correction;
        for (int j = 0; j < size::KEYS; j++) {
            s[i][j] = exp2f(s[i][j] - shift);
            rows->l[i] += s[i][j];
        }
    }
    // [/student]
}

/**
 * O += P V over the keys of one slice, which begins with key @p first of the tile. If MASKED, keys that a row
 * does not see are skipped: their p is 0, but 0 * NaN would be NaN.
 */
template <int HEAD_DIM, int MASKED>
__device__ inline void multiply_p_v(float o[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::COLUMNS],
                                    const int seen[sizes<HEAD_DIM>::ROWS],
                                    const struct shared_tiles<HEAD_DIM> *tiles, int first)
{
    // [student: multiply_p_v]
    typedef struct sizes<HEAD_DIM> size;
    int row = first_row<size::WARP_ROWS>(), column = column_lane() * VECTOR;
#pragma unroll 1
    for (int key = 0; key < TILE_P; key += VECTOR) {
        alignas(16) float p[size::ROWS][VECTOR], v[VECTOR];
        for (int i = 0; i < size::ROWS; i++) copy_vector(p[i], &tiles->p[row + i * ROW_LANES][key]);
#pragma unroll
        for (int x = 0; x < VECTOR; x++)
            for (int c = 0; c < size::COLUMNS; c += VECTOR) {
                copy_vector(v, &tiles->kv[first + key + x][column + c * COLUMN_LANES]);
                for (int i = 0; i < size::ROWS; i++)
                    for (int y = 0; y < VECTOR; y++)
                        if (!MASKED || first + key + x < seen[i]) o[i][c + y] += p[i][x] * v[y];
            }
    }
    // [/student]
}

/** O += P V over the whole tile. A lane has p of 8 keys of each row and needs all: they pass through shared memory. */
template <int HEAD_DIM, int MASKED>
__device__ inline void add_values(struct row_state<HEAD_DIM> *rows,
                                  const float p[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::KEYS],
                                  const int seen[sizes<HEAD_DIM>::ROWS], struct shared_tiles<HEAD_DIM> *tiles)
{
    // [student: add_values]
    typedef struct sizes<HEAD_DIM> size;
    constexpr int LANE_KEYS = TILE_P / COLUMN_LANES; // keys of a slice that a lane has
    int row = first_row<size::WARP_ROWS>();
#pragma unroll
    for (int slice = 0; slice < size::TILE_KV / TILE_P; slice++) {
        __syncwarp(); // the warp has read the slice before, which this one overwrites
        for (int i = 0; i < size::ROWS; i++)
            for (int j = 0; j < LANE_KEYS; j++)
                tiles->p[row + i * ROW_LANES][column_lane() + j * COLUMN_LANES] = p[i][slice * LANE_KEYS + j];
        __syncwarp(); // the slice is complete; other warps have rows of their own
        multiply_p_v<HEAD_DIM, MASKED>(rows->o, seen, tiles, slice * TILE_P);
    }
    // [/student]
}

/** What a warp does with a tile of scores: mask them if need be, make them probabilities, add P V. */
template <int HEAD_DIM>
__device__ inline void add_tile(const struct attention_args &args, struct query_tile tile, int first_key,
                                float s[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::KEYS],
                                struct row_state<HEAD_DIM> *rows, struct shared_tiles<HEAD_DIM> *tiles)
{
    // [student: add_tile]
    typedef struct sizes<HEAD_DIM> size;
    int seen[size::ROWS];
    if (keys_seen(args, tile.first) - first_key >= size::TILE_KV) { // the first query sees the fewest keys
        update_rows<HEAD_DIM>(rows, s);
        add_values<HEAD_DIM, 0>(rows, s, seen, tiles);
        return;
    }
    for (int i = 0; i < size::ROWS; i++) {
        int row = min(first_row<size::WARP_ROWS>() + i * ROW_LANES, tile.rows - 1); // no row past the end
        seen[i] = keys_seen(args, tile.first + row) - first_key;
    }
    mask_scores<HEAD_DIM>(s, seen);
    update_rows<HEAD_DIM>(rows, s);
    add_values<HEAD_DIM, 1>(rows, s, seen, tiles);
    // [/student]
}

/* ---- the end ------------------------------------------------------------------------------------------ */

/** Divides O by l, once, and writes a thread's part of it. All 32 lanes must call it. */
template <typename T, int HEAD_DIM>
__device__ inline void write_rows(const struct attention_args &args, struct query_tile tile,
                                  const struct row_state<HEAD_DIM> *rows)
{
    // [student: write_rows]
    typedef struct sizes<HEAD_DIM> size;
    for (int i = 0; i < size::ROWS; i++) {
        float l = row_sum(rows->l[i]);
        float factor = l == 0.0f ? 0.0f : 1.0f / l; // a row that sees nothing becomes zeros
        int row = first_row<size::WARP_ROWS>() + i * ROW_LANES;
        if (row >= tile.rows) continue;
        size_t at = (size_t)tile.bh * args.q_len + tile.first + row;
        T *out_row = (T *)args.out + at * HEAD_DIM; // [HEAD_DIM]
        for (int c = 0; c < size::COLUMNS; c += VECTOR) {
            alignas(16) float x[VECTOR];
            for (int y = 0; y < VECTOR; y++) x[y] = rows->o[i][c + y] * factor;
            store_vector(out_row + column_lane() * VECTOR + c * COLUMN_LANES, x);
        }
        if (args.lse != NULL && column_lane() == 0) args.lse[at] = rows->m[i] * LN_2 + logf(l);
    }
    // [/student]
}

/* ---- the kernel --------------------------------------------------------------------------------------- */

/** One block, one tile of queries: walks over the tiles of keys that its last query sees. */
template <typename T, int HEAD_DIM>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    attention_kernel(struct attention_args args, float scale)
{
    // [student: attention_kernel]
    typedef struct sizes<HEAD_DIM> size;
    extern __shared__ float4 shared_memory[];
    struct shared_tiles<HEAD_DIM> *tiles = (struct shared_tiles<HEAD_DIM> *)shared_memory;
    struct query_tile tile = find_query_tile<size::TILE_Q>(args, (int)blockIdx.x);
    size_t q_row = (size_t)tile.bh * args.q_len + tile.first, kv_row = (size_t)tile.kv_bh * args.kv_len;
    const T *q_tile = (const T *)args.q + q_row * HEAD_DIM; // [tile.rows, HEAD_DIM]
    const T *k_bh = (const T *)args.k + kv_row * HEAD_DIM;  // [kv_len, HEAD_DIM]
    const T *v_bh = (const T *)args.v + kv_row * HEAD_DIM;  // [kv_len, HEAD_DIM]
    int most = keys_seen(args, tile.first + tile.rows - 1); // the tile's last query sees the most keys
    int has_rows = (int)threadIdx.x / WARP * size::WARP_ROWS < tile.rows; // this warp

    struct row_state<HEAD_DIM> rows;
    for (int i = 0; i < size::ROWS; i++) {
        rows.m[i] = -INFINITY; // nothing seen yet
        rows.l[i] = 0.0f;
        for (int c = 0; c < size::COLUMNS; c++) rows.o[i][c] = 0.0f;
    }
    // A query times more than 1 may be beyond float where the score is not: then the products are multiplied.
    int of_queries = fabsf(scale * LOG2_E) <= 1.0f;
    load_tile<T, HEAD_DIM, size::TILE_Q>(tiles->q, q_tile, tile.rows, of_queries ? scale * LOG2_E : 1.0f);

    for (int iteration = 0; iteration < divide_up(most, size::TILE_KV); iteration++) {
        int key = iteration * size::TILE_KV; // first of the tile
        load_tile<T, HEAD_DIM, size::TILE_KV>(tiles->kv, k_bh + (size_t)key * HEAD_DIM, most - key, 1.0f);
        __syncthreads(); // K is complete, and in the first iteration Q, before anybody multiplies
        float s[size::ROWS][size::KEYS];
        if (has_rows) multiply_q_k<HEAD_DIM>(s, tiles);
        for (int i = 0; i < size::ROWS && !of_queries; i++)
            for (int j = 0; j < size::KEYS; j++) s[i][j] = s[i][j] * scale * LOG2_E;
        __syncthreads(); // everybody is done with K before V takes its place
        load_tile<T, HEAD_DIM, size::TILE_KV>(tiles->kv, v_bh + (size_t)key * HEAD_DIM, most - key, 1.0f);
        __syncthreads(); // V is complete before anybody multiplies
        if (has_rows) add_tile<HEAD_DIM>(args, tile, key, s, &rows, tiles);
        __syncthreads(); // everybody is done with V before the next K takes its place
    }
    if (has_rows) write_rows<T, HEAD_DIM>(args, tile, &rows);
    // [/student]
}

/** Starts one block per tile of queries. */
template <typename T, int HEAD_DIM>
static enum kernel_status launch(const struct attention_args *args, cudaStream_t stream)
{
    // [student: launch]
    // No more blocks than there are rows, and attention_args_check() saw to it that those fit in an int.
    int blocks = args->batch * args->heads * divide_up(args->q_len, sizes<HEAD_DIM>::TILE_Q);
    int bytes = (int)sizeof(struct shared_tiles<HEAD_DIM>); // more than 48 KB must be asked for
    if (cudaFuncSetAttribute(attention_kernel<T, HEAD_DIM>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             bytes) != cudaSuccess)
        return KERNEL_CUDA_ERROR;
    attention_kernel<T, HEAD_DIM>
        <<<(unsigned)blocks, THREADS, (size_t)bytes, stream>>>(*args, attention_scale(args));
    return launch_status();
    // [/student]
}

/* ---- entry points ------------------------------------------------------------------------------------- */

/** Checks the arguments and finds the kernel for head_dim. */
template <typename T>
static enum kernel_status attention(const struct attention_args *args, enum dtype dtype, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, sizeof(uint4), 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    switch (args->head_dim) { // tile sizes must be known when compiling
    case 32:
        return launch<T, 32>(args, stream);
    case 64:
        return launch<T, 64>(args, stream);
    case 128:
        return launch<T, 128>(args, stream);
    default:
        return KERNEL_INVALID_DIMENSION;
    }
}

enum kernel_status flash_attention_2_f32(const struct attention_args *args, cudaStream_t stream)
{
    return attention<float>(args, DTYPE_F32, stream);
}

enum kernel_status flash_attention_2_f16(const struct attention_args *args, cudaStream_t stream)
{
    return attention<__half>(args, DTYPE_F16, stream);
}
