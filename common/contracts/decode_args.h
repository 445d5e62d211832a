/**
 * @file decode_args.h
 * @brief The arguments of attention over a contiguous K/V cache that a decoder fills token by token, the choices of
 *        kernel, and the checks that all kernels make.
 *
 * A cache has room for `max_len` tokens of each sequence. A token's row holds the keys (or values) of all K/V heads and
 * may be followed by elements that belong to somebody else: rows lie `kv_stride` elements apart. The first query stands
 * at `position`; query `i` sees the keys of tokens `0 .. position + i`, its own token included. So decode has one query,
 * and prefill several. Later rows of the cache are not part of the input.
 *
 *     row of token t    | kv head 0 | kv head 1 | ... | kv head kv_heads - 1 | not used |      kv_stride elements
 *     seen by query i   t = 0 .. position + i
 *
 * Every key that a query sees counts, however small its weight, by the rules of floating point: a NaN in a key, or in a
 * value even if its weight is 0 (0 * NaN is NaN), makes the results that depend on it NaN; a score of -infinity has the
 * weight 0; a score of +infinity makes the whole output row NaN. attention_args.h names the limits that float sets.
 */
#ifndef WARPWISE_DECODE_ARGS_H
#define WARPWISE_DECODE_ARGS_H

#include "attention_args.h"

/** @brief Largest head_dim that decode kernels serve. */
enum { DECODE_MOST_HEAD_DIM = 256 };

/** @brief Bytes of a key that a thread loads at once. Any other value is refused. */
enum decode_loads {
    DECODE_LOADS_4_BYTES = 4,  /**< two halves or one float */
    DECODE_LOADS_16_BYTES = 16 /**< eight halves or four floats */
};

/** @brief Which kernel is to run. Any other value is refused: none falls through to another kernel. */
enum decode_variant {
    DECODE_AUTO = 0, /**< what decode_choose_variant() says */
    DECODE_MHA,      /**< scores in device memory */
    DECODE_FLASH_1,  /**< one block per query head, scores in shared memory */
    DECODE_FLASH_2   /**< blocks share the keys of a sequence and serve a group of query heads */
};

/** @brief Everything a decode kernel needs to know. All pointers are device pointers. */
struct decode_args {
    int batch;     /**< sequences, >= 1 */
    int heads;     /**< query heads, a multiple of kv_heads */
    int kv_heads;  /**< key/value heads, >= 1 */
    int head_dim;  /**< a multiple of 8, 8 .. 256 */
    int q_len;     /**< queries of each sequence, >= 1: 1 in decode, more in prefill */
    int max_len;   /**< rows of each sequence's cache, >= q_len */
    int kv_stride; /**< elements from a token's row to the next: a multiple of 8, >= kv_heads * head_dim */
    int position; /**< token that the first query of every sequence belongs to, 0 .. max_len - q_len; ignored if
                        device_positions is given */
    /** [batch] such a token for each sequence, read when the kernel runs; or NULL */
    const int *device_positions;
    int *device_status;     /**< one enum kernel_status in device memory, beside device_positions: set to
                             ::KERNEL_INVALID_DIMENSION where one of them is not within 0 .. max_len - q_len, else
                             left as it is; NULL where device_positions is */
    float scale;            /**< factor on q . k; 0 stands for 1/sqrt(head_dim) */
    enum dtype dtype;       /**< storage type of q, k_cache, v_cache and out: DTYPE_F32 or DTYPE_F16 */
    const void *q;          /**< [batch, q_len, heads, head_dim] */
    const void *k_cache;    /**< [batch, max_len, kv_stride], of which the first kv_heads * head_dim count */
    const void *v_cache;    /**< as k_cache */
    void *out;              /**< [batch, q_len, heads, head_dim] */
    void *workspace;        /**< device scratch memory, 256-byte aligned; looked at only if any is needed */
    size_t workspace_bytes; /**< size of the scratch memory; may be larger than needed */
};

/** @brief The factor to use: @c args->scale, or 1/sqrt(head_dim) where that is 0. */
static inline float decode_scale(const struct decode_args *args)
{
    return args->scale != 0.0f ? args->scale : 1.0f / sqrtf((float)args->head_dim);
}

