/**
 * @file gemm.h
 * @brief The oracle of the matrix product: C = alpha * op(A) * op(B) + beta * C in float64.
 *
 * Matrices are row-major. op(A) is M x K and op(B) is K x N; a transposed operand is stored K x M or N x K. A
 * leading dimension is the distance in elements between two rows as they are stored. As in BLAS, beta 0 means
 * that C is not read and alpha 0 that A and B are not: what they hold, NaN included, has no influence.
 *
 * Inputs are float arrays that already hold what the storage type can hold. Results are dense [m, n] doubles.
 */
#pragma once

#include <stdint.h>

/** @brief Extents and options of one product. */
struct ref_gemm_shape {
    int m;           /**< rows of op(A) and C, >= 0 */
    int n;           /**< columns of op(B) and C, >= 0 */
    int k;           /**< columns of op(A), rows of op(B), >= 0 */
    int transpose_a; /**< 0: A is stored [m, k]; 1: [k, m] */
    int transpose_b; /**< 0: B is stored [k, n]; 1: [n, k] */
    int64_t lda;     /**< elements from one stored row of A to the next */
    int64_t ldb;     /**< elements from one stored row of B to the next */
    int64_t ldc;     /**< elements from one row of the C that is read to the next */
    double alpha;    /**< factor on the product */
    double beta;     /**< factor on the C that is read */
};

/**
 * @brief One row of the product.
 * @param[in]  shape      extents and options
 * @param[in]  i          row, 0 .. m - 1
 * @param[in]  a, b       host, f32, stored as @p shape says; not read if alpha is 0
 * @param[in]  c          host, f32 [m, ldc], what beta multiplies; NULL allowed if beta is 0
 * @param[out] row        host, f64 [n]
 * @param[out] magnitude  host, f64 [n]: |alpha| * sum |a * b| + |beta * c|; NULL if not wanted
 */
void ref_gemm_row(const struct ref_gemm_shape *shape, int i, const float *a, const float *b, const float *c,
                  double *row, double *magnitude);

/**
 * @brief The whole product.
 * @param[in]  shape      extents and options
 * @param[in]  a, b, c    as for ref_gemm_row()
 * @param[out] out        host, f64 [m, n]
 * @param[out] magnitude  host, f64 [m, n], as for ref_gemm_row(); NULL if not wanted
 */
void ref_gemm(const struct ref_gemm_shape *shape, const float *a, const float *b, const float *c, double *out,
              double *magnitude);
