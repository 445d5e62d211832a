/*
 * A correct solution of another shape: a grid of fixed size walks over all elements with a stride. Blocks of
 * 96 threads, which no halving tree would do for, and dynamic shared memory.
 */
#include "naive_attention.h"

/** How many keys query @p query of a head sees. */
__device__ inline int keys_seen(const struct attention_args &args, int query)
{
    return args.causal ? max(args.kv_len - args.q_len + 1 + query, 0) : args.kv_len;
}

inline enum kernel_status launch_status(void)
{
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

static enum kernel_status check_part(const struct attention_args *args, const float *scores)
{
    enum kernel_status status = attention_args_check(args, sizeof(float), 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != DTYPE_F32) return KERNEL_UNSUPPORTED_DTYPE;
    if (scores == NULL) return KERNEL_INVALID_CONFIG;
    return is_aligned(scores, sizeof(float)) ? KERNEL_OK : KERNEL_ALIGNMENT_ERROR;
}

enum { BLOCKS = 60, THREADS = 96 };

__device__ inline size_t kv_offset(const struct attention_args &args, size_t row)
{
    return row / args.q_len / (args.heads / args.kv_heads) * args.kv_len * args.head_dim;
}

__global__ void scores_kernel(struct attention_args args, float scale, size_t rows,
                              float *scores) // [rows, kv_len]
{
    size_t stride = (size_t)gridDim.x * THREADS;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < rows * args.kv_len; i += stride) {
        size_t row = i / args.kv_len, key = i % args.kv_len;
        const float *q_row = (const float *)args.q + row * args.head_dim;                        // [head_dim]
        const float *k_row = (const float *)args.k + kv_offset(args, row) + key * args.head_dim; // [head_dim]
        float even = 0.0f, odd = 0.0f;
        int seen = (long long)key < keys_seen(args, (int)(row % args.q_len));
        for (int d = 0; d < args.head_dim && seen; d += 2) {
            even = fmaf(q_row[d], k_row[d], even);
            if (d + 1 < args.head_dim) odd = fmaf(q_row[d + 1], k_row[d + 1], odd);
        }
        scores[i] = seen ? (even + odd) * scale : -INFINITY;
    }
}

/** Every thread leaves its maximum or sum; every thread then reads all of them. */
__global__ void softmax_kernel(float *scores, // [rows, kv_len]
                               float *lse,    // [rows] or NULL
                               size_t rows, int kv_len)
{
    extern __shared__ float left[]; // [2 * THREADS] maxima, then sums
    for (size_t row = blockIdx.x; row < rows; row += gridDim.x) {
        float *score_row = scores + row * kv_len; // [kv_len]
        float mine = -INFINITY, largest = -INFINITY, sum = 0.0f, all = 0.0f;
        for (int key = (int)threadIdx.x; key < kv_len; key += THREADS) mine = fmaxf(mine, score_row[key]);
        left[threadIdx.x] = mine;
        __syncthreads(); // all maxima are there
        for (int i = 0; i < THREADS; i++) largest = fmaxf(largest, left[i]);
        float shift = largest == -INFINITY ? 0.0f : largest;
        for (int key = (int)threadIdx.x; key < kv_len; key += THREADS) sum += expf(score_row[key] - shift);
        left[THREADS + threadIdx.x] = sum;
        __syncthreads(); // all sums are there
        for (int i = 0; i < THREADS; i++) all += left[THREADS + i];
        for (int key = (int)threadIdx.x; key < kv_len; key += THREADS)
            score_row[key] = all == 0.0f ? 0.0f : expf(score_row[key] - shift) / all;
        if (lse != NULL && threadIdx.x == 0) lse[row] = largest + logf(all);
        __syncthreads(); // everybody has read this row's sums before the next row's are left
    }
}

__global__ void output_kernel(struct attention_args args, size_t rows,
                              const float *probs) // [rows, kv_len]
{
    size_t stride = (size_t)gridDim.x * THREADS;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < rows * args.head_dim; i += stride) {
        size_t row = i / args.head_dim, d = i % args.head_dim;
        const float *v = (const float *)args.v + kv_offset(args, row) + d;
        int seen = keys_seen(args, (int)(row % args.q_len));
        float sum = 0.0f;
        for (int key = 0; key < seen; key++)
            sum += v[(size_t)key * args.head_dim] * probs[row * args.kv_len + key];
        ((float *)args.out)[i] = sum;
    }
}

static size_t row_count(const struct attention_args *args)
{
    return (size_t)args->batch * args->heads * args->q_len;
}

enum kernel_status naive_attention_scores_f32(const struct attention_args *args, float *scores,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    scores_kernel<<<BLOCKS, THREADS, 0, stream>>>(*args, attention_scale(args), row_count(args), scores);
    return launch_status();
}

enum kernel_status naive_attention_softmax_f32(const struct attention_args *args, float *scores,
                                               cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    size_t shared_bytes = 2 * THREADS * sizeof(float);
    softmax_kernel<<<BLOCKS, THREADS, shared_bytes, stream>>>(scores, args->lse, row_count(args),
                                                              args->kv_len);
    return launch_status();
}

enum kernel_status naive_attention_output_f32(const struct attention_args *args, const float *probs,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, probs);
    if (status != KERNEL_OK) return status;
    output_kernel<<<BLOCKS, THREADS, 0, stream>>>(*args, row_count(args), probs);
    return launch_status();
}

size_t naive_attention_workspace_bytes(const struct attention_args *args)
{
    if (args == NULL || args->batch < 1 || args->heads < 1 || args->q_len < 1 || args->kv_len < 1) return 0;
    uint64_t bytes = sizeof(float);
    int extent[4] = {args->batch, args->heads, args->q_len, args->kv_len};
    for (int i = 0; i < 4; i++)
        if (!multiply_fits(&bytes, (uint64_t)extent[i], INT64_MAX)) return SIZE_MAX;
    return (size_t)bytes;
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
