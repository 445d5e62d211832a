/**
 * @file freivalds.c
 * @brief Products of matrices with three vectors at once.
 */
#include "freivalds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/rng.h"
#include "base/wide.h"

enum { LANES = 8, BLOCK = 512, ELEMS_A_PIECE = 1 << 18 };

struct multiplying {
    const struct freivalds_matrix *matrix;
    const double *x;
    double *y;
};

/* Partial sums, so that additions need not wait for each other. */
WIDE static void multiply_rows(const struct multiplying *m, size_t first, size_t last)
{
    const size_t columns = m->matrix->columns;
    for (size_t row = first; row < last; row++) {
        const float *line = m->matrix->data + row * m->matrix->leading;
        double sum[FREIVALDS_TURNS][LANES] = {{0.0}};
        for (size_t j = 0; j < columns; j += LANES) {
            const size_t count = columns - j < LANES ? columns - j : LANES;
            for (int turn = 0; turn < FREIVALDS_TURNS; turn++) {
                const double *x = m->x + (size_t)turn * columns + j;
                if (count == LANES)
                    for (size_t lane = 0; lane < LANES; lane++)
                        sum[turn][lane] += (double)line[j + lane] * x[lane];
                else
                    for (size_t lane = 0; lane < count; lane++)
                        sum[turn][lane] += (double)line[j + lane] * x[lane];
            }
        }
        for (int turn = 0; turn < FREIVALDS_TURNS; turn++) {
            for (int lane = 1; lane < LANES; lane++) sum[turn][0] += sum[turn][lane];
            m->y[(size_t)turn * m->matrix->rows + row] = sum[turn][0];
        }
    }
}

/* Rows first to last, a block of them at a time, along the stored rows. */
WIDE static void multiply_columns(const struct multiplying *m, size_t first, size_t last)
{
    const struct freivalds_matrix *matrix = m->matrix;
    for (size_t begin = first; begin < last; begin += BLOCK) {
        const size_t count = last - begin < BLOCK ? last - begin : BLOCK;
        double sum[FREIVALDS_TURNS][BLOCK] = {{0.0}};
        for (size_t j = 0; j < matrix->columns; j++) {
            const float *line = matrix->data + j * matrix->leading + begin;
            for (int turn = 0; turn < FREIVALDS_TURNS; turn++) {
                const double x = m->x[(size_t)turn * matrix->columns + j];
                for (size_t i = 0; i < count; i++) sum[turn][i] += (double)line[i] * x;
            }
        }
        for (int turn = 0; turn < FREIVALDS_TURNS; turn++)
            memcpy(m->y + (size_t)turn * matrix->rows + begin, sum[turn], count * sizeof(double));
    }
}

static void multiply_piece(void *context, size_t first, size_t last)
{
    const struct multiplying *m = context;
    (m->matrix->transposed ? multiply_columns : multiply_rows)(m, first, last);
}

void freivalds_multiply(const struct freivalds_matrix *matrix, const double *x, double *y)
{
    struct multiplying multiplying = {matrix, x, y};
    const size_t piece = ELEMS_A_PIECE / (matrix->columns + 1) + 1;
    parallel_for(matrix->rows, matrix->transposed && piece < BLOCK ? BLOCK : piece, multiply_piece,
                 &multiplying);
}

int freivalds_judge(const double *residual, size_t rows, double limit, const char *of_b, char *reason,
                    size_t size)
{
    for (int turn = 0; turn < FREIVALDS_TURNS; turn++, residual += rows) {
        size_t wrong = 0, first = 0;
        for (size_t i = 0; i < rows; i++)
            if (!(residual[i] <= limit) && wrong++ == 0) first = i;
        if (wrong == 0) continue;
        snprintf(reason, size,
                 "C x is not A (%s x) for a random x: off by %.3g in row %zu, allowed are %.3g; %zu of %zu "
                 "rows are "
                 "wrong (Freivalds' identity)",
                 of_b, residual[first], first, limit, wrong, rows);
        return 0;
    }
    return 1;
}

int freivalds_holds(const struct ref_gemm_shape *shape, const float *a, const float *b, const float *c,
                    const float *claimed, double allowed, uint64_t seed, const char *of_b, char *reason,
                    size_t size)
{
    const size_t m = (size_t)shape->m, n = (size_t)shape->n, k = (size_t)shape->k;
    const struct freivalds_matrix of_a = {a, (size_t)shape->lda, shape->transpose_a, m, k},
                                  b_of_x = {b, (size_t)shape->ldb, shape->transpose_b, k, n};
    const struct freivalds_matrix kept = {c, (size_t)shape->ldc, 0, m, n},
                                  claim = {claimed, (size_t)shape->ldc, 0, m, n};
    double *x = calloc(FREIVALDS_TURNS * (n + k + 3 * m), sizeof *x);
    if (x == NULL) {
        snprintf(reason, size, "no memory for Freivalds' identity");
        return 0;
    }
    double *bx = x + FREIVALDS_TURNS * n, *right = bx + FREIVALDS_TURNS * k,
           *before = right + FREIVALDS_TURNS * m, *residual = before + FREIVALDS_TURNS * m;
    for (size_t turn = 0; turn < FREIVALDS_TURNS; turn++) {
        struct rng rng = {rng_mix(seed, turn)};
        for (size_t j = 0; j < n; j++) x[turn * n + j] = 2.0 * rng_uniform(&rng) - 1.0;
    }
    if (shape->alpha != 0.0) {
        freivalds_multiply(&b_of_x, x, bx);
        freivalds_multiply(&of_a, bx, right);
    }
    if (shape->beta != 0.0) freivalds_multiply(&kept, x, before);
    freivalds_multiply(&claim, x, residual);
    for (size_t i = 0; i < FREIVALDS_TURNS * m; i++)
        residual[i] = fabs(residual[i] - shape->alpha * right[i] - shape->beta * before[i]);
    const double limit = FREIVALDS_DEVIATIONS * allowed * sqrt((double)shape->n);
    const int holds = freivalds_judge(residual, m, limit, of_b, reason, size);
    free(x);
    return holds;
}
