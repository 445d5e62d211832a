/**
 * @file pipelined_gemm.h
 * @brief Lesson 09: C = A * B on tensor cores, the tiles of the next steps on their way while this one is
 * multiplied.
 *
 * The product is that of lesson 08: halves in, sums as floats, row-major matrices of any extents and
 * leading dimensions. How many tiles are under way at once is the caller's choice and changes nothing but the
 * time.
 * @see CUDA C++ Programming Guide, "Asynchronous data copies"; oracle: ref_gemm() in reference/gemm.h
 */
#ifndef WARPWISE_PIPELINED_GEMM_H
#define WARPWISE_PIPELINED_GEMM_H

#include <cuda_runtime_api.h>

#include "gemm_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief C = A * B.
 *
 * Every element of C is written and nothing else; what lies between two rows of A or B (it may be NaN) has no
 * influence. The same arguments give the same bits every time and for every number of stages.
 *
 * Copies are of 16 bytes, from multiples of 16. Where rows begin elsewhere, elements between rows may be read
 * with them, but nothing outside of a, from its first row's begin to its last one's end, or of b. A device
 * below sm_80 has no asynchronous copies: there a copy is made at once, more stages gain nothing, and the
 * result is the same. The tiles of four stages fit in the 64 KB of shared memory that every device from sm_75
 * on has; larger tiles are used where the device has room for so many stages of them.
 *
 * @param[in] args   a: device, f16 [m, lda], lda >= k. b: device, f16 [k, ldb], ldb >= n. c: device, f32
 *                   [m, ldc], ldc >= n. m, n, k >= 1; a, b and c aligned to one element; trans_a, trans_b 0,
 *                   alpha 1, beta 0. stages: 1 to 4, the tiles of A and B that are in shared memory at once;
 * 1 means that nothing is loaded ahead. The workspace is not looked at
 * @param[in] stream where to launch
 * @return what gemm_args_check_plain() says; then ::KERNEL_INVALID_CONFIG if stages is not 1, 2, 3 or 4;
 *         ::KERNEL_CUDA_ERROR
 * @launch one block per part of C, all in x: 256 threads and 128 x 256 where such parts fill the device,
 *         otherwise 128 threads and 64 x 64
 * @smem 51 KB per stage with the large tiles, 9.5 KB with the small ones: more than 48 must be asked for
 * @cost as for wmma_gemm(); each element of A is requested once for each part across, of B once for each part
 *       down, whatever the stages
 */
enum kernel_status pipelined_gemm(const struct gemm_args *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
