/**
 * @file paged_attention_args.h
 * @brief The arguments of decode attention over a paged K/V cache, and the checks that all its kernels make.
 *
 * A sequence has one query (`q_len` is 1) and `context_lens[b]` keys and values. They lie in pages of
 * `block_size` tokens, anywhere in the cache: token `t` of sequence `b` is row `t % block_size` of page
 * `block_table[b, t / block_size]`. Sequences may share pages, and a sequence may name a page more than once.
 * What lies in other pages, or past a sequence's last token, is no input.
 *
 * Every key of a sequence counts, however small its weight, and counts as arithmetic says: a NaN in it, or in its
 * value even where the weight is 0 (0 * NaN is NaN), makes NaN of what depends on it; a score of -infinity has the
 * weight 0, and one of +infinity makes the row NaN. attention_args.h names the limits that float sets.
 *
 *     block_table[b]   | 7 | 2 | 5 | ... not used |          context_lens[b] = 2 * block_size + 3
 *     k_cache          | page 0 | page 1 | page 2 | ... | page 7 | ...
 */
#ifndef WARPWISE_PAGED_ATTENTION_ARGS_H
#define WARPWISE_PAGED_ATTENTION_ARGS_H

#include "attention_args.h"

/** @brief Everything a paged attention kernel needs to know. All pointers are device pointers. */
struct paged_attention_args {
    int batch;               /**< sequences, >= 1 */
    int heads;               /**< query heads, a multiple of kv_heads */
    int kv_heads;            /**< key/value heads, >= 1 */
    int head_dim;            /**< 32, 64 or 128 */
    int num_blocks;          /**< pages in the cache, >= 1 */
    int block_size;          /**< tokens per page, 16 or 32 */
    int max_blocks;          /**< entries of a row of block_table, >= 1 */
    int max_context_len;     /**< no sequence is longer; >= 1, fits in max_blocks pages. Grids, shared memory
                                    and workspace depend on it, since the host does not know context_lens */
    float scale;             /**< factor on q . k; 0 stands for 1/sqrt(head_dim) */
    enum dtype dtype;        /**< storage type of q, k_cache, v_cache and out: DTYPE_F16 */
    const void *q;           /**< [batch, heads, head_dim] */
    const void *k_cache;     /**< [num_blocks, block_size, kv_heads, head_dim] */
    const void *v_cache;     /**< [num_blocks, block_size, kv_heads, head_dim] */
    const int *block_table;  /**< [batch, max_blocks] page numbers, 0 .. num_blocks - 1 where they are used */
    const int *context_lens; /**< [batch] keys of each sequence, 0 .. max_context_len; 0 gives output 0 */
    const float
        *alibi_slopes;      /**< [heads] of any size and sign: slope * (t - (context_len - 1)) is added to the
                                    score of token t; NULL for none */
    void *out;              /**< [batch, heads, head_dim] */
    int *device_status;     /**< one enum kernel_status in device memory, written by
                                    paged_attention_validate(), read by later kernels in the stream */
    void *workspace;        /**< device scratch memory, 256-byte aligned; looked at only if any is needed */
    size_t workspace_bytes; /**< size of the scratch memory */
};

/** @brief The factor to use: @c args->scale, or 1/sqrt(head_dim) where that is 0. */
static inline float paged_attention_scale(const struct paged_attention_args *args)
{
    return args->scale != 0.0f ? args->scale : 1.0f / sqrtf((float)args->head_dim);
}

/** @brief 1 if all extents are in their ranges and no product of them overflows. */
static inline int paged_attention_extents_fit(const struct paged_attention_args *args)
{
    if (args->batch < 1 || args->heads < 1 || args->kv_heads < 1 || args->heads % args->kv_heads != 0 ||
        args->num_blocks < 1 || args->max_blocks < 1 || args->max_context_len < 1)
        return 0;
    if (args->head_dim != 32 && args->head_dim != 64 && args->head_dim != 128) return 0;
    if (args->block_size != 16 && args->block_size != 32) return 0;
    if (args->max_context_len > (int64_t)args->max_blocks * args->block_size) return 0;
    uint64_t rows = (uint64_t)args->batch, entries = (uint64_t)args->batch;
    uint64_t cache = (uint64_t)args->num_blocks * (uint64_t)args->block_size;
    return multiply_fits(&rows, (uint64_t)args->heads, INT_MAX) &&
           multiply_fits(&rows, (uint64_t)args->max_context_len, INT_MAX / 2) &&
           multiply_fits(&entries, (uint64_t)args->max_blocks, INT_MAX) &&
           multiply_fits(&cache, (uint64_t)args->kv_heads, INT64_MAX / 8) &&
           multiply_fits(&cache, (uint64_t)args->head_dim, INT64_MAX / 8);
}

/**
 * @brief Checks pointers and scale, extents, storage type, alignment and workspace in that order: of several faults
 *        the first decides.
 *
 * Nothing in device memory is looked at: that is what paged_attention_validate() is for. The cache may have
 * more than 2^31 elements; batch * max_blocks must fit in 31 bits and batch * heads * max_context_len in 30.
 *
 * @param args             may be NULL
 * @param workspace_bytes  what the kernel needs
 * @return ::KERNEL_OK, ::KERNEL_INVALID_CONFIG (a null pointer other than alibi_slopes, scale not finite),
 *         ::KERNEL_INVALID_DIMENSION, ::KERNEL_UNSUPPORTED_DTYPE (not f16), ::KERNEL_ALIGNMENT_ERROR (q,
 *         caches and out: 16 bytes; the others: 4) or ::KERNEL_OUT_OF_MEMORY
 */
static inline enum kernel_status paged_attention_args_check(const struct paged_attention_args *args,
                                                            size_t workspace_bytes)
{
    if (args == NULL || args->q == NULL || args->k_cache == NULL || args->v_cache == NULL ||
        args->block_table == NULL || args->context_lens == NULL || args->out == NULL ||
        args->device_status == NULL)
        return KERNEL_INVALID_CONFIG;
    if (!isfinite(args->scale)) return KERNEL_INVALID_CONFIG;
    if (!paged_attention_extents_fit(args)) return KERNEL_INVALID_DIMENSION;
    if (args->dtype != DTYPE_F16) return KERNEL_UNSUPPORTED_DTYPE;
    if (!is_aligned(args->q, 16) || !is_aligned(args->k_cache, 16) || !is_aligned(args->v_cache, 16) ||
        !is_aligned(args->out, 16) || !is_aligned(args->block_table, 4) ||
        !is_aligned(args->context_lens, 4) || !is_aligned(args->alibi_slopes, 4) ||
        !is_aligned(args->device_status, 4))
        return KERNEL_ALIGNMENT_ERROR;
    if (workspace_bytes > 0) {
        if (args->workspace == NULL || args->workspace_bytes < workspace_bytes) return KERNEL_OUT_OF_MEMORY;
        if (!is_aligned(args->workspace, 256)) return KERNEL_ALIGNMENT_ERROR;
    }
    return KERNEL_OK;
}

#endif
