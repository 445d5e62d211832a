/**
 * @file naive_attention.h
 * @brief Lesson 01: attention by its definition, in three kernels with the whole score matrix in memory.
 *
 *     S = scale * Q K^T  (masked keys get -infinity)      scores
 *     P = softmax of every row of S, in place             softmax
 *     O = P V                                             output
 *
 * All four entry points take f32 data and any head_dim >= 1. A row that sees no key has P = 0, O = 0. The same call gives the
 * same bits each time (kernel_status.h): floats are not added by atomicAdd, whose order is another each time.
 * @see Vaswani et al. 2017, section 3.2.1; oracle: ref_attention() in reference/attention.h
 */
#ifndef WARPWISE_NAIVE_ATTENTION_H
#define WARPWISE_NAIVE_ATTENTION_H

#include <cuda_runtime_api.h>

#include "attention_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief Bytes of scratch memory for the score matrix [batch, heads, q_len, kv_len] in f32.
 * @return the size; 0 if the extents are not positive; SIZE_MAX if it does not fit in 63 bits
 */
size_t naive_attention_workspace_bytes(const struct attention_args *args);

/**
 * @brief Part "scores": S = scale * Q K^T, -infinity where the mask hides the key.
 * @param[in]  args   q and k are read; v and out are checked, not touched; the workspace is not looked at
 * @param[out] scores device, f32 [batch, heads, q_len, kv_len]; every element is written
 * @param[in]  stream where to launch
 * @return the first that applies: what attention_args_check() says; ::KERNEL_UNSUPPORTED_DTYPE unless f32;
 *         ::KERNEL_INVALID_CONFIG if scores is NULL; ::KERNEL_ALIGNMENT_ERROR if it is not a multiple of 4 bytes;
 *         ::KERNEL_CUDA_ERROR
 * @launch (query rows of all heads, min(ceil(kv_len / 256), 65535)) blocks of 256 threads, one score per thread and iteration:
 *         a grid has no more blocks in y
 * @cost 2 * head_dim operations per score; a load of K asks for 32 sectors
 */
enum kernel_status naive_attention_scores_f32(const struct attention_args *args, float *scores,
                                              cudaStream_t stream);

/**
 * @brief Part "softmax": turns every row of scores into probabilities, in place. The largest score of the row
 *        is subtracted first. A row of nothing but -infinity becomes zeros.
 * @param[in]     args   only extents and lse are used: what a mask hides is -infinity in scores already; lse, unless
 *                       NULL, receives max + log(sum) of every row
 * @param[in,out] scores device, f32 [batch, heads, q_len, kv_len]
 * @param[in]     stream where to launch
 * @return as for naive_attention_scores_f32()
 * @launch one block of 256 threads per row
 * @smem 2 KB, static
 * @cost about 5 operations per score; the matrix is read three times and written twice, all but one read
 *       and one write served by the caches while a row fits
 */
enum kernel_status naive_attention_softmax_f32(const struct attention_args *args, float *scores,
                                               cudaStream_t stream);

/**
 * @brief Part "output": O = P V. Values of hidden keys never count; those of visible keys do, also where the
 *        probability is 0.
 * @param[in] args   v is read, out is written
 * @param[in] probs  device, f32 [batch, heads, q_len, kv_len]
 * @param[in] stream where to launch
 * @return as for naive_attention_scores_f32()
 * @launch one block of 64 threads per row, one element of it per thread
 * @cost 2 * kv_len operations per element; a load of V asks for 4 sectors
 */
enum kernel_status naive_attention_output_f32(const struct attention_args *args, const float *probs,
                                              cudaStream_t stream);

/**
 * @brief The three parts one after another, with the score matrix in args->workspace.
 * @return as for naive_attention_scores_f32(), and ::KERNEL_OUT_OF_MEMORY if the workspace is too small
 */
enum kernel_status naive_attention_f32(const struct attention_args *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
