/**
 * @file int8_oracle.c
 * @brief Scales, oracle and bounds of products of bytes.
 *
 * A sum of up to 131,071 products of bytes is below 2^31, so the oracle of every product, which adds in float64, is exact
 * here. Unscaled it is right or wrong. Scaled, element (i, j) is S * row_scales[i] * column_scales[j] + bias[j] and may be
 * off by
 *
 *     u_out |ref| + bound_scaled(S * row_scales[i] * column_scales[j], bias[j])
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checker/numbers/bound.h"
#include "checker/numbers/freivalds.h"
#include "gemm.h"
#include "int8_cases.h"

enum { LARGEST_WEIGHT = 512 };

static int is_scaled(const struct lesson_case *item)
{
    return (item->extent[GEMM_EX_FLAGS] & GEMM_DEQUANTISED) != 0;
}

/* ---- scales ---------------------------------------------------------------------------------------------- */

int int8_buffers(const struct lesson_case *item, struct lesson_buffer *buffers)
{
    int count = gemm_buffers(item, buffers);
    if (!is_scaled(item)) return count;
    size_t m = (size_t)item->extent[GEMM_M], n = (size_t)item->extent[GEMM_N];
    buffers[INT8_ROW_SCALES] = LESSON_BUFFER("row_scales", WIRE_IN, STORAGE_F32, m);
    buffers[INT8_COLUMN_SCALES] = LESSON_BUFFER("column_scales", WIRE_IN, STORAGE_F32, n);
    buffers[INT8_BIAS] = LESSON_BUFFER("bias", WIRE_IN, STORAGE_F32, n);
    return item->extent[INT8_EX_BIAS] ? INT8_BUFFERS : INT8_BIAS;
}

/* Some columns have a bias between the largest half and the numbers that become infinite, and so their
 * results lie there, too. */
static int near_limit(const struct lesson_case *item, int index, size_t at)
{
    return item->distribution == INT8_TO_INFINITY && index != INT8_ROW_SCALES && at % 7 == 5;
}

/* Scales of about 1/128, so that a sum of some thousand products of bytes becomes a number of size 1 to
 * 100. */
static double scale_at(const struct lesson_case *item, int index, size_t at, double random)
{
    int row = index == INT8_ROW_SCALES, special = row ? at % 5 == 2 : at % 7 == 3;
    double scale = (0.5 + random) * 0x1p-7;
    switch (item->distribution) {
    case INT8_SCALES_NEGATIVE:
        return special || at % 3 == 0 ? -scale : scale;
    case INT8_SCALES_ZERO:
        return special ? 0.0 : scale;
    case INT8_SCALES_NAN:
        return special ? (double)NAN : scale;
    case INT8_SCALES_INFINITE:
        if (row ? at % 5 == 4 : at % 7 == 6) return 0.0;
        return special ? (at % 2 ? -(double)INFINITY : (double)INFINITY) : scale;
    case INT8_TO_INFINITY:
        return row && at % 3 == 0 ? scale * 0x1p16 : near_limit(item, index, at) ? scale * 0x1p-4 : scale;
    case INT8_TO_SUBNORMAL:
        return row ? scale * 0x1p-14 : scale * 0x1p-2;
    case INT8_BIAS_LARGE:
        return scale * 0x1p-4;
    case INT8_TINY:
        return scale * 0x1p-40;
    default:
        return scale;
    }
}

static double bias_at(const struct lesson_case *item, size_t at, double random)
{
    if (item->distribution == INT8_BIAS_NAN && at % 7 == 3) return (double)NAN;
    if (item->distribution == INT8_BIAS_INFINITE && at % 7 == 3)
        return at % 2 ? (double)INFINITY : -(double)INFINITY;
    if (near_limit(item, INT8_BIAS, at)) return at % 2 ? 65512.0 : -65512.0;
    double size = item->distribution == INT8_BIAS_LARGE ? 1000.0
                  : item->distribution == INT8_TINY     ? 0x1p-79
                                                        : 2.0;
    return size * (random - 0.5) * 2.0;
}

void int8_fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data)
{
    if (index < GEMM_BUFFERS) {
        gemm_fill(item, index, elems, rng, data);
        return;
    }
    for (size_t at = 0; at < elems; at++) {
        double random = (double)(rng_next(rng) >> 11) * 0x1p-53;
        data[at] =
            (float)(index == INT8_BIAS ? bias_at(item, at, random) : scale_at(item, index, at, random));
    }
}

/* ---- one row of C ---------------------------------------------------------------------------------------- */

/* A value too large for the storage type becomes infinite: rounded to nearest as IEEE 754 says. */
static double stored(enum storage storage, double value)
{
    double limit = storage == STORAGE_F16 ? 65520.0 : storage == STORAGE_BF16 ? 0x1.ffp127 : 0x1.ffffffp127;
    return fabs(value) >= limit ? copysign((double)INFINITY, value) : value;
}

