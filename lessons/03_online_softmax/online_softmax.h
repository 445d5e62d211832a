/**
 * @file online_softmax.h
 * @brief Lesson 03: softmax in one pass. A row, or any piece of one, is summed up by a pair
 *
 *     m = its largest value         l = sum of exp(x - m)
 *
 * and two pairs merge into the pair of both pieces together:
 *
 *     m = max(m_a, m_b)             l = l_a * exp(m_a - m) + l_b * exp(m_b - m)
 *
 * An empty piece is (-infinity, 0). Merging it changes nothing, also with another empty piece. Finite values and maxima are no
 * larger than 2.35e38, as scores in attention_args.h.
 * @see Milakov and Gimelshein 2018, section 3; oracles: ref_softmax_merge(), ref_softmax_rows(), ref_attention()
 */
#ifndef WARPWISE_ONLINE_SOFTMAX_H
#define WARPWISE_ONLINE_SOFTMAX_H

#include <cuda_runtime_api.h>

#include "attention_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @brief What is known of a piece of a row: its maximum and its sum relative to that maximum. */
struct softmax_pair {
    float m; /**< largest value seen, -infinity if none */
    float l; /**< sum of exp(value - m), 0 if none */
};

/**
 * @brief Part "merge": out[i] = merge of a[i] and b[i].
 * @param[in]  a, b   device, [count]; a NaN or an m of +infinity in either pair makes l of the result NaN
 * @param[out] out    device, [count]
 * @param[in]  count  >= 1
 * @param[in]  stream where to launch
 * @return ::KERNEL_OK, or the first that applies: ::KERNEL_INVALID_CONFIG (null pointer), ::KERNEL_INVALID_DIMENSION,
 *         ::KERNEL_ALIGNMENT_ERROR (not a multiple of 8 bytes), ::KERNEL_CUDA_ERROR
 * @launch one thread per pair
 * @cost 16 bytes read, 8 written, two exponentials per pair
 */
enum kernel_status online_softmax_merge_f32(const struct softmax_pair *a, const struct softmax_pair *b,
                                            struct softmax_pair *out, int count, cudaStream_t stream);

/**
 * @brief Part "rows": softmax of every row, reading the row from device memory for (m, l) only once.
 *
 * A row of nothing but -infinity gives zeros and lse -infinity; a row with a NaN
 * or +infinity gives NaN throughout, lse included. Values are judged by check, what is read by bench.
 * @param[in]  in     device, f32 [rows, cols]
 * @param[out] out    device, f32 [rows, cols]; must not overlap in
 * @param[out] lse    device, f32 [rows]: m + log(l) of each row; NULL if not wanted
 * @param[in]  rows   >= 1
 * @param[in]  cols   >= 1
 * @param[in]  stream where to launch
 * @return as for online_softmax_merge_f32(); ::KERNEL_ALIGNMENT_ERROR if a pointer is not a multiple of 4 bytes
 * @launch one block per row, of as many threads as hold it in registers
 * @smem a pair for each warp
 * @cost every element read once and written once; two exponentials per element
 */
enum kernel_status online_softmax_rows_f32(const float *in, float *out, float *lse, int rows, int cols,
                                           cudaStream_t stream);

/**
 * @brief Part "attention": one query row at a time, one pass over K and V, no score matrix, no workspace.
 * @param[in] args   f32; any head_dim from 1 to 256; lse, unless NULL, receives the logsumexp of every row;
 *                   the workspace is not looked at
 * @param[in] stream where to launch
 * @return the first that applies: what attention_args_check() says; ::KERNEL_UNSUPPORTED_DTYPE unless f32;
 *         ::KERNEL_INVALID_DIMENSION if head_dim > 256; ::KERNEL_CUDA_ERROR
 * @launch one block per query row; its warps share the keys
 * @smem a pair and head_dim sums for each warp
 * @cost 4 * head_dim operations per query and key; K and V are requested once for every query row
 */
enum kernel_status online_softmax_attention_f32(const struct attention_args *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
