// covered-by: lazy_maximum
/*
 * A correct solution with tiles that are no power of two: 24 queries, 40 keys, 96 threads, four of them a row. The
 * running maximum is in base 2 and rounded up to a whole number, so that every correction is an exact power of two.
 */
#include "flash_attention_2.h"

#include <cuda_fp16.h>

enum { QUERIES = 24, KEYS = 40, EACH = 4, THREADS = QUERIES * EACH, KEYS_EACH = KEYS / EACH };

__device__ inline float to_float(float x)
{
    return x;
}
__device__ inline float to_float(__half x)
{
    return __half2float(x);
}
__device__ inline void store(float *to, float x)
{
    *to = x;
}
__device__ inline void store(__half *to, float x)
{
    *to = __float2half(x);
}

template <typename T, int HEAD_DIM>
__device__ inline void load(float (*tile)[HEAD_DIM + 1], const T *from, int rows)
{
    for (int i = (int)threadIdx.x; i < rows * HEAD_DIM; i += THREADS)
        tile[i / HEAD_DIM][i % HEAD_DIM] = to_float(from[i]);
}

/* Weights of this thread's keys; what was summed up before counts `return` times. */
__device__ inline float weigh(float *score, float *m, float *l)
{
    float largest = *m;
    for (int j = 0; j < KEYS_EACH; j++) largest = fmaxf(largest, ceilf(score[j]));
    for (int distance = 1; distance < EACH; distance *= 2)
        largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, distance));
    float shift = largest == -INFINITY ? 0.0f : largest, correction = exp2f(*m - shift);
    *m = largest;
    *l *= correction;
    for (int j = 0; j < KEYS_EACH; j++) {
        score[j] = exp2f(score[j] - shift);
        *l += score[j];
    }
    return correction;
}

template <typename T, int HEAD_DIM> __global__ void tile_kernel(struct attention_args args, float scale)
{
    __shared__ float q_tile[QUERIES][HEAD_DIM + 1], kv_tile[KEYS][HEAD_DIM + 1], p_tile[QUERIES][KEYS + 1];
    constexpr int COLUMNS = HEAD_DIM / EACH;
    int tiles = (args.q_len - 1) / QUERIES + 1, bh = (int)blockIdx.x / tiles;
    int first = (int)blockIdx.x % tiles * QUERIES, rows = min(QUERIES, args.q_len - first);
    int r = (int)threadIdx.x / EACH, part = (int)threadIdx.x % EACH;
    size_t q_row = (size_t)bh * args.q_len + first;
    size_t kv_row = (size_t)(bh / (args.heads / args.kv_heads)) * args.kv_len;
    int hidden =
        args.causal ? args.q_len - args.kv_len : -args.q_len - args.kv_len; // queries that see nothing
    int most = max(0, min(args.kv_len, first + rows - hidden));
    int seen = r < rows ? max(0, min(args.kv_len, first + r + 1 - hidden)) : 0;
    float m = -INFINITY, l = 0.0f, sum[COLUMNS] = {};
    load<T, HEAD_DIM>(q_tile, (const T *)args.q + q_row * HEAD_DIM, rows);
    for (int key = 0; key < most; key += KEYS) {
        int keys = min(KEYS, most - key), own = min(keys, seen - key); // keys that this row sees
        __syncthreads();                                               // everybody is done with the values
        load<T, HEAD_DIM>(kv_tile, (const T *)args.k + (kv_row + key) * HEAD_DIM, keys);
        __syncthreads(); // K and, at first, Q are complete
        float score[KEYS_EACH];
        for (int j = 0; j < KEYS_EACH; j++) {
            int at = part * KEYS_EACH + j;
            float dot = 0.0f;
            for (int d = 0; d < HEAD_DIM && at < own; d++) dot += q_tile[r][d] * kv_tile[at][d];
            score[j] = at < own ? dot * scale * 1.44269504f : -INFINITY;
        }
        float correction = weigh(score, &m, &l);
        for (int j = 0; j < KEYS_EACH; j++) p_tile[r][part * KEYS_EACH + j] = score[j];
        __syncthreads(); // weights are complete, and everybody is done with K
        load<T, HEAD_DIM>(kv_tile, (const T *)args.v + (kv_row + key) * HEAD_DIM, keys);
        __syncthreads(); // V is complete
        for (int c = 0; c < COLUMNS; c++) {
            sum[c] *= correction;
            for (int j = 0; j < own; j++) sum[c] += p_tile[r][j] * kv_tile[j][part + c * EACH];
        }
    }
    for (int distance = 1; distance < EACH; distance *= 2) l += __shfl_xor_sync(~0u, l, distance);
    if (r >= rows) return;
    for (int c = 0; c < COLUMNS; c++)
        store((T *)args.out + (q_row + r) * HEAD_DIM + part + c * EACH, l == 0.0f ? sum[c] : sum[c] / l);
    if (args.lse != NULL && part == 0) args.lse[q_row + r] = m * 0.69314718f + logf(l);
}

template <typename T>
static enum kernel_status attention(const struct attention_args *args, enum dtype dtype, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, 16, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    int blocks = args->batch * args->heads * ((args->q_len - 1) / QUERIES + 1);
    float scale = attention_scale(args);
    if (args->head_dim == 32)
        tile_kernel<T, 32><<<blocks, THREADS, 0, stream>>>(*args, scale);
    else if (args->head_dim == 64)
        tile_kernel<T, 64><<<blocks, THREADS, 0, stream>>>(*args, scale);
    else if (args->head_dim == 128)
        tile_kernel<T, 128><<<blocks, THREADS, 0, stream>>>(*args, scale);
    else
        return KERNEL_INVALID_DIMENSION;
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

enum kernel_status flash_attention_2_f32(const struct attention_args *args, cudaStream_t stream)
{
    return attention<float>(args, DTYPE_F32, stream);
}

enum kernel_status flash_attention_2_f16(const struct attention_args *args, cudaStream_t stream)
{
    return attention<__half>(args, DTYPE_F16, stream);
}
