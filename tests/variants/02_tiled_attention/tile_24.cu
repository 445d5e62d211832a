/*
 * A correct solution of another shape: tiles of 24 x 24 results with 7 of the shared dimension at a time, and the whole
 * of attention in one kernel that leaves its workspace alone: a tile of 24 queries keeps its 24 running rows itself.
 */
// covered-by: tile_16
#include "tiled_attention.h"

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

enum { TILE = 24, DEPTH = 7, SOFTMAX_THREADS = 40 };

__host__ __device__ inline int tiles_of(int extent)
{
    return extent / TILE + (extent % TILE != 0);
}

static unsigned query_tiles(const struct attention_args *args)
{
    return (unsigned)(args->batch * args->heads * tiles_of(args->q_len));
}

/** One block: 24 queries, one tile of 24 keys after another. */
__global__ void scores_kernel(struct attention_args args, float scale,
                              float *scores) // [rows, kv_len]
{
    __shared__ float q_tile[TILE][DEPTH], k_tile[TILE][DEPTH];
    int x = (int)threadIdx.x, y = (int)threadIdx.y, bh = (int)blockIdx.x / tiles_of(args.q_len);
    int query = (int)blockIdx.x % tiles_of(args.q_len) * TILE + y;
    size_t row = (size_t)bh * args.q_len + min(query, args.q_len - 1); // rows past the end repeat the last
    const float *q = (const float *)args.q + row * args.head_dim;      // [head_dim]
    const float *k = (const float *)args.k + kv_offset(args, row);     // [kv_len, head_dim]
    for (int first = 0; first < args.kv_len; first += TILE) {
        float sum = 0.0f;
        for (int d = 0; d < args.head_dim; d += DEPTH) {
            if (x < DEPTH) {
                int inside = d + x < args.head_dim;
                q_tile[y][x] = inside ? q[d + x] : 0.0f;
                k_tile[y][x] =
                    inside && first + y < args.kv_len ? k[(size_t)(first + y) * args.head_dim + d + x] : 0.0f;
            }
            __syncthreads(); // both tiles are complete
            for (int i = 0; i < DEPTH; i++) sum = fmaf(q_tile[y][i], k_tile[x][i], sum);
            __syncthreads(); // everybody is done with them
        }
        if (query < args.q_len && first + x < args.kv_len)
            scores[row * args.kv_len + first + x] =
                first + x < keys_seen(args, row) ? sum * scale : -INFINITY;
    }
}

/** A thread per row: the maximum, the sum in two halves, the quotients. */
__global__ void softmax_kernel(float *scores, // [rows, kv_len]
                               float *lse,    // [rows] or NULL
                               size_t rows, int kv_len)
{
    size_t row = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float *s = scores + row * kv_len; // [kv_len]
    float largest = s[0], even = 0.0f, odd = 0.0f;
    for (int key = 1; key < kv_len; key++) largest = fmaxf(largest, s[key]);
    float shift = largest == -INFINITY ? 0.0f : largest;
    for (int key = 0; key < kv_len; key++) {
        s[key] = expf(s[key] - shift);
        (key % 2 ? odd : even) += s[key];
    }
    for (int key = 0; key < kv_len; key++) s[key] = even + odd == 0.0f ? 0.0f : s[key] / (even + odd);
    if (lse != NULL) lse[row] = logf(even + odd) + largest;
}

/** One block: 24 queries, 24 columns. */
__global__ void output_kernel(struct attention_args args,
                              const float *probs) // [rows, kv_len]
{
    __shared__ float p_tile[TILE][DEPTH], v_tile[DEPTH][TILE];
    int x = (int)threadIdx.x, y = (int)threadIdx.y, bh = (int)blockIdx.x / tiles_of(args.q_len);
    int query = (int)blockIdx.x % tiles_of(args.q_len) * TILE + y;
    size_t row = (size_t)bh * args.q_len + min(query, args.q_len - 1);
    const float *v = (const float *)args.v + kv_offset(args, row); // [kv_len, head_dim]
    int seen = keys_seen(args, row);
    for (int column = 0; column < args.head_dim; column += TILE) {
        float sum = 0.0f;
        for (int first = 0; first < args.kv_len; first += DEPTH) {
            if (x < DEPTH) p_tile[y][x] = first + x < seen ? probs[row * args.kv_len + first + x] : 0.0f;
            if (y < DEPTH)
                v_tile[y][x] = first + y < args.kv_len && column + x < args.head_dim
                                   ? v[(size_t)(first + y) * args.head_dim + column + x]
                                   : 0.0f;
            __syncthreads(); // both tiles are complete
            for (int i = 0; i < DEPTH && first + i < seen; i++) sum = fmaf(p_tile[y][i], v_tile[i][x], sum);
            __syncthreads(); // everybody is done with them
        }
        if (query < args.q_len && column + x < args.head_dim)
            ((float *)args.out)[row * args.head_dim + column + x] = sum;
    }
}

/** The whole, a thread per element of the output: the scores are computed twice and stored nowhere. */
__global__ void attention_kernel(struct attention_args args, float scale)
{
    size_t row = blockIdx.x;
    const float *q = (const float *)args.q + row * args.head_dim; // [head_dim]
    const float *k = (const float *)args.k + kv_offset(args, row),
                *v = (const float *)args.v + kv_offset(args, row);
    int seen = keys_seen(args, row);
    for (int d = (int)threadIdx.x; d < args.head_dim; d += (int)blockDim.x) {
        float m = -INFINITY, l = 0.0f, sum = 0.0f;
        for (int key = 0; key < seen; key++) {
            const float *k_row = k + (size_t)key * args.head_dim;
            float dot = 0.0f;
            for (int i = 0; i < args.head_dim; i++) dot = fmaf(q[i], k_row[i], dot);
            float score = dot * scale, larger = fmaxf(m, score), shift = larger == -INFINITY ? 0.0f : larger;
            float old = expf(m - shift), weight = expf(score - shift);
            l = l * old + weight;
            sum = sum * old + weight * v[(size_t)key * args.head_dim + d];
            m = larger;
        }
        ((float *)args.out)[row * args.head_dim + d] = l == 0.0f ? sum : sum / l;
        if (d == 0 && args.lse != NULL) args.lse[row] = m + logf(l);
    }
}

enum kernel_status tiled_attention_scores_f32(const struct attention_args *args, float *scores,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    scores_kernel<<<query_tiles(args), dim3(TILE, TILE), 0, stream>>>(*args, attention_scale(args), scores);
    return launch_status();
}

enum kernel_status tiled_attention_softmax_f32(const struct attention_args *args, float *scores,
                                               cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    unsigned blocks = (row_count(args) - 1) / SOFTMAX_THREADS + 1;
    softmax_kernel<<<blocks, SOFTMAX_THREADS, 0, stream>>>(scores, args->lse, row_count(args), args->kv_len);
    return launch_status();
}

enum kernel_status tiled_attention_output_f32(const struct attention_args *args, const float *probs,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, probs);
    if (status != KERNEL_OK) return status;
    output_kernel<<<query_tiles(args), dim3(TILE, TILE), 0, stream>>>(*args, probs);
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
    if (args->dtype != DTYPE_F32) return KERNEL_UNSUPPORTED_DTYPE;
    attention_kernel<<<row_count(args), TILE, 0, stream>>>(*args, attention_scale(args));
    return launch_status();
}
