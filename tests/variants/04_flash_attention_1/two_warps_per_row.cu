// covered-by: warp_per_row
/*
 * A correct solution of another shape: two warps do a row together. Each takes half the keys of a tile of 24, with a
 * maximum and a sum of its own, and the first one merges what the second one found, in an order that is fixed.
 */
#include "flash_attention_1.h"

#include <cuda_fp16.h>

enum { WARP = 32, PAIRS = 3, THREADS = PAIRS * 2 * WARP, KEYS = 24, HALF = KEYS / 2 };

__device__ inline float to_float(float x)
{
    return x;
}

__device__ inline float to_float(half x)
{
    return __half2float(x);
}

__device__ inline void store(float *to, float x)
{
    *to = x;
}

__device__ inline void store(half *to, float x)
{
    *to = __float2half(x);
}

/** What a warp knows of its half of the tile. The same in all lanes, but for the columns of sum. */
template <int COLUMNS> struct half_tile {
    float m, l, sum[COLUMNS];
};

__device__ inline float exp_below(float x, float max)
{
    return expf(x - (max == -INFINITY ? 0.0f : max));
}

template <int HEAD_DIM>
__device__ inline struct half_tile<HEAD_DIM / WARP>
half_of(const float *q, float (*k_tile)[HEAD_DIM], float (*v_tile)[HEAD_DIM], int seen, float scale) {
    constexpr int COLUMNS = HEAD_DIM / WARP;
    int lane = (int)threadIdx.x % WARP;
    struct half_tile<COLUMNS> mine = {
        - INFINITY, 0.0f, {}
    };
    float score[HALF];
    for (int j = 0; j < HALF; j++) {
        float dot = 0.0f;
        for (int c = 0; c < COLUMNS && j < seen; c++) dot += q[c] * k_tile[j][lane + c * WARP];
        for (int distance = WARP / 2; distance > 0; distance /= 2) dot += __shfl_xor_sync(~0u, dot, distance);
        score[j] = scale * dot;
        if (j < seen) mine.m = fmaxf(mine.m, score[j]);
    }
    for (int j = 0; j < seen && j < HALF; j++) {
        float p = exp_below(score[j], mine.m);
        mine.l += p;
        for (int c = 0; c < COLUMNS; c++) mine.sum[c] += p * v_tile[j][lane + c * WARP];
    }
    return mine;
}

/** Adds @p other, which refers to a maximum of its own, to @p sum. */
template <int COLUMNS>
__device__ inline void merge(struct half_tile<COLUMNS> *sum, const struct half_tile<COLUMNS> &other)
{
    float m = fmaxf(sum->m, other.m), keep = exp_below(sum->m, m), add = exp_below(other.m, m);
    sum->m = m;
    // Scores that are all NaN leave a maximum at -infinity and a sum that is NaN: it must stay in.
    sum->l = keep * sum->l + add * other.l;
    for (int c = 0; c < COLUMNS; c++) sum->sum[c] = keep * sum->sum[c] + add * other.sum[c];
}

