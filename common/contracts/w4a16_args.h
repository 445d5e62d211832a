/**
 * @file w4a16_args.h
 * @brief Lesson 20: a matrix of 4-bit weights as checkpoints store it and as the kernels read it, and the checks of arguments.
 *
 * W is k x n; q[p, j] is a number from 0 to 15. Of each column, `group` weights that follow each other have a scale and a zero:
 *
 *     W[p, j] = (q[p, j] - zero[p / group, j]) * scale[p / group, j]
 *
 * **In a checkpoint** eight numbers share a word of 32 bits; nibble i is bits 4i to 4i + 3.
 *
 *     AWQ    qweight [k, n / 8]          nibble i: column 8c + {0, 2, 4, 6, 1, 3, 5, 7}[i]
 *            qzeros  [k / group, n / 8]  the same order
 *     GPTQ   qweight [k / 8, n]          nibble i: row 8r + i
 *            qzeros  [k / group, n / 8]  nibble i: column 8c + i, less 1 modulo 16
 *     both   scales  [k / group, n]
 *
 * **Shuffled**, W is cut into strips of 64 columns, each strip into slices of 64 rows: slice s of strip t begins at word
 * (t * k / 64 + s) * 512. It has 4 blocks of 32 lanes of 4 words. With lane = 4g + t, nibble i of word w of block b holds
 *
 *     column  64 strip + 8g + 2b + i % 2
 *     row     64 slice + 16t + 4w + 2 (i % 4 / 2) + i / 4
 *
 * So 16 bytes of one lane are its 2 columns of 16 neighbours along k, word by word as fragments of m16n8k16, and the four
 * blocks of one g are 8 neighbouring columns. Where n is no multiple of 64, the last strip is filled up with zeros.
 * Zeros become [k / group, n / 8], nibble i column 8c + i, whatever they were.
 */
#ifndef WARPWISE_W4A16_ARGS_H
#define WARPWISE_W4A16_ARGS_H

#include <stdint.h>

#include "gemm_args.h" /* enum dtype, dtype_bytes(), is_aligned(), multiply_fits() */

enum {
    W4_SLICE = 64,       /**< rows and columns of a piece of the shuffled weights */
    W4_SLICE_WORDS = 512 /**< words of it */
};

/** @brief How a checkpoint packs its numbers. */
enum w4_format { W4_AWQ, W4_GPTQ };

/** @brief What w4a16_shuffle() needs to know. All pointers are device pointers. */
struct w4a16_shuffle_args {
    int n;                   /**< columns of W, a multiple of 8 */
    int k;                   /**< rows of W, a multiple of 64 and of group */
    int group;               /**< rows that share a scale: 32, 64, 128, or k */
    enum w4_format format;   /**< how qweight and qzeros are packed */
    const uint32_t *qweight; /**< as above; aligned to 4 bytes */
    const uint32_t *qzeros;  /**< as above; NULL: every zero is 8 */
    uint32_t *weights;       /**< w4a16_weight_words(); aligned to 16 bytes */
    uint32_t *zeros;         /**< [k / group, n / 8]; aligned to 4 bytes */
};

/** @brief What the products need to know. All pointers are device pointers. */
struct w4a16_args {
    int m;      /**< rows of A and C, >= 1 */
    int n;      /**< columns of W and C, a multiple of 8 */
    int k;      /**< columns of A, rows of W, a multiple of 64 and of group */
    int group;  /**< rows that share a scale: 32, 64, 128, or k */
    int lda;    /**< elements from one row of A to the next, >= k, a multiple of 8 */
    int ldc;    /**< elements from one row of C to the next, >= n, a multiple of 8 */
    int splits; /**< parts into which w4a16_split() cuts k, 1 to W4_MOST_SPLITS; for others without meaning */
    enum dtype dtype;        /**< storage type of a, scales and c: f16 or bf16 */
    const void *a;           /**< [m, lda] */
    const uint32_t *weights; /**< shuffled */
    const void *scales;      /**< [k / group, n] */
    const uint32_t *zeros;   /**< [k / group, n / 8], shuffled */
    void *c;                 /**< [m, ldc] */
    void *workspace;         /**< device scratch memory, 256-byte aligned; NULL if none is needed */
    size_t workspace_bytes;  /**< size of the scratch memory */
};

enum {
    W4_MOST_SPLITS = 32, /**< parts of k */
    W4_VECTOR_ROWS = 4   /**< rows that w4a16_vector() takes */
};

/** @brief Words of shuffled weights. */
static inline size_t w4a16_weight_words(int n, int k)
{
    return (size_t)(n / W4_SLICE + (n % W4_SLICE != 0)) * (size_t)(k / W4_SLICE) * W4_SLICE_WORDS;
}

/** @brief 1 if there is such a length of groups. */
static inline int w4a16_group_is_known(int group, int k)
{
    return group == 32 || group == 64 || group == 128 || group == k;
}

