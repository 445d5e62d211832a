// [student: head]
/*
 * FlashAttention as first published. The outer loop loads each tile of K and V into shared memory once; the
 * inner loop visits it with all queries of the head. What is known of a query so far, its output O and the
 * pair (m, l) of lesson 03, lives in device memory and is corrected at every visit. No score matrix.
 *
 *      for each tile of K, V                  outer loop: the tile stays in shared memory
 *          for each tile of Q                 inner loop: warps take rows, without waiting for each other
 *              read O, m, l;   S = scale Q K^T;   m' = max(m, S);   P = exp(S - m');
 *              l' = l exp(m - m') + sum P;   O' = (l exp(m - m') O + P V) / l';   write O', m', l'
 *
 * One block does one head, since two blocks with different keys would correct the same row at once.
 *
 * Paper: Dao et al. 2022, "FlashAttention", algorithm 1 (with a mask: algorithm 2).
 * Run:   build/bin/warpwise check 04 --kernel solutions/04_flash_attention_1/flash_attention_1.cu
 */
// [/student]
#include "flash_attention_1.h"

#include <cuda_fp16.h>

#include "attention_rows.h"
#include "kernel_launch.h"
#include "vector_elements.h"
#include "warp_reduce.h"
#include "call_check.h" // what the entry points refuse
#include "head_tiles.h" // sizes of tiles, what a warp keeps of its rows

/* ---- a visit: a warp's rows meet a tile of keys ------------------------------------------------------ */

/** Loads four halves in one instruction, as floats; load_four() of floats is in vector_elements.h. */
__device__ inline float4 load_four(const half *from)
{
    // [student: load_four_halves]
    uint2 bits = *(const uint2 *)from; // 8 bytes at once
    float2 low = __half22float2(*(const half2 *)&bits.x), high = __half22float2(*(const half2 *)&bits.y);
    return make_float4(low.x, low.y, high.x, high.y);
    // [/student]
}

/** Brings a warp's queries into shared memory. Rows that do not exist become 0. */
template <typename T, int HEAD_DIM>
__device__ inline void load_queries(float (*rows)[sizes<HEAD_DIM>::WIDTH], // [ROWS][WIDTH], the warp's own
                                    const T *q_rows,                       // [count, head_dim]
                                    int count)
{
    // [student: load_queries]
    constexpr int FOURS = sizes<HEAD_DIM>::FOURS;
    for (int i = (int)threadIdx.x % WARP; i < sizes<HEAD_DIM>::ROWS * FOURS; i += WARP) {
        int row = i / FOURS, column = i % FOURS * FOUR;
        float4 four = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (row < count) four = load_four(q_rows + (size_t)row * HEAD_DIM + column);
        *(float4 *)&rows[row][column] = four;
    }
    // [/student]
}

/** Reads O, m and l as the last visit left them; at the first one there is nothing, and nothing is read. */
template <typename T, int HEAD_DIM>
__device__ inline void load_state(struct row_state<HEAD_DIM> *state, const struct head_data<T> &head,
                                  struct query_rows rows, int first_visit)
{
    // [student: load_state]
    constexpr int COLUMNS = sizes<HEAD_DIM>::COLUMNS;
    int lane = (int)threadIdx.x % WARP;
    int known = first_visit ? 0 : rows.count; // rows that have a past
    state->m = lane < known ? head.m[rows.first + lane] : -INFINITY;
    state->l = lane < known ? head.l[rows.first + lane] : 0.0f;
    for (int i = 0; i < sizes<HEAD_DIM>::ROWS; i++) {
        for (int c = 0; c < COLUMNS; c++) state->o[i][c] = 0.0f;
        size_t offset = ((size_t)rows.first + i) * HEAD_DIM + lane * COLUMNS;
        if (i < known) load_floats<COLUMNS>(state->o[i], head.o + offset);
    }
    // [/student]
}

