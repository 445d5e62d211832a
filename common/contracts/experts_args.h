/**
 * @file experts_args.h
 * @brief The arguments of lesson 21's grouped product and of its whole layer, and the checks that the entry points make.
 *
 * Experts have weights of their own, stored one after another. Rows of a grouped product are sorted by expert: those of expert e
 * are rows offsets[e] to offsets[e + 1] - 1, and there may be none. All matrices are row-major without gaps.
 */
#ifndef WARPWISE_EXPERTS_ARGS_H
#define WARPWISE_EXPERTS_ARGS_H

#include "gemm_args.h" /* enum dtype, is_aligned() */

/** @brief Limits of lesson 21. */
enum {
    MOST_EXPERTS = 256, /**< experts of a layer */
    MOST_TOP_K = 32     /**< experts of a token */
};

/** @brief A product whose rows belong to experts. All pointers are device pointers. */
struct grouped_gemm_args {
    int rows;    /**< of a and c, >= 1 */
    int experts; /**< 1 to MOST_EXPERTS */
    int n;       /**< columns of c, a positive multiple of 8 */
    int k;       /**< columns of a, a positive multiple of 8 */
    int swiglu;  /**< 0: c = a w^T; 1: w has 2 n rows per expert, gate then up, and c = silu(gate) * up */
    enum dtype dtype;   /**< of a, w and c: f16 or bf16; sums are f32 */
    const void *a;      /**< [rows, k], 16-byte aligned like w and c */
    const void *w;      /**< [experts, n, k], with swiglu [experts, 2 n, k] */
    const int *offsets; /**< [experts + 1], from 0, never falling, at most rows */
    void *c;            /**< [rows, n]; rows that no expert has stay as they are */
};

/** @brief A layer of experts. All pointers are device pointers. */
struct experts_args {
    int tokens;          /**< rows of x and out, >= 1 */
    int experts;         /**< 1 to MOST_EXPERTS */
    int top_k;           /**< experts of a token, 1 to MOST_TOP_K and not more than experts */
    int hidden;          /**< columns of x and out, a positive multiple of 8 */
    int inner;           /**< of an expert: a positive multiple of 8 */
    int renormalise;     /**< 1: the weights of a token's experts are divided by their sum; 0: they are not */
    enum dtype dtype;    /**< of x, gate_up, down and out: f16 or bf16 */
    const void *x;       /**< [tokens, hidden], 16-byte aligned like gate_up, down and out */
    const float *logits; /**< [tokens, experts]: what the router says */
    const void *gate_up; /**< [experts, 2 inner, hidden]: gate, then up */
    const void *down;    /**< [experts, hidden, inner] */
    void *out;           /**< [tokens, hidden] */
    void *workspace;     /**< device scratch memory, 256-byte aligned */
    size_t workspace_bytes; /**< size of the scratch memory; may be larger than needed */
};

/**
 * @brief Checks what experts_route() is given: pointers and options, extents and alignment, in that order.
 * @return ::KERNEL_OK, ::KERNEL_INVALID_CONFIG, ::KERNEL_INVALID_DIMENSION or ::KERNEL_ALIGNMENT_ERROR
 */
static inline enum kernel_status experts_route_check(const float *logits, const int *chosen,
                                                     const float *weights, int tokens, int experts, int top_k,
                                                     int renormalise)
{
    if (logits == NULL || chosen == NULL || weights == NULL || (renormalise != 0 && renormalise != 1))
        return KERNEL_INVALID_CONFIG;
    if (tokens < 1 || experts < 1 || experts > MOST_EXPERTS || top_k < 1 || top_k > MOST_TOP_K ||
        top_k > experts || (int64_t)tokens * top_k > INT_MAX)
        return KERNEL_INVALID_DIMENSION;
    int aligned = is_aligned(logits, 4) && is_aligned(chosen, 4) && is_aligned(weights, 4);
    return aligned ? KERNEL_OK : KERNEL_ALIGNMENT_ERROR;
}

/**
 * @brief The same for experts_group().
 * @return ::KERNEL_OK, ::KERNEL_INVALID_CONFIG, ::KERNEL_INVALID_DIMENSION or ::KERNEL_ALIGNMENT_ERROR
 */
static inline enum kernel_status experts_group_check(const int *chosen, const int *offsets, const int *row_of,
                                                     int pairs, int experts)
{
    if (chosen == NULL || offsets == NULL || row_of == NULL) return KERNEL_INVALID_CONFIG;
    if (pairs < 1 || experts < 1 || experts > MOST_EXPERTS) return KERNEL_INVALID_DIMENSION;
    int aligned = is_aligned(chosen, 4) && is_aligned(offsets, 4) && is_aligned(row_of, 4);
    return aligned ? KERNEL_OK : KERNEL_ALIGNMENT_ERROR;
}

