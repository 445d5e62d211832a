// [student: head]
/*
 * Attention by its definition: three kernels, and between them the whole score matrix in device memory.
 * Each kernel does the simplest thing that is right. One thread computes one score, one block turns one row
 * of scores into probabilities, one thread computes one element of the output.
 *
 *         K [kv_len, head_dim]                        V [kv_len, head_dim]
 *             |                                           |
 *     Q --> scores --> S [q_len, kv_len] --> softmax --> P --> output --> O [q_len, head_dim]
 *                           ^                            ^
 *                           '--- the same memory: S is overwritten by P
 *
 * Paper: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1.
 * Run:   build/bin/warpwise check 01 --kernel solutions/01_naive_attention/naive_attention.cu
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
    if (!args.causal) return args.kv_len;
    // The last query of a head sees every key, and each row above it one key less.
    int rows_below = args.q_len - 1 - row % args.q_len;
    return max(args.kv_len - rows_below, 0);
    // [/student]
}

/** Offset in elements of the K or V matrix that belongs to query row @p row. */
__device__ inline size_t kv_offset(const struct attention_args &args, int row)
{
    // [student: kv_offset]
    int group = args.heads / args.kv_heads; // query heads that share one K/V head
    int kv_head = row / args.q_len / group; // batch * kv_heads + head / group: heads = kv_heads * group
    return (size_t)kv_head * args.kv_len * args.head_dim;
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
    int row = (int)blockIdx.x;
    int seen = keys_seen(args, row);
    const float *q_row = (const float *)args.q + (size_t)row * args.head_dim; // [head_dim]
    const float *k_bh = (const float *)args.k + kv_offset(args, row);         // [kv_len, head_dim]
    float *score_row = scores + (size_t)row * args.kv_len;                    // [kv_len]

    // One iteration, unless kv_len is beyond MAX_GRID_Y * SCORE_THREADS (16 million).
    size_t step = (size_t)gridDim.y * blockDim.x;
    for (size_t key = (size_t)blockIdx.y * blockDim.x + threadIdx.x; key < (size_t)args.kv_len; key += step) {
        float score = -INFINITY; // a masked key is not read, so a NaN in it cannot come through
        if (key < (size_t)seen) {
            const float *k_row = k_bh + key * args.head_dim; // [head_dim]
            float dot = 0.0f;
            for (int d = 0; d < args.head_dim; d++) dot += q_row[d] * k_row[d];
            score = scale * dot;
        }
        score_row[key] = score;
    }
    // [/student]
}

enum kernel_status naive_attention_scores_f32(const struct attention_args *args, float *scores,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    // [student: scores_launch]
    int rows = args->batch * args->heads * args->q_len; // fits: attention_args_check() saw to it
    int chunks = (args->kv_len - 1) / SCORE_THREADS + 1;
    dim3 grid((unsigned)rows, (unsigned)(chunks < MAX_GRID_Y ? chunks : MAX_GRID_Y));
    scores_kernel<<<grid, SCORE_THREADS, 0, stream>>>(*args, attention_scale(args), scores);
    return launch_status();
    // [/student]
}

/* ---- softmax: every row of S becomes P, in place ---------------------------------------------------- */

/** The largest @p value of the block, known to every thread. All threads must call it. */
__device__ inline float block_max(float value)
{
    // [student: block_max]
    __shared__ float scratch[SOFTMAX_THREADS];
    scratch[threadIdx.x] = value;
    __syncthreads(); // all values are there before anybody reads a neighbour's
    for (int stride = SOFTMAX_THREADS / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < (unsigned)stride)
            scratch[threadIdx.x] = fmaxf(scratch[threadIdx.x], scratch[threadIdx.x + stride]);
        __syncthreads(); // this level is complete before the next one reads it
    }
    return scratch[0];
    // [/student]
}

/** The sum of @p value over the block, known to every thread. All threads must call it. */
__device__ inline float block_sum(float value)
{
    // [student: block_sum]
    __shared__ float scratch[SOFTMAX_THREADS];
    scratch[threadIdx.x] = value;
    __syncthreads(); // all values are there before anybody reads a neighbour's
    for (int stride = SOFTMAX_THREADS / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < (unsigned)stride) scratch[threadIdx.x] += scratch[threadIdx.x + stride];
        __syncthreads(); // this level is complete before the next one reads it
    }
    return scratch[0];
    // [/student]
}

/** One block turns one row into probabilities in three passes: the maximum, the sum, the division. */
__global__ void softmax_kernel(float *scores, // [batch * heads * q_len, kv_len]
                               float *lse,    // [batch * heads * q_len] or NULL
                               int kv_len)
{
    // [student: softmax_kernel]
    float *row = scores + (size_t)blockIdx.x * kv_len; // [kv_len]

    float largest = -INFINITY;
    for (size_t key = threadIdx.x; key < (size_t)kv_len; key += SOFTMAX_THREADS)
        largest = fmaxf(largest, row[key]);
    largest = block_max(largest);

    // A row of nothing but -infinity must not compute -inf - -inf, which is NaN. Subtract 0 there instead.
    // fmaxf drops a NaN, but exp does not: the sum becomes NaN and with it the whole row, as it should.
    float shift = largest == -INFINITY ? 0.0f : largest;
    float sum = 0.0f;
    for (size_t key = threadIdx.x; key < (size_t)kv_len; key += SOFTMAX_THREADS) {
        float power = expf(row[key] - shift);
        row[key] = power; // the third pass of this same thread reads it back
        sum += power;
    }
    sum = block_sum(sum);

    float factor = sum == 0.0f ? 0.0f : 1.0f / sum; // a row that sees nothing becomes zeros
    for (size_t key = threadIdx.x; key < (size_t)kv_len; key += SOFTMAX_THREADS) row[key] *= factor;
    if (lse != NULL && threadIdx.x == 0) lse[blockIdx.x] = largest + logf(sum); // log 0 = -infinity
    // [/student]
}

enum kernel_status naive_attention_softmax_f32(const struct attention_args *args, float *scores,
                                               cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    // [student: softmax_launch]
    int rows = args->batch * args->heads * args->q_len;
    softmax_kernel<<<(unsigned)rows, SOFTMAX_THREADS, 0, stream>>>(scores, args->lse, args->kv_len);
    return launch_status();
    // [/student]
}

/* ---- output: O = P V -------------------------------------------------------------------------------- */

/** One thread computes one element of a row of the output; one block computes the row. */
__global__ void output_kernel(struct attention_args args,
                              const float *probs) // [batch, heads, q_len, kv_len]
{
    // [student: output_kernel]
    int row = (int)blockIdx.x;
    int seen = keys_seen(args, row);
    const float *prob_row = probs + (size_t)row * args.kv_len;        // [kv_len]
    const float *v_bh = (const float *)args.v + kv_offset(args, row); // [kv_len, head_dim]
    float *out_row = (float *)args.out + (size_t)row * args.head_dim; // [head_dim]

    for (size_t d = threadIdx.x; d < (size_t)args.head_dim; d += OUTPUT_THREADS) {
        float sum = 0.0f;
        for (int key = 0; key < seen; key++) sum += prob_row[key] * v_bh[(size_t)key * args.head_dim + d];
        out_row[d] = sum;
    }
    // [/student]
}

enum kernel_status naive_attention_output_f32(const struct attention_args *args, const float *probs,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, probs);
    if (status != KERNEL_OK) return status;
    // [student: output_launch]
    int rows = args->batch * args->heads * args->q_len;
    output_kernel<<<(unsigned)rows, OUTPUT_THREADS, 0, stream>>>(*args, probs);
    return launch_status();
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
