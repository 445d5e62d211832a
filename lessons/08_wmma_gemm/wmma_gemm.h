/**
 * @file wmma_gemm.h
 * @brief Lesson 08: C = A * B on tensor cores, halves in, floats out.
 *
 * Products are of halves and exact, sums are floats. Matrices are row-major, of any extents and leading dimensions:
 * that a fragment wants 16 x 16 elements and rows at multiples of 16 bytes is the kernel's business.
 * @see Markidis et al. 2018, "NVIDIA tensor core programmability, performance & precision"; oracle: ref_gemm() in
 *      reference/gemm.h
 */
#ifndef WARPWISE_WMMA_GEMM_H
#define WARPWISE_WMMA_GEMM_H

#include <cuda_runtime_api.h>

#include "gemm_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief C = A * B.
 *
 * Every element of C is written and nothing else: neither what lies between two rows of C, nor what A and B
 * hold between theirs (which may be NaN) has any influence. The same arguments give the same bits every time.
 *
 * @param[in] args   a: device, f16 [m, lda], lda >= k. b: device, f16 [k, ldb], ldb >= n. c: device, f32
 *                   [m, ldc], ldc >= n. m, n, k >= 1; a, b and c aligned to one element; trans_a, trans_b 0,
 *                   alpha 1, beta 0; stages and the workspace are not looked at
 * @param[in] stream where to launch
 * @launch one block per tile of C, all in x
 * @smem below 48 KB, static
 * @cost 2 m n k operations; 2 (m k + k n) + 4 m n bytes of device memory at the least; no workspace
 * @return what gemm_args_check_plain() says, or ::KERNEL_CUDA_ERROR
 */
enum kernel_status wmma_gemm(const struct gemm_args *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
