/**
 * @file gemm_args.h
 * @brief The arguments that every matrix product lesson takes, and the checks that every one of them makes.
 *
 * C = alpha * op(A) * op(B) + beta * C. Matrices are row-major; op(A) is m x k and op(B) is k x n. A leading
 * dimension is the distance in elements from one stored row to the next, and may be any number that is not less
 * than the row is long: odd ones too, so a row need not begin at a multiple of 16 bytes. What lies between the
 * end of a row and the next one is not part of the matrix: it is not to be read for its value, nor written.
 *
 *     A, m = 3, k = 5, lda = 7      a a a a a . .
 *                                   a a a a a . .       . belongs to somebody else
 *                                   a a a a a           and may follow the last row or not exist there
 *
 * As in BLAS, beta 0 means that C is not read, so that a NaN in it does not come out, and alpha 0 that A and B
 * are not. An element of C counts if the sum, alpha times it and beta times C are finite: alpha times an element of A or B, or one
 * factor by the other, may be infinite, or too small for a float. C does not overlap A or B.
 */
#ifndef WARPWISE_GEMM_ARGS_H
#define WARPWISE_GEMM_ARGS_H

#include "attention_args.h" /* enum dtype, is_aligned(), multiply_fits() */

/** @brief Everything a matrix product needs to know. All pointers are device pointers. */
struct gemm_args {
    int m;                  /**< rows of op(A) and C, >= 1 */
    int n;                  /**< columns of op(B) and C, >= 1 */
    int k;                  /**< columns of op(A), rows of op(B), >= 0; >= 1 for a plain product */
    int trans_a;            /**< 0: A is stored [m, k]; 1: [k, m] */
    int trans_b;            /**< 0: B is stored [k, n]; 1: [n, k] */
    int lda;                /**< elements from one stored row of A to the next */
    int ldb;                /**< elements from one stored row of B to the next */
    int ldc;                /**< elements from one row of C to the next, >= n */
    float alpha;            /**< factor on the product, finite */
    float beta;             /**< factor on what C holds, finite */
    int stages;             /**< tiles under way at once, where a lesson has several; otherwise ignored */
    enum dtype dtype_in;    /**< storage type of a and b */
    enum dtype dtype_out;   /**< storage type of c; arithmetic is in float */
    const void *a;          /**< [m, lda], or [k, lda] if trans_a */
    const void *b;          /**< [k, ldb], or [n, ldb] if trans_b */
    void *c;                /**< [m, ldc] */
    void *workspace;        /**< device scratch memory, 256-byte aligned; NULL if none is needed */
    size_t workspace_bytes; /**< size of the scratch memory */
};

/** @brief Bytes of one element of type @p dtype; 0 if it is not a value of enum dtype. */
static inline size_t dtype_bytes(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F32:
        return 4;
    case DTYPE_F16:
    case DTYPE_BF16:
        return 2;
    }
    return 0;
}

/** @brief 1 if the leading dimensions hold their rows and nothing that has to be counted overflows. */
static inline int gemm_extents_fit(const struct gemm_args *args)
{
    int a_rows = args->trans_a ? args->k : args->m, a_cols = args->trans_a ? args->m : args->k;
    int b_rows = args->trans_b ? args->n : args->k, b_cols = args->trans_b ? args->k : args->n;
    if (args->m < 1 || args->n < 1 || args->k < 0) return 0;
    if (args->lda < 1 || args->lda < a_cols || args->ldb < 1 || args->ldb < b_cols || args->ldc < args->n)
        return 0;
    uint64_t a = (uint64_t)args->lda, b = (uint64_t)args->ldb, c = (uint64_t)args->ldc;
    uint64_t tiles = (uint64_t)args->m / 16 + 1;
    return multiply_fits(&a, (uint64_t)a_rows, INT64_MAX / 8) &&
           multiply_fits(&b, (uint64_t)b_rows, INT64_MAX / 8) &&
           multiply_fits(&c, (uint64_t)args->m, INT64_MAX / 8) &&
           multiply_fits(&tiles, (uint64_t)args->n / 16 + 1, INT_MAX);
}

/**
 * @brief Checks pointers and options, extents, storage types, alignment and workspace in that order.
 *
 * Matrices may have more than 2^31 elements, so offsets are to be computed as size_t, but the number of 16 x 16
 * tiles of C must fit in 31 bits: a grid of one dimension can always count tiles.
 *
 * @param args             may be NULL
 * @param workspace_bytes  what the kernel needs
 * @return ::KERNEL_OK, ::KERNEL_INVALID_CONFIG (a null pointer, trans_a or trans_b not 0 or 1, alpha or beta not
 *         finite), ::KERNEL_INVALID_DIMENSION (m or n below 1, k below 0, a leading dimension shorter than its
 *         row, too many elements or tiles), ::KERNEL_UNSUPPORTED_DTYPE (not a value of enum dtype),
 *         ::KERNEL_ALIGNMENT_ERROR (a, b or c not aligned to one element) or ::KERNEL_OUT_OF_MEMORY
 */
static inline enum kernel_status gemm_args_check(const struct gemm_args *args, size_t workspace_bytes)
{
    if (args == NULL || args->a == NULL || args->b == NULL || args->c == NULL) return KERNEL_INVALID_CONFIG;
    if ((args->trans_a != 0 && args->trans_a != 1) || (args->trans_b != 0 && args->trans_b != 1) ||
        !isfinite(args->alpha) || !isfinite(args->beta))
        return KERNEL_INVALID_CONFIG;
    if (!gemm_extents_fit(args)) return KERNEL_INVALID_DIMENSION;
    size_t in_bytes = dtype_bytes(args->dtype_in), out_bytes = dtype_bytes(args->dtype_out);
    if (in_bytes == 0 || out_bytes == 0) return KERNEL_UNSUPPORTED_DTYPE;
    if (!is_aligned(args->a, in_bytes) || !is_aligned(args->b, in_bytes) || !is_aligned(args->c, out_bytes))
        return KERNEL_ALIGNMENT_ERROR;
    if (workspace_bytes > 0) {
        if (args->workspace == NULL || args->workspace_bytes < workspace_bytes) return KERNEL_OUT_OF_MEMORY;
        if (!is_aligned(args->workspace, 256)) return KERNEL_ALIGNMENT_ERROR;
    }
    return KERNEL_OK;
}

/**
 * @brief The same for a lesson that computes only C = A * B, f16 in, f32 out.
 *
 * @param args  may be NULL
 * @return what gemm_args_check() says; besides ::KERNEL_INVALID_CONFIG if anything is transposed, alpha is not 1
 *         or beta is not 0, ::KERNEL_INVALID_DIMENSION if k is 0, and ::KERNEL_UNSUPPORTED_DTYPE if a and b are
 *         not DTYPE_F16 or c is not DTYPE_F32
 */
static inline enum kernel_status gemm_args_check_plain(const struct gemm_args *args)
{
    enum kernel_status status = gemm_args_check(args, 0);
    if (status == KERNEL_INVALID_CONFIG) return status;
    if (args->trans_a || args->trans_b || args->alpha != 1.0f || args->beta != 0.0f)
        return KERNEL_INVALID_CONFIG;
    if (status == KERNEL_INVALID_DIMENSION || args->k < 1) return KERNEL_INVALID_DIMENSION;
    if (args->dtype_in != DTYPE_F16 || args->dtype_out != DTYPE_F32) return KERNEL_UNSUPPORTED_DTYPE;
    return status;
}

#endif
