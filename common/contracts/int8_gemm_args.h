/**
 * @file int8_gemm_args.h
 * @brief The arguments of lesson 13's products of 8-bit integers, and the checks that both entry points make.
 *
 * S = op(A) op(B), where A and B are matrices of int8_t and every sum is exact. Matrices are row-major; op(A) is m x k
 * and op(B) is k x n. A leading dimension is the distance in elements from one stored row to the next, and may be any
 * number that is not less than the row is long. What lies between the end of a row and the next one is not part of the
 * matrix: it is not to be read for its value, nor written. C does not overlap anything else.
 *
 * The largest sum is k * 128 * 128, of -128 times -128. An int32_t holds it up to k = 131,071, and a larger k is refused.
 */
#ifndef WARPWISE_INT8_GEMM_ARGS_H
#define WARPWISE_INT8_GEMM_ARGS_H

#include <stdint.h>

#include "gemm_args.h" /* enum dtype, gemm_extents_fit() */

/** @brief The largest k: 131,071 * 128 * 128 is 2,147,467,264, and 131,072 * 128 * 128 is 2^31. */
enum { INT8_GEMM_MOST_K = 131071 };

/** @brief Everything that a product of 8-bit integers needs to know. All pointers are device pointers. */
struct int8_gemm_args {
    int m;                      /**< rows of op(A) and C, >= 1 */
    int n;                      /**< columns of op(B) and C, >= 1 */
    int k;                      /**< columns of op(A), rows of op(B), 1 to INT8_GEMM_MOST_K */
    int trans_a;                /**< 0: A is stored [m, k]; 1: [k, m] */
    int trans_b;                /**< 0: B is stored [k, n]; 1: [n, k] */
    int lda;                    /**< elements from one stored row of A to the next */
    int ldb;                    /**< elements from one stored row of B to the next */
    int ldc;                    /**< elements from one row of C to the next, >= n */
    const int8_t *a;            /**< [m, lda], or [k, lda] if trans_a; any address */
    const int8_t *b;            /**< [k, ldb], or [n, ldb] if trans_b; any address */
    void *c;                    /**< [m, ldc], int32_t or what dtype_out says; aligned to one element */
    const float *row_scales;    /**< [m]; for int8_gemm_s32() this and the next three have no meaning */
    const float *column_scales; /**< [n] */
    const float *bias;          /**< [n], or NULL: nothing is added */
    enum dtype dtype_out;       /**< storage type of c: f32, f16 or bf16 */
};

/** @brief 1 if the extents are possible, the leading dimensions hold their rows and nothing that is counted overflows. */
static inline int int8_gemm_extents_fit(const struct int8_gemm_args *args)
{
    struct gemm_args extents;
    extents.m = args->m, extents.n = args->n, extents.k = args->k;
    extents.trans_a = args->trans_a, extents.trans_b = args->trans_b;
    extents.lda = args->lda, extents.ldb = args->ldb, extents.ldc = args->ldc;
    return args->k >= 1 && args->k <= INT8_GEMM_MOST_K && gemm_extents_fit(&extents);
}

/** @brief Bytes of an element of C; 0 if there is no such storage type. */
static inline size_t int8_gemm_out_bytes(const struct int8_gemm_args *args, int dequantised)
{
    return dequantised ? dtype_bytes(args->dtype_out) : sizeof(int32_t);
}

/**
 * @brief Checks pointers and options, extents, the storage type and alignment, in that order.
 *
 * @param args         may be NULL
 * @param dequantised  1 for int8_gemm_dequantised(): the scales, the bias and dtype_out count as well
 * @return ::KERNEL_OK, ::KERNEL_INVALID_CONFIG (a null pointer other than bias, trans_a or trans_b not 0 or 1),
 *         ::KERNEL_INVALID_DIMENSION (m, n or k below 1, k above INT8_GEMM_MOST_K, a leading dimension shorter than its
 *         row, too many elements or tiles of 16 x 16), ::KERNEL_UNSUPPORTED_DTYPE (dtype_out not a value of enum dtype)
 *         or ::KERNEL_ALIGNMENT_ERROR (c not aligned to one element; row_scales, column_scales or bias not to 4 bytes)
 */
static inline enum kernel_status int8_gemm_args_check(const struct int8_gemm_args *args, int dequantised)
{
    if (args == NULL || args->a == NULL || args->b == NULL || args->c == NULL) return KERNEL_INVALID_CONFIG;
    if (dequantised && (args->row_scales == NULL || args->column_scales == NULL))
        return KERNEL_INVALID_CONFIG;
    if ((args->trans_a != 0 && args->trans_a != 1) || (args->trans_b != 0 && args->trans_b != 1))
        return KERNEL_INVALID_CONFIG;
    if (!int8_gemm_extents_fit(args)) return KERNEL_INVALID_DIMENSION;
    size_t out_bytes = int8_gemm_out_bytes(args, dequantised);
    if (out_bytes == 0) return KERNEL_UNSUPPORTED_DTYPE;
    if (!is_aligned(args->c, out_bytes)) return KERNEL_ALIGNMENT_ERROR;
    if (dequantised &&
        (!is_aligned(args->row_scales, sizeof(float)) || !is_aligned(args->column_scales, sizeof(float)) ||
         !is_aligned(args->bias, sizeof(float))))
        return KERNEL_ALIGNMENT_ERROR;
    return KERNEL_OK;
}

#endif
