/*
 * A correct solution of another shape: one thread, one query row, key by key, everything in base 2. The maximum is
 * rounded up to a whole number, so that it changes rarely and its corrections are powers of two, which are exact.
 * Weights of equal scores are then all the same number and not 1: their sum rounds in the same direction
 * at every key.
 */
// covered-by: lazy_maximum
#include "flash_attention_2.h"

#include <cuda_fp16.h>

enum { THREADS = 32 };

#define LOG2_E 1.44269504f
#define LN_2 0.693147181f

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

template <typename T, int HEAD_DIM> __global__ void row_kernel(struct attention_args args, float scale)
{
    int blocks = (args.q_len - 1) / THREADS + 1;
    int bh = (int)blockIdx.x / blocks, query = (int)blockIdx.x % blocks * THREADS + (int)threadIdx.x;
    if (query >= args.q_len) return;
    int seen = args.causal ? max(args.kv_len - args.q_len + 1 + query, 0) : args.kv_len;
    size_t at = (size_t)bh * args.q_len + query;
    size_t kv_offset = (size_t)(bh / (args.heads / args.kv_heads)) * args.kv_len * HEAD_DIM;
    const T *k = (const T *)args.k + kv_offset, *v = (const T *)args.v + kv_offset; // [HEAD_DIM] of a key
    float q[HEAD_DIM], o[HEAD_DIM], m = -INFINITY, l = 0.0f;
    for (int d = 0; d < HEAD_DIM; d++) {
        q[d] = to_float(((const T *)args.q)[at * HEAD_DIM + d]);
        o[d] = 0.0f;
    }
    for (int key = 0; key < seen; key++, k += HEAD_DIM, v += HEAD_DIM) {
        float score = 0.0f;
        for (int d = 0; d < HEAD_DIM; d++) score += q[d] * to_float(k[d]);
        score = score * scale * LOG2_E; // scale * LOG2_E may be beyond float
        if (score > m) {
            float raised = ceilf(score), correction = exp2f(m - raised);
            m = raised;
            l *= correction;
            for (int d = 0; d < HEAD_DIM; d++) o[d] *= correction;
        }
        float p = exp2f(score - (m == -INFINITY ? 0.0f : m));
        l += p;
        for (int d = 0; d < HEAD_DIM; d++) o[d] += p * to_float(v[d]);
    }
    for (int d = 0; d < HEAD_DIM; d++) store((T *)args.out + at * HEAD_DIM + d, l == 0.0f ? o[d] : o[d] / l);
    if (args.lse != NULL) args.lse[at] = m * LN_2 + logf(l);
}

template <typename T>
static enum kernel_status attention(const struct attention_args *args, enum dtype dtype, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, 16, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    unsigned blocks = (unsigned)(args->batch * args->heads * ((args->q_len - 1) / THREADS + 1));
    float scale = attention_scale(args);
    if (args->head_dim == 32)
        row_kernel<T, 32><<<blocks, THREADS, 0, stream>>>(*args, scale);
    else if (args->head_dim == 64)
        row_kernel<T, 64><<<blocks, THREADS, 0, stream>>>(*args, scale);
    else if (args->head_dim == 128)
        row_kernel<T, 128><<<blocks, THREADS, 0, stream>>>(*args, scale);
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
