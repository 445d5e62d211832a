/*
 * A correct solution of another shape: no shared memory at all. Each thread keeps a 2 x 2 tile in registers
 * and leaves the reuse between threads to the cache; softmax is one block of 32 a row.
 */
#include "tiled_attention.h"

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

enum { THREADS = 64 };

__host__ __device__ inline size_t halves_of(int extent)
{
    return (size_t)extent / 2 + (size_t)extent % 2;
}

/** Thread i of all computes scores (2 y, 2 x) to (2 y + 1, 2 x + 1) of its head. */
__global__ void scores_kernel(struct attention_args args, float scale, size_t count,
                              float *scores) // [batch, heads, q_len, kv_len]
{
    size_t width = halves_of(args.kv_len), height = halves_of(args.q_len);
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += (size_t)gridDim.x * THREADS) {
        size_t bh = i / width / height, kv_bh = bh / (args.heads / args.kv_heads);
        int query = (int)(i / width % height) * 2, key = (int)(i % width) * 2;
        int last_query = min(query + 1, args.q_len - 1), last_key = min(key + 1, args.kv_len - 1);
        const float *q = (const float *)args.q + bh * args.q_len * args.head_dim;     // [q_len, head_dim]
        const float *k = (const float *)args.k + kv_bh * args.kv_len * args.head_dim; // [kv_len, head_dim]
        float sum[2][2] = {};
        for (int d = 0; d < args.head_dim; d++) {
            float a[2] = {q[(size_t)query * args.head_dim + d], q[(size_t)last_query * args.head_dim + d]};
            float b[2] = {k[(size_t)key * args.head_dim + d], k[(size_t)last_key * args.head_dim + d]};
            for (int j = 0; j < 4; j++) sum[j / 2][j % 2] += a[j / 2] * b[j % 2];
        }
        for (int j = 0; j < 4; j++) {
            int row = query + j / 2, column = key + j % 2;
            if (row < args.q_len && column < args.kv_len)
                scores[(bh * args.q_len + row) * args.kv_len + column] =
                    column < keys_seen(args, row) ? scale * sum[j / 2][j % 2] : -INFINITY;
        }
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

/** Thread i of all computes two rows of one column of the output. */
__global__ void output_kernel(struct attention_args args, size_t count,
                              const float *probs) // [batch, heads, q_len, kv_len]
{
    size_t height = halves_of(args.q_len);
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += (size_t)gridDim.x * THREADS) {
        size_t d = i % args.head_dim, bh = i / args.head_dim / height,
               kv_bh = bh / (args.heads / args.kv_heads);
        int query = (int)(i / args.head_dim % height) * 2, last_query = min(query + 1, args.q_len - 1);
        int seen = keys_seen(args, query), last_seen = keys_seen(args, last_query);
        const float *p = probs + (bh * args.q_len + query) * args.kv_len;           // [kv_len]
        const float *last_p = probs + (bh * args.q_len + last_query) * args.kv_len; // [kv_len]
        const float *v = (const float *)args.v + kv_bh * args.kv_len * args.head_dim + d;
        float sum = 0.0f, last_sum = 0.0f;
        for (int key = 0; key < last_seen; key++) {
            float value = v[(size_t)key * args.head_dim];
            if (key < seen) sum += p[key] * value;
            last_sum += last_p[key] * value;
        }
        float *out = (float *)args.out + (bh * args.q_len + query) * args.head_dim + d;
        out[0] = sum;
        if (last_query != query) out[args.head_dim] = last_sum;
    }
}

static unsigned blocks_for(size_t count)
{
    size_t blocks = (count - 1) / THREADS + 1;
    return (unsigned)(blocks < 1000000 ? blocks : 1000000);
}

enum kernel_status tiled_attention_scores_f32(const struct attention_args *args, float *scores,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    size_t count = (size_t)args->batch * args->heads * halves_of(args->q_len) * halves_of(args->kv_len);
    scores_kernel<<<blocks_for(count), THREADS, 0, stream>>>(*args, attention_scale(args), count, scores);
    return launch_status();
}

enum kernel_status tiled_attention_softmax_f32(const struct attention_args *args, float *scores,
                                               cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    int rows = args->batch * args->heads * args->q_len;
    softmax_kernel<<<(unsigned)rows, 32, 0, stream>>>(scores, args->lse, rows, args->kv_len);
    return launch_status();
}

enum kernel_status tiled_attention_output_f32(const struct attention_args *args, const float *probs,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, probs);
    if (status != KERNEL_OK) return status;
    size_t count = (size_t)args->batch * args->heads * halves_of(args->q_len) * args->head_dim;
    output_kernel<<<blocks_for(count), THREADS, 0, stream>>>(*args, count, probs);
    return launch_status();
}

size_t tiled_attention_workspace_bytes(const struct attention_args *args)
{
    if (args == NULL || args->batch < 1 || args->heads < 1 || args->q_len < 1 || args->kv_len < 1) return 0;
    uint64_t bytes = sizeof(float);
    int extent[4] = {args->batch, args->heads, args->q_len, args->kv_len};
    for (int i = 0; i < 4; i++)
        if (!multiply_fits(&bytes, (uint64_t)extent[i], INT64_MAX)) return SIZE_MAX;
    return (size_t)bytes;
}

enum kernel_status tiled_attention_f32(const struct attention_args *args, cudaStream_t stream)
{
    enum kernel_status status =
        attention_args_check(args, sizeof(float), tiled_attention_workspace_bytes(args));
    if (status != KERNEL_OK) return status;
    float *scores = (float *)args->workspace; // [batch, heads, q_len, kv_len]
    status = tiled_attention_scores_f32(args, scores, stream);
    if (status == KERNEL_OK) status = tiled_attention_softmax_f32(args, scores, stream);
    if (status == KERNEL_OK) status = tiled_attention_output_f32(args, scores, stream);
    return status;
}
