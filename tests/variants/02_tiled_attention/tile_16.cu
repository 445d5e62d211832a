/*
 * A correct solution of another shape: the textbook tile. 16 x 16 threads, one result per thread, a k-slice of 16.
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

enum { BLOCK_DIM = 16 };

__host__ __device__ inline int tiles_of(int extent)
{
    return extent / BLOCK_DIM + (extent % BLOCK_DIM != 0);
}

/** One block: one tile of scores after another, along the keys. */
__global__ void scores_kernel(struct attention_args args, float scale,
                              float *scores) // [batch, heads, q_len, kv_len]
{
    __shared__ float q_tile[BLOCK_DIM][BLOCK_DIM + 1], k_tile[BLOCK_DIM][BLOCK_DIM + 1];
    int x = (int)threadIdx.x, y = (int)threadIdx.y;
    int bh = (int)blockIdx.x / tiles_of(args.q_len),
        query = (int)blockIdx.x % tiles_of(args.q_len) * BLOCK_DIM + y;
    size_t kv_row = (size_t)(bh / (args.heads / args.kv_heads)) * args.kv_len;
    const float *q_row =
        (const float *)args.q + ((size_t)bh * args.q_len + query) * args.head_dim; // [head_dim]
    for (int tile = (int)blockIdx.y; tile < tiles_of(args.kv_len); tile += (int)gridDim.y) {
        const float *k_row =
            (const float *)args.k + (kv_row + tile * BLOCK_DIM + y) * args.head_dim; // [head_dim]
        float sum = 0.0f;
        for (int d = 0; d < args.head_dim; d += BLOCK_DIM) {
            q_tile[y][x] = query < args.q_len && d + x < args.head_dim ? q_row[d + x] : 0.0f;
            k_tile[y][x] = tile * BLOCK_DIM + y < args.kv_len && d + x < args.head_dim ? k_row[d + x] : 0.0f;
            __syncthreads(); // both slices are complete
            for (int i = 0; i < BLOCK_DIM; i++) sum += q_tile[y][i] * k_tile[x][i];
            __syncthreads(); // everybody is done with them
        }
        int key = tile * BLOCK_DIM + x;
        if (query < args.q_len && key < args.kv_len)
            scores[((size_t)bh * args.q_len + query) * args.kv_len + key] =
                key < keys_seen(args, query) ? scale * sum : -INFINITY;
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

/** One block: one 16 x 16 tile of the output after another, along head_dim. */
__global__ void output_kernel(struct attention_args args,
                              const float *probs) // [batch, heads, q_len, kv_len]
{
    __shared__ float p_tile[BLOCK_DIM][BLOCK_DIM + 1], v_tile[BLOCK_DIM][BLOCK_DIM + 1];
    int x = (int)threadIdx.x, y = (int)threadIdx.y;
    int bh = (int)blockIdx.x / tiles_of(args.q_len),
        query = (int)blockIdx.x % tiles_of(args.q_len) * BLOCK_DIM + y;
    int seen = query < args.q_len ? keys_seen(args, query) : 0;
    int most =
        __syncthreads_or(seen == args.kv_len) ? args.kv_len : keys_seen(args, query - y + BLOCK_DIM - 1);
    size_t kv_row = (size_t)(bh / (args.heads / args.kv_heads)) * args.kv_len,
           row = (size_t)bh * args.q_len + query;
    for (int column = x; column - x < args.head_dim; column += BLOCK_DIM) {
        float sum = 0.0f;
        for (int first = 0; first < most; first += BLOCK_DIM) {
            int in_v = first + y < most && column < args.head_dim;
            p_tile[y][x] = first + x < seen ? probs[row * args.kv_len + first + x] : 0.0f;
            v_tile[y][x] =
                in_v ? ((const float *)args.v)[(kv_row + first + y) * args.head_dim + column] : 0.0f;
            __syncthreads(); // both slices are complete
            for (int i = 0; i < BLOCK_DIM && i < seen - first; i++) sum += p_tile[y][i] * v_tile[i][x];
            __syncthreads(); // everybody is done with them
        }
        if (query < args.q_len && column < args.head_dim)
            ((float *)args.out)[row * args.head_dim + column] = sum;
    }
}

static unsigned query_tiles(const struct attention_args *args)
{
    return (unsigned)(args->batch * args->heads * tiles_of(args->q_len));
}

enum kernel_status tiled_attention_scores_f32(const struct attention_args *args, float *scores,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    dim3 grid(query_tiles(args), (unsigned)(tiles_of(args->kv_len) < 65535 ? tiles_of(args->kv_len) : 65535));
    scores_kernel<<<grid, dim3(BLOCK_DIM, BLOCK_DIM), 0, stream>>>(*args, attention_scale(args), scores);
    return launch_status();
}

enum kernel_status tiled_attention_softmax_f32(const struct attention_args *args, float *scores,
                                               cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    int rows = args->batch * args->heads * args->q_len;
    softmax_kernel<<<(unsigned)(rows - 1) / 4 + 1, 128, 0, stream>>>(scores, args->lse, rows, args->kv_len);
    return launch_status();
}

enum kernel_status tiled_attention_output_f32(const struct attention_args *args, const float *probs,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, probs);
    if (status != KERNEL_OK) return status;
    output_kernel<<<query_tiles(args), dim3(BLOCK_DIM, BLOCK_DIM), 0, stream>>>(*args, probs);
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
