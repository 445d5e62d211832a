/**
 * @file gemm.c
 * @brief The oracle of the matrix product: the definition.
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
