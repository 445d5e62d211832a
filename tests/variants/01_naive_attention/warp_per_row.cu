/*
 * A correct solution of another shape: a warp does what a thread or a block does elsewhere. Lanes share one
 * dot product, one row of softmax, one row of the output; shuffles in place of shared memory and barriers.
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

/** One warp computes the scores of one query row, one after another. */
__global__ void scores_kernel(struct attention_args args, float scale, int rows,
                              float *scores) // [batch, heads, q_len, kv_len]
{
    int lane = (int)threadIdx.x % 32;
    size_t row = (size_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= (size_t)rows) return; // a whole warp at once: nobody waits for it
    size_t kv_bh = row / args.q_len / (args.heads / args.kv_heads);
    int seen = keys_seen(args, (int)(row % args.q_len));
    const float *q_row = (const float *)args.q + row * args.head_dim; // [head_dim]
    const float *k_row = (const float *)args.k + kv_bh * args.kv_len * args.head_dim;
    for (int key = 0; key < args.kv_len; key++, k_row += args.head_dim) {
        float dot = 0.0f;
        for (int d = lane; d < args.head_dim && key < seen; d += 32) dot += q_row[d] * k_row[d];
        for (int distance = 16; distance > 0; distance /= 2)
            dot += __shfl_xor_sync(0xffffffffu, dot, distance);
        if (lane == key % 32) scores[row * args.kv_len + key] = key < seen ? dot * scale : -INFINITY;
    }
}

/** One warp, one row, no shared memory. */
__global__ void softmax_kernel(float *scores, // [rows, kv_len]
                               float *lse,    // [rows] or NULL
                               int rows, int kv_len)
{
    int lane = (int)threadIdx.x % 32;
    size_t row = (size_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= (size_t)rows) return;          // a whole warp at once: nobody waits for it
    float *score_row = scores + row * kv_len; // [kv_len]

    float largest = -INFINITY;
    for (int key = lane; key < kv_len; key += 32) largest = fmaxf(largest, score_row[key]);
    for (int distance = 1; distance < 32; distance *= 2)
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, distance));
    float shift = largest > -INFINITY ? largest : 0.0f;
    float sum = 0.0f;
    for (int key = lane; key < kv_len; key += 32) sum += expf(score_row[key] - shift);
    for (int distance = 1; distance < 32; distance *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    for (int key = lane; key < kv_len; key += 32)
        score_row[key] = sum == 0.0f ? 0.0f : expf(score_row[key] - shift) / sum;
    if (lse != NULL && lane == 0) lse[row] = largest + logf(sum);
}

/** One warp computes one row of the output; every lane keeps some of its columns. */
__global__ void output_kernel(struct attention_args args, int rows,
                              const float *probs) // [batch, heads, q_len, kv_len]
{
    size_t row = (size_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= (size_t)rows) return;
    size_t kv_bh = row / args.q_len / (args.heads / args.kv_heads);
    int seen = keys_seen(args, (int)(row % args.q_len));
    const float *v_bh = (const float *)args.v + kv_bh * args.kv_len * args.head_dim; // [kv_len, head_dim]
    for (int d = (int)threadIdx.x % 32; d < args.head_dim; d += 32) {
        float sum = 0.0f;
        for (int key = seen - 1; key >= 0; key--) // backwards, only because nothing forbids it
            sum += probs[row * args.kv_len + key] * v_bh[(size_t)key * args.head_dim + d];
        ((float *)args.out)[row * args.head_dim + d] = sum;
    }
}

enum kernel_status naive_attention_scores_f32(const struct attention_args *args, float *scores,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    int rows = args->batch * args->heads * args->q_len;
    scores_kernel<<<(unsigned)(rows - 1) / 8 + 1, 256, 0, stream>>>(*args, attention_scale(args), rows,
                                                                    scores);
    return launch_status();
}

enum kernel_status naive_attention_softmax_f32(const struct attention_args *args, float *scores,
                                               cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    int rows = args->batch * args->heads * args->q_len;
    softmax_kernel<<<(unsigned)(rows - 1) / 4 + 1, 128, 0, stream>>>(scores, args->lse, rows, args->kv_len);
    return launch_status();
}

enum kernel_status naive_attention_output_f32(const struct attention_args *args, const float *probs,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, probs);
    if (status != KERNEL_OK) return status;
    int rows = args->batch * args->heads * args->q_len;
    output_kernel<<<(unsigned)(rows - 1) / 2 + 1, 64, 0, stream>>>(*args, rows, probs);
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
