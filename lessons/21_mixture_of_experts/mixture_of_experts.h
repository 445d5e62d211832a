/**
 * @file mixture_of_experts.h
 * @brief Lesson 21: a layer of many experts, of which each token takes a few.
 *
 * A *pair* is a token and one of its experts: pair token * top_k + j is that of the token's j-th choice. Rows of a grouped product
 * are pairs, sorted by expert. All functions need sm_90: products of many rows use what lesson 15 uses.
 * @see oracle: reference/experts.h
 */
#ifndef WARPWISE_MIXTURE_OF_EXPERTS_H
#define WARPWISE_MIXTURE_OF_EXPERTS_H

#include <cuda_runtime_api.h>

#include "experts_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief Part "route": which experts a token takes, and with which weights.
 *
 * p = softmax(logits of the token). Its experts are those with the largest logits, the largest first; of equal ones that of the
 * smaller index. Logits decide, not p, which may be 0 for several. A NaN counts as -infinity in the choice, and makes all weights of
 * its token NaN, as +infinity does.
 *
 * @param[in]  logits      device, f32 [tokens, experts]
 * @param[out] chosen      device, i32 [tokens, top_k]
 * @param[out] weights     device, f32 [tokens, top_k]: p of these experts; if renormalise is 1 divided by their sum
 * @param[in]  tokens      >= 1
 * @param[in]  experts     1 to MOST_EXPERTS
 * @param[in]  top_k       1 to MOST_TOP_K, not more than experts
 * @param[in]  renormalise 0 or 1
 * @param[in]  stream      where to launch
 * @return the first that applies: ::KERNEL_INVALID_CONFIG (a null pointer, renormalise not 0 or 1), ::KERNEL_INVALID_DIMENSION (an
 *         extent out of its limits, or tokens * top_k more than an int holds), ::KERNEL_ALIGNMENT_ERROR (a pointer that is not a
 *         multiple of 4 bytes), ::KERNEL_UNSUPPORTED_ARCHITECTURE other than sm_90, ::KERNEL_CUDA_ERROR; else ::KERNEL_OK
 * @launch one warp per token, in blocks of 4 warps
 * @cost 4 tokens * experts bytes read; no workspace
 */
enum kernel_status experts_route(const float *logits, int *chosen, float *weights, int tokens, int experts,
                                 int top_k, int renormalise, cudaStream_t stream);

/**
 * @brief Part "group": sorts pairs by expert. Pairs of the same expert keep their order.
 *
 * @param[in]  chosen  device, i32 [pairs]: the expert of each pair. What is none of 0 to experts - 1 is nobody's: its pair has no row
 * @param[out] offsets device, i32 [experts + 1]: rows of expert e begin at offsets[e]; offsets[experts] is the number of rows
 * @param[out] row_of  device, i32 [pairs]: the row of each pair, or -1
 * @param[in]  pairs   >= 1
 * @param[in]  experts 1 to MOST_EXPERTS
 * @param[in]  stream  where to launch
 * @return the first that applies: ::KERNEL_INVALID_CONFIG (a null pointer), ::KERNEL_INVALID_DIMENSION (an extent out of its limits),
 *         ::KERNEL_ALIGNMENT_ERROR (a pointer that is not a multiple of 4 bytes), ::KERNEL_UNSUPPORTED_ARCHITECTURE other than
 *         sm_90, ::KERNEL_CUDA_ERROR; else ::KERNEL_OK
 * @launch one block of up to 32 warps per expert
 * @cost each block reads all pairs twice, mostly from L2; no workspace
 */
enum kernel_status experts_group(const int *chosen, int *offsets, int *row_of, int pairs, int experts,
                                 cudaStream_t stream);

/**
 * @brief Part "product": every row of a times the transposed matrix of its expert, and if swiglu is 1 silu(gate) * up of the two
 *        halves, where silu(x) = x / (1 + exp(-x)).
 *
 * A row is computed from its own elements and its expert's weights alone: a NaN in another row, or in another expert, does not
 * reach it. Sums are f32, and are rounded once.
 *
 * @param[in] args   see struct grouped_gemm_args
 * @param[in] stream where to launch
 * @launch with more than 4 rows per expert on average, one block of 384 threads per SM, which takes tile after tile; else 256 threads
 *         for each 16 rows of gate and of up, or each 32 rows of w, of each expert that may have rows
 * @smem 210 KB for many rows, else 16 KB
 * @cost 2 rows * n * k operations, with swiglu twice as many; no workspace
 * @return what grouped_gemm_args_check() says; then ::KERNEL_UNSUPPORTED_ARCHITECTURE other than sm_90; ::KERNEL_CUDA_ERROR
 */
enum kernel_status experts_product(const struct grouped_gemm_args *args, cudaStream_t stream);

/**
 * @brief Bytes of workspace that mixture_of_experts() needs: at most 4 pairs (hidden + inner) + 16 pairs + 8192.
 * @param[in] args of which the pointers are not looked at; may be NULL
 * @return 0 for NULL, and for extents that mixture_of_experts() refuses
 */
size_t mixture_of_experts_workspace_bytes(const struct experts_args *args);

/**
 * @brief Part "layer": out = sum over a token's experts of weight * down(silu(gate(x)) * up(x)).
 *
 * Weights are those of experts_route(). silu(gate) * up and what an expert returns are rounded to dtype; the weighted sum is f32, in
 * the order of the token's choices, and is rounded once.
 *
 * @param[in] args   see struct experts_args
 * @param[in] stream where to launch
 * @launch six kernels: route, group, gather, two products, weighted sum
 * @cost 6 pairs * inner * hidden operations; workspace as mixture_of_experts_workspace_bytes() says
 * @return what experts_args_check() says; then ::KERNEL_UNSUPPORTED_ARCHITECTURE other than sm_90; ::KERNEL_CUDA_ERROR
 */
enum kernel_status mixture_of_experts(const struct experts_args *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
