/*
 * A correct solution of another shape: one thread, one query row, with its query and its output in registers.
 * No thread needs anything of another but the tile of keys, and softmax needs no shuffle. The pair (m, l) goes
 * through the row key by key.
 */
#include "flash_attention_1.h"

#include <cuda_fp16.h>

enum { THREADS = 64, KEYS = 32 };

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

/** Adds the keys of a tile that the row sees to its pair and its output, which is normalised throughout. */
template <int HEAD_DIM>
__device__ inline void add_tile(const float q[HEAD_DIM], float o[HEAD_DIM], float *m, float *l, int seen,
                                float (*k_tile)[HEAD_DIM], // [KEYS][HEAD_DIM]
                                float (*v_tile)[HEAD_DIM], // [KEYS][HEAD_DIM]
                                float scale)
{
    for (int key = 0; key < seen; key++) {
        float score = 0.0f;
        for (int d = 0; d < HEAD_DIM; d++) score += q[d] * k_tile[key][d];
        score *= scale;
        float new_m = fmaxf(*m, score);
        float shift = new_m == -INFINITY ? 0.0f : new_m;
        float kept = *l * expf(*m - shift), p = expf(score - shift);
        float factor = kept + p == 0.0f ? 0.0f : 1.0f / (kept + p);
        for (int d = 0; d < HEAD_DIM; d++) o[d] = (kept * o[d] + p * v_tile[key][d]) * factor;
        *m = new_m;
        *l = kept + p;
    }
}

/** One block, one head. @p o, @p m and @p l are in device memory and hold the rows between two tiles. */
template <typename T, int HEAD_DIM>
__global__ void attention_kernel(struct attention_args args, float scale, float *o, float *m, float *l)
{
    __shared__ float k_tile[KEYS][HEAD_DIM], v_tile[KEYS][HEAD_DIM];
    int kv_bh = (int)blockIdx.x / (args.heads / args.kv_heads);
    for (int first_key = 0; first_key < args.kv_len; first_key += KEYS) {
        int keys = min(args.kv_len - first_key, KEYS);
        size_t offset = ((size_t)kv_bh * args.kv_len + first_key) * HEAD_DIM;
        for (int i = (int)threadIdx.x; i < keys * HEAD_DIM; i += THREADS) {
            k_tile[i / HEAD_DIM][i % HEAD_DIM] = to_float(((const T *)args.k)[offset + i]);
            v_tile[i / HEAD_DIM][i % HEAD_DIM] = to_float(((const T *)args.v)[offset + i]);
        }
        __syncthreads(); // the tile is complete
        for (int query = (int)threadIdx.x; query < args.q_len; query += THREADS) {
            size_t row = (size_t)blockIdx.x * args.q_len + query;
            int seen = args.causal ? args.kv_len - args.q_len + 1 + query - first_key : keys;
            float q[HEAD_DIM], out[HEAD_DIM];
            float row_m = first_key == 0 ? -INFINITY : m[row], row_l = first_key == 0 ? 0.0f : l[row];
            for (int d = 0; d < HEAD_DIM; d++) {
                q[d] = to_float(((const T *)args.q)[row * HEAD_DIM + d]);
                out[d] = first_key == 0 ? 0.0f : o[row * HEAD_DIM + d];
            }
            add_tile<HEAD_DIM>(q, out, &row_m, &row_l, min(seen, keys), k_tile, v_tile, scale);
            for (int d = 0; d < HEAD_DIM; d++) o[row * HEAD_DIM + d] = out[d];
            m[row] = row_m;
            l[row] = row_l;
            if (args.lse != NULL) args.lse[row] = row_m + logf(row_l);
            if (sizeof(T) == sizeof(half))
                for (int d = 0; d < HEAD_DIM; d++) store((T *)args.out + row * HEAD_DIM + d, out[d]);
        }
        __syncthreads(); // everybody is done with the tile
    }
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
