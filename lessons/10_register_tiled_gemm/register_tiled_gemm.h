/**
 * @file register_tiled_gemm.h
 * @brief Lesson 10: C = alpha op(A) op(B) + beta C on CUDA cores, every layout, as cuBLAS SGEMM computes it.
 *
 * Matrices are row-major: op(A) is [m, k], op(B) is [k, n]; a transposed operand is stored [k, m] or [n, k].
 * Sums are kept in float, for f32 and f16 storage alike. The order in which the terms of an element are added depends on
 * k alone (here it is ascending): the result has the same bits whatever the layout, the leading dimensions, the alignment
 * and the size of the tiles. As in BLAS, beta 0 means that C is not read and alpha 0 that A and B are not. What is too
 * large for a half becomes infinite, and subnormal halves count.
 * @see oracle: ref_gemm() in reference/gemm.h
 */
#ifndef WARPWISE_REGISTER_TILED_GEMM_H
#define WARPWISE_REGISTER_TILED_GEMM_H

#include <cuda_runtime_api.h>

#include "gemm_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @brief How much of C a block computes. */
enum gemm_tile {
    GEMM_TILE_AUTO,  /**< chosen from the extents and the device */
    GEMM_TILE_SMALL, /**< 64 x 64: many blocks, for a C that has few tiles */
    GEMM_TILE_LARGE  /**< 256 x 128: each number from memory is used most often */
};

/**
 * @brief Part "f32": the product of f32 matrices.
 * @param[in] args   dtype_in and dtype_out f32; any m, n >= 1, k >= 0 and leading dimensions; a, b and c need no more
 *                   alignment than an element has, but 16-byte loads are used where pointer, leading dimension
 *                   and extent allow them; stages and the workspace are not looked at
 * @param[in] tile   a value of enum gemm_tile
 * @param[in] stream where to launch
 * @launch one block per tile of C: 256 threads for a large one, which have an SM to themselves; 128 for a
 *         small one, of which four fit. Beside large tiles, up to 64 rows or columns that are left have small ones:
 *         kernels of their own, launched early
 * @smem 25 KB for large tiles, 17 KB for small ones, static: two buffers of a tile of A and one of B
 * @cost 2 * m * n * k operations; each number of A and B is requested once for each tile along the other side
 * @return what gemm_args_check() says; then ::KERNEL_UNSUPPORTED_DTYPE unless f32; then ::KERNEL_INVALID_CONFIG for
 *         another @p tile; ::KERNEL_CUDA_ERROR
 */
enum kernel_status register_tiled_gemm_f32(const struct gemm_args *args, enum gemm_tile tile,
                                           cudaStream_t stream);

/**
 * @brief Part "f16": the product of f16 matrices. Only A, B and C are halves; sums are floats, and an element
 *        of C is rounded once.
 * @param[in] args   dtype_in and dtype_out f16; otherwise as for register_tiled_gemm_f32()
 * @param[in] tile   a value of enum gemm_tile
 * @param[in] stream where to launch
 * @launch as for register_tiled_gemm_f32()
 * @smem as for register_tiled_gemm_f32(): shared memory holds floats
 * @cost as for register_tiled_gemm_f32(), half the bytes
 * @return as for register_tiled_gemm_f32(), with f16 in place of f32
 */
enum kernel_status register_tiled_gemm_f16(const struct gemm_args *args, enum gemm_tile tile,
                                           cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
