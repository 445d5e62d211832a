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

/** @brief What Freivalds' identity says of every row of a claimed product. The caller provides the arrays. */
struct ref_gemm_freivalds_rows {
    double *residual;     /**< [m] |row of (claimed - right) times x|, computed without the right product */
    double *claimed_norm; /**< [m] Euclidean norm of the claimed row; NULL if not wanted */
    double *term_norm;    /**< [m] bound on the norm of the row of magnitudes; NULL if not wanted */
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

/**
 * @brief Freivalds' check of a product too large to compute: claimed * x against op(A) * (op(B) * x), for one
 *        random x with elements in [-1, 1). It costs O(mk + kn + mn) in place of O(mkn).
 *
 * If element (i, j) of the claim is off by e_ij, the residual of row i is |sum_j e_ij x_j|. Rounding errors
 * |e_ij| <= E_ij leave more than t * sqrt(sum_j E_ij^2) with probability below 2 exp(-t^2 / 2) (Hoeffding),
 * and claimed_norm and term_norm are that root for the two terms of the error bound: one is relative to the
 * result, the other to its magnitude as in ref_gemm_row(), whose norm over row i is by Cauchy and Schwarz at
 * most |alpha| * |row i of op(A)| * |B|_Frobenius + |beta| * |row i of C|.
 *
 * A wrong element escapes one x only if x_j is small; three x, by three seeds, leave next to nothing.
 *
 * @param[in]  shape    extents and options
 * @param[in]  a, b, c  as for ref_gemm_row()
 * @param[in]  claimed  host, f32 [m, n] dense: the product that is doubted
 * @param[in]  seed     decides x
 * @param[out] scratch  host, f64 [n + k]
 * @param[out] rows     its arrays are filled
 * @see Freivalds 1977
 */
void ref_gemm_freivalds(const struct ref_gemm_shape *shape, const float *a, const float *b, const float *c,
                        const float *claimed, uint64_t seed, double *scratch,
                        const struct ref_gemm_freivalds_rows *rows);
