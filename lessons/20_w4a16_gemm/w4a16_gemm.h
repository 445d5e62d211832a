/**
 * @file w4a16_gemm.h
 * @brief Lesson 20: products of 16-bit activations and 4-bit weights, C = A W.
 *
 * W stays packed on its way through memory and becomes 16-bit numbers in registers, right before it is multiplied.
 * w4a16_args.h says how it is stored: w4a16_shuffle() turns what a checkpoint holds into what the products read, once.
 *
 * q - zero is exact in f16 and bf16. A product may use (q - zero) * scale as it is, or rounded once to the storage type of
 * A, or multiply sums of a group by its scale; the caller keeps |(q - zero) * scale| within the range of normal numbers of that
 * type. Products and sums are f32; an element of C is rounded once. A scale that is infinite or NaN gives what arithmetic says in
 * its column and nowhere else. C overlaps nothing. The same arguments give the same bits every time.
 * @see oracles: ref_w4_stored(), ref_w4_shuffle() and ref_w4_weights() in reference/w4.h, then ref_gemm_row() in reference/gemm.h
 */
#ifndef WARPWISE_W4A16_GEMM_H
#define WARPWISE_W4A16_GEMM_H

#include <cuda_runtime_api.h>

#include "w4a16_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief Part "shuffle": from a checkpoint's order to the one that the products read.
 * @param[in] args   qweight, qzeros: device, uint32_t; weights: device, uint32_t, w4a16_weight_words(n, k) of them; zeros:
 *                   device, uint32_t [k / group, n / 8]. All as w4a16_args.h says
 * @param[in] stream where to launch
 * @launch one thread per word that is written, in blocks of 256
 * @cost n k / 2 bytes read and written; no workspace. It runs once per model
 * @return what w4a16_shuffle_args_check() says; then ::KERNEL_UNSUPPORTED_ARCHITECTURE below sm_80; ::KERNEL_CUDA_ERROR
 */
enum kernel_status w4a16_shuffle(const struct w4a16_shuffle_args *args, cudaStream_t stream);

/**
 * @brief Part "vector": C = A W for 1 to W4_VECTOR_ROWS rows.
 * @param[in] args   a: device, f16 or bf16 [m, lda]; weights, zeros: device, from w4a16_shuffle(); scales: device, of dtype
 *                   [k / group, n]; c: device, of dtype [m, ldc]. splits and the workspace are not looked at
 * @param[in] stream where to launch
 * @launch one block of 512 threads per SM, or per 32 columns if these are fewer; its 16 warps share k
 * @smem 18 KB
 * @cost 2 m n k operations; n k / 2 bytes and the scales at the least; no workspace
 * @return what w4a16_args_check() says; then ::KERNEL_UNSUPPORTED_ARCHITECTURE below sm_80; ::KERNEL_CUDA_ERROR
 */
enum kernel_status w4a16_vector(const struct w4a16_args *args, cudaStream_t stream);

/**
 * @brief Part "tensor": the same for any number of rows, on tensor cores.
 * @param[in] args   as for w4a16_vector(), m any number from 1
 * @param[in] stream where to launch
 * @launch up to 16 rows as w4a16_vector(); else one block of 256 threads per tile of C: 64 x 128 up to 128 rows, 128 x 256 above
 * @smem up to 16 rows 36 KB at the most; else 64 KB, dynamic
 * @cost 2 m n k operations; n k / 2 bytes, the scales, A and C at the least; no workspace
 * @return what w4a16_args_check() says; then ::KERNEL_UNSUPPORTED_ARCHITECTURE below sm_80; ::KERNEL_CUDA_ERROR
 */
enum kernel_status w4a16_tensor(const struct w4a16_args *args, cudaStream_t stream);

/**
 * @brief Part "split": the same, with k cut into `splits` parts of about equal length that different blocks take.
 *
 * Sums of the parts are added in a fixed order, whatever the order in which blocks end.
 *
 * @param[in] args   as for w4a16_tensor(); splits: 1 to W4_MOST_SPLITS, also where there are not as many slices of k
 * @param[in] stream where to launch
 * @launch `splits` times the blocks of w4a16_tensor(); then, if there are several parts, a thread per 4 columns of a row
 * @smem as for w4a16_tensor()
 * @cost as for w4a16_tensor(), and 8 m n splits bytes for the workspace
 * @return what w4a16_args_check() says; then ::KERNEL_UNSUPPORTED_ARCHITECTURE below sm_80; ::KERNEL_CUDA_ERROR
 */
enum kernel_status w4a16_split(const struct w4a16_args *args, cudaStream_t stream);

/**
 * @brief Bytes of workspace that w4a16_split() needs: 4 m n splits, 0 where splits is 1.
 * @param[in] args extents and splits; pointers are not looked at
 * @return 0 also where args is NULL, splits unknown or an extent impossible
 */
size_t w4a16_split_workspace_bytes(const struct w4a16_args *args);

#ifdef __cplusplus
}
#endif
#endif
