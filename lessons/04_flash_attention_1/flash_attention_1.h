/**
 * @file flash_attention_1.h
 * @brief Lesson 04: FlashAttention as first published. Tiles of K and V outside, all queries inside, and the
 *        output of a row corrected in device memory whenever a tile has been added to it.
 *
 *     for each tile of K, V:  for each tile of Q:
 *         S = scale * Q K^T
 *         m' = max(m, S)      l' = l exp(m - m') + sum exp(S - m')
 *         O' = (l exp(m - m') O + exp(S - m') V) / l'
 *
 * Both entry points take head_dim 32, 64 or 128, any lengths, and compute in float. Hidden keys are
 * never weighted. A row that sees no key has O = 0 and logsumexp -infinity.
 * @see Dao et al. 2022, "FlashAttention", algorithm 1; oracle: ref_attention() in reference/attention.h
 */
#ifndef WARPWISE_FLASH_ATTENTION_1_H
#define WARPWISE_FLASH_ATTENTION_1_H

#include <cuda_runtime_api.h>

#include "attention_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief Bytes of scratch memory: two floats, m and l, for each of the batch * heads * q_len rows; unless dtype
 *        is DTYPE_F32, head_dim more a row, where the output lives in float until it is finished.
 * @param[in] args host; only the extents and dtype are looked at; no pointer is
 * @return the size; 0 if args is NULL or the extents are not positive; SIZE_MAX if it does not fit in 63 bits
 */
size_t flash_attention_1_workspace_bytes(const struct attention_args *args);

/**
 * @brief Part "f32": attention of f32 tensors; O is corrected in args->out itself.
 * @param[in] args   host; its tensors in device memory, 16-byte aligned. q, k, v are read; out, lse unless
 *                   NULL, and workspace are written
 * @param[in] stream where to launch
 * @pre args->workspace has flash_attention_1_workspace_bytes(), 256-byte aligned, with any contents
 * @return the first of these that applies, in this order: what attention_args_check() says of everything but the
 *         workspace; ::KERNEL_UNSUPPORTED_DTYPE unless dtype is DTYPE_F32; ::KERNEL_INVALID_DIMENSION unless
 *         head_dim is 32, 64 or 128; ::KERNEL_OUT_OF_MEMORY if the workspace is missing or too small, and
 *         ::KERNEL_ALIGNMENT_ERROR if it is misaligned; ::KERNEL_CUDA_ERROR; ::KERNEL_OK
 * @launch one block per query head, batch * heads in all
 * @smem 48 KB, static
 * @cost 4 * batch * heads * q_len * kv_len * head_dim operations; about 9 kv_len head_dim^2 / M floats of device
 *       memory a query row, M being the floats of shared memory (12288)
 */
enum kernel_status flash_attention_1_f32(const struct attention_args *args, cudaStream_t stream);

/**
 * @brief Part "f16": the same with q, k, v and out in f16. O lives in the workspace, in float, and is rounded
 *        once at the end.
 * @param[in] args   as for flash_attention_1_f32(), with dtype DTYPE_F16; lse is still f32
 * @param[in] stream where to launch
 * @return as for flash_attention_1_f32(), with DTYPE_F16 in the place of DTYPE_F32
 * @launch as for flash_attention_1_f32(), then one thread for every four elements of O, to round them
 * @cost as for flash_attention_1_f32(), with half the bytes for Q, K and V, and O once more
 */
enum kernel_status flash_attention_1_f16(const struct attention_args *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
