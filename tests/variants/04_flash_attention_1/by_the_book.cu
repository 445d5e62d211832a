/*
 * A correct solution that follows algorithm 1 line by line: O = 0, l = 0, m = -infinity are written first, a tile
 * has a maximum and a sum of its own, and both are merged with what was known. The block goes through the tiles of
 * Q together, with the scores in shared memory.
 */
#include "flash_attention_1.h"

#include <cuda_fp16.h>

enum { THREADS = 128, QUERIES = 16, KEYS = 16 };

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

/** What one step of the algorithm works on. */
struct tiles {
    float score[QUERIES][KEYS + 1];
    float m[QUERIES], l[QUERIES];           // of this tile alone
    float of_old[QUERIES], of_new[QUERIES]; // what the old output and this tile's count in the new one
};

__device__ inline float exp_below(float x, float max)
{
    return max == -INFINITY ? 0.0f : expf(x - max);
}

/** Lines 10 and 11: one thread per row. */
__device__ inline void merge_row(struct tiles *t, int row, int seen, float *m, float *l)
{
    t->m[row] = -INFINITY;
    t->l[row] = 0.0f;
    for (int key = 0; key < seen; key++) t->m[row] = fmaxf(t->m[row], t->score[row][key]);
    for (int key = 0; key < seen; key++) {
        // Scores that are all NaN leave the maximum at -infinity, and must come out as NaN all the same.
        float score = t->score[row][key];
        t->score[row][key] = t->m[row] == -INFINITY ? expf(score) : expf(score - t->m[row]);
        t->l[row] += t->score[row][key];
    }
    float new_m = fmaxf(*m, t->m[row]);
    float old_l = exp_below(*m, new_m) * *l, tile_factor = exp_below(t->m[row], new_m);
    if (new_m == -INFINITY) tile_factor = 1.0f;
    float new_l = old_l + tile_factor * t->l[row];
    t->of_old[row] = new_l == 0.0f ? 0.0f : old_l / new_l;
    t->of_new[row] = new_l == 0.0f ? 0.0f : tile_factor / new_l;
    *m = new_m;
    *l = new_l;
}

template <typename T, int HEAD_DIM>
__global__ void attention_kernel(struct attention_args args, float scale, float *o, float *m, float *l)
{
    __shared__ float q_tile[QUERIES][HEAD_DIM + 1], k_tile[KEYS][HEAD_DIM + 1], v_tile[KEYS][HEAD_DIM + 1];
    __shared__ struct tiles t;
    size_t q_row = (size_t)blockIdx.x * args.q_len; // of the head
    size_t kv_row = (size_t)((int)blockIdx.x / (args.heads / args.kv_heads)) * args.kv_len;
    for (size_t i = threadIdx.x; i < (size_t)args.q_len * HEAD_DIM; i += THREADS)
        o[q_row * HEAD_DIM + i] = 0.0f;
    for (int i = (int)threadIdx.x; i < args.q_len; i += THREADS) {
        m[q_row + i] = -INFINITY;
        l[q_row + i] = 0.0f;
    }
    for (int key = 0; key < args.kv_len; key += KEYS) {
        int keys = min(args.kv_len - key, KEYS);
        for (int i = (int)threadIdx.x; i < keys * HEAD_DIM; i += THREADS) {
            size_t at = (kv_row + key) * HEAD_DIM + i;
            k_tile[i / HEAD_DIM][i % HEAD_DIM] = to_float(((const T *)args.k)[at]);
            v_tile[i / HEAD_DIM][i % HEAD_DIM] = to_float(((const T *)args.v)[at]);
        }
        for (int query = 0; query < args.q_len; query += QUERIES) {
            int rows = min(args.q_len - query, QUERIES);
            for (int i = (int)threadIdx.x; i < rows * HEAD_DIM; i += THREADS)
                q_tile[i / HEAD_DIM][i % HEAD_DIM] =
                    to_float(((const T *)args.q)[(q_row + query) * HEAD_DIM + i]);
            __syncthreads(); // tiles and, at first, O, m and l are complete
            for (int i = (int)threadIdx.x; i < rows * keys; i += THREADS) {
                float sum = 0.0f;
                for (int d = 0; d < HEAD_DIM; d++) sum += q_tile[i / keys][d] * k_tile[i % keys][d];
                t.score[i / keys][i % keys] = scale * sum;
            }
            __syncthreads(); // the scores are complete
            int first_seen =
                args.causal ? args.kv_len - args.q_len + 1 + query - key : keys; // by the first row
            int row = (int)threadIdx.x;
            if (row < rows)
                merge_row(&t, row, min(first_seen + (args.causal ? row : 0), keys), &m[q_row + query + row],
                          &l[q_row + query + row]);
            __syncthreads(); // weights and factors are complete
            for (int i = (int)threadIdx.x; i < rows * HEAD_DIM; i += THREADS) {
                int r = i / HEAD_DIM, d = i % HEAD_DIM, seen = min(first_seen + (args.causal ? r : 0), keys);
                float sum = 0.0f, *to = o + (q_row + query) * HEAD_DIM + i;
                for (int j = 0; j < seen; j++) sum += t.score[r][j] * v_tile[j][d];
                *to = t.of_old[r] * *to + t.of_new[r] * sum;
            }
            __syncthreads(); // everybody is done with the tiles
        }
    }
    for (int i = (int)threadIdx.x; i < args.q_len && args.lse != NULL; i += THREADS)
        args.lse[q_row + i] = m[q_row + i] + logf(l[q_row + i]);
    for (size_t i = threadIdx.x; i < (size_t)args.q_len * HEAD_DIM; i += THREADS)
        store((T *)args.out + q_row * HEAD_DIM + i, o[q_row * HEAD_DIM + i]); // onto itself in f32
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
