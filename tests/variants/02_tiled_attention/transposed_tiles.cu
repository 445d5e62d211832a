/*
 * A correct solution of another shape: 64 threads, 32 x 32 tiles kept transposed so that a thread's four rows
 * lie side by side, one loader for every matrix, and a double sum over the slices.
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

enum { TILE = 32, TILE_K = 8, THREAD_TILE = 4, THREADS = 64, STRIDE = TILE + 4 };

__host__ __device__ inline int tiles_of(int extent)
{
    return extent / TILE + (extent % TILE != 0);
}

/** tile[column][row] = matrix[first_row + row][first_column + column], 0 outside. */
__device__ inline void load_transposed(float (*tile)[STRIDE], // [TILE_K][TILE]
                                       const float *matrix,   // [rows, columns]
                                       int first_row, int rows, int first_column, int columns)
{
    for (int i = (int)threadIdx.x; i < TILE_K * TILE; i += THREADS) {
        int row = first_row + i / TILE_K, column = first_column + i % TILE_K;
        int inside = row < rows && column < columns;
        tile[i % TILE_K][i / TILE_K] = inside ? matrix[(size_t)row * columns + column] : 0.0f;
    }
}

/** tile[row][column] = matrix[first_row + row][first_column + column], 0 outside. */
__device__ inline void load_straight(float (*tile)[STRIDE], // [TILE_K][TILE]
                                     const float *matrix,   // [rows, columns]
                                     int first_row, int rows, int first_column, int columns)
{
    for (int i = (int)threadIdx.x; i < TILE_K * TILE; i += THREADS) {
        int row = first_row + i / TILE, column = first_column + i % TILE;
        int inside = row < rows && column < columns;
        tile[i / TILE][i % TILE] = inside ? matrix[(size_t)row * columns + column] : 0.0f;
    }
}

/** sum += a^T b over the slice, where row i of the result sees seen[i] slices. */
__device__ inline void multiply(double sum[THREAD_TILE][THREAD_TILE], const int seen[THREAD_TILE],
                                float (*a)[STRIDE], float (*b)[STRIDE])
{
    int left = (int)threadIdx.x / 8 * THREAD_TILE, top = (int)threadIdx.x % 8 * THREAD_TILE;
    for (int slice = 0; slice < TILE_K; slice++)
        for (int i = 0; i < THREAD_TILE; i++)
            for (int j = 0; j < THREAD_TILE; j++)
                if (slice < seen[i]) sum[i][j] += (double)a[slice][left + i] * b[slice][top + j];
}

__global__ void scores_kernel(struct attention_args args, float scale,
                              float *scores) // [batch, heads, q_len, kv_len]
{
    __shared__ float q_tile[TILE_K][STRIDE], k_tile[TILE_K][STRIDE];
    int bh = (int)blockIdx.x / tiles_of(args.q_len), first = (int)blockIdx.x % tiles_of(args.q_len) * TILE;
    size_t kv_bh = (size_t)(bh / (args.heads / args.kv_heads));
    const float *q_bh = (const float *)args.q + (size_t)bh * args.q_len * args.head_dim; // [q_len, head_dim]
    const float *k_bh = (const float *)args.k + kv_bh * args.kv_len * args.head_dim;     // [kv_len, head_dim]
    const int all[THREAD_TILE] = {TILE_K, TILE_K, TILE_K, TILE_K};
    for (int tile = (int)blockIdx.y; tile < tiles_of(args.kv_len); tile += (int)gridDim.y) {
        double sum[THREAD_TILE][THREAD_TILE] = {};
        for (int d = 0; d < args.head_dim; d += TILE_K) {
            load_transposed(q_tile, q_bh, first, args.q_len, d, args.head_dim);
            load_transposed(k_tile, k_bh, tile * TILE, args.kv_len, d, args.head_dim);
            __syncthreads(); // both slices are complete
            multiply(sum, all, q_tile, k_tile);
            __syncthreads(); // everybody is done with them
        }
        for (int i = 0; i < THREAD_TILE * THREAD_TILE; i++) {
            int query = first + (int)threadIdx.x / 8 * THREAD_TILE + i / THREAD_TILE;
            int key = tile * TILE + (int)threadIdx.x % 8 * THREAD_TILE + i % THREAD_TILE;
            if (query >= args.q_len || key >= args.kv_len) continue;
            float score = (float)(scale * sum[i / THREAD_TILE][i % THREAD_TILE]);
            scores[((size_t)bh * args.q_len + query) * args.kv_len + key] =
                key < keys_seen(args, query) ? score : -INFINITY;
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

__global__ void output_kernel(struct attention_args args,
                              const float *probs) // [batch, heads, q_len, kv_len]
{
    __shared__ float p_tile[TILE_K][STRIDE], v_tile[TILE_K][STRIDE];
    int bh = (int)blockIdx.x / tiles_of(args.q_len), first = (int)blockIdx.x % tiles_of(args.q_len) * TILE;
    size_t kv_bh = (size_t)(bh / (args.heads / args.kv_heads));
    const float *p_bh = probs + (size_t)bh * args.q_len * args.kv_len;               // [q_len, kv_len]
    const float *v_bh = (const float *)args.v + kv_bh * args.kv_len * args.head_dim; // [kv_len, head_dim]
    int left = (int)threadIdx.x / 8 * THREAD_TILE, most = keys_seen(args, min(first + TILE, args.q_len) - 1);
    for (int tile = (int)blockIdx.y; tile < tiles_of(args.head_dim); tile += (int)gridDim.y) {
        double sum[THREAD_TILE][THREAD_TILE] = {};
        for (int key = 0; key < most; key += TILE_K) {
            int seen[THREAD_TILE];
            for (int i = 0; i < THREAD_TILE; i++)
                seen[i] = keys_seen(args, min(first + left + i, args.q_len - 1)) - key;
            load_transposed(p_tile, p_bh, first, args.q_len, key, args.kv_len);
            load_straight(v_tile, v_bh, key, most, tile * TILE, args.head_dim);
            __syncthreads(); // both slices are complete
            multiply(sum, seen, p_tile, v_tile);
            __syncthreads(); // everybody is done with them
        }
        for (int i = 0; i < THREAD_TILE * THREAD_TILE; i++) {
            int query = first + left + i / THREAD_TILE,
                column = tile * TILE + (int)threadIdx.x % 8 * THREAD_TILE + i % THREAD_TILE;
            if (query < args.q_len && column < args.head_dim)
                ((float *)args.out)[((size_t)bh * args.q_len + query) * args.head_dim + column] =
                    (float)sum[i / THREAD_TILE][i % THREAD_TILE];
        }
    }
}

static dim3 grid_of(const struct attention_args *args, int columns)
{
    int tiles = tiles_of(columns);
    return dim3((unsigned)(args->batch * args->heads * tiles_of(args->q_len)),
                (unsigned)(tiles < 65535 ? tiles : 65535));
}

enum kernel_status tiled_attention_scores_f32(const struct attention_args *args, float *scores,
                                              cudaStream_t stream)
{
    enum kernel_status status = check_part(args, scores);
    if (status != KERNEL_OK) return status;
    scores_kernel<<<grid_of(args, args->kv_len), THREADS, 0, stream>>>(*args, attention_scale(args), scores);
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
    output_kernel<<<grid_of(args, args->head_dim), THREADS, 0, stream>>>(*args, probs);
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