/* Replaces the row's sums, in span->expected, by the values that are stored for them. */
static void scale_row(const struct lesson_case *item, const float *const *data, size_t i,
                      struct lesson_span *span)
{
    enum storage storage = gemm_storage(item, GEMM_C);
    double row_scale = (double)data[INT8_ROW_SCALES][i];
    for (size_t j = 0; j < span->count; j++) {
        double scale = (double)data[INT8_COLUMN_SCALES][j], sum = span->expected[j];
        double bias = item->extent[INT8_EX_BIAS] ? (double)data[INT8_BIAS][j] : 0.0;
        double product = sum * row_scale * scale, exact = product + bias;
        float plain = (float)sum * (float)row_scale * (float)scale + (float)bias;
        span->expected[j] = stored(storage, exact);
        span->plain[j] = (double)storage_round(storage, plain);
        span->bound[j] =
            isfinite(exact) ? bound_stored_as(storage, exact) + bound_scaled(product, bias) : 0.0;
        span->floor[j] = span->bound[j];
    }
}

void int8_expect(const struct lesson_case *item, const float *const *data, size_t unit,
                 struct lesson_expectation *e)
{
    struct ref_gemm_shape shape = gemm_shape(item), panel;
    struct lesson_span *span = &e->span[0];
    const float *b;
    e->span_count = 1;
    span->buffer = GEMM_C;
    span->first = unit * (size_t)shape.ldc;
    span->count = (size_t)shape.n;
    for (int first = 0; first < shape.n; first += panel.n) {
        gemm_panel(&shape, data[GEMM_B], e->shared, first, &panel, &b);
        ref_gemm_row(&panel, (int)unit, data[GEMM_A], b, NULL, span->expected + first, NULL);
    }
    if (is_scaled(item)) {
        scale_row(item, data, unit, span);
        return;
    }
    for (size_t j = 0; j < span->count; j++) {
        span->plain[j] = span->expected[j];
        span->bound[j] = span->floor[j] = bound_stored_as(STORAGE_I32, span->expected[j]);
    }
}

/* ---- all elements at once -------------------------------------------------------------------------------- */

/* C x = A (B x), for three random x from [-512, 512)^n that a kernel cannot predict. Unscaled, all numbers here
 * are integers below 2^53, and each x misses a wrong element with a probability of 1/1024. Sums of such data, which
 * are random and of both signs, stay below 2^24, so the floats that C is converted to are exact. */
int int8_identity(const struct lesson_case *item, const float *const *data, const float *const *got,
                  const double *allowed, uint64_t seed, char *reason, size_t size)
{
    const struct ref_gemm_shape shape = gemm_shape(item);
    const size_t m = (size_t)shape.m, n = (size_t)shape.n, k = (size_t)shape.k;
    const struct freivalds_matrix of_a = {data[GEMM_A], (size_t)shape.lda, shape.transpose_a, m, k},
                                  of_b = {data[GEMM_B], (size_t)shape.ldb, shape.transpose_b, k, n},
                                  claim = {got[GEMM_C], (size_t)shape.ldc, 0, m, n};
    double *x = calloc(FREIVALDS_TURNS * (2 * n + k + 2 * m), sizeof *x), bias[FREIVALDS_TURNS] = {0.0};
    if (x == NULL) {
        snprintf(reason, size, "no memory for Freivalds' identity");
        return 0;
    }
    double *scaled = x + FREIVALDS_TURNS * n, *bx = scaled + FREIVALDS_TURNS * n,
           *right = bx + FREIVALDS_TURNS * k, *residual = right + FREIVALDS_TURNS * m;
    for (size_t turn = 0; turn < FREIVALDS_TURNS; turn++) {
        struct rng rng = {rng_mix(seed, turn)};
        for (size_t j = 0; j < n; j++) {
            const double random = (double)(int)(rng_next(&rng) % (2 * LARGEST_WEIGHT)) - LARGEST_WEIGHT;
            x[turn * n + j] = random;
            scaled[turn * n + j] = random * (is_scaled(item) ? (double)data[INT8_COLUMN_SCALES][j] : 1.0);
            if (item->extent[INT8_EX_BIAS]) bias[turn] += random * (double)data[INT8_BIAS][j];
        }
    }
    freivalds_multiply(&of_b, scaled, bx);
    freivalds_multiply(&of_a, bx, right);
    freivalds_multiply(&claim, x, residual);
    for (size_t turn = 0; turn < FREIVALDS_TURNS; turn++)
        for (size_t i = turn * m; i < (turn + 1) * m; i++) {
            if (is_scaled(item))
                right[i] = right[i] * (double)data[INT8_ROW_SCALES][i - turn * m] + bias[turn];
            residual[i] = fabs(residual[i] - right[i]);
        }
    const double limit =
        is_scaled(item) ? FREIVALDS_DEVIATIONS * allowed[GEMM_C] * sqrt((double)n) * LARGEST_WEIGHT : 0.0;
    const int holds = freivalds_judge(residual, m, limit, "B", reason, size);
    free(x);
    return holds;
}

void int8_cost(const struct lesson_case *item, struct lesson_cost *cost)
{
    gemm_cost(item, cost);
    double m = item->extent[GEMM_M], n = item->extent[GEMM_N], k = item->extent[GEMM_K];
    cost->oracle_ops = 2.0 * m * n * k;
    cost->tensor_cores = cost->int8 = 1;
    if (is_scaled(item)) cost->min_bytes += 4.0 * (m + n * (item->extent[INT8_EX_BIAS] ? 2.0 : 1.0));
}
