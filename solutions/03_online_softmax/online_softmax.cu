// [student: head]
/*
 * Softmax in one pass. Whatever has been seen of a row, the pair (m, l) says all that softmax needs: the
 * largest value so far and the sum of exp(x - m). Two pairs merge into the pair of both pieces, in any order
 * and any grouping, so threads, warps and blocks may each sum up a piece and merge at the end.
 *
 *      x x x x   x x x x   x x x x   x x x x         a thread's values
 *         \         /         \         /
 *        (m, l)  merge       (m, l)  merge           lanes of a warp: shuffles
 *              \                 /
 *               `---  merge  ---'                    warps of a block: shared memory, one barrier
 *
 * Paper: Milakov and Gimelshein 2018, "Online normalizer calculation for softmax", section 3.
 * Run:   build/bin/warpwise check 03 --kernel solutions/03_online_softmax/online_softmax.cu
 */
// [/student]
#include "online_softmax.h"

enum {
    WARP = 32,
    MERGE_THREADS = 256,    // pairs a block merges
    ROW_VALUES = 16,        // values of a row that a thread keeps in registers
    ROW_THREADS_MAX = 1024, // so rows up to ROW_VALUES * ROW_THREADS_MAX stay in registers
    LONG_ROW_THREADS = 512, // threads that share a row too long for registers
    QUERY_WARPS = 4,        // warps that share one query row
    KEYS = 4,               // keys a warp has in flight
    HEAD_DIM_MAX = 256
};

static_assert(ROW_THREADS_MAX <= WARP * WARP, "block_merge() lets one warp merge the pairs of all warps");
static_assert(LONG_ROW_THREADS % WARP == 0, "shuffles need whole warps");

/* ---- pairs ------------------------------------------------------------------------------------------ */

/** What to subtract before exp: m, but 0 where nothing was seen, for -inf - -inf would be NaN. */
__device__ inline float shift_of(float m)
{
    return m == -INFINITY ? 0.0f : m;
}

/**
 * The pair of two pieces together. A NaN needs no test: fmaxf drops it from m, but exp carries it into l.
 * Nor does an empty piece: exp(-inf) = 0 and its l is 0.
 */
__device__ inline struct softmax_pair merge_pairs(struct softmax_pair a, struct softmax_pair b)
{
    // [student: merge_pairs]
    struct softmax_pair both;
    both.m = fmaxf(a.m, b.m);
    float shift = shift_of(both.m);
    both.l = a.l * expf(a.m - shift) + b.l * expf(b.m - shift);
    return both;
    // [/student]
}

/** The pair of the whole warp, in every lane. All 32 lanes must call it. */
__device__ inline struct softmax_pair warp_merge(struct softmax_pair pair)
{
    // [student: warp_merge]
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        struct softmax_pair other;
        other.m = __shfl_xor_sync(0xffffffffu, pair.m, distance);
        other.l = __shfl_xor_sync(0xffffffffu, pair.l, distance);
        pair = merge_pairs(pair, other);
    }
    return pair;
    // [/student]
}

/** The pair of the whole block, in every thread. All threads must call it, once per kernel. */
__device__ inline struct softmax_pair block_merge(struct softmax_pair pair)
{
    // [student: block_merge]
    __shared__ struct softmax_pair of_warp[WARP];
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    pair = warp_merge(pair);
    if (lane == 0) of_warp[warp] = pair;
    __syncthreads(); // every warp has left its pair before anybody reads them
    struct softmax_pair empty = {-INFINITY, 0.0f};
    // Every warp merges all pairs for itself: no second barrier, and no shuffle has to leave a warp.
    return warp_merge(lane < (int)blockDim.x / WARP ? of_warp[lane] : empty);
    // [/student]
}

/** How the launch just made went. Does not wait for the kernel. */
inline enum kernel_status launch_status(void)
{
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/* ---- part "merge" ----------------------------------------------------------------------------------- */

/** One thread merges one pair of pairs. */
__global__ void merge_kernel(const struct softmax_pair *a, // [count]
                             const struct softmax_pair *b, // [count]
                             struct softmax_pair *out,     // [count]
                             int count)
{
    // [student: merge_kernel]
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (size_t)count) out[i] = merge_pairs(a[i], b[i]);
    // [/student]
}