template <typename T, int HEAD_DIM>
__global__ void attention_kernel(struct attention_args args, float scale, float *o, float *m, float *l)
{
    constexpr int COLUMNS = HEAD_DIM / WARP;
    __shared__ float k_tile[KEYS][HEAD_DIM], v_tile[KEYS][HEAD_DIM];
    __shared__ struct half_tile<COLUMNS> second[PAIRS][WARP];
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP, pair = warp / 2, part = warp % 2;
    size_t q_row = (size_t)blockIdx.x * args.q_len; // of the head
    size_t kv_row = (size_t)((int)blockIdx.x / (args.heads / args.kv_heads)) * args.kv_len;
    for (int key = 0; key < args.kv_len; key += KEYS) {
        int keys = min(KEYS, args.kv_len - key);
        for (int i = (int)threadIdx.x; i < keys * HEAD_DIM; i += THREADS) {
            size_t at = (kv_row + key) * HEAD_DIM + i;
            k_tile[i / HEAD_DIM][i % HEAD_DIM] = to_float(((const T *)args.k)[at]);
            v_tile[i / HEAD_DIM][i % HEAD_DIM] = to_float(((const T *)args.v)[at]);
        }
        __syncthreads(); // the tile is complete
        for (int first = 0; first < args.q_len; first += PAIRS) {
            int row = min(first + pair, args.q_len - 1), there = first + pair < args.q_len;
            int seen = args.causal ? min(keys, args.kv_len - args.q_len + 1 + row - key) : keys;
            float q[COLUMNS];
            for (int c = 0; c < COLUMNS; c++)
                q[c] = to_float(((const T *)args.q)[(q_row + row) * HEAD_DIM + lane + c * WARP]);
            struct half_tile<COLUMNS> mine =
                half_of<HEAD_DIM>(q, k_tile + part * HALF, v_tile + part * HALF, seen - part * HALF, scale);
            if (part == 1) second[pair][lane] = mine;
            __syncthreads(); // what the second warp found is there
            if (part == 0 && there) {
                struct half_tile<COLUMNS> all = {
                    - INFINITY, 0.0f, {}
                };
                float *out = o + (q_row + row) * HEAD_DIM + lane;
                if (key > 0) all.m = m[q_row + row], all.l = l[q_row + row];
                for (int c = 0; c < COLUMNS && key > 0; c++) all.sum[c] = out[c * WARP] * all.l;
                merge(&all, mine);
                merge(&all, second[pair][lane]);
                for (int c = 0; c < COLUMNS; c++)
                    out[c * WARP] = all.sum[c] / (all.l == 0.0f ? 1.0f : all.l); // without weights 0, or NaN
                __syncwarp(); // all lanes have read the pair
                if (lane == 0) m[q_row + row] = all.m, l[q_row + row] = all.l;
            }
            __syncthreads(); // both are done with what the second warp found, and at last with the tile
        }
    }
    for (int i = (int)threadIdx.x; i < args.q_len && args.lse != NULL; i += THREADS)
        args.lse[q_row + i] = m[q_row + i] + logf(l[q_row + i]);
    for (size_t i = threadIdx.x; i < (size_t)args.q_len * HEAD_DIM && sizeof(T) < sizeof(float); i += THREADS)
        store((T *)args.out + q_row * HEAD_DIM + i, o[q_row * HEAD_DIM + i]);
}

template <typename T>
inline enum kernel_status launch(const struct attention_args *args, float *o, float *pairs,
                                 cudaStream_t stream)
{
    int blocks = args->batch * args->heads;
    float *l = pairs + (size_t)blocks * args->q_len;
    float scale = attention_scale(args);
    if (args->head_dim == 32)
        attention_kernel<T, 32><<<blocks, THREADS, 0, stream>>>(*args, scale, o, pairs, l);
    else if (args->head_dim == 64)
        attention_kernel<T, 64><<<blocks, THREADS, 0, stream>>>(*args, scale, o, pairs, l);
    else
        attention_kernel<T, 128><<<blocks, THREADS, 0, stream>>>(*args, scale, o, pairs, l);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

static size_t rows_of(const struct attention_args *args)
{
    return (size_t)args->batch * args->heads * args->q_len;
}

size_t flash_attention_1_workspace_bytes(const struct attention_args *args)
{
    if (args == NULL || args->batch < 1 || args->heads < 1 || args->q_len < 1 || args->kv_len < 1 ||
        args->head_dim < 1)
        return 0;
    uint64_t bytes = sizeof(float) * (args->dtype == DTYPE_F32 ? 2 : 2 + (uint64_t)args->head_dim);
    int fits = multiply_fits(&bytes, (uint64_t)args->batch, INT64_MAX) &&
               multiply_fits(&bytes, (uint64_t)args->heads, INT64_MAX) &&
               multiply_fits(&bytes, (uint64_t)args->q_len, INT64_MAX);
    return fits ? (size_t)bytes : SIZE_MAX;
}

static enum kernel_status check_call(const struct attention_args *args, enum dtype dtype)
{
    enum kernel_status status = attention_args_check(args, 16, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim != 32 && args->head_dim != 64 && args->head_dim != 128)
        return KERNEL_INVALID_DIMENSION;
    return attention_args_check(args, 16, flash_attention_1_workspace_bytes(args));
}

enum kernel_status flash_attention_1_f32(const struct attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = check_call(args, DTYPE_F32);
    if (status != KERNEL_OK) return status;
    return launch<float>(args, (float *)args->out, (float *)args->workspace, stream);
}

enum kernel_status flash_attention_1_f16(const struct attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = check_call(args, DTYPE_F16);
    if (status != KERNEL_OK) return status;
    float *o = (float *)args->workspace;
    return launch<half>(args, o, o + rows_of(args) * args->head_dim, stream);
}
