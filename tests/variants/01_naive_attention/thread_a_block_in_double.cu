/*
 * A correct solution of another shape: one thread per block, one row per block, all sums in double, and each result
 * rounded once.
 */
// covered-by: thread_per_row
#include "naive_attention.h"

/** How many keys query row @p row of all rows sees. */
__device__ inline int keys_seen(const struct attention_args &args, size_t row)
{
    return args.causal ? max(args.kv_len - args.q_len + 1 + (int)(row % args.q_len), 0) : args.kv_len;
}

/** Offset of the K or V matrix that query row @p row reads. */
__device__ inline size_t kv_offset(const struct attention_args &args, size_t row)
{
    return row / args.q_len / (args.heads / args.kv_heads) * args.kv_len * args.head_dim;
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

static unsigned row_count(const struct attention_args *args)
{
    return (unsigned)(args->batch * args->heads * args->q_len);
}

__global__ void scores_kernel(struct attention_args args, float scale,
                              float *scores) // [rows, kv_len]
{
    size_t row = blockIdx.x;
    const float *q = (const float *)args.q + row * args.head_dim;  // [head_dim]
    const float *k = (const float *)args.k + kv_offset(args, row); // [kv_len, head_dim]
    int seen = keys_seen(args, row);
    for (int key = 0; key < args.kv_len; key++) {
        double sum = 0.0;
        for (int d = 0; d < args.head_dim && key < seen; d++)
            sum += (double)q[d] * k[(size_t)key * args.head_dim + d];
        scores[row * args.kv_len + key] = key < seen ? (float)(sum * scale) : -INFINITY;
    }
}

__global__ void softmax_kernel(float *scores, // [rows, kv_len]
                               float *lse,    // [rows] or NULL
                               int kv_len)
{
    float *row = scores + (size_t)blockIdx.x * kv_len; // [kv_len]
    double largest = -INFINITY, sum = 0.0;
    for (int key = 0; key < kv_len; key++) largest = row[key] > largest ? (double)row[key] : largest;
    double shift = largest == -INFINITY ? 0.0 : largest;
    for (int key = 0; key < kv_len; key++) sum += exp(row[key] - shift);
    for (int key = 0; key < kv_len; key++)
        row[key] = sum == 0.0 ? 0.0f : (float)(exp(row[key] - shift) / sum);
    if (lse != NULL) lse[blockIdx.x] = (float)(largest + log(sum));
}

__global__ void output_kernel(struct attention_args args,
                              const float *probs) // [rows, kv_len]
{
    size_t row = blockIdx.x;
    const float *v = (const float *)args.v + kv_offset(args, row); // [kv_len, head_dim]
    int seen = keys_seen(args, row);
    for (int d = 0; d < args.head_dim; d++) {
        double sum = 0.0;
        for (int key = seen - 1; key >= 0; key--)
            sum += (double)probs[row * args.kv_len + key] * v[(size_t)key * args.head_dim + d];
        ((float *)args.out)[row * args.head_dim + d] = (float)sum;
    }
}

enum kernel_status naive_attention_scores_f32(const struct attention_args *args, float *scores,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    scores_kernel<<<row_count(args), 1, 0, stream>>>(*args, attention_scale(args), scores);
    return launch_status();
}

enum kernel_status naive_attention_softmax_f32(const struct attention_args *args, float *scores,
                                               cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    softmax_kernel<<<row_count(args), 1, 0, stream>>>(scores, args->lse, args->kv_len);
    return launch_status();
}

enum kernel_status naive_attention_output_f32(const struct attention_args *args, const float *probs,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, probs);
    if (status != KERNEL_OK) return status;
    output_kernel<<<row_count(args), 1, 0, stream>>>(*args, probs);
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
    float *scores = (float *)args->workspace;
    status = naive_attention_scores_f32(args, scores, stream);
    if (status == KERNEL_OK) status = naive_attention_softmax_f32(args, scores, stream);
    if (status == KERNEL_OK) status = naive_attention_output_f32(args, scores, stream);
    return status;
}