enum kernel_status online_softmax_merge_f32(const struct softmax_pair *a, const struct softmax_pair *b,
                                            struct softmax_pair *out, int count, cudaStream_t stream)
{
    if (a == NULL || b == NULL || out == NULL) return KERNEL_INVALID_CONFIG;
    if (count < 1) return KERNEL_INVALID_DIMENSION;
    if (!is_aligned(a, sizeof *a) || !is_aligned(b, sizeof *b) || !is_aligned(out, sizeof *out))
        return KERNEL_ALIGNMENT_ERROR;
    // [student: merge_launch]
    unsigned blocks = (unsigned)((count - 1) / MERGE_THREADS + 1);
    merge_kernel<<<blocks, MERGE_THREADS, 0, stream>>>(a, b, out, count);
    return launch_status();
    // [/student]
}

/* ---- part "rows" ------------------------------------------------------------------------------------ */

/** What turns exp(x - m) into a probability; 0 for a row of nothing, which has no probabilities. */
__device__ inline float factor_of(float l)
{
    return l == 0.0f ? 0.0f : 1.0f / l;
}

/** Loads WIDTH values that follow each other, in one instruction. */
template <int WIDTH> __device__ inline void load_values(float *x, const float *from)
{
    if (WIDTH == 4)
        *(float4 *)x = *(const float4 *)from;
    else
        x[0] = *from;
}

/** Stores WIDTH values that follow each other, in one instruction. */
template <int WIDTH> __device__ inline void store_values(float *to, const float *x)
{
    if (WIDTH == 4)
        *(float4 *)to = *(const float4 *)x;
    else
        *to = x[0];
}

/**
 * One block, one row, every value in a register between its one load and its one store. All loads are issued
 * before the first value is needed: enough bytes in flight is what reaches the memory's full speed.
 */
template <int WIDTH>
__global__ void __launch_bounds__(ROW_THREADS_MAX) row_kernel(const float *in, // [rows, cols]
                                                              float *out,      // [rows, cols]
                                                              float *lse,      // [rows] or NULL
                                                              int cols)
{
    // [student: row_kernel]
    const float *row = in + (size_t)blockIdx.x * cols; // [cols]
    float *out_row = out + (size_t)blockIdx.x * cols;  // [cols]
    int first = (int)threadIdx.x * WIDTH, step = (int)blockDim.x * WIDTH;

    alignas(16) float x[ROW_VALUES];
    for (int i = 0; i < ROW_VALUES; i++) x[i] = -INFINITY; // what lies past the end changes no pair
    for (int i = 0; i < ROW_VALUES / WIDTH; i++)
        if (first + i * step < cols) load_values<WIDTH>(x + i * WIDTH, row + first + i * step);

    struct softmax_pair pair = {-INFINITY, 0.0f};
    for (int i = 0; i < ROW_VALUES; i++) pair.m = fmaxf(pair.m, x[i]);
    float shift = shift_of(pair.m);
    for (int i = 0; i < ROW_VALUES; i++) pair.l += expf(x[i] - shift);

    pair = block_merge(pair);
    shift = shift_of(pair.m);
    float factor = factor_of(pair.l);
    for (int i = 0; i < ROW_VALUES; i++) x[i] = expf(x[i] - shift) * factor;
    for (int i = 0; i < ROW_VALUES / WIDTH; i++)
        if (first + i * step < cols) store_values<WIDTH>(out_row + first + i * step, x + i * WIDTH);
    if (lse != NULL && threadIdx.x == 0) lse[blockIdx.x] = pair.m + logf(pair.l); // log 0 = -infinity
    // [/student]
}

/** One block, one row of any length: one pass for the pair, a second one, served by the cache, to write. */
__global__ void long_row_kernel(const float *in, // [rows, cols]
                                float *out,      // [rows, cols]
                                float *lse,      // [rows] or NULL
                                int cols)
{
    // [student: long_row_kernel]
    const float *row = in + (size_t)blockIdx.x * cols; // [cols]
    float *out_row = out + (size_t)blockIdx.x * cols;  // [cols]
    struct softmax_pair pair = {-INFINITY, 0.0f};
    for (size_t i = threadIdx.x; i < (size_t)cols; i += LONG_ROW_THREADS) {
        struct softmax_pair value = {row[i], 1.0f}; // exp(x - x) = 1; for -infinity, 1 * exp(-infinity) is 0
        pair = merge_pairs(pair, value);
    }
    pair = block_merge(pair);
    float shift = shift_of(pair.m);
    float factor = factor_of(pair.l);
    for (size_t i = threadIdx.x; i < (size_t)cols; i += LONG_ROW_THREADS)
        out_row[i] = expf(row[i] - shift) * factor;
    if (lse != NULL && threadIdx.x == 0) lse[blockIdx.x] = pair.m + logf(pair.l); // log 0 = -infinity
    // [/student]
}

