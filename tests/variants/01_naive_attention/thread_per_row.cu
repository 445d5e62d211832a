/*
 * A correct solution of another shape: one thread does a whole row, alone, and sums in double. Slow, but
 * right.
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

enum { THREADS = 96 };

/** The row that this thread works on, or -1 if there is none left. */
__device__ inline long long my_row(const struct attention_args &args)
{
    long long row = (long long)blockIdx.x * THREADS + threadIdx.x;
    return row < (long long)args.batch * args.heads * args.q_len ? row : -1;
}

/** Offset of element (key, 0) of the K or V matrix that query row @p row reads. */
__device__ inline size_t kv_at(const struct attention_args &args, long long row, int key)
{
    long long head = row / args.q_len % args.heads, sequence = row / args.q_len / args.heads;
    size_t kv_head = (size_t)(sequence * args.kv_heads + head / (args.heads / args.kv_heads));
    return (kv_head * args.kv_len + key) * args.head_dim;
}

__global__ void scores_kernel(struct attention_args args, float scale,
                              float *scores) // [batch, heads, q_len, kv_len]
{
    long long row = my_row(args);
    if (row < 0) return;
    int seen = keys_seen(args, (int)(row % args.q_len));
    const float *q_row = (const float *)args.q + (size_t)row * args.head_dim; // [head_dim]
    for (int key = args.kv_len - 1; key >= 0; key--) {
        double dot = 0.0;
        const float *k_row = (const float *)args.k + kv_at(args, row, key); // [head_dim]
        for (int d = args.head_dim - 1; d >= 0 && key < seen; d--) dot += (double)q_row[d] * k_row[d];
        scores[(size_t)row * args.kv_len + key] = key < seen ? (float)(dot * scale) : -INFINITY;
    }
}

__global__ void softmax_kernel(struct attention_args args, float *scores) // [batch, heads, q_len, kv_len]
{
    long long row = my_row(args);
    if (row < 0) return;
    float *score_row = scores + (size_t)row * args.kv_len; // [kv_len]
    float largest = -INFINITY;
    double sum = 0.0;
    for (int key = 0; key < args.kv_len; key++) largest = fmaxf(score_row[key], largest);
    float shift = isinf(largest) && largest < 0.0f ? 0.0f : largest;
    for (int key = 0; key < args.kv_len; key++) sum += exp((double)score_row[key] - shift);
    for (int key = 0; key < args.kv_len; key++)
        score_row[key] = sum == 0.0 ? 0.0f : (float)(exp((double)score_row[key] - shift) / sum);
    if (args.lse != NULL) args.lse[row] = (float)(largest + log(sum));
}

__global__ void output_kernel(struct attention_args args, const float *probs) // [batch, heads, q_len, kv_len]
{
    long long row = my_row(args);
    if (row < 0) return;
    int seen = keys_seen(args, (int)(row % args.q_len));
    for (int d = 0; d < args.head_dim; d++) {
        double sum = 0.0;
        for (int key = 0; key < seen; key++)
            sum += (double)probs[(size_t)row * args.kv_len + key] *
                   ((const float *)args.v)[kv_at(args, row, key) + d];
        ((float *)args.out)[(size_t)row * args.head_dim + d] = (float)sum;
    }
}

static unsigned block_count(const struct attention_args *args)
{
    return (unsigned)(args->batch * args->heads * args->q_len - 1) / THREADS + 1;
}

enum kernel_status naive_attention_scores_f32(const struct attention_args *args, float *scores,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    scores_kernel<<<block_count(args), THREADS, 0, stream>>>(*args, attention_scale(args), scores);
    return launch_status();
}

enum kernel_status naive_attention_softmax_f32(const struct attention_args *args, float *scores,
                                               cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    softmax_kernel<<<block_count(args), THREADS, 0, stream>>>(*args, scores);
    return launch_status();
}

enum kernel_status naive_attention_output_f32(const struct attention_args *args, const float *probs,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, probs);
    if (status != KERNEL_OK) return status;
    output_kernel<<<block_count(args), THREADS, 0, stream>>>(*args, probs);
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
