/*
 * A correct solution of another shape: one warp per block, a tile of 8 queries, everything in double but what is loaded
 * and stored, and keys taken from the last to the first.
 */
// covered-by: transposed_tiles
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

enum { LANES = 32, QUERIES = 8 };

__host__ __device__ inline int tiles_of(int extent)
{
    return extent / QUERIES + (extent % QUERIES != 0);
}

static unsigned query_tiles(const struct attention_args *args)
{
    return (unsigned)(args->batch * args->heads * tiles_of(args->q_len));
}

/** The first row of this block's tile; @p count of them. */
__device__ inline size_t first_row(const struct attention_args &args, int *count)
{
    int tile = (int)blockIdx.x % tiles_of(args.q_len), bh = (int)blockIdx.x / tiles_of(args.q_len);
    *count = min(args.q_len - tile * QUERIES, (int)QUERIES);
    return (size_t)bh * args.q_len + tile * QUERIES;
}

/** A lane per key: its 8 products with the tile, q in shared memory 32 columns at a time. */
__global__ void scores_kernel(struct attention_args args, float scale,
                              float *scores) // [rows, kv_len]
{
    __shared__ double q_tile[QUERIES][LANES];
    int lane = (int)threadIdx.x, count;
    size_t row = first_row(args, &count);
    const float *q = (const float *)args.q + row * args.head_dim;  // [count, head_dim]
    const float *k = (const float *)args.k + kv_offset(args, row); // [kv_len, head_dim]
    for (int first = 0; first < args.kv_len; first += LANES) {
        double sum[QUERIES] = {};
        for (int column = 0; column < args.head_dim; column += LANES) {
            for (int i = 0; i < QUERIES; i++)
                q_tile[i][lane] = i < count && column + lane < args.head_dim
                                      ? (double)q[(size_t)i * args.head_dim + column + lane]
                                      : 0.0;
            __syncwarp(); // the tile is complete
            for (int d = 0; d < LANES && column + d < args.head_dim && first + lane < args.kv_len; d++)
                for (int i = 0; i < QUERIES; i++)
                    sum[i] += q_tile[i][d] * k[(size_t)(first + lane) * args.head_dim + column + d];
            __syncwarp(); // all lanes are done with it
        }
        for (int i = 0; i < count && first + lane < args.kv_len; i++)
            scores[(row + i) * args.kv_len + first + lane] =
                first + lane < keys_seen(args, row + i) ? (float)(sum[i] * scale) : -INFINITY;
    }
}

__global__ void softmax_kernel(float *scores, // [rows, kv_len]
                               float *lse,    // [rows] or NULL
                               int kv_len)
{
    float *s = scores + (size_t)blockIdx.x * kv_len; // [kv_len]
    float largest = -INFINITY;
    double sum = 0.0;
    for (int key = (int)threadIdx.x; key < kv_len; key += LANES) largest = fmaxf(largest, s[key]);
    for (int distance = 1; distance < LANES; distance *= 2)
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, distance));
    double shift = largest == -INFINITY ? 0.0 : (double)largest;
    for (int key = (int)threadIdx.x; key < kv_len; key += LANES) sum += exp((double)s[key] - shift);
    for (int distance = 1; distance < LANES; distance *= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    for (int key = (int)threadIdx.x; key < kv_len; key += LANES)
        s[key] = sum == 0.0 ? 0.0f : (float)(exp((double)s[key] - shift) / sum);
    if (lse != NULL && threadIdx.x == 0) lse[blockIdx.x] = (float)((double)largest + log(sum));
}

/** A lane per column; the 8 rows of probabilities in shared memory, 32 keys at a time, the last keys first. */
__global__ void output_kernel(struct attention_args args,
                              const float *probs) // [rows, kv_len]
{
    __shared__ float p_tile[QUERIES][LANES];
    int lane = (int)threadIdx.x, count;
    size_t row = first_row(args, &count);
    const float *v = (const float *)args.v + kv_offset(args, row); // [kv_len, head_dim]
    for (int column = 0; column < args.head_dim; column += LANES) {
        double sum[QUERIES] = {};
        for (int first = (args.kv_len - 1) / LANES * LANES; first >= 0; first -= LANES) {
            for (int i = 0; i < count; i++)
                p_tile[i][lane] =
                    first + lane < args.kv_len ? probs[(row + i) * args.kv_len + first + lane] : 0.0f;
            __syncwarp(); // the tile is complete
            for (int j = LANES - 1; j >= 0 && column + lane < args.head_dim; j--)
                for (int i = 0; i < count; i++)
                    if (first + j < keys_seen(args, row + i))
                        sum[i] +=
                            (double)p_tile[i][j] * v[(size_t)(first + j) * args.head_dim + column + lane];
            __syncwarp(); // all lanes are done with it
        }
        for (int i = 0; i < count && column + lane < args.head_dim; i++)
            ((float *)args.out)[(row + i) * args.head_dim + column + lane] = (float)sum[i];
    }
}

enum kernel_status tiled_attention_scores_f32(const struct attention_args *args, float *scores,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    scores_kernel<<<query_tiles(args), LANES, 0, stream>>>(*args, attention_scale(args), scores);
    return launch_status();
}

enum kernel_status tiled_attention_softmax_f32(const struct attention_args *args, float *scores,
                                               cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    softmax_kernel<<<row_count(args), LANES, 0, stream>>>(scores, args->lse, args->kv_len);
    return launch_status();
}

enum kernel_status tiled_attention_output_f32(const struct attention_args *args, const float *probs,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, probs);
    if (status != KERNEL_OK) return status;
    output_kernel<<<query_tiles(args), LANES, 0, stream>>>(*args, probs);
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
    float *scores = (float *)args->workspace;
    status = tiled_attention_scores_f32(args, scores, stream);
    if (status == KERNEL_OK) status = tiled_attention_softmax_f32(args, scores, stream);
    if (status == KERNEL_OK) status = tiled_attention_output_f32(args, scores, stream);
    return status;
}
