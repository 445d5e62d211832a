/**
 * @file hopper_gemm.h
 * @brief Lesson 15: C = alpha op(A) op(B) + beta C on Hopper's tensor cores, fed by its tensor copy engine.
 *
 * Storage is f16 or bf16, sums are f32. Any m, n >= 1, k >= 0, any layout and any leading dimensions are right. TMA reads a
 * matrix only if it begins at a multiple of 16 bytes and its leading dimension is a multiple of 8 elements. If A or B is
 * another, both are copied element by element by the producer's threads: the same result, many times slower. If C is another,
 * it is written element by element, as are the last columns of any C if n is no multiple of 8: TMA writes whole 16 bytes. The
 * bits of the result depend neither on that nor on layouts and leading dimensions.
 * @see oracle: ref_gemm_row() in reference/gemm.h
 */
#ifndef WARPWISE_HOPPER_GEMM_H
#define WARPWISE_HOPPER_GEMM_H

#include <cuda_runtime_api.h>

#include "gemm_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief Part "f16": A, B and C are stored as f16.
 * @param[in] args   device matrices; dtype_in and dtype_out are DTYPE_F16; stages and workspace have no meaning. Beta 0: C is
 *                   not read; alpha 0: A and B are not
 * @param[in] stream where to launch
 * @launch one block of 384 threads per SM at most, which take tile after tile: of 128 x 256 in clusters of two blocks; of
 *         128 x 128 where there would be fewer tiles than SMs; and of 128 x 64 where those would be too few, too
 * @smem dynamic, 1024-byte aligned: 4 stages of 48 KB, 6 of 32 KB or 8 of 24 KB, and 32 KB for C on its way out
 * @cost 2 m n k operations; 2 (m k + k n + m n) bytes of device memory at the least; no workspace: the descriptions that TMA
 *       needs of the matrices are parameters of the kernel
 * @return what gemm_args_check() says; then ::KERNEL_UNSUPPORTED_DTYPE if a, b or c is not stored as f16, and
 *         ::KERNEL_UNSUPPORTED_ARCHITECTURE on a GPU that is not of compute capability 9.0: older ones lack these
 *         instructions, and later ones have others; ::KERNEL_CUDA_ERROR
 */
enum kernel_status hopper_gemm_f16(const struct gemm_args *args, cudaStream_t stream);

/**
 * @brief Part "bf16": the same, all stored as bf16.
 * @param[in] args   as for hopper_gemm_f16(), with DTYPE_BF16
 * @param[in] stream where to launch
 * @launch as for hopper_gemm_f16()
 * @smem as for hopper_gemm_f16()
 * @cost as for hopper_gemm_f16()
 * @return as for hopper_gemm_f16()
 */
enum kernel_status hopper_gemm_bf16(const struct gemm_args *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
