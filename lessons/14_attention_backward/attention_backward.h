/**
 * @file attention_backward.h
 * @brief Lesson 14: the gradients of attention, from the output and the logsumexp that the forward pass has saved.
 *
 * No score matrix is stored: P is computed again, tile by tile, from Q, K and the logsumexp. head_dim is 32, 64 or 128.
 * Sums are in float; P and dS are rounded to the storage type before they are multiplied again. In f16, an element of dS
 * beyond 65504 overflows.
 *
 * dk and dv have the same bits every time. So has dq if @c deterministic is 1. If it is 0, several blocks may add to a row
 * of dq by atomicAdd, in whatever order they run.
 * @see Dao 2023, "FlashAttention-2", Algorithm 2; oracle: ref_attention_backward() in reference/attention_gradients.h
 */
#ifndef WARPWISE_ATTENTION_BACKWARD_H
#define WARPWISE_ATTENTION_BACKWARD_H

#include <cuda_runtime_api.h>

#include "attention_backward_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief Bytes of workspace that the three entry points need.
 *
 * With R the query rows of all heads, each head's rounded up to a multiple of 64, and S = 1, or if deterministic
 * S = min(32, ceil(kv_len / 64)): at most (2 + S * head_dim) * R floats, and at most 2 * R without dq.
 * @param[in] args of which the pointers but dq and the workspace itself are not looked at; may be NULL
 * @return 0 for NULL, or extents that attention_args_check() refuses
 */
size_t attention_backward_workspace_bytes(const struct attention_backward_args *args);

/**
 * @brief Gradients of f32 tensors.
 * @param[in] args   dtype f32; all tensors but lse are multiples of 16 bytes
 * @param[in] stream where to launch
 * @return the first of these that applies, in this order: what attention_backward_args_check() says of all but the
 *         workspace; ::KERNEL_UNSUPPORTED_DTYPE unless f32; ::KERNEL_INVALID_DIMENSION unless head_dim is 32, 64 or 128;
 *         ::KERNEL_OUT_OF_MEMORY or ::KERNEL_ALIGNMENT_ERROR of the workspace; ::KERNEL_CUDA_ERROR; ::KERNEL_OK
 * @launch three kernels: D, and zeros into the accumulator of dq; batch * kv_heads * ceil(kv_len / 32) blocks of 128
 *         threads, or S * batch * kv_heads if deterministic; dq from its accumulators
 * @smem at most 56 KB
 * @cost 10 * head_dim operations per query and visible key: five products where the forward pass has two
 */
enum kernel_status attention_backward_f32(const struct attention_backward_args *args, cudaStream_t stream);

/**
 * @brief Gradients of f16 tensors, on tensor cores.
 * @param[in] args   dtype f16; otherwise as for attention_backward_f32()
 * @param[in] stream where to launch
 * @return as for attention_backward_f32(), with f16 in place of f32; ::KERNEL_UNSUPPORTED_ARCHITECTURE, before
 *         ::KERNEL_OUT_OF_MEMORY, on a device older than sm_80
 * @launch as for attention_backward_f32(), with 128 keys per block (64 on devices that give a block less than 161 KB of
 *         shared memory, if head_dim is 128), 128 or 256 threads
 * @smem at most 161 KB
 * @cost as for attention_backward_f32(), half the bytes of all but the accumulators
 */
enum kernel_status attention_backward_f16(const struct attention_backward_args *args, cudaStream_t stream);

/**
 * @brief Gradients of bf16 tensors, on tensor cores.
 * @param[in] args   dtype bf16; otherwise as for attention_backward_f32()
 * @param[in] stream where to launch
 * @return as for attention_backward_f16(), with bf16 in place of f16
 * @launch as for attention_backward_f16()
 * @cost as for attention_backward_f16()
 */
enum kernel_status attention_backward_bf16(const struct attention_backward_args *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
