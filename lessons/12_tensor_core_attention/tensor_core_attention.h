/**
 * @file tensor_core_attention.h
 * @brief Lesson 12: FlashAttention-2 whose two products run on tensor cores, by mma.sync.
 *
 * Q, K, V, the probabilities P and the output are f16 or bf16; scores, m, l and the sums of O are f32. P is rounded to
 * the storage type before it is multiplied with V, and l sums it as it was before. No workspace: extra memory is 0
 * bytes at any length. A row that sees no key has O = 0 and lse = -infinity.
 * @see Dao 2023, "FlashAttention-2", section 3; oracle: ref_attention() in reference/attention.h
 */
#ifndef WARPWISE_TENSOR_CORE_ATTENTION_H
#define WARPWISE_TENSOR_CORE_ATTENTION_H

#include <cuda_runtime_api.h>

#include "attention_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief Part "f16": attention of f16 tensors.
 *
 * P is exp(score - m), rounded to half; m is the largest score so far, or one at most log(2^8) below it. A weight below
 * 2^-25, half the smallest half, may become 0. A row's bits do not depend on keys that its mask hides, as long as their
 * values are finite; beside a NaN or an infinity that it does not see, it may be rounded otherwise.
 * @param[in] args   dtype f16; head_dim 64, 128 or 256; rows are contiguous; q, k, v and out are multiples of 16 bytes;
 *                   lse, unless NULL, receives the logsumexp of every row; the workspace is not looked at
 * @param[in] stream where to launch
 * @return the first of these that applies, in this order: what attention_args_check() says;
 *         ::KERNEL_UNSUPPORTED_DTYPE unless f16; ::KERNEL_INVALID_DIMENSION unless head_dim is 64, 128 or 256;
 *         ::KERNEL_UNSUPPORTED_ARCHITECTURE on a GPU older than sm_80; ::KERNEL_CUDA_ERROR; ::KERNEL_OK
 * @launch batch * heads * ceil(q_len / 128) blocks of 128 threads; tiles of 64 queries if head_dim is 256
 * @smem 32, 48 or 96 KB for head_dim 64, 128, 256: more than 48 must be asked for
 * @cost 4 * head_dim operations per query and visible key; Q read and O written once, K and V requested once for
 *       every tile of queries
 */
enum kernel_status tensor_core_attention_f16(const struct attention_args *args, cudaStream_t stream);

/**
 * @brief Part "bf16": attention of bf16 tensors. P has the range of a float, and three bits less than in f16.
 * @param[in] args   dtype bf16; otherwise as for tensor_core_attention_f16()
 * @param[in] stream where to launch
 * @return as for tensor_core_attention_f16(), with bf16 in place of f16
 * @launch as for tensor_core_attention_f16()
 * @cost as for tensor_core_attention_f16()
 */
enum kernel_status tensor_core_attention_bf16(const struct attention_args *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