/** score[i][j] = scale times query i times key lane + 32 j. */
template <int HEAD_DIM>
__device__ inline void multiply_q_k(float score[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::THREAD_KEYS],
                                    float (*rows)[sizes<HEAD_DIM>::WIDTH],    // [ROWS][WIDTH]: queries
                                    float4 (*k_tile)[sizes<HEAD_DIM>::FOURS], // [KEYS][FOURS], swizzled
                                    float scale)
{
    // [student: multiply_q_k]
    constexpr int THREAD_KEYS = sizes<HEAD_DIM>::THREAD_KEYS;
    int lane = (int)threadIdx.x % WARP;
    for (int group = 0; group < sizes<HEAD_DIM>::FOURS; group++) {
        float4 k[THREAD_KEYS];
        for (int j = 0; j < THREAD_KEYS; j++) k[j] = k_tile[lane + j * WARP][group ^ lane % SWIZZLE];
        for (int i = 0; i < sizes<HEAD_DIM>::ROWS; i++) {
            float4 q = *(const float4 *)&rows[i][group * FOUR]; // the same for all lanes: one word, one bank
            for (int j = 0; j < THREAD_KEYS; j++)
                score[i][j] += q.x * k[j].x + q.y * k[j].y + q.z * k[j].z + q.w * k[j].w;
        }
    }
    for (int i = 0; i < sizes<HEAD_DIM>::ROWS; i++)
        for (int j = 0; j < THREAD_KEYS; j++) score[i][j] *= scale;
    // [/student]
}

/**
 * Scores become weights exp(score - m'), written over the queries. m and l become those of all keys seen so
 * far. keep[i] is the factor on the old output of row i in the new one, factor[i] that on its new weights.
 */
template <int HEAD_DIM>
__device__ inline void update_rows(struct row_state<HEAD_DIM> *state,
                                   float score[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::THREAD_KEYS],
                                   float (*rows)[sizes<HEAD_DIM>::WIDTH], // [ROWS][WIDTH]
                                   const int seen[sizes<HEAD_DIM>::ROWS], // of this tile: all keys below
                                   float keep[sizes<HEAD_DIM>::ROWS], float factor[sizes<HEAD_DIM>::ROWS])
{
    // [student: update_rows]
    constexpr int ROWS = sizes<HEAD_DIM>::ROWS, THREAD_KEYS = sizes<HEAD_DIM>::THREAD_KEYS;
    int lane = (int)threadIdx.x % WARP;
    float m[ROWS], l[ROWS], sum[ROWS];
    for (int i = 0; i < ROWS; i++) {
        m[i] = -INFINITY;
        for (int j = 0; j < THREAD_KEYS; j++) {
            if (lane + j * WARP >= seen[i]) score[i][j] = -INFINITY;
            m[i] = fmaxf(m[i], score[i][j]);
        }
    }
    warp_max<ROWS>(m);
    for (int i = 0; i < ROWS; i++) {
        float old_m = __shfl_sync(0xffffffffu, state->m, i), old_l = __shfl_sync(0xffffffffu, state->l, i);
        m[i] = fmaxf(m[i], old_m);
        float shift = shift_of(m[i]);
        l[i] = old_l * expf(old_m - shift); // what was summed up so far refers to the old maximum
        sum[i] = 0.0f;
        for (int j = 0; j < THREAD_KEYS; j++) {
            float p = expf(score[i][j] - shift);
            rows[i][lane + j * WARP] = p;
            sum[i] += p;
        }
    }
    warp_sum<ROWS>(sum);
    for (int i = 0; i < ROWS; i++) {
        float new_l = l[i] + sum[i];
        factor[i] = new_l == 0.0f ? 0.0f : 1.0f / new_l; // 0: the row has seen nothing yet, its output is 0
        keep[i] = l[i] * factor[i];
        if (lane == i) {
            state->m = m[i];
            state->l = new_l;
        }
    }
    // [/student]
}

/**
 * sum[i][c] += weights of row i times column c of the values. Rows see different numbers of keys: seen[i] of
 * this tile, the last row most. A hidden value is skipped, not multiplied by 0, for it may be NaN.
 */
