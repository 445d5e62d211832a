/**
 * @file entry.h
 * @brief What the variants of lesson 16 share: arguments are checked, and the kernel for storage type and head_dim is found.
 */
#ifndef VARIANT_ENTRY_H
#define VARIANT_ENTRY_H

#include "hopper_attention.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "attention_rows.h"
#include "kernel_launch.h"

/** Each variant has one. */
template <typename T, int HEAD_DIM>
static enum kernel_status launch(const struct attention_args *args, cudaStream_t stream);

template <typename T>
static enum kernel_status attention(const struct attention_args *args, enum dtype dtype, cudaStream_t stream)
{
    enum kernel_status status = attention_args_check(args, 16, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    int head_dim = args->head_dim;
    if (head_dim != 64 && head_dim != 128) return KERNEL_INVALID_DIMENSION;
    if (device_attribute(cudaDevAttrComputeCapabilityMajor) != 9) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    return head_dim == 64 ? launch<T, 64>(args, stream) : launch<T, 128>(args, stream);
}

enum kernel_status hopper_attention_f16(const struct attention_args *args, cudaStream_t stream)
{
    return attention<__half>(args, DTYPE_F16, stream);
}

enum kernel_status hopper_attention_bf16(const struct attention_args *args, cudaStream_t stream)
{
    return attention<__nv_bfloat16>(args, DTYPE_BF16, stream);
}

__device__ inline float as_float(__half x)
{
    return __half2float(x);
}
__device__ inline float as_float(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}
__device__ inline void store(__half *to, float x)
{
    *to = __float2half(x);
}
__device__ inline void store(__nv_bfloat16 *to, float x)
{
    *to = __float2bfloat16(x);
}

/** The K/V head, of all sequences, that head @p bh of all sequences reads. */
__device__ inline size_t kv_head(const struct attention_args &args, int bh)
{
    return (size_t)(bh / (args.heads / args.kv_heads));
}

#endif