/** Launches long_row_kernel for rows that no block's registers can hold. */
static enum kernel_status launch_long_rows(const float *in, float *out, float *lse, int rows, int cols,
                                           cudaStream_t stream)
{
    // [student: long_rows_launch]
    long_row_kernel<<<(unsigned)rows, LONG_ROW_THREADS, 0, stream>>>(in, out, lse, cols);
    return launch_status();
    // [/student]
}

enum kernel_status online_softmax_rows_f32(const float *in, float *out, float *lse, int rows, int cols,
                                           cudaStream_t stream)
{
    if (in == NULL || out == NULL) return KERNEL_INVALID_CONFIG;
    if (rows < 1 || cols < 1) return KERNEL_INVALID_DIMENSION;
    if (!is_aligned(in, sizeof(float)) || !is_aligned(out, sizeof(float)) || !is_aligned(lse, sizeof(float)))
        return KERNEL_ALIGNMENT_ERROR;
    // A row that fits in the registers of the largest block is read once, by row_kernel.
    if (cols > ROW_VALUES * ROW_THREADS_MAX) return launch_long_rows(in, out, lse, rows, cols, stream);
    // [student: rows_launch]
    int wide = cols % 4 == 0 && is_aligned(in, 16) && is_aligned(out, 16);
    int warps = (cols - 1) / (ROW_VALUES * WARP) + 1; // that keep the whole row in registers
    unsigned threads = (unsigned)warps * WARP;
    if (wide)
        row_kernel<4><<<(unsigned)rows, threads, 0, stream>>>(in, out, lse, cols);
    else
        row_kernel<1><<<(unsigned)rows, threads, 0, stream>>>(in, out, lse, cols);
    return launch_status();
    // [/student]
}

/* ---- part "attention" ------------------------------------------------------------------------------- */

/** What a warp knows of its share of the keys: the pair of their scores, and the values' sum. */
template <int PER_LANE> struct partial_row {
    struct softmax_pair pair; // of the scores added so far
    float sum[PER_LANE];      // of exp(score - m) * v; a lane holds columns lane, lane + 32, ...
};

/** Loads a lane's share of a row of head_dim values; what lies past the end, or is not @p wanted, is 0. */
template <int PER_LANE>
__device__ inline void load_row(float x[PER_LANE], const float *row, int head_dim, int wanted)
{
    int lane = (int)threadIdx.x % WARP;
    for (int i = 0; i < PER_LANE; i++)
        x[i] = wanted && lane + i * WARP < head_dim ? row[lane + i * WARP] : 0.0f;
}

/** Sum over the warp, in every lane. */
__device__ inline float warp_sum(float value)
{
    for (int distance = WARP / 2; distance > 0; distance /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, distance);
    return value;
}

/** One step of the pass: adds the next KEYS keys, or the last @p left of them, to a warp's part. */
template <int PER_LANE>
__device__ inline void add_keys(struct partial_row<PER_LANE> *part, const float q[PER_LANE],
                                const float *k_rows, // [left, head_dim]
                                const float *v_rows, // [left, head_dim]
                                int left, int head_dim, float scale)
{
    // [student: add_keys]
    float k[KEYS][PER_LANE], v[KEYS][PER_LANE], score[KEYS];
    for (int j = 0; j < KEYS; j++) {
        // A masked key is not read, so a NaN in it cannot come through.
        load_row<PER_LANE>(k[j], k_rows + (size_t)j * head_dim, head_dim, j < left);
        load_row<PER_LANE>(v[j], v_rows + (size_t)j * head_dim, head_dim, j < left);
    }
    float m = part->pair.m;
    for (int j = 0; j < KEYS; j++) {
        float dot = 0.0f;
        for (int i = 0; i < PER_LANE; i++) dot += q[i] * k[j][i];
        dot = warp_sum(dot);
        score[j] = j < left ? scale * dot : -INFINITY;
        m = fmaxf(m, score[j]);
    }
    float shift = shift_of(m);
    float correction = expf(part->pair.m - shift); // what was summed up so far refers to the old maximum
    part->pair.m = m;
    part->pair.l *= correction;
    for (int i = 0; i < PER_LANE; i++) part->sum[i] *= correction;
    for (int j = 0; j < KEYS; j++) {
        float p = expf(score[j] - shift);
        part->pair.l += p;
        for (int i = 0; i < PER_LANE; i++) part->sum[i] += p * v[j][i];
    }
    // [/student]
}

