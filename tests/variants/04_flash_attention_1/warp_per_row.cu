/*
 * A correct solution of another shape: one warp, one query row; weights stay in registers and are handed around by
 * shuffles. The output in memory is not divided by l until all tiles are through.
 */
#include "flash_attention_1.h"

#include <cuda_fp16.h>

enum { WARP = 32, WARPS = 4, THREADS = WARP * WARPS, KEYS = WARP };

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

/** A row meets a tile: lane j weighs key j, then adds up columns lane, lane + 32, ... */
template <typename T, int HEAD_DIM>
__device__ inline void visit(const T *q_row, // [HEAD_DIM]
                             float *o_row,   // [HEAD_DIM]
                             float *m, float *l, int seen, int first_visit, float scale,
                             float (*k_tile)[HEAD_DIM + 1], // [KEYS][HEAD_DIM]
                             float (*v_tile)[HEAD_DIM + 1]) // [KEYS][HEAD_DIM]
{
    int lane = (int)threadIdx.x % WARP;
    float score = 0.0f;
    for (int d = 0; d < HEAD_DIM; d++) score += to_float(q_row[d]) * k_tile[lane][d];
    score = lane < seen ? scale * score : -INFINITY;
    float largest = score, old_m = first_visit ? -INFINITY : *m, old_l = first_visit ? 0.0f : *l;
    for (int distance = 1; distance < WARP; distance *= 2)
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, distance));
    largest = fmaxf(largest, old_m);
    float shift = largest > -INFINITY ? largest : 0.0f;
    float p = expf(score - shift), sum = p, correction = expf(old_m - shift);
    for (int distance = 1; distance < WARP; distance *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    for (int d = lane; d < HEAD_DIM; d += WARP) {
        float out = first_visit ? 0.0f : correction * o_row[d];
        for (int j = 0; j < KEYS; j++) {
            float weight = __shfl_sync(0xffffffffu, p, j);
            if (j < seen) out += weight * v_tile[j][d];
        }
        o_row[d] = out;
    }
    __syncwarp(); // all lanes have read m and l before lane 0 replaces them
    if (lane == 0) {
        *m = largest;
        *l = correction * old_l + sum;
    }
    __syncwarp(); // and see the new ones from here on
}

template <typename T, int HEAD_DIM>
__global__ void attention_kernel(struct attention_args args, float scale, float *o, float *m, float *l)
{
    __shared__ float k_tile[KEYS][HEAD_DIM + 1], v_tile[KEYS][HEAD_DIM + 1];
    size_t head_row = (size_t)blockIdx.x * args.q_len;
    size_t kv_row = (size_t)((int)blockIdx.x / (args.heads / args.kv_heads)) * args.kv_len;
    int warp = (int)threadIdx.x / WARP;
    for (int first_key = 0; first_key < args.kv_len; first_key += KEYS) {
        for (int i = (int)threadIdx.x; i < KEYS * HEAD_DIM; i += THREADS) {
            int there = first_key + i / HEAD_DIM < args.kv_len;
            size_t at = (kv_row + first_key) * HEAD_DIM + i;
            k_tile[i / HEAD_DIM][i % HEAD_DIM] = there ? to_float(((const T *)args.k)[at]) : 0.0f;
            v_tile[i / HEAD_DIM][i % HEAD_DIM] = there ? to_float(((const T *)args.v)[at]) : 0.0f;
        }
        __syncthreads(); // the tile is complete
        for (int query = warp; query < args.q_len; query += WARPS) {
            size_t row = head_row + query;
            int seen = args.causal ? args.kv_len - args.q_len + 1 + query : args.kv_len;
            visit<T, HEAD_DIM>((const T *)args.q + row * HEAD_DIM, o + row * HEAD_DIM, m + row, l + row,
                               min(seen - first_key, (int)KEYS), first_key == 0, scale, k_tile, v_tile);
        }
        __syncthreads(); // everybody is done with the tile
    }
    for (size_t i = threadIdx.x; i < (size_t)args.q_len * HEAD_DIM; i += THREADS) {
        float sum = l[head_row + i / HEAD_DIM], out = o[head_row * HEAD_DIM + i];
        store((T *)args.out + head_row * HEAD_DIM + i, sum == 0.0f ? out : out / sum);
    }
    for (int i = (int)threadIdx.x; i < args.q_len && args.lse != NULL; i += THREADS)
        args.lse[head_row + i] = m[head_row + i] + logf(l[head_row + i]);
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
