/**
 * @file gemm.c
 * @brief The oracle of the matrix product: the definition, and Freivalds' check where that is too slow.
 */
#include "gemm.h"

#include <math.h>
#include <stddef.h>

#include "base/wide.h"

/** op(A)[i, p] */
static double a_at(const struct ref_gemm_shape *shape, const float *a, int i, int p)
{
    return shape->transpose_a ? (double)a[p * shape->lda + i] : (double)a[i * shape->lda + p];
}

/** op(B)[p, j] */
static double b_at(const struct ref_gemm_shape *shape, const float *b, int p, int j)
{
    return shape->transpose_b ? (double)b[j * shape->ldb + p] : (double)b[p * shape->ldb + j];
}

enum { COLUMNS = 256 }; /* of a row that are worked on at a time, so that B is read along its rows */

/** value += sum of products and size += sum of their magnitudes for @p count columns from @p first on. */
WIDE static void add_products(const struct ref_gemm_shape *shape, int i, int first, int count, const float *a,
                              const float *b, double *restrict value, double *restrict size)
{
    const int64_t step = shape->transpose_b ? 1 : shape->ldb, across = shape->transpose_b ? shape->ldb : 1;
    for (int p = 0; p < shape->k; p++) {
        const double factor = a_at(shape, a, i, p);
        const float *row = b + p * step + first * across;
        for (int j = 0; j < count; j++) {
            const double product = factor * (double)(across == 1 ? row[j] : row[j * across]);
            value[j] += product;
            size[j] += fabs(product);
        }
    }
}

void ref_gemm_row(const struct ref_gemm_shape *shape, int i, const float *a, const float *b, const float *c,
                  double *row, double *magnitude)
{
    for (int first = 0; first < shape->n; first += COLUMNS) {
        int count = shape->n - first < COLUMNS ? shape->n - first : COLUMNS;
        double value[COLUMNS] = {0.0}, size[COLUMNS] = {0.0};
        if (shape->alpha != 0.0) add_products(shape, i, first, count, a, b, value, size);
        for (int j = 0; j < count; j++) {
            double kept = shape->beta != 0.0 ? shape->beta * (double)c[i * shape->ldc + first + j] : 0.0;
            row[first + j] = shape->alpha * value[j] + kept;
            if (magnitude != NULL) magnitude[first + j] = fabs(shape->alpha) * size[j] + fabs(kept);
        }
    }
}

void ref_gemm(const struct ref_gemm_shape *shape, const float *a, const float *b, const float *c, double *out,
              double *magnitude)
{
    for (int i = 0; i < shape->m; i++) {
        size_t first = (size_t)i * (size_t)shape->n;
        ref_gemm_row(shape, i, a, b, c, out + first, magnitude != NULL ? magnitude + first : NULL);
    }
}

/** The next number of a sequence, uniform in [-1, 1): splitmix64 (Steele, Lea and Flood 2014). */
static double next_uniform(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t bits = *state;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    bits ^= bits >> 31;
    return (double)(bits >> 11) * 0x1p-52 - 1.0;
}

enum { LANES = 8 }; /* partial sums, so that additions need not wait for each other */

/** sum of vector[i] * x[i], and in *squares the sum of the squares of the vector. */
static double dot(const float *vector, int count, const double *x, double *squares)
{
    double sum[LANES] = {0.0}, square[LANES] = {0.0};
    for (int i = 0; i < count; i += LANES)
        for (int lane = 0; lane < LANES && lane < count - i; lane++) {
            double element = (double)vector[i + lane];
            sum[lane] += element * x[i + lane];
            square[lane] += element * element;
        }
    *squares = 0.0;
    for (int lane = 1; lane < LANES; lane++) sum[0] += sum[lane];
    for (int lane = 0; lane < LANES; lane++) *squares += square[lane];
    return sum[0];
}

/** y = op(M) x for op(M) [rows, columns], read as it is stored; in squares, unless NULL, the sum of the squares of each row. */
static void multiply(const float *matrix, int64_t leading, int transposed, int rows, int columns,
                     const double *x, double *y, double *squares)
{
    for (int i = 0; i < rows && !transposed; i++) {
        double square;
        y[i] = dot(matrix + i * leading, columns, x, &square);
        if (squares != NULL) squares[i] = square;
    }
    if (!transposed) return;
    for (int i = 0; i < rows; i++) y[i] = 0.0;
    for (int i = 0; i < rows && squares != NULL; i++) squares[i] = 0.0;
    for (int j = 0; j < columns; j++) {
        const float *line = matrix + j * leading;
        for (int i = 0; i < rows; i++) y[i] += (double)line[i] * x[j];
        for (int i = 0; i < rows && squares != NULL; i++) squares[i] += (double)line[i] * (double)line[i];
    }
}

/** The sum of the squares of B. */
static double squares_of_b(const struct ref_gemm_shape *shape, const float *b)
{
    double sum = 0.0;
    for (int p = 0; p < shape->k; p++)
        for (int j = 0; j < shape->n; j++) sum += b_at(shape, b, p, j) * b_at(shape, b, p, j);
    return sum;
}

void ref_gemm_freivalds(const struct ref_gemm_shape *shape, const float *a, const float *b, const float *c,
                        const float *claimed, uint64_t seed, double *scratch,
                        const struct ref_gemm_freivalds_rows *rows)
{
    double *x = scratch, *bx = scratch + shape->n;
    const int multiplies = shape->alpha != 0.0;
    for (int j = 0; j < shape->n; j++) x[j] = next_uniform(&seed);
    double b_squares = multiplies && rows->term_norm != NULL ? squares_of_b(shape, b) : 0.0;
    if (multiplies) {
        multiply(b, shape->ldb, shape->transpose_b, shape->k, shape->n, x, bx, NULL);
        multiply(a, shape->lda, shape->transpose_a, shape->m, shape->k, bx, rows->residual, rows->term_norm);
    }
    for (int i = 0; i < shape->m; i++) {
        double right = multiplies ? shape->alpha * rows->residual[i] : 0.0, term_norm = 0.0, squares;
        if (multiplies && rows->term_norm != NULL)
            term_norm = fabs(shape->alpha) * sqrt(rows->term_norm[i] * b_squares);
        if (shape->beta != 0.0) {
            right += shape->beta * dot(c + i * shape->ldc, shape->n, x, &squares);
            term_norm += fabs(shape->beta) * sqrt(squares);
        }
        double claim = dot(claimed + (size_t)i * (size_t)shape->n, shape->n, x, &squares);
        rows->residual[i] = fabs(claim - right);
        if (rows->claimed_norm != NULL) rows->claimed_norm[i] = sqrt(squares);
        if (rows->term_norm != NULL) rows->term_norm[i] = term_norm;
    }
}
