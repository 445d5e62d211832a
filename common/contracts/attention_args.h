/**
 * @file attention_args.h
 * @brief The arguments that every attention lesson takes, and the checks that every one of them makes.
 *
 * Layout is contiguous `[batch, heads, seq_len, head_dim]`. With fewer K/V heads than query heads
 * (grouped-query attention) query head `h` reads K/V head `h / (heads / kv_heads)`.
 * A causal mask is aligned to the bottom right: query `i` sees keys `0 .. i + kv_len - q_len`.
 *
 * Every key that a query sees counts, however small its weight, and counts as arithmetic says: a NaN in it, or in its
 * value even where the weight is 0 (0 * NaN is NaN), makes NaN of what depends on it; a score of -infinity has the
 * weight 0, and one of +infinity makes the row NaN. A row whose scores are all -infinity has weights of 0, one that
 * sees nothing gives 0, and both a logsumexp of -infinity. What the keys that the mask hides hold never counts.
 *
 * What float can hold limits this in all lessons with attention. A score, scale * (q . k), counts if q . k is finite and the score
 * is no larger than 2.35e38, so that kernels may keep it times log2(e); scale times an element of q or k may be infinite, or too
 * small for a float. A weight below 2^-126, beside the largest of its row or as a share of all, may be taken for 0, as fast
 * exponentials do.
 */
#ifndef WARPWISE_ATTENTION_ARGS_H
#define WARPWISE_ATTENTION_ARGS_H

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel_status.h"

/** @brief How an element is stored in device memory; arithmetic is always in float. */
enum dtype { DTYPE_F32 = 0, DTYPE_F16 = 1, DTYPE_BF16 = 2 };

/** @brief Everything an attention kernel needs to know. All pointers are device pointers. */
struct attention_args {
    int batch;              /**< sequences, >= 1 */
    int heads;              /**< query heads, a multiple of kv_heads */
    int kv_heads;           /**< key/value heads, >= 1 */
    int q_len;              /**< query rows per head, >= 1 */
    int kv_len;             /**< key/value rows per head, >= 1 */
    int head_dim;           /**< elements per row, >= 1 */
    float scale;            /**< factor on every score; 0 stands for 1/sqrt(head_dim) */
    int causal;             /**< 0 or 1: query i sees keys up to i + kv_len - q_len */
    enum dtype dtype;       /**< storage type of q, k, v and out */
    const void *q;          /**< [batch, heads, q_len, head_dim] */
    const void *k;          /**< [batch, kv_heads, kv_len, head_dim] */
    const void *v;          /**< [batch, kv_heads, kv_len, head_dim] */
    void *out;              /**< [batch, heads, q_len, head_dim] */
    float *lse;             /**< [batch, heads, q_len] logsumexp of each row, or NULL if not wanted */
    void *workspace;        /**< device scratch memory, 256-byte aligned; NULL if none is needed */
    size_t workspace_bytes; /**< size of the scratch memory; may be larger than needed */
};

/** @brief The factor to use: @c args->scale, or 1/sqrt(head_dim) where that is 0. */
static inline float attention_scale(const struct attention_args *args)
{
    return args->scale != 0.0f ? args->scale : 1.0f / sqrtf((float)args->head_dim);
}

/** @brief 1 if @p pointer is a multiple of @p bytes. */
static inline int is_aligned(const void *pointer, size_t bytes)
{
    return (uintptr_t)pointer % bytes == 0;
}

/** @brief Multiplies @p count into @p product; 0 if the result does not fit. */
static inline int multiply_fits(uint64_t *product, uint64_t count, uint64_t limit)
{
    if (count != 0 && *product > limit / count) return 0;
    *product *= count;
    return 1;
}

/**
 * @brief Checks pointers, causal and scale, extents, storage type, alignment and workspace in that order: of several
 *        faults the first decides.
 *
 * Tensors may have more than 2^31 elements as long as a byte offset fits in 63 bits; the number of rows
 * batch * heads * max(q_len, kv_len) must fit in 31 bits, because lessons number rows with an int.
 *
 * @param args             may be NULL
 * @param alignment_bytes  what q, k, v and out must be aligned to
 * @param workspace_bytes  what the kernel needs
 * @return ::KERNEL_OK, ::KERNEL_INVALID_CONFIG (a null pointer, causal not 0 or 1, scale not finite),
 *         ::KERNEL_INVALID_DIMENSION, ::KERNEL_UNSUPPORTED_DTYPE (not a value of enum dtype),
 *         ::KERNEL_ALIGNMENT_ERROR or ::KERNEL_OUT_OF_MEMORY
 */
static inline enum kernel_status attention_args_check(const struct attention_args *args,
                                                      size_t alignment_bytes, size_t workspace_bytes)
{
    if (args == NULL || args->q == NULL || args->k == NULL || args->v == NULL || args->out == NULL)
        return KERNEL_INVALID_CONFIG;
    if ((args->causal != 0 && args->causal != 1) || !isfinite(args->scale)) return KERNEL_INVALID_CONFIG;
    if (args->batch < 1 || args->heads < 1 || args->kv_heads < 1 || args->q_len < 1 || args->kv_len < 1 ||
        args->head_dim < 1 || args->heads % args->kv_heads != 0)
        return KERNEL_INVALID_DIMENSION;
    uint64_t rows = (uint64_t)args->batch;
    uint64_t longest = (uint64_t)(args->q_len > args->kv_len ? args->q_len : args->kv_len);
    if (!multiply_fits(&rows, (uint64_t)args->heads, INT_MAX) || !multiply_fits(&rows, longest, INT_MAX))
        return KERNEL_INVALID_DIMENSION;
    if (!multiply_fits(&rows, (uint64_t)args->head_dim, INT64_MAX / 8)) return KERNEL_INVALID_DIMENSION;
    if (args->dtype != DTYPE_F32 && args->dtype != DTYPE_F16 && args->dtype != DTYPE_BF16)
        return KERNEL_UNSUPPORTED_DTYPE;
    if (!is_aligned(args->q, alignment_bytes) || !is_aligned(args->k, alignment_bytes) ||
        !is_aligned(args->v, alignment_bytes) || !is_aligned(args->out, alignment_bytes))
        return KERNEL_ALIGNMENT_ERROR;
    if (args->lse != NULL && !is_aligned(args->lse, sizeof(float))) return KERNEL_ALIGNMENT_ERROR;
    if (workspace_bytes > 0) {
        if (args->workspace == NULL || args->workspace_bytes < workspace_bytes) return KERNEL_OUT_OF_MEMORY;
        if (!is_aligned(args->workspace, 256)) return KERNEL_ALIGNMENT_ERROR;
    }
    return KERNEL_OK;
}

#endif