/** @brief 1 if W can be cut into words, slices and groups, and its slices can be counted in 30 bits. */
static inline int w4a16_weights_fit(int n, int k, int group)
{
    uint64_t slices = (uint64_t)n / W4_SLICE + 1;
    return n >= 8 && n % 8 == 0 && k >= W4_SLICE && k % W4_SLICE == 0 && group > 0 && k % group == 0 &&
           multiply_fits(&slices, (uint64_t)k / W4_SLICE, INT_MAX / 2);
}

/**
 * @brief Checks pointers and options, extents and alignment, in that order.
 * @param args may be NULL
 * @return ::KERNEL_OK, ::KERNEL_INVALID_CONFIG (a null pointer other than qzeros, an unknown format or group),
 *         ::KERNEL_INVALID_DIMENSION (n not a multiple of 8, k not one of 64 or of group, either below 1, 2^30
 *         slices or more) or
 *         ::KERNEL_ALIGNMENT_ERROR (weights not at a multiple of 16 bytes, another pointer not at one of 4)
 */
static inline enum kernel_status w4a16_shuffle_args_check(const struct w4a16_shuffle_args *args)
{
    if (args == NULL || args->qweight == NULL || args->weights == NULL || args->zeros == NULL)
        return KERNEL_INVALID_CONFIG;
    if (args->format != W4_AWQ && args->format != W4_GPTQ) return KERNEL_INVALID_CONFIG;
    if (!w4a16_group_is_known(args->group, args->k)) return KERNEL_INVALID_CONFIG;
    if (!w4a16_weights_fit(args->n, args->k, args->group)) return KERNEL_INVALID_DIMENSION;
    if (!is_aligned(args->weights, 16) || !is_aligned(args->qweight, 4) || !is_aligned(args->qzeros, 4) ||
        !is_aligned(args->zeros, 4))
        return KERNEL_ALIGNMENT_ERROR;
    return KERNEL_OK;
}

/** @brief 1 if the extents are possible and nothing that is counted overflows. */
static inline int w4a16_extents_fit(const struct w4a16_args *args)
{
    uint64_t a = (uint64_t)args->lda, c = (uint64_t)args->ldc, tiles = (uint64_t)args->m / 16 + 1;
    return args->m >= 1 && w4a16_weights_fit(args->n, args->k, args->group) && args->lda >= args->k &&
           args->lda % 8 == 0 && args->ldc >= args->n && args->ldc % 8 == 0 &&
           multiply_fits(&a, (uint64_t)args->m, INT64_MAX / 8) &&
           multiply_fits(&c, (uint64_t)args->m, INT64_MAX / 8) &&
           multiply_fits(&tiles, (uint64_t)args->n / 16 + 1, INT_MAX);
}

/**
 * @brief Checks pointers and options, extents, the storage type, alignment and the workspace, in that order.
 * @param args            may be NULL
 * @param most_rows       the largest m
 * @param split           1 for w4a16_split(): splits counts
 * @param workspace_bytes what the kernel needs
 * @return ::KERNEL_OK, ::KERNEL_INVALID_CONFIG (a null pointer, an unknown group, splits not from 1 to W4_MOST_SPLITS),
 *         ::KERNEL_INVALID_DIMENSION (m below 1 or above most_rows, n not a multiple of 8, k not one of 64 or of group, a
 *         leading dimension shorter than its row or not a multiple of 8, too many elements, slices or tiles of 16 x 16),
 *         ::KERNEL_UNSUPPORTED_DTYPE (neither f16 nor bf16), ::KERNEL_ALIGNMENT_ERROR (zeros not at a multiple of 4 bytes,
 *         another pointer not at one of 16, the workspace not at one of 256) or ::KERNEL_OUT_OF_MEMORY
 */
static inline enum kernel_status w4a16_args_check(const struct w4a16_args *args, int most_rows, int split,
                                                  size_t workspace_bytes)
{
    if (args == NULL || args->a == NULL || args->weights == NULL || args->scales == NULL ||
        args->zeros == NULL || args->c == NULL)
        return KERNEL_INVALID_CONFIG;
    if (!w4a16_group_is_known(args->group, args->k)) return KERNEL_INVALID_CONFIG;
    if (split && (args->splits < 1 || args->splits > W4_MOST_SPLITS)) return KERNEL_INVALID_CONFIG;
    if (!w4a16_extents_fit(args) || args->m > most_rows) return KERNEL_INVALID_DIMENSION;
    if (args->dtype != DTYPE_F16 && args->dtype != DTYPE_BF16) return KERNEL_UNSUPPORTED_DTYPE;
    if (!is_aligned(args->a, 16) || !is_aligned(args->weights, 16) || !is_aligned(args->scales, 16) ||
        !is_aligned(args->zeros, 4) || !is_aligned(args->c, 16))
        return KERNEL_ALIGNMENT_ERROR;
    if (workspace_bytes > 0) {
        if (args->workspace == NULL || args->workspace_bytes < workspace_bytes) return KERNEL_OUT_OF_MEMORY;
        if (!is_aligned(args->workspace, 256)) return KERNEL_ALIGNMENT_ERROR;
    }
    return KERNEL_OK;
}

#endif
