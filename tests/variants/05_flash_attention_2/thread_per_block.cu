// covered-by: warp_per_row
/*
 * A correct solution of another shape: a block of one thread owns one row. It goes over the keys twice, first for the
 * maximum and then for the sums, which are in double; no shared memory, nothing is ever corrected.
 */
#include "flash_attention_2.h"

#include <cuda_fp16.h>

enum { MOST_COLUMNS = 128 };

__device__ inline double to_double(float x)
{
    return x;
}
__device__ inline double to_double(__half x)
{
    return __half2float(x);
}
__device__ inline void store(float *to, double x)
{
    *to = (float)x;
}
__device__ inline void store(__half *to, double x)
{
    *to = __float2half((float)x);
}

template <typename T> __device__ inline double score_of(const T *q, const T *k, int head_dim, float scale)
{
    double sum = 0.0;
    for (int d = 0; d < head_dim; d++) sum += to_double(q[d]) * to_double(k[d]);
    return sum * scale;
}

template <typename T> __global__ void row_kernel(struct attention_args args, float scale)
{
    int row = (int)blockIdx.x, query = row % args.q_len, head_dim = args.head_dim;
    int seen = args.causal ? max(args.kv_len - args.q_len + 1 + query, 0) : args.kv_len;
    size_t kv_row = (size_t)(row / args.q_len / (args.heads / args.kv_heads)) * args.kv_len;
    const T *q = (const T *)args.q + (size_t)row * head_dim;
    const T *k = (const T *)args.k + kv_row * head_dim, *v = (const T *)args.v + kv_row * head_dim;
    double m = -INFINITY, l = 0.0, sum[MOST_COLUMNS];
    for (int d = 0; d < head_dim; d++) sum[d] = 0.0;
    for (int key = 0; key < seen; key++)
        m = fmax(m, score_of(q, k + (size_t)key * head_dim, head_dim, scale));
    double shift = m == -INFINITY ? 0.0 : m; // all scores may be -infinity
    for (int key = 0; key < seen; key++) {
        double p = exp(score_of(q, k + (size_t)key * head_dim, head_dim, scale) - shift);
        l += p;
        for (int d = 0; d < head_dim; d++) sum[d] += p * to_double(v[(size_t)key * head_dim + d]);
    }
    for (int d = 0; d < head_dim; d++)
        store((T *)args.out + (size_t)row * head_dim + d, l == 0.0 ? sum[d] : sum[d] / l);
    if (args.lse != NULL) args.lse[row] = (float)(m + log(l));
}

template <typename T>
static enum kernel_status attention(const struct attention_args *args, enum dtype dtype, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, 16, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim != 32 && args->head_dim != 64 && args->head_dim != MOST_COLUMNS)
        return KERNEL_INVALID_DIMENSION;
    row_kernel<T><<<args->batch * args->heads * args->q_len, 1, 0, stream>>>(*args, attention_scale(args));
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