template <int HEAD_DIM>
__device__ inline void multiply_p_v(float sum[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::COLUMNS],
                                    float (*rows)[sizes<HEAD_DIM>::WIDTH],    // [ROWS][WIDTH]: weights
                                    float4 (*v_tile)[sizes<HEAD_DIM>::FOURS], // [KEYS][FOURS]
                                    const int seen[sizes<HEAD_DIM>::ROWS])
{
    // [student: multiply_p_v]
    constexpr int ROWS = sizes<HEAD_DIM>::ROWS, COLUMNS = sizes<HEAD_DIM>::COLUMNS;
    const float *v = (const float *)v_tile + (int)threadIdx.x % WARP * COLUMNS; // this lane's columns
    int by_all = max(seen[0], 0) / FOUR * FOUR; // keys that every row sees, in whole groups
    for (int key = 0; key < by_all; key += FOUR) {
        alignas(16) float p[ROWS][FOUR];
        for (int i = 0; i < ROWS; i++) load_floats<FOUR>(p[i], &rows[i][key]); // the same for all lanes
        for (int k = 0; k < FOUR; k++) {
            alignas(16) float value[COLUMNS];
            load_floats<COLUMNS>(value, v + (key + k) * HEAD_DIM);
            for (int i = 0; i < ROWS; i++)
                for (int c = 0; c < COLUMNS; c++) sum[i][c] += p[i][k] * value[c];
        }
    }
    for (int key = by_all; key < seen[ROWS - 1]; key++) { // the edge of the mask, or of the sequence
        alignas(16) float value[COLUMNS];
        load_floats<COLUMNS>(value, v + key * HEAD_DIM);
        for (int i = 0; i < ROWS; i++)
            for (int c = 0; c < COLUMNS && key < seen[i]; c++) sum[i][c] += rows[i][key] * value[c];
    }
    // [/student]
}

/** Writes m, l and the corrected output, keep * O + factor * sum, back to device memory. */
template <typename T, int HEAD_DIM>
__device__ inline void store_state(struct row_state<HEAD_DIM> *state, const struct head_data<T> &head,
                                   struct query_rows rows, const float keep[sizes<HEAD_DIM>::ROWS],
                                   const float factor[sizes<HEAD_DIM>::ROWS],
                                   float sum[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::COLUMNS])
{
    // [student: store_state]
    constexpr int COLUMNS = sizes<HEAD_DIM>::COLUMNS;
    int lane = (int)threadIdx.x % WARP;
    for (int i = 0; i < sizes<HEAD_DIM>::ROWS; i++) {
        for (int c = 0; c < COLUMNS; c++) state->o[i][c] = keep[i] * state->o[i][c] + factor[i] * sum[i][c];
        size_t offset = ((size_t)rows.first + i) * HEAD_DIM + lane * COLUMNS;
        if (i < rows.count) store_floats<COLUMNS>(head.o + offset, state->o[i]);
    }
    if (lane < rows.count) {
        head.m[rows.first + lane] = state->m;
        head.l[rows.first + lane] = state->l;
    }
    // [/student]
}

/** One visit: a warp's rows meet the tile of keys that is in shared memory. All lanes must call it. */
template <typename T, int HEAD_DIM>
__device__ inline void visit_tile(const struct attention_args &args, const struct head_data<T> &head,
                                  struct query_rows rows, int first_key, float scale,
                                  float (*row_tile)[sizes<HEAD_DIM>::WIDTH], // [ROWS][WIDTH], the warp's own
                                  float4 (*k_tile)[sizes<HEAD_DIM>::FOURS],  // [KEYS][FOURS], swizzled
                                  float4 (*v_tile)[sizes<HEAD_DIM>::FOURS])  // [KEYS][FOURS]
{
    // [student: visit_tile]
    constexpr int ROWS = sizes<HEAD_DIM>::ROWS, KEYS = sizes<HEAD_DIM>::KEYS;
    struct row_state<HEAD_DIM> state;
    load_queries<T, HEAD_DIM>(row_tile, head.q + (size_t)rows.first * HEAD_DIM, rows.count);
    load_state<T, HEAD_DIM>(&state, head, rows, first_key == 0);
    __syncwarp(); // all queries are there before any lane multiplies them

    float score[ROWS][sizes<HEAD_DIM>::THREAD_KEYS] = {};
    multiply_q_k<HEAD_DIM>(score, row_tile, k_tile, scale);
    __syncwarp(); // all lanes are done with the queries before weights overwrite them

    int seen[ROWS]; // keys of this tile that a row sees: all below this one
    for (int i = 0; i < ROWS; i++) {
        int row = min(i, rows.count - 1); // rows past the end are computed, but never stored
        seen[i] = min(keys_seen(args, rows.first + row) - first_key, KEYS);
    }
    float keep[ROWS], factor[ROWS];
    update_rows<HEAD_DIM>(&state, score, row_tile, seen, keep, factor);
    __syncwarp(); // all weights are there before any lane multiplies them

    alignas(16) float sum[ROWS][sizes<HEAD_DIM>::COLUMNS] = {};
    multiply_p_v<HEAD_DIM>(sum, row_tile, v_tile, seen);
    store_state<T, HEAD_DIM>(&state, head, rows, keep, factor, sum);
    __syncwarp(); // all lanes are done with the weights before the next queries overwrite them
    // [/student]
}

