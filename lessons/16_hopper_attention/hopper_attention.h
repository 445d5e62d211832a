/**
 * @file hopper_attention.h
 * @brief Lesson 16: attention's forward pass on Hopper as FlashAttention-3 computes it: TMA, wgmma, warpgroups in turn.
 *
 * Q, K, V, the probabilities P and the output are f16 or bf16; scores, m, l and the sums of O are f32. P is rounded to
 * the storage type before it is multiplied with V, and l sums it as it was before. No workspace: extra memory is 0
 * bytes at any length. A row that sees no key has O = 0 and lse = -infinity. Part "fp8" takes the same tensors, rounds Q, K, V
 * and P to E4M3, and needs a workspace for the rounded copies.
 * @see Shah and others 2024, "FlashAttention-3", section 3; oracle: ref_attention() in reference/attention.h
 */
#ifndef WARPWISE_HOPPER_ATTENTION_H
#define WARPWISE_HOPPER_ATTENTION_H

#include <cuda_runtime_api.h>

#include "attention_args.h"
#include "e4m3_blocks.h" // blocks of E4M3 with a scale each, the signs of the rotation, the workspace

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief Part "f16": attention of f16 tensors.
 *
 * P is rounded to half relative to the largest score so far, or to one at most a factor of 2^8 below it. What is less
 * than half the smallest half there, 2^-25, may be lost. A row's bits do not depend on keys behind its mask as long as their
 * values are finite; beside a NaN or an infinity that it does not see, it may be rounded otherwise.
 * @param[in] args   dtype f16; head_dim 64 or 128; rows are contiguous; q, k, v and out are multiples of 16 bytes;
 *                   lse, unless NULL, receives the logsumexp of every row; the workspace is not looked at
 * @param[in] stream where to launch
 * @return the first of these that applies, in this order: what attention_args_check() says;
 *         ::KERNEL_UNSUPPORTED_DTYPE unless f16; ::KERNEL_INVALID_DIMENSION unless head_dim is 64 or 128;
 *         ::KERNEL_UNSUPPORTED_ARCHITECTURE on a GPU that is not of compute capability 9.0: older ones lack these
 *         instructions, and later ones have others; ::KERNEL_CUDA_ERROR; ::KERNEL_OK
 * @launch head_dim 64: a block of 128 threads for every 64 queries. head_dim 128: blocks of 384 threads, which take 128
 *         queries at a time; with fewer than 2,048 keys no more blocks than SMs, which take tile after tile, else one per tile
 * @smem dynamic, 1024-byte aligned: Q, two stages of K and V, at head_dim 128 also O, and some 100 bytes of mbarriers: 72 KB
 *       for head_dim 64, so that three blocks fit an SM, 192 KB for 128
 * @cost 4 * head_dim operations per query and visible key; Q read and O written once, K and V requested once for
 *       every tile of queries; no workspace: the descriptions that TMA needs of the tensors are parameters of the kernel
 */
enum kernel_status hopper_attention_f16(const struct attention_args *args, cudaStream_t stream);

/**
 * @brief Part "bf16": attention of bf16 tensors. P has the range of a float, and three bits less than in f16.
 * @param[in] args   dtype bf16; otherwise as for hopper_attention_f16()
 * @param[in] stream where to launch
 * @return as for hopper_attention_f16(), with bf16 in place of f16
 * @launch as for hopper_attention_f16()
 * @smem as for hopper_attention_f16()
 * @cost as for hopper_attention_f16()
 */
enum kernel_status hopper_attention_bf16(const struct attention_args *args, cudaStream_t stream);

/**
 * @brief Part "fp8": the workspace that hopper_attention_fp8() needs: e4m3_workspace().
 * @param[in] args  extents and dtype; pointers are not looked at
 * @return bytes; 0 where hopper_attention_fp8() refuses NULL, an extent, head_dim or dtype; SIZE_MAX if it does not fit
 */
size_t hopper_attention_fp8_workspace_bytes(const struct attention_args *args);

/**
 * @brief Part "fp8": attention of f16 or bf16 tensors whose products are those of E4M3 numbers.
 *
 * First every row of Q and of K is rotated: column c changes its sign where rotation_signs() says so, and the Hadamard matrix
 * of 128 x 128, whose element i, j is -1 to the number of ones that i and j have in common in binary, is applied. That
 * multiplies all products by 128 and spreads an outlier over all columns. Then blocks of 128 rows of Q, and of K, and all of V
 * of a K/V head are rounded to E4M3 with a scale each (e4m3_scale()), from their largest finite size. An infinity becomes
 * +-448 times the scale, NaN stays NaN. Attention of what these numbers stand for is computed as in the other parts, with P
 * rounded to E4M3 relative to 2^-8 of the largest score so far: weights are at most 256. What is less than 2^-18 of the
 * largest may be lost.
 *
 * A key that a query does not see still has a part in the scale of its block: the result may depend on it by that much.
 * @param[in] args   dtype f16 or bf16; head_dim 128; rows are contiguous; q, k, v and out are multiples of 16 bytes; lse, unless
 *                   NULL, receives the logsumexp of every row; workspace: hopper_attention_fp8_workspace_bytes()
 * @param[in] seed   of the signs; 0: Q and K are not rotated
 * @param[in] stream where to launch
 * @return the first of these that applies, in this order: what attention_args_check() says, of the workspace last;
 *         ::KERNEL_UNSUPPORTED_DTYPE unless f16 or bf16; ::KERNEL_INVALID_DIMENSION unless head_dim is 128;
 *         ::KERNEL_UNSUPPORTED_ARCHITECTURE on a GPU that is not of compute capability 9.0; ::KERNEL_CUDA_ERROR; ::KERNEL_OK
 * @launch blocks of 256 threads that round Q, K and V, 128 rows each, V once more to transpose it; then as for
 *         hopper_attention_f16() with head_dim 128
 * @smem 16 KB static to transpose V; then dynamic, as for head_dim 128, with tiles of half the size: 112 KB and some 100 bytes
 * @cost 4 * 128 operations per query and visible key, on E4M3; Q, K and V read once more and their halves written and read;
 *       V read twice. The workspace is about half of Q, K and V
 */
enum kernel_status hopper_attention_fp8(const struct attention_args *args, unsigned seed,
                                        cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