/** Merges the parts of all warps and writes the row's output and logsumexp. All threads must call it. */
template <int PER_LANE>
__device__ inline void write_row(const struct partial_row<PER_LANE> *part,
                                 float *out_row, // [head_dim]
                                 float *lse,     // this row's, or NULL
                                 int head_dim)
{
    // [student: write_row]
    __shared__ struct softmax_pair pair_of[QUERY_WARPS];
    __shared__ float sum_of[QUERY_WARPS][PER_LANE * WARP];
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    if (lane == 0) pair_of[warp] = part->pair;
    for (int i = 0; i < PER_LANE; i++) sum_of[warp][lane + i * WARP] = part->sum[i];
    __syncthreads(); // every warp has left its part before anybody merges them

    struct softmax_pair all = {-INFINITY, 0.0f};
    for (int w = 0; w < QUERY_WARPS; w++) all = merge_pairs(all, pair_of[w]);
    float shift = shift_of(all.m);
    float factor = factor_of(all.l);
    for (int d = (int)threadIdx.x; d < head_dim; d += QUERY_WARPS * WARP) {
        float sum = 0.0f;
        for (int w = 0; w < QUERY_WARPS; w++) sum += sum_of[w][d] * expf(pair_of[w].m - shift);
        out_row[d] = sum * factor;
    }
    if (lse != NULL && threadIdx.x == 0) *lse = all.m + logf(all.l); // log 0 = -infinity
    // [/student]
}

/** One block, one query row: a warp takes KEYS keys, then jumps over those of the other warps. */
template <int PER_LANE> __global__ void attention_kernel(struct attention_args args, float scale)
{
    // [student: attention_kernel]
    int row = (int)blockIdx.x; // (batch * heads + head) * q_len + query
    int warp = (int)threadIdx.x / WARP;
    int seen = args.kv_len; // a causal mask is aligned to the bottom right: the last query sees every key
    if (args.causal) seen = max(args.kv_len - (args.q_len - 1 - row % args.q_len), 0);
    int kv_head = row / args.q_len / (args.heads / args.kv_heads); // batch * kv_heads + K/V head
    size_t kv_offset = (size_t)kv_head * args.kv_len * args.head_dim;
    const float *q_row = (const float *)args.q + (size_t)row * args.head_dim; // [head_dim]
    const float *k_bh = (const float *)args.k + kv_offset;                    // [kv_len, head_dim]
    const float *v_bh = (const float *)args.v + kv_offset;                    // [kv_len, head_dim]
    float *out_row = (float *)args.out + (size_t)row * args.head_dim;         // [head_dim]

    float q[PER_LANE];
    load_row<PER_LANE>(q, q_row, args.head_dim, 1);
    struct partial_row<PER_LANE> part;
    part.pair.m = -INFINITY; // nothing seen yet
    part.pair.l = 0.0f;
    for (int i = 0; i < PER_LANE; i++) part.sum[i] = 0.0f;
    for (size_t key = (size_t)warp * KEYS; key < (size_t)seen; key += QUERY_WARPS * KEYS) {
        size_t offset = key * args.head_dim;
        add_keys<PER_LANE>(&part, q, k_bh + offset, v_bh + offset, seen - (int)key, args.head_dim, scale);
    }
    write_row<PER_LANE>(&part, out_row, args.lse == NULL ? NULL : args.lse + row, args.head_dim);
    // [/student]
}

enum kernel_status online_softmax_attention_f32(const struct attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, sizeof(float), 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != DTYPE_F32) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim > HEAD_DIM_MAX) return KERNEL_INVALID_DIMENSION;
    // [student: attention_launch]
    int rows = args->batch * args->heads * args->q_len; // fits: attention_args_check() saw to it
    int threads = QUERY_WARPS * WARP;
    float scale = attention_scale(args);
    switch ((args->head_dim - 1) / WARP) { // a lane's share of the row must be known when compiling
    case 0:
        attention_kernel<1><<<rows, threads, 0, stream>>>(*args, scale);
        break;
    case 1:
        attention_kernel<2><<<rows, threads, 0, stream>>>(*args, scale);
        break;
    case 2:
    case 3:
        attention_kernel<4><<<rows, threads, 0, stream>>>(*args, scale);
        break;
    default:
        attention_kernel<8><<<rows, threads, 0, stream>>>(*args, scale);
        break;
    }
    return launch_status();
    // [/student]
}
