// covered-by: by_the_book
/*
 * A correct solution of another shape: a block of one thread does one head, with tiles of 40 keys and sums in double.
 * The output is not divided before the last tile, and the rows are visited from the last one up.
 */
#include "flash_attention_1.h"

#include <cuda_fp16.h>

enum { KEYS = 40, MOST_COLUMNS = 128 };

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

/* What one visit of one row adds to m, l and o. The pair between two visits is in float. */
template <typename T>
__device__ inline void visit(const T *q, const T *k, const T *v, int seen, int head_dim, float scale,
                             float *o, float *m, float *l)
{
    double score[KEYS], sum[MOST_COLUMNS], largest = *m, total = 0.0;
    for (int j = 0; j < seen; j++) {
        double dot = 0.0;
        for (int d = 0; d < head_dim; d++)
            dot += (double)to_float(q[d]) * (double)to_float(k[(size_t)j * head_dim + d]);
        score[j] = dot * scale;
        largest = fmax(largest, score[j]);
    }
    float new_m = (float)largest;
    double shift = new_m == -INFINITY ? 0.0 : new_m, keep = exp(*m - shift);
    for (int d = 0; d < head_dim; d++) sum[d] = keep * o[d];
    for (int j = 0; j < seen; j++) {
        double p = exp(score[j] - shift);
        total += p;
        for (int d = 0; d < head_dim; d++) sum[d] += p * to_float(v[(size_t)j * head_dim + d]);
    }
    for (int d = 0; d < head_dim; d++) o[d] = (float)sum[d];
    *l = (float)(keep * *l + total);
    *m = new_m;
}

template <typename T>
__global__ void attention_kernel(struct attention_args args, float scale, float *o, float *m, float *l)
{
    int head_dim = args.head_dim, hidden = args.q_len - args.kv_len; // causal: queries that see nothing
    size_t q_row = (size_t)blockIdx.x * args.q_len;                  // of the head
    size_t kv_row = (size_t)((int)blockIdx.x / (args.heads / args.kv_heads)) * args.kv_len;
    const T *q = (const T *)args.q + q_row * head_dim;
    const T *k = (const T *)args.k + kv_row * head_dim, *v = (const T *)args.v + kv_row * head_dim;
    for (int row = 0; row < args.q_len; row++) {
        m[q_row + row] = -INFINITY;
        l[q_row + row] = 0.0f;
        for (int d = 0; d < head_dim; d++) o[(q_row + row) * head_dim + d] = 0.0f;
    }
    for (int key = 0; key < args.kv_len; key += KEYS)
        for (int row = args.q_len - 1; row >= 0; row--) {
            int seen = min(KEYS, (args.causal ? row + 1 - hidden : args.kv_len) - key);
            if (seen <= 0) break; // the rows before it see even less
            size_t at = (size_t)key * head_dim;
            visit(q + (size_t)row * head_dim, k + at, v + at, seen, head_dim, scale,
                  o + (q_row + row) * head_dim, m + q_row + row, l + q_row + row);
        }
    for (int row = 0; row < args.q_len; row++) {
        float sum = l[q_row + row];
        for (int d = 0; d < head_dim; d++) {
            size_t at = (q_row + row) * head_dim + d;
            store((T *)args.out + at, sum == 0.0f ? o[at] : o[at] / sum); // onto itself in f32
        }
        if (args.lse != NULL) args.lse[q_row + row] = m[q_row + row] + logf(sum);
    }
}

template <typename T>
inline enum kernel_status launch(const struct attention_args *args, float *o, float *pairs,
                                 cudaStream_t stream)
{
    int blocks = args->batch * args->heads;
    float *l = pairs + (size_t)blocks * args->q_len;
    attention_kernel<T><<<blocks, 1, 0, stream>>>(*args, attention_scale(args), o, pairs, l);
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