/* ---- the kernels: a tile of K and V in the outer loop, a visit of all rows in the inner -------------- */

/** Where head number @p bh, counted through the batch, has its data. */
template <typename T>
__device__ inline struct head_data<T> find_head(const struct attention_args &args, int bh,
                                                float *o, // [batch, heads, q_len, head_dim]
                                                float *m, // [batch, heads, q_len]
                                                float *l) // [batch, heads, q_len]
{
    // [student: find_head]
    size_t q_row = (size_t)bh * args.q_len;
    size_t kv_row = (size_t)(bh / (args.heads / args.kv_heads)) * args.kv_len; // as in lesson 01
    struct head_data<T> head;
    head.q = (const T *)args.q + q_row * args.head_dim;
    head.k = (const T *)args.k + kv_row * args.head_dim;
    head.v = (const T *)args.v + kv_row * args.head_dim;
    head.o = o + q_row * args.head_dim;
    head.m = m + q_row;
    head.l = l + q_row;
    return head;
    // [/student]
}

/**
 * The block loads a tile of K and of V; what lies past the last key becomes 0. Group g of key r is kept at
 * place g ^ (r % 8): the lanes of multiply_q_k() read group g of 8 different keys, and find them in 8
 * different groups of banks. A pad would do the same, but there is no room for one.
 */
template <typename T, int HEAD_DIM>
__device__ inline void load_tile(float4 (*k_tile)[sizes<HEAD_DIM>::FOURS], // [KEYS][FOURS], swizzled
                                 float4 (*v_tile)[sizes<HEAD_DIM>::FOURS], // [KEYS][FOURS]
                                 const T *k_rows,                          // [keys, head_dim]
                                 const T *v_rows,                          // [keys, head_dim]
                                 int keys)
{
    // [student: load_tile]
    constexpr int KEYS = sizes<HEAD_DIM>::KEYS, FOURS = sizes<HEAD_DIM>::FOURS;
    for (int i = (int)threadIdx.x; i < KEYS * FOURS; i += THREADS) {
        int key = i / FOURS, group = i % FOURS;
        size_t offset = (size_t)key * HEAD_DIM + group * FOUR;
        float4 k = make_float4(0.0f, 0.0f, 0.0f, 0.0f), v = k;
        if (key < keys) k = load_four(k_rows + offset);
        if (key < keys) v = load_four(v_rows + offset);
        k_tile[key][group ^ key % SWIZZLE] = k;
        v_tile[key][group] = v;
    }
    // [/student]
}

/** One block, one head: all tiles of K and V, and for each all queries that see some of it. */
template <typename T, int HEAD_DIM>
__global__ void __launch_bounds__(THREADS, 2) attention_kernel(struct attention_args args, float scale,
                                                               float *o, // [batch, heads, q_len, head_dim]
                                                               float *m, // [batch, heads, q_len]
                                                               float *l) // [batch, heads, q_len]
{
    // [student: attention_kernel]
    constexpr int KEYS = sizes<HEAD_DIM>::KEYS, ROWS = sizes<HEAD_DIM>::ROWS;
    __shared__ float4 k_tile[KEYS][sizes<HEAD_DIM>::FOURS];
    __shared__ float4 v_tile[KEYS][sizes<HEAD_DIM>::FOURS];
    __shared__ alignas(16) float row_tile[sizes<HEAD_DIM>::QUERIES][sizes<HEAD_DIM>::WIDTH];
    struct head_data<T> head = find_head<T>(args, (int)blockIdx.x, o, m, l);
    int warp = (int)threadIdx.x / WARP;

    for (int tile = 0; tile < divide_up(args.kv_len, KEYS); tile++) {
        int first_key = tile * KEYS;
        size_t offset = (size_t)first_key * HEAD_DIM;
        load_tile<T, HEAD_DIM>(k_tile, v_tile, head.k + offset, head.v + offset, args.kv_len - first_key);
        __syncthreads(); // the tile is complete before anybody multiplies
        for (int piece = warp; piece < divide_up(args.q_len, ROWS); piece += WARPS) {
            struct query_rows rows = {piece * ROWS, min(args.q_len - piece * ROWS, ROWS)};
            // Causal: no row of the piece sees a key of this tile. The first tile is visited all the same.
            if (tile > 0 && keys_seen(args, rows.first + rows.count - 1) <= first_key) continue;
            visit_tile<T, HEAD_DIM>(args, head, rows, first_key, scale, row_tile + warp * ROWS, k_tile,
                                    v_tile);
        }
        __syncthreads(); // everybody is done with the tile before the next one overwrites it
    }
    if (args.lse == NULL) return; // after the last barrier, and the same for all threads
    float *lse = args.lse + (size_t)blockIdx.x * args.q_len; // [q_len]
    for (int query = (int)threadIdx.x; query < args.q_len; query += THREADS)
        lse[query] = head.m[query] + logf(head.l[query]); // log 0 = -infinity
    // [/student]
}

