/**
 * @file gradients.h
 * @brief What the variants of lesson 14 share: entry points that check, rows, and P and dS of one query and key.
 */
#pragma once

#include "attention_backward.h"

#include "backward_plan.h"
#include "matrix_fragments.h"

/** Given by the variant. */
static size_t workspace_of(const struct attention_backward_args *args);
template <typename T>
static enum kernel_status run(const struct attention_backward_args *args, float scale, cudaStream_t stream);

__device__ inline void put(float *to, float x)
{
    *to = x;
}
__device__ inline void put(__half *to, float x)
{
    *to = __float2half(x);
}
__device__ inline void put(__nv_bfloat16 *to, float x)
{
    *to = __float2bfloat16(x);
}

/** Element @p column of row @p row. */
template <typename T> __device__ inline float get(const void *rows, size_t row, int head_dim, int column)
{
    return element_to_float(((const T *)rows)[row * (size_t)head_dim + column]);
}

/** One of the elements that lie in 32 bits. */
__device__ inline float part_of(unsigned word, int, float)
{
    return __uint_as_float(word);
}
template <typename T> __device__ inline float part_of(unsigned word, int part, T)
{
    return unpack_element<T>(word, part);
}

/** A product of two rows, 16 bytes at a time. */
template <typename T, typename REAL>
__device__ inline REAL dot(const void *a, size_t a_row, const void *b, size_t b_row, int head_dim)
{
    const uint4 *x = (const uint4 *)((const T *)a + a_row * (size_t)head_dim);
    const uint4 *y = (const uint4 *)((const T *)b + b_row * (size_t)head_dim);
    REAL sum = 0;
    for (int i = 0; i < head_dim * (int)sizeof(T) / 16; i++) {
        const uint4 left = x[i], right = y[i];
        const unsigned of_x[] = {left.x, left.y, left.z, left.w},
                       of_y[] = {right.x, right.y, right.z, right.w};
        for (int word = 0; word < 4; word++)
            for (int part = 0; part < 4 / (int)sizeof(T); part++)
                sum += (REAL)part_of(of_x[word], part, T()) * (REAL)part_of(of_y[word], part, T());
    }
    return sum;
}

/** The first key row of the K/V head that query row @p row of all reads. */
__device__ inline size_t key_rows_of(const struct attention_backward_args &args, size_t row)
{
    size_t bh = row / (size_t)args.q_len, group = (size_t)(args.heads / args.kv_heads);
    return bh / group * (size_t)args.kv_len;
}

/** P of a query and a key that it sees. */
template <typename T, typename REAL>
__device__ inline REAL weight_of(const struct attention_backward_args &args, REAL scale, size_t row,
                                 size_t key)
{
    return exp(dot<T, REAL>(args.q, row, args.k, key, args.head_dim) * scale - (REAL)args.lse[row]);
}

template <typename T>
static enum kernel_status checked(const struct attention_backward_args *args, enum dtype dtype,
                                  cudaStream_t stream)
{
    enum kernel_status status = attention_backward_args_check(args, 16, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim != 32 && args->head_dim != 64 && args->head_dim != 128)
        return KERNEL_INVALID_DIMENSION;
    if (dtype != DTYPE_F32 && device_attribute(cudaDevAttrComputeCapabilityMajor) < 8)
        return KERNEL_UNSUPPORTED_ARCHITECTURE;
    status = attention_backward_args_check(args, 16, workspace_of(args));
    return status == KERNEL_OK ? run<T>(args, backward_scale(args), stream) : status;
}

size_t attention_backward_workspace_bytes(const struct attention_backward_args *args)
{
    return args == NULL || attention_backward_padded_rows(args) == 0 ? 0 : workspace_of(args);
}
enum kernel_status attention_backward_f32(const struct attention_backward_args *args, cudaStream_t stream)
{
    return checked<float>(args, DTYPE_F32, stream);
}
enum kernel_status attention_backward_f16(const struct attention_backward_args *args, cudaStream_t stream)
{
    return checked<__half>(args, DTYPE_F16, stream);
}
enum kernel_status attention_backward_bf16(const struct attention_backward_args *args, cudaStream_t stream)
{
    return checked<__nv_bfloat16>(args, DTYPE_BF16, stream);
}

/** Query rows and key rows of all heads. */
static inline int query_rows(const struct attention_backward_args *args)
{
    return args->batch * args->heads * args->q_len;
}
static inline int key_rows(const struct attention_backward_args *args)
{
    return args->batch * args->kv_heads * args->kv_len;
}

/** dq of a query per warp: its lanes have the keys in turn, and in the end the columns. */
template <typename T> __global__ void gather_dq(struct attention_backward_args args, float scale)
{
    __shared__ float ds[32];
    size_t row = blockIdx.x, first = key_rows_of(args, row);
    int lane = (int)threadIdx.x, seen = keys_seen(args, (int)(row % (size_t)args.q_len));
    float d = dot<T, float>(args.dout, row, args.out, row, args.head_dim), sum[4] = {};
    for (int key = 0; key < seen; key += 32) {
        float x = 0.0f;
        if (key + lane < seen)
            x = weight_of<T, float>(args, scale, row, first + key + lane) *
                (dot<T, float>(args.dout, row, args.v, first + key + lane, args.head_dim) - d);
        __syncthreads();
        ds[lane] = x;
        __syncthreads();
        for (int j = 0; j < min(32, seen - key); j++)
            for (int c = 0; c < args.head_dim / 32; c++)
                sum[c] += ds[j] * get<T>(args.k, first + key + j, args.head_dim, lane + 32 * c);
    }
    for (int c = 0; c < args.head_dim / 32; c++)
        put((T *)args.dq + row * args.head_dim + lane + 32 * c, sum[c] * scale);
}
