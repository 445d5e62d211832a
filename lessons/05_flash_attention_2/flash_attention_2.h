/**
 * @file flash_attention_2.h
 * @brief Lesson 05: attention in one kernel whose blocks own their query rows. Nothing but O leaves the chip.
 *
 * No workspace: extra memory is 0 bytes at any length. head_dim is 32, 64 or 128; arithmetic is in float, for
 * f32 and f16 storage alike. A row that sees no key has O = 0 and lse = -infinity.
 * @see Dao 2023, "FlashAttention-2", section 3 and Algorithm 1; oracle: ref_attention() in reference/attention.h
 */
#ifndef WARPWISE_FLASH_ATTENTION_2_H
#define WARPWISE_FLASH_ATTENTION_2_H

#include <cuda_runtime_api.h>

#include "attention_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief Part "f32": attention of f32 tensors.
 * @param[in] args   dtype f32; q, k, v and out are multiples of 16 bytes; lse, unless NULL, receives the
 *                   logsumexp of every row; the workspace is not looked at
 * @param[in] stream where to launch
 * @return the first of these that applies, in this order: what attention_args_check() says;
 *         ::KERNEL_UNSUPPORTED_DTYPE unless f32; ::KERNEL_INVALID_DIMENSION unless head_dim is 32, 64 or 128;
 *         ::KERNEL_CUDA_ERROR; ::KERNEL_OK
 * @launch batch * heads * ceil(q_len / 128) blocks of 128 threads; tiles of 64 queries if head_dim is 128
 * @smem 40, 63 or 56 KB for head_dim 32, 64, 128: more than 48 must be asked for
 * @cost 4 * head_dim operations per query and visible key; Q read and O written once, K and V requested once
 *       for every tile of queries
 */
enum kernel_status flash_attention_2_f32(const struct attention_args *args, cudaStream_t stream);

/**
 * @brief Part "f16": attention of f16 tensors. Only Q, K, V and O are halves; scores, probabilities and sums
 *        are floats, and O is rounded once.
 * @param[in] args   dtype f16; otherwise as for flash_attention_2_f32()
 * @param[in] stream where to launch
 * @return as for flash_attention_2_f32(), with f16 in place of f32
 * @launch as for flash_attention_2_f32()
 * @cost as for flash_attention_2_f32(), half the bytes
 */
enum kernel_status flash_attention_2_f16(const struct attention_args *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
