/**
 * @file gemm_oracle.c
 * @brief Oracle and error bounds of products, one row of C at a time, and the identity for large ones.
 *
 * Element (i, j) is alpha * sum of k products + beta * C[i, j], so by bound.h it may be off by
 *
 *     u_out |ref| + c u sqrt(k) (|alpha| sum |a b| + |beta C|)
 *
 * and the largest of the sums on the way count as bound.h has it, with one rounding per product:
 * that of the addition. The product's own is no larger than u |a b|.
 * The maximum-norm check sets the largest error beside that of a plain computation. Where sums may be made on
 * tensor cores, that is the less exact of two: one rounding to nearest after every product, or what tensor
 * cores do: a few products are added exactly and what does not fit a float is cut off, not rounded
 * (Fasi, Higham, Mikaitis and Pranesh 2021, Numerical behavior of NVIDIA tensor cores).
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "checker/numbers/bound.h"
#include "checker/numbers/freivalds.h"
#include "gemm_cases.h"
#include "gemm_inputs.h"
#include "base/wide.h"

enum {
    COLUMNS = 256,    /* columns computed at a time, so that B is read along its rows */
    CORE_PRODUCTS = 4 /* products that a tensor core adds before it cuts off; later tensor cores add more */
};

/** One row of C in plain float arithmetic, added in both ways. */
struct plain_row {
    float rounded[COLUMNS], cut[COLUMNS];
    double squares[COLUMNS]; /* sum_t R_t S_t^2 of bound.h */
};

/* The float next to @p value that is not larger in magnitude. */
static float cut_off(double value)
{
    float nearest = (float)value;
    uint32_t bits;
    if (!(fabs((double)nearest) > fabs(value)) || isinf(nearest)) return nearest;
    memcpy(&bits, &nearest, sizeof bits);
    bits--;
    memcpy(&nearest, &bits, sizeof nearest);
    return nearest;
}

/** op(B) in panels of COLUMNS columns, [k, columns] each, one after the other: rows of C are sums along them, and read memory in its order. */
struct packing {
    size_t k, n, down, across; /* op(B)[p, j] is b[p * down + j * across] */
    const float *b;
    float *packed;
};

static void pack_panels(void *context, size_t first_panel, size_t last_panel)
{
    enum { TILE = 16 };
    const struct packing *p = context;
    for (size_t first = first_panel * COLUMNS; first < last_panel * COLUMNS; first += COLUMNS) {
        const size_t columns = p->n - first < COLUMNS ? p->n - first : COLUMNS;
        float *panel = p->packed + first * p->k;
        for (size_t tile = 0; tile < p->k; tile += TILE)
            for (size_t c = 0; c < columns; c++)
                for (size_t row = tile; row < tile + TILE && row < p->k; row++)
                    panel[row * columns + c] = p->b[row * p->down + (first + c) * p->across];
    }
}

void *gemm_prepare(const struct lesson_case *item, const float *const *data)
{
    enum { FEW_ROWS = 4 }; /* for which B as it lies is good enough */
    const struct ref_gemm_shape shape = gemm_shape(item);
    const size_t k = (size_t)shape.k, n = (size_t)shape.n, ldb = (size_t)shape.ldb;
    if ((!shape.transpose_b && shape.m <= FEW_ROWS) || k == 0) return NULL;
    struct packing packing = {.k = k,
                              .n = n,
                              .down = shape.transpose_b ? 1 : ldb,
                              .across = shape.transpose_b ? ldb : 1,
                              .b = data[GEMM_B],
                              .packed = parallel_memory(k * n * sizeof(float))};
    if (packing.packed != NULL) parallel_for((n + COLUMNS - 1) / COLUMNS, 1, pack_panels, &packing);
    return packing.packed;
}

