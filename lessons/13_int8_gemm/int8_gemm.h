/**
 * @file int8_gemm.h
 * @brief Lesson 13: products of 8-bit integers on tensor cores, exact, and scaled back to floating point.
 *
 * S = op(A) op(B) in int32_t: no sum is rounded and none overflows, so there is one right answer and every bit of it
 * counts, whatever the layout, the leading dimensions, the alignment and the order of the additions. Any address and any
 * leading dimension is right for A and B. The fast path copies 16 bytes at a time and needs, of each of the two apart, an
 * address and a leading dimension that are multiples of 16; where one of them is not, that matrix is copied byte by byte.
 * @see oracle: ref_gemm_row() in reference/gemm.h
 */
#ifndef WARPWISE_INT8_GEMM_H
#define WARPWISE_INT8_GEMM_H

#include <cuda_runtime_api.h>

#include "int8_gemm_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief Part "s32": C = op(A) op(B), every element the exact sum.
 * @param[in] args   c: device, int32_t [m, ldc]. Any m, n >= 1, k from 1 to INT8_GEMM_MOST_K, any layout and leading
 *                   dimensions; a and b at any address, c at a multiple of 4; the scales, the bias and dtype_out are not
 *                   looked at
 * @param[in] stream where to launch
 * @launch one block per tile of C: 256 threads for a tile of 128 x 256, 128 threads for one of 64 x 64
 * @smem dynamic: for a large tile 2 to 4 stages of 48 KB, as many as the device has room for; for a small one 4 of 16 KB
 * @cost 2 m n k operations; m k + k n + 4 m n bytes of device memory at the least; no workspace
 * @return what int8_gemm_args_check() says; then ::KERNEL_UNSUPPORTED_ARCHITECTURE below sm_80; ::KERNEL_CUDA_ERROR
 */
enum kernel_status int8_gemm_s32(const struct int8_gemm_args *args, cudaStream_t stream);

/**
 * @brief Part "dequantised": C[i, j] = S[i, j] * row_scales[i] * column_scales[j] + bias[j], rounded once to dtype_out.
 *
 * The sum is exact as in int8_gemm_s32(); then it is converted to float, and everything up to the last rounding is
 * float arithmetic. The three factors may be multiplied in any order; the caller keeps their products within the range
 * of normal floats. A scale may be negative, zero, infinite or NaN: what comes out is what arithmetic says, in its own
 * row or column and nowhere else. What is too large for a half becomes infinite.
 *
 * @param[in] args   c: device, [m, ldc] of dtype_out, aligned to one element; row_scales: device, f32 [m]; column_scales:
 *                   device, f32 [n]; bias: device, f32 [n], or NULL; otherwise as for int8_gemm_s32()
 * @param[in] stream where to launch
 * @launch as for int8_gemm_s32()
 * @smem as for int8_gemm_s32()
 * @cost 2 m n k operations; m k + k n bytes and C at the least; no workspace: S never leaves the registers
 * @return what int8_gemm_args_check() says; then ::KERNEL_UNSUPPORTED_ARCHITECTURE below sm_80; ::KERNEL_CUDA_ERROR
 */
enum kernel_status int8_gemm_dequantised(const struct int8_gemm_args *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