/** @brief 1 if an int can count the experts' rows of weights, and tiles of 128 x 128 even if each expert's last one is short. */
static inline int grouped_extents_fit(int64_t rows, int experts, int64_t n, int k)
{
    if (rows < 1 || rows > INT_MAX || experts < 1 || experts > MOST_EXPERTS) return 0;
    if (n < 8 || n % 8 != 0 || k < 8 || k % 8 != 0) return 0;
    return experts * n <= INT_MAX && (rows / 128 + experts) * (n / 128 + 1) <= INT_MAX;
}

/**
 * @brief Checks pointers and options, extents, the storage type and alignment, in that order.
 * @param args may be NULL
 * @return ::KERNEL_OK, ::KERNEL_INVALID_CONFIG (a null pointer, swiglu not 0 or 1), ::KERNEL_INVALID_DIMENSION (an extent out of its
 *         limits, or more tiles or rows of weights than an int can count), ::KERNEL_UNSUPPORTED_DTYPE (not f16 or bf16) or
 *         ::KERNEL_ALIGNMENT_ERROR
 */
static inline enum kernel_status grouped_gemm_args_check(const struct grouped_gemm_args *args)
{
    if (args == NULL || args->a == NULL || args->w == NULL || args->offsets == NULL || args->c == NULL)
        return KERNEL_INVALID_CONFIG;
    if (args->swiglu != 0 && args->swiglu != 1) return KERNEL_INVALID_CONFIG;
    if (!grouped_extents_fit(args->rows, args->experts, args->n, args->k) ||
        (int64_t)args->experts * (1 + args->swiglu) * args->n > INT_MAX)
        return KERNEL_INVALID_DIMENSION;
    if (args->dtype != DTYPE_F16 && args->dtype != DTYPE_BF16) return KERNEL_UNSUPPORTED_DTYPE;
    if (!is_aligned(args->a, 16) || !is_aligned(args->w, 16) || !is_aligned(args->c, 16) ||
        !is_aligned(args->offsets, sizeof(int)))
        return KERNEL_ALIGNMENT_ERROR;
    return KERNEL_OK;
}

/** @brief 1 if the extents of a layer are within their limits, and its two products can be counted. */
static inline int experts_extents_fit(const struct experts_args *args)
{
    if (args->tokens < 1 || args->top_k < 1 || args->top_k > MOST_TOP_K || args->top_k > args->experts)
        return 0;
    const int64_t pairs = (int64_t)args->tokens * args->top_k;
    return grouped_extents_fit(pairs, args->experts, 2 * (int64_t)args->inner, args->hidden) &&
           grouped_extents_fit(pairs, args->experts, args->hidden, args->inner);
}

/**
 * @brief Checks pointers and options, extents, the storage type, alignment and workspace, in that order.
 * @param args            may be NULL
 * @param workspace_bytes what the kernels need
 * @return ::KERNEL_OK, ::KERNEL_INVALID_CONFIG (a null pointer, renormalise not 0 or 1), ::KERNEL_INVALID_DIMENSION (an extent out of
 *         its limits, or more than an int can count), ::KERNEL_UNSUPPORTED_DTYPE (not f16 or bf16), ::KERNEL_ALIGNMENT_ERROR or
 *         ::KERNEL_OUT_OF_MEMORY
 */
static inline enum kernel_status experts_args_check(const struct experts_args *args, size_t workspace_bytes)
{
    if (args == NULL || args->x == NULL || args->logits == NULL || args->gate_up == NULL ||
        args->down == NULL || args->out == NULL)
        return KERNEL_INVALID_CONFIG;
    if (args->renormalise != 0 && args->renormalise != 1) return KERNEL_INVALID_CONFIG;
    if (!experts_extents_fit(args)) return KERNEL_INVALID_DIMENSION;
    if (args->dtype != DTYPE_F16 && args->dtype != DTYPE_BF16) return KERNEL_UNSUPPORTED_DTYPE;
    if (!is_aligned(args->x, 16) || !is_aligned(args->gate_up, 16) || !is_aligned(args->down, 16) ||
        !is_aligned(args->out, 16) || !is_aligned(args->logits, sizeof(float)))
        return KERNEL_ALIGNMENT_ERROR;
    if (args->workspace == NULL || args->workspace_bytes < workspace_bytes) return KERNEL_OUT_OF_MEMORY;
    return is_aligned(args->workspace, 256) ? KERNEL_OK : KERNEL_ALIGNMENT_ERROR;
}

#endif