int gemm_panel(const struct ref_gemm_shape *whole, const float *b, const float *packed, int first,
               struct ref_gemm_shape *panel, const float **at)
{
    *panel = *whole;
    panel->n = whole->n - first < COLUMNS ? whole->n - first : COLUMNS;
    *at = b + (size_t)first * (whole->transpose_b ? (size_t)whole->ldb : 1);
    if (packed == NULL) return panel->n;
    panel->transpose_b = 0;
    panel->ldb = panel->n;
    *at = packed + (size_t)first * (size_t)whole->k;
    return panel->n;
}

/** Where op(A)[i, p] is a[p * a_step] and op(B)[p, j] is b[p * b_step + j * b_across]. */
struct operands {
    const float *a, *b;
    size_t a_step, b_step, b_across;
};

static struct operands operands_of(const struct ref_gemm_shape *shape, const float *a, const float *b,
                                   size_t i)
{
    size_t lda = (size_t)shape->lda, ldb = (size_t)shape->ldb;
    return (struct operands){.a = a + (shape->transpose_a ? i : i * lda),
                             .b = b,
                             .a_step = shape->transpose_a ? lda : 1,
                             .b_step = shape->transpose_b ? 1 : ldb,
                             .b_across = shape->transpose_b ? ldb : 1};
}

/* S_t is sampled at every third product: often enough, and out of step with data that come in pairs. */
WIDE static void add_rounded(const struct operands *o, size_t k, size_t columns, float *sum, double *squares)
{
    enum { STEPS = 3 };
    for (size_t p = 0; p < k; p++) {
        float a = o->a[p * o->a_step];
        const float *b = o->b + p * o->b_step;
        for (size_t j = 0; j < columns; j++) sum[j] += a * b[j * o->b_across];
        if (p % STEPS != STEPS - 1 && p + 1 < k) continue;
        for (size_t j = 0; j < columns; j++) squares[j] += STEPS * (double)sum[j] * (double)sum[j];
    }
}

WIDE static void add_cut(const struct operands *o, size_t k, size_t columns, float *sum)
{
    for (size_t p = 0; p < k; p += CORE_PRODUCTS) {
        double exact[COLUMNS];
        for (size_t j = 0; j < columns; j++) exact[j] = (double)sum[j];
        for (size_t q = p; q < p + CORE_PRODUCTS && q < k; q++) {
            double a = (double)o->a[q * o->a_step];
            const float *b = o->b + q * o->b_step;
            for (size_t j = 0; j < columns; j++) exact[j] += a * (double)b[j * o->b_across];
        }
        for (size_t j = 0; j < columns; j++) sum[j] = cut_off(exact[j]);
    }
}

/* Of two results, the one further from the exact one. */
static double worse(double one, double other, double truth)
{
    return fabs(one - truth) > fabs(other - truth) ? one : other;
}

/* Fills span->plain of a panel's columns, and span->floor with the error that the intermediate sums may cause. */
static void plain_row(const struct lesson_case *item, const struct ref_gemm_shape *shape,
                      const float *const *data, const float *b, size_t i, size_t first,
                      struct lesson_span *span)
{
    float alpha = (float)shape->alpha, beta = (float)shape->beta;
    enum storage storage = gemm_storage(item, GEMM_C);
    int cores = item->extent[GEMM_EX_FLAGS] & GEMM_TENSOR_CORES;
    size_t columns = (size_t)shape->n, k = alpha != 0.0f ? (size_t)shape->k : 0;
    struct operands operands = operands_of(shape, data[GEMM_A], b, i);
    struct plain_row row = {0};
    add_rounded(&operands, k, columns, row.rounded, row.squares);
    if (cores) add_cut(&operands, k, columns, row.cut);
    for (size_t j = 0; j < columns; j++) {
        size_t at = first + j;
        float kept = beta != 0.0f ? beta * data[GEMM_C][i * (size_t)shape->ldc + at] : 0.0f;
        double rounded = (double)storage_round(storage, alpha * row.rounded[j] + kept);
        double cut = (double)storage_round(storage, alpha * row.cut[j] + kept);
        span->plain[at] = cores ? worse(rounded, cut, span->expected[at]) : rounded;
        span->floor[at] = fabs((double)alpha) * bound_running(row.squares[j]);
    }
}

