/*
 * A correct solution of another shape: one warp per row, no shared memory, one key at a time; a lane holds
 * every 32nd column. The keys of a row are walked from the last one down.
 */
#include "flash_attention_2.h"

#include <cuda_fp16.h>

enum { WARPS = 2, THREADS = 32 * WARPS };

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

template <typename T, int PER_LANE>
__global__ void row_kernel(struct attention_args args, float scale, size_t rows)
{
    size_t row = (size_t)blockIdx.x * WARPS + threadIdx.x / 32;
    int lane = (int)threadIdx.x % 32, head_dim = PER_LANE * 32;
    if (row >= rows) return;
    int query = (int)(row % args.q_len);
    int seen = args.causal ? max(args.kv_len - args.q_len + 1 + query, 0) : args.kv_len;
    size_t kv_offset = row / args.q_len / (args.heads / args.kv_heads) * args.kv_len * head_dim;
    const T *q = (const T *)args.q + row * head_dim;
    float m = -INFINITY, l = 0.0f, sum[PER_LANE] = {};
    for (int key = seen - 1; key >= 0; key--) {
        const T *k = (const T *)args.k + kv_offset + (size_t)key * head_dim;
        const T *v = (const T *)args.v + kv_offset + (size_t)key * head_dim;
        float dot = 0.0f;
        for (int i = 0; i < PER_LANE; i++) dot += to_float(q[lane + i * 32]) * to_float(k[lane + i * 32]);
        for (int distance = 16; distance > 0; distance /= 2) dot += __shfl_xor_sync(~0u, dot, distance);
        float score = scale * dot, larger = fmaxf(m, score), shift = larger == -INFINITY ? 0.0f : larger;
        float correction = expf(m - shift), p = expf(score - shift);
        m = larger;
        l = l * correction + p;
        for (int i = 0; i < PER_LANE; i++) sum[i] = sum[i] * correction + p * to_float(v[lane + i * 32]);
    }
    for (int i = 0; i < PER_LANE; i++)
        store((T *)args.out + row * head_dim + lane + i * 32, l == 0.0f ? sum[i] : sum[i] / l);
    if (args.lse != NULL && lane == 0) args.lse[row] = m + logf(l);
}

template <typename T>
static enum kernel_status attention(const struct attention_args *args, enum dtype dtype, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, 16, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    size_t rows = (size_t)args->batch * args->heads * args->q_len;
    unsigned blocks = (unsigned)((rows - 1) / WARPS + 1);
    float scale = attention_scale(args);
    if (args->head_dim == 32)
        row_kernel<T, 1><<<blocks, THREADS, 0, stream>>>(*args, scale, rows);
    else if (args->head_dim == 64)
        row_kernel<T, 2><<<blocks, THREADS, 0, stream>>>(*args, scale, rows);
    else if (args->head_dim == 128)
        row_kernel<T, 4><<<blocks, THREADS, 0, stream>>>(*args, scale, rows);
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
