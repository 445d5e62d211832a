// Generated, but for what stands between [student: ...] and [/student]: that is yours.
// [student: head]
/*
 * Lesson 01: the file you write. Read README.md beside it, then fill in what stands between the lines
 * `[student: ...]` and `[/student]`, in the order of the page. Everything else is given: leave it as it is.
 * You may add functions and constants inside your regions and declare shared memory as you like.
 *
 *     build/bin/warpwise check 01                 judges what is there
 *     build/bin/warpwise check 01 --case NAME     looks at one case
 */
// [/student]
#include "naive_attention.h"

enum {
    SCORE_THREADS = 256,   // scores a block computes
    SOFTMAX_THREADS = 256, // threads that share a row; a power of two, because the reduction halves it
    OUTPUT_THREADS = 64,   // columns of the output a block computes at a time
    MAX_GRID_Y = 65535     // the hardware's limit; gridDim.x may be as large as 2^31 - 1
};

static_assert((SOFTMAX_THREADS & (SOFTMAX_THREADS - 1)) == 0, "the tree reduction halves the block");

/* Below, `row` numbers the query rows of all heads: row = (batch * heads + head) * q_len + query, where
 * `batch` is the index of the sequence. It is blockIdx.x, the only grid dimension without a small limit. */

/** How many keys query row @p row sees. A causal mask is aligned to the bottom right. */
__device__ inline int keys_seen(const struct attention_args &args, int row)
{
    // [student: keys_seen]
    /* TODO: without a mask the answer is kv_len. With one, the last query of a head sees every key, and each
     * row above it one key less; rows that would see fewer than 0 see 0. Draw q_len = 2, kv_len = 4 first. */
    (void)row;
    return args.kv_len;
    // [/student]
}

/** Offset in elements of the K or V matrix that belongs to query row @p row. */
__device__ inline size_t kv_offset(const struct attention_args &args, int row)
{
    // [student: kv_offset]
    /* TODO: find the batch entry and the head of this row, then its K/V head (head / (heads / kv_heads)),
     * then where the matrix [kv_len, head_dim] of that K/V head begins. Multiply in size_t: int is too
     * small. */
    (void)args, (void)row;
    return 0;
    // [/student]
}

/** How the launch just made went. Does not wait for the kernel. */
inline enum kernel_status launch_status(void)
{
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/** The checks that all parts make. */
static enum kernel_status check_part(const struct attention_args *args, const float *scores)
{
    enum kernel_status status = attention_args_check(args, sizeof(float), 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != DTYPE_F32) return KERNEL_UNSUPPORTED_DTYPE;
    if (scores == NULL) return KERNEL_INVALID_CONFIG;
    return is_aligned(scores, sizeof(float)) ? KERNEL_OK : KERNEL_ALIGNMENT_ERROR;
}

/* ---- scores: S = scale * Q K^T ---------------------------------------------------------------------- */

/** One thread computes one score. Block (x, y) takes keys y * SCORE_THREADS ... of row x. */
__global__ void scores_kernel(struct attention_args args, float scale,
                              float *scores) // [batch, heads, q_len, kv_len]
{
    // [student: scores_kernel]
    /* TODO: find your row (blockIdx.x) and your key (blockIdx.y, threadIdx.x), multiply the two rows of
     * head_dim elements, and write the scaled result. Write -infinity for a key that the row does not see,
     * without reading that key. The last block has threads without a key; where there are more keys than
     * threads in y, a thread goes on to the key gridDim.y * blockDim.x further. */
    (void)args, (void)scale, (void)scores;
    // [/student]
}

enum kernel_status naive_attention_scores_f32(const struct attention_args *args, float *scores,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    // [student: scores_launch]
    /* TODO: launch scores_kernel with one block in x per row of all heads, and enough blocks in y for all
     * keys, but at most MAX_GRID_Y; then return launch_status(). A stream is given: launch on it.
     * attention_scale() knows the default scale. */
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/* ---- softmax: every row of S becomes P, in place ---------------------------------------------------- */

/** The largest @p value of the block, known to every thread. All threads must call it. */
__device__ inline float block_max(float value)
{
    // [student: block_max]
    /* TODO: put every thread's value into shared memory and halve the number of candidates until one is
     * left. Every thread must come to every __syncthreads(), also those that have nothing left to compare. */
    return value;
    // [/student]
}

/** The sum of @p value over the block, known to every thread. All threads must call it. */
__device__ inline float block_sum(float value)
{
    // [student: block_sum]
    /* TODO: the same with + in place of fmaxf. */
    return value;
    // [/student]
}

/** One block turns one row into probabilities in three passes: the maximum, the sum, the division. */
__global__ void softmax_kernel(float *scores, // [batch * heads * q_len, kv_len]
                               float *lse,    // [batch * heads * q_len] or NULL
                               int kv_len)
{
    // [student: softmax_kernel]
    /* TODO: find the row's largest score, replace every score x by exp(x - largest) and add those up, then
     * divide by the sum. Two rows need care: one of nothing but -infinity becomes zeros, and one with a NaN
     * becomes NaN throughout. Thread 0 writes largest + log(sum) to lse, if lse is not NULL. */
    (void)scores, (void)lse, (void)kv_len;
    // [/student]
}

enum kernel_status naive_attention_softmax_f32(const struct attention_args *args, float *scores,
                                               cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    // [student: softmax_launch]
    /* TODO: launch softmax_kernel, one block per row. */
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/* ---- output: O = P V -------------------------------------------------------------------------------- */

/** One thread computes one element of a row of the output; one block computes the row. */
__global__ void output_kernel(struct attention_args args,
                              const float *probs) // [batch, heads, q_len, kv_len]
{
    // [student: output_kernel]
    /* TODO: add up probability times value over the keys that this row sees, and only those: 0 * NaN is NaN.
     * Let neighbouring threads compute neighbouring columns. head_dim may be larger than the block. */
    (void)args, (void)probs;
    // [/student]
}

enum kernel_status naive_attention_output_f32(const struct attention_args *args, const float *probs,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, probs);
    if (status != KERNEL_OK) return status;
    // [student: output_launch]
    /* TODO: launch output_kernel, one block per row. */
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/* ---- the whole -------------------------------------------------------------------------------------- */

size_t naive_attention_workspace_bytes(const struct attention_args *args)
{
    if (args == NULL || args->batch < 1 || args->heads < 1 || args->q_len < 1 || args->kv_len < 1) return 0;
    uint64_t bytes = sizeof(float);
    int fits = multiply_fits(&bytes, (uint64_t)args->batch, INT64_MAX) &&
               multiply_fits(&bytes, (uint64_t)args->heads, INT64_MAX) &&
               multiply_fits(&bytes, (uint64_t)args->q_len, INT64_MAX) &&
               multiply_fits(&bytes, (uint64_t)args->kv_len, INT64_MAX);
    return fits ? (size_t)bytes : SIZE_MAX;
}

enum kernel_status naive_attention_f32(const struct attention_args *args, cudaStream_t stream)
{
    enum kernel_status status =
        attention_args_check(args, sizeof(float), naive_attention_workspace_bytes(args));
    if (status != KERNEL_OK) return status;
    float *scores = (float *)args->workspace; // [batch, heads, q_len, kv_len]
    status = naive_attention_scores_f32(args, scores, stream);
    if (status == KERNEL_OK) status = naive_attention_softmax_f32(args, scores, stream);
    if (status == KERNEL_OK) status = naive_attention_output_f32(args, scores, stream);
    return status;
}