/* The size of results if data are of size 1; the cap on bounds is in proportion to it. */
static double unit_size(const struct ref_gemm_shape *shape)
{
    return fmax(1.0, fabs(shape->alpha) * sqrt((double)shape->k) + fabs(shape->beta));
}

void gemm_expect(const struct lesson_case *item, const float *const *data, size_t unit,
                 struct lesson_expectation *e)
{
    struct ref_gemm_shape shape = gemm_shape(item), panel;
    const float *b, *c = data[GEMM_C];
    enum storage storage = gemm_storage(item, GEMM_C);
    struct lesson_span *span = &e->span[0];
    double terms = shape.k + (shape.beta != 0.0) + (shape.k == 0);
    double cap = item->flags & CASE_UNIT_SCALE ? bound_unit(storage) * unit_size(&shape) : (double)INFINITY;
    e->span_count = 1;
    span->buffer = GEMM_C;
    span->first = unit * (size_t)shape.ldc;
    span->count = (size_t)shape.n;
    for (int first = 0; first < shape.n; first += panel.n) {
        gemm_panel(&shape, data[GEMM_B], e->shared, first, &panel, &b);
        ref_gemm_row(&panel, (int)unit, data[GEMM_A], b, c != NULL ? c + first : NULL, span->expected + first,
                     e->scratch + first);
        plain_row(item, &panel, data, b, unit, (size_t)first, span);
    }
    /* A value too large for a half becomes infinite: rounded to nearest as IEEE 754 says. */
    for (size_t j = 0; j < span->count && storage == STORAGE_F16; j++)
        if (fabs(span->expected[j]) >= 65520.0)
            span->expected[j] = copysign((double)INFINITY, span->expected[j]);
    for (size_t j = 0; j < span->count; j++) {
        double stored = bound_stored_as(storage, span->expected[j]), magnitude = e->scratch[j];
        /* A NaN or an infinity must come out as such. */
        int finite = isfinite(magnitude);
        span->bound[j] = finite ? fmin(stored + bound_sum(terms, magnitude), cap) : 0.0;
        span->floor[j] = finite ? stored + fmax(bound_floor(magnitude), span->floor[j]) : 0.0;
    }
}

size_t gemm_units(const struct lesson_case *item)
{
    return (size_t)item->extent[GEMM_M];
}

size_t gemm_unit_elems(const struct lesson_case *item)
{
    return (size_t)item->extent[GEMM_N];
}

/* ---- all elements at once -------------------------------------------------------------------------------- */

int gemm_identity(const struct lesson_case *item, const float *const *data, const float *const *got,
                  const double *allowed, uint64_t seed, char *reason, size_t size)
{
    const struct ref_gemm_shape shape = gemm_shape(item);
    return freivalds_holds(&shape, data[GEMM_A], data[GEMM_B], data[GEMM_C], got[GEMM_C], allowed[GEMM_C],
                           seed, "B", reason, size);
}

/* ---- cost ------------------------------------------------------------------------------------------------ */

void gemm_cost(const struct lesson_case *item, struct lesson_cost *cost)
{
    double m = item->extent[GEMM_M], n = item->extent[GEMM_N], k = item->extent[GEMM_K];
    double in = (double)storage_bytes(gemm_storage(item, GEMM_A));
    double out = (double)storage_bytes(gemm_storage(item, GEMM_C));
    *cost = (struct lesson_cost){
        .flop = 2.0 * m * n * k,
        .min_bytes = in * (m * k + k * n) + out * m * n * (item->real[GEMM_BETA] != 0.0 ? 2.0 : 1.0),
        .oracle_ops = 12.0 * m * n * k, /* the product, its magnitude, plain computations */
        .tensor_cores = (item->extent[GEMM_EX_FLAGS] & GEMM_TENSOR_CORES) != 0,
    };
}

size_t gemm_workspace_bytes(const struct lesson_case *item)
{
    (void)item;
    return 0;
}