/** @brief 1 if all extents are in their ranges, position too where it counts, and no product of them overflows. */
static inline int decode_extents_fit(const struct decode_args *args)
{
    if (args->batch < 1 || args->heads < 1 || args->kv_heads < 1 || args->heads % args->kv_heads != 0 ||
        args->q_len < 1 || args->max_len < args->q_len)
        return 0;
    if (args->head_dim < 8 || args->head_dim > DECODE_MOST_HEAD_DIM || args->head_dim % 8 != 0) return 0;
    if (args->kv_stride % 8 != 0 || args->kv_stride < (int64_t)args->kv_heads * args->head_dim) return 0;
    if (args->device_positions == NULL &&
        (args->position < 0 || args->position > args->max_len - args->q_len))
        return 0;
    uint64_t rows = (uint64_t)args->batch, tokens = (uint64_t)args->batch;
    if (args->batch > 65535 || args->q_len > 65535) return 0; /* a grid has no more blocks in y and z */
    return multiply_fits(&rows, (uint64_t)args->q_len, INT_MAX) &&
           multiply_fits(&rows, (uint64_t)args->heads, INT_MAX) &&
           multiply_fits(&rows, (uint64_t)args->max_len, INT64_MAX / 8) &&
           multiply_fits(&tokens, (uint64_t)args->max_len, INT_MAX / 2) &&
           multiply_fits(&tokens, (uint64_t)args->kv_stride, INT64_MAX / 8);
}

/**
 * @brief Checks pointers, scale and loads, extents, storage type, alignment and workspace in that order: of several
 *        faults the first decides.
 *
 * Nothing in device memory is looked at: positions that lie there are the kernel's to check. The cache may have more
 * than 2^31 elements; batch * q_len * heads must fit in 31 bits, batch * max_len in 30, batch and q_len in 16.
 *
 * @param args             may be NULL
 * @param loads            bytes that are loaded at once: what q, k_cache and v_cache are aligned to
 * @param workspace_bytes  what the kernel needs
 * @return ::KERNEL_OK, ::KERNEL_INVALID_CONFIG (a null pointer, only one of device_positions and device_status given,
 *         scale not finite, unknown loads), ::KERNEL_INVALID_DIMENSION, ::KERNEL_UNSUPPORTED_DTYPE (neither f32 nor
 *         f16), ::KERNEL_ALIGNMENT_ERROR (q, k_cache and v_cache: loads bytes; the others: 4) or ::KERNEL_OUT_OF_MEMORY
 */
static inline enum kernel_status decode_args_check(const struct decode_args *args, enum decode_loads loads,
                                                   size_t workspace_bytes)
{
    if (args == NULL || args->q == NULL || args->k_cache == NULL || args->v_cache == NULL ||
        args->out == NULL || (args->device_positions == NULL) != (args->device_status == NULL))
        return KERNEL_INVALID_CONFIG;
    if (!isfinite(args->scale)) return KERNEL_INVALID_CONFIG;
    if (loads != DECODE_LOADS_4_BYTES && loads != DECODE_LOADS_16_BYTES) return KERNEL_INVALID_CONFIG;
    if (!decode_extents_fit(args)) return KERNEL_INVALID_DIMENSION;
    if (args->dtype != DTYPE_F32 && args->dtype != DTYPE_F16) return KERNEL_UNSUPPORTED_DTYPE;
    if (!is_aligned(args->q, loads) || !is_aligned(args->k_cache, loads) ||
        !is_aligned(args->v_cache, loads) || !is_aligned(args->out, 4) ||
        !is_aligned(args->device_positions, 4) || !is_aligned(args->device_status, 4))
        return KERNEL_ALIGNMENT_ERROR;
    if (workspace_bytes > 0) {
        if (args->workspace == NULL || args->workspace_bytes < workspace_bytes) return KERNEL_OUT_OF_MEMORY;
        if (!is_aligned(args->workspace, 256)) return KERNEL_ALIGNMENT_ERROR;
    }
    return KERNEL_OK;
}

/** @brief decode_args_check() for flash_2, which serves f16, one query, head_dim 64 or 128 and 16-byte loads: anything
 *         else is refused in the same order, as ::KERNEL_INVALID_DIMENSION or ::KERNEL_UNSUPPORTED_DTYPE. */
static inline enum kernel_status decode_flash_2_check(const struct decode_args *args, size_t workspace_bytes)
{
    enum kernel_status status = decode_args_check(args, DECODE_LOADS_16_BYTES, workspace_bytes);
    if (status == KERNEL_INVALID_CONFIG || status == KERNEL_INVALID_DIMENSION) return status;
    if (args->q_len != 1 || (args->head_dim != 64 && args->head_dim != 128)) return KERNEL_INVALID_DIMENSION;
    return args->dtype != DTYPE_F16 ? KERNEL_UNSUPPORTED_DTYPE : status;
}

#endif
