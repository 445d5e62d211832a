/**
 * @file gemm.c
 * @brief The oracle of the matrix product: the definition, and Freivalds' check where that is too slow.
 */
#include "gemm.h"

#include <math.h>
#include <stddef.h>

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

enum { COLUMNS = 64 }; /* of a row that are worked on at a time, so that B is read along its rows */

/** value += sum of products and size += sum of their magnitudes for @p count columns from @p first on. */
static void add_products(const struct ref_gemm_shape *shape, int i, int first, int count, const float *a,
                         const float *b, double *value, double *size)
{
    for (int p = 0; p < shape->k; p++) {
        double factor = a_at(shape, a, i, p);
        for (int j = 0; j < count; j++) {
            double product = factor * b_at(shape, b, p, first + j);
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

/** sum of vector[i * stride] * x[i], and in *squares the sum of the squares of the vector. */
static double dot(const float *vector, int64_t stride, int count, const double *x, double *squares)
{
    double sum = 0.0;
    *squares = 0.0;
    for (int i = 0; i < count; i++) {
        double element = (double)vector[i * stride];
        sum += element * x[i];
        *squares += element * element;
    }
    return sum;
}

/** y = op(B) x; returns the sum of the squares of B, which it passes on its way. */
static double multiply_b(const struct ref_gemm_shape *shape, const float *b, const double *x, double *y)
{
    double b_squares = 0.0;
    for (int p = 0; p < shape->k; p++) {
        const float *row = shape->transpose_b ? b + p : b + p * shape->ldb;
        double squares;
        y[p] = dot(row, shape->transpose_b ? shape->ldb : 1, shape->n, x, &squares);
        b_squares += squares;
    }
    return b_squares;
}

void ref_gemm_freivalds(const struct ref_gemm_shape *shape, const float *a, const float *b, const float *c,
                        const float *claimed, uint64_t seed, double *scratch,
                        const struct ref_gemm_freivalds_rows *rows)
{
    double *x = scratch;
    double *bx = scratch + shape->n;
    for (int j = 0; j < shape->n; j++) x[j] = next_uniform(&seed);
    double b_squares = shape->alpha != 0.0 ? multiply_b(shape, b, x, bx) : 0.0;

    for (int i = 0; i < shape->m; i++) {
        double right = 0.0;
        double term_norm = 0.0;
        double squares;
        if (shape->alpha != 0.0) {
            const float *row = shape->transpose_a ? a + i : a + i * shape->lda;
            right += shape->alpha * dot(row, shape->transpose_a ? shape->lda : 1, shape->k, bx, &squares);
            term_norm += fabs(shape->alpha) * sqrt(squares * b_squares);
        }
        if (shape->beta != 0.0) {
            right += shape->beta * dot(c + i * shape->ldc, 1, shape->n, x, &squares);
            term_norm += fabs(shape->beta) * sqrt(squares);
        }
        double claim = dot(claimed + (size_t)i * (size_t)shape->n, 1, shape->n, x, &squares);
        rows->residual[i] = fabs(claim - right);
        if (rows->claimed_norm != NULL) rows->claimed_norm[i] = sqrt(squares);
        if (rows->term_norm != NULL) rows->term_norm[i] = term_norm;
    }
}
