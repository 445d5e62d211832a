// Generated, but for what stands between [student: ...] and [/student]: that is yours.
// [student: head]
/*
 * Lesson 03: the file you write. Read README.md beside it, then fill in what stands between the lines
 * `[student: ...]` and `[/student]`, in the order of the page. Everything else is given: leave it as it is.
 * You may add functions and constants inside your regions and declare shared memory as you like.
 *
 *     build/bin/warpwise check 03                 judges what is there
 *     build/bin/warpwise check 03 --case NAME     looks at one case
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
    /* TODO: write the two lines of online_softmax.h. Use shift_of() for what is subtracted, so that two
     * empty pieces merge into an empty one. Then try a NaN in your head: does it come out in l? */
    (void)b;
    return a;
    // [/student]
}

/** The pair of the whole warp, in every lane. All 32 lanes must call it. */
__device__ inline struct softmax_pair warp_merge(struct softmax_pair pair)
{
    // [student: warp_merge]
    /* TODO: exchange pairs with the lane 16 away, then 8, 4, 2, 1 (__shfl_xor_sync), and merge each time. */
    return pair;
    // [/student]
}

/** The pair of the whole block, in every thread. All threads must call it, once per kernel. */
__device__ inline struct softmax_pair block_merge(struct softmax_pair pair)
{
    // [student: block_merge]
    /* TODO: merge within the warp, leave one pair per warp in shared memory, wait, and merge those. Every
     * thread needs the result, and __shfl_sync reaches one warp only. */
    return pair;
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
    /* TODO: one thread, one pair. */
    (void)a, (void)b, (void)out, (void)count;
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
    /* TODO: launch merge_kernel with enough blocks for count pairs; then return launch_status(). */
    (void)stream;
    return KERNEL_NOT_STARTED;
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
    /* TODO: load this thread's share of the row into registers (-infinity for what lies past the end),
     * make its pair, merge the block's pairs, and write the probabilities from the registers. No second read
     * of the row. */
    (void)in, (void)out, (void)lse, (void)cols;
    // [/student]
}

/** One block, one row of any length: one pass for the pair, a second one, served by the cache, to write. */
__global__ void long_row_kernel(const float *in, // [rows, cols]
                                float *out,      // [rows, cols]
                                float *lse,      // [rows] or NULL
                                int cols)
{
    // [student: long_row_kernel]
    /* TODO: the same for a row that does not fit: merge value by value on the first pass, read again to
     * write. */
    (void)in, (void)out, (void)lse, (void)cols;
    // [/student]
}

/** Launches long_row_kernel for rows that no block's registers can hold. */
static enum kernel_status launch_long_rows(const float *in, float *out, float *lse, int rows, int cols,
                                           cudaStream_t stream)
{
    // [student: long_rows_launch]
    /* TODO: launch long_row_kernel, one block of LONG_ROW_THREADS per row; then return launch_status(). */
    (void)in, (void)out, (void)lse, (void)rows, (void)cols, (void)stream;
    return KERNEL_NOT_STARTED;
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
    /* TODO: launch row_kernel<4> if every row begins on 16 bytes, row_kernel<1> if not, with as few warps as
     * can hold a row; then return launch_status(). */
    (void)stream;
    return KERNEL_NOT_STARTED;
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
    /* TODO: load KEYS rows of K and V, make their scores (-infinity for those that are not left), find the
     * new maximum, and rescale what has been summed up so far before you add to it. */
    (void)part, (void)q, (void)k_rows, (void)v_rows, (void)left, (void)head_dim, (void)scale;
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
    /* TODO: leave every warp's pair and sum in shared memory, wait, merge the pairs, and let each thread put
     * together its columns: every warp's sum counts exp(its m - the common m). Divide by l once. */
    (void)part, (void)out_row, (void)lse, (void)head_dim;
    // [/student]
}

/** One block, one query row: a warp takes KEYS keys, then jumps over those of the other warps. */
template <int PER_LANE> __global__ void attention_kernel(struct attention_args args, float scale)
{
    // [student: attention_kernel]
    /* TODO: find your row, how many keys it sees, and its K/V head; load the query; let each warp go through
     * its share of the keys, KEYS at a time; and write the row. */
    (void)args, (void)scale;
    // [/student]
}

enum kernel_status online_softmax_attention_f32(const struct attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, sizeof(float), 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != DTYPE_F32) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim > HEAD_DIM_MAX) return KERNEL_INVALID_DIMENSION;
    // [student: attention_launch]
    /* TODO: launch attention_kernel, one block per row, with the smallest PER_LANE (1, 2, 4, 8) that holds
     * head_dim. */
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}