/** Launches the kernel for this head_dim. @p o is where the output lives, @p pairs has room for m and l. */
template <typename T>
inline enum kernel_status launch_attention(const struct attention_args *args,
                                           float *o,     // [batch, heads, q_len, head_dim]
                                           float *pairs, // [2, batch, heads, q_len]
                                           cudaStream_t stream)
{
    // [student: launch_attention]
    unsigned blocks = (unsigned)(args->batch * args->heads);
    float *m = pairs, *l = pairs + (size_t)blocks * args->q_len;
    float scale = attention_scale(args);
    switch (args->head_dim) { // the sizes of tiles and register arrays must be known when compiling
    case 32:
        attention_kernel<T, 32><<<blocks, THREADS, 0, stream>>>(*args, scale, o, m, l);
        break;
    case 64:
        attention_kernel<T, 64><<<blocks, THREADS, 0, stream>>>(*args, scale, o, m, l);
        break;
    case 128:
        attention_kernel<T, 128><<<blocks, THREADS, 0, stream>>>(*args, scale, o, m, l);
        break;
    default:
        return KERNEL_INVALID_DIMENSION;
    }
    return launch_status();
    // [/student]
}

/** Rounds the finished output once, four elements per thread. */
__global__ void round_kernel(const float *o, // [fours * 4]
                             half *out,      // [fours * 4]
                             size_t fours)
{
    // [student: round_kernel]
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= fours) return;
    float4 four = load_four(o + i * FOUR);
    half2 *to = (half2 *)(out + i * FOUR);
    to[0] = __floats2half2_rn(four.x, four.y);
    to[1] = __floats2half2_rn(four.z, four.w);
    // [/student]
}

/* ---- entry points ------------------------------------------------------------------------------------ */

size_t flash_attention_1_workspace_bytes(const struct attention_args *args)
{
    if (args == NULL || args->batch < 1 || args->heads < 1 || args->q_len < 1 || args->kv_len < 1 ||
        args->head_dim < 1)
        return 0;
    uint64_t floats = args->dtype == DTYPE_F32 ? 2 : 2 + (uint64_t)args->head_dim; // a row
    uint64_t bytes = sizeof(float);
    int fits = multiply_fits(&bytes, floats, INT64_MAX) &&
               multiply_fits(&bytes, (uint64_t)args->batch, INT64_MAX) &&
               multiply_fits(&bytes, (uint64_t)args->heads, INT64_MAX) &&
               multiply_fits(&bytes, (uint64_t)args->q_len, INT64_MAX);
    return fits ? (size_t)bytes : SIZE_MAX;
}

enum kernel_status flash_attention_1_f32(const struct attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = check_call(args, DTYPE_F32);
    if (status != KERNEL_OK) return status;
    // [student: launch_f32]
    return launch_attention<float>(args, (float *)args->out, (float *)args->workspace, stream);
    // [/student]
}

enum kernel_status flash_attention_1_f16(const struct attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = check_call(args, DTYPE_F16);
    if (status != KERNEL_OK) return status;
    // [student: launch_f16]
    size_t elems = (size_t)args->batch * args->heads * args->q_len * args->head_dim;
    float *o = (float *)args->workspace; // [batch, heads, q_len, head_dim], with m and l after it
    status = launch_attention<half>(args, o, o + elems, stream);
    if (status != KERNEL_OK) return status;
    unsigned blocks = (unsigned)((elems / FOUR - 1) / THREADS + 1);
    round_kernel<<<blocks, THREADS, 0, stream>>>(o, (half *)args->out, elems / FOUR);
    return launch_status();
    // [/student]
}
