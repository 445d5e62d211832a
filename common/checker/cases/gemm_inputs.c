/**
 * @file gemm_inputs.c
 * @brief Buffers of products and what is in them.
 */
#include "gemm_inputs.h"

#include <math.h>
#include <stdio.h>

#include "gemm_cases.h"
#include "int8_cases.h"
#include "base/parallel.h"

enum { ELEMS_A_PIECE = 1 << 16, APART_OF_INFINITIES = 7 };

/* How much of 1 remains of a pair of terms: little, but more than the rounding error of a half of size 1. */
#define CANCEL_REST 0x1p-8

enum storage gemm_storage(const struct lesson_case *item, int index)
{
    int flags = item->extent[GEMM_EX_FLAGS];
    if (flags & GEMM_INT8 && index != GEMM_C) return STORAGE_S8;
    if (flags & GEMM_INT8 && !(flags & GEMM_DEQUANTISED)) return STORAGE_I32;
    int dtype = item->extent[index == GEMM_C ? GEMM_DTYPE_OUT : GEMM_DTYPE_IN];
    return dtype == DTYPE_BF16 ? STORAGE_BF16 : dtype == DTYPE_F16 ? STORAGE_F16 : STORAGE_F32;
}

struct ref_gemm_shape gemm_shape(const struct lesson_case *item)
{
    const int *extent = item->extent;
    return (struct ref_gemm_shape){.m = extent[GEMM_M],
                                   .n = extent[GEMM_N],
                                   .k = extent[GEMM_K],
                                   .transpose_a = extent[GEMM_TRANS_A],
                                   .transpose_b = extent[GEMM_TRANS_B],
                                   .lda = extent[GEMM_LDA],
                                   .ldb = extent[GEMM_LDB],
                                   .ldc = extent[GEMM_LDC],
                                   .alpha = (double)(float)item->real[GEMM_ALPHA],
                                   .beta = (double)(float)item->real[GEMM_BETA]};
}

/** A matrix as it is stored. */
struct stored {
    int rows, cols, leading, transposed;
};

static struct stored stored(const struct lesson_case *item, int index)
{
    const int *extent = item->extent;
    if (index == GEMM_C) return (struct stored){extent[GEMM_M], extent[GEMM_N], extent[GEMM_LDC], 0};
    int rows = extent[index == GEMM_A ? GEMM_M : GEMM_K], cols = extent[index == GEMM_A ? GEMM_K : GEMM_N];
    int transposed = extent[index == GEMM_A ? GEMM_TRANS_A : GEMM_TRANS_B];
    return (struct stored){transposed ? cols : rows, transposed ? rows : cols,
                           extent[index == GEMM_A ? GEMM_LDA : GEMM_LDB], transposed};
}

/* A matrix without elements still gets one, so that there is memory that must not be read. */
static size_t at_least_1(int extent)
{
    return extent > 0 ? (size_t)extent : 1;
}

int gemm_buffers(const struct lesson_case *item, struct lesson_buffer *buffers)
{
    static const char *const names[GEMM_BUFFERS] = {"a", "b", "c"};
    for (int index = GEMM_A; index < GEMM_BUFFERS; index++) {
        struct stored matrix = stored(item, index);
        enum wire_role role = WIRE_IN;
        if (index == GEMM_C) role = item->real[GEMM_BETA] != 0.0 ? WIRE_INOUT : WIRE_OUT;
        buffers[index] = LESSON_BUFFER(names[index], role, gemm_storage(item, index), at_least_1(matrix.rows),
                                       (size_t)matrix.leading);
        buffers[index].row = at_least_1(matrix.cols);
    }
    return GEMM_BUFFERS;
}

/* Element (i, p) of op(A), or (j, p) of the transpose of op(B); @p line is i or j. */
static double element(const struct lesson_case *item, int index, int line, int p, double noise,
                      double partner)
{
    int a = index == GEMM_A, k = item->extent[GEMM_K];
    int narrow = item->extent[GEMM_DTYPE_OUT] == DTYPE_F16;
    switch (item->distribution) {
    case GEMM_LARGE:
        return a || !narrow ? 1e3 * noise : 0x1p-7 * noise;
    case GEMM_VAST:
        return ldexp(noise, 60);
    case GEMM_DISJOINT:
        return a == (p % 2 == 0) ? 0.0 : copysign(4.0, noise) + noise;
    case GEMM_SMALL:
        return a || !narrow ? 1e-4 * noise : noise;
    case GEMM_UNLIKE:
        return (a ? 1e3 : 1e-4) * noise;
    /* the second term of a pair: the same element of A; of B the opposite plus a small rest */
    case GEMM_CANCEL:
        if (p % 2 == 1) return a ? partner : CANCEL_REST * noise - partner;
        return p == k - 1 ? CANCEL_REST * noise : noise;
    case GEMM_POSITIVE:
        return fabs(noise) < 1.0 ? fabs(noise) : 0.5;
    case GEMM_SPREAD:
        return ldexp(noise, p % 13 - 6);
    case GEMM_HUGE: /* all terms of a large sum have the same sign */
        if (!a) return fmin(fabs(noise), 4.0) + 0.5;
        return line % 3 != 0 ? 0x1p-6 * noise : (line % 2 ? -0x1p14 : 0x1p14);
    case GEMM_SUBNORMAL:
        return a ? 1e-6 * noise : noise;
    case GEMM_NAN_A:
        return a && line % 5 == 2 && p == k - 1 ? (double)NAN : noise;
    case GEMM_NAN_B:
        return !a && line % 7 == 3 && p == k / 2 ? (double)NAN : noise;
    case GEMM_INF_A:
    case GEMM_INF_B:
        /* In 2 k lines every place along k has one, in fewer some of every tile, with finite lines between: whatever pads the
         * other operand, or is read in place of what is not there, meets none. In those that follow there are two. */
        if (a != (item->distribution == GEMM_INF_A) || line % 2 != 0) return noise;
        if (p == line / 2 * APART_OF_INFINITIES % k) return (double)INFINITY;
        return line >= 2 * k && p == k - 1 ? (double)-INFINITY : noise;
    case GEMM_NAN_AB:
        return (double)NAN;
    default:
        return noise;
    }
}

/* The numbers depend on place and seed alone, so a matrix is the same however it is stored. */
static double noise_at(uint64_t seed, int line, int p)
{
    struct rng rng = {seed + rng_mix((uint64_t)line, (uint64_t)p)};
    return rng_normal(&rng);
}

static double c_element(const struct lesson_case *item, size_t row, size_t col, double noise)
{
    return item->distribution == GEMM_NAN_C && (row + col) % 11 == 4 ? (double)NAN : noise;
}

/** A matrix that is being filled, by several threads. */
struct filling {
    const struct lesson_case *item;
    int index;
    struct stored matrix;
    uint64_t seed;
    float *data;
};

/* Bytes cannot be NaN, so elements between rows hold a number that changes any sum. */
static double int8_value_at(const struct filling *f, size_t row, size_t col)
{
    if (col >= (size_t)f->matrix.cols || row >= (size_t)f->matrix.rows) return 113.0;
    int swapped = (f->index == GEMM_B) != f->matrix.transposed;
    int line = (int)(swapped ? col : row), p = (int)(swapped ? row : col);
    struct rng rng = {f->seed + rng_mix((uint64_t)line, (uint64_t)p)};
    return int8_element(f->item, f->index, line, p, rng_next(&rng));
}

static double value_at(const struct filling *f, size_t row, size_t col)
{
    if (f->item->extent[GEMM_EX_FLAGS] & GEMM_INT8 && f->index != GEMM_C) return int8_value_at(f, row, col);
    /* Elements between rows are NaN in matrices that are only read, and a number where they must be kept. */
    if (col >= (size_t)f->matrix.cols || row >= (size_t)f->matrix.rows)
        return f->index == GEMM_C ? 1e4 * noise_at(f->seed, (int)row, (int)col) : (double)NAN;
    if (f->index == GEMM_C) return c_element(f->item, row, col, noise_at(f->seed, (int)row, (int)col));
    int swapped = (f->index == GEMM_B) != f->matrix.transposed;
    int line = (int)(swapped ? col : row), p = (int)(swapped ? row : col);
    double partner = 0.0;
    if (f->item->distribution == GEMM_CANCEL && p % 2 == 1)
        partner =
            (double)storage_round(gemm_storage(f->item, f->index), (float)noise_at(f->seed, line, p - 1));
    return element(f->item, f->index, line, p, noise_at(f->seed, line, p), partner);
}

/* How many elements of a row, at most @p most, are noise and nothing else. */
static size_t noise_behind(const struct filling *f, size_t row, size_t col, size_t most)
{
    const size_t cols = (size_t)f->matrix.cols;
    if (f->item->extent[GEMM_EX_FLAGS] & GEMM_INT8 || f->item->distribution != GEMM_NORMAL || col >= cols ||
        row >= (size_t)f->matrix.rows)
        return 0;
    return cols - col < most ? cols - col : most;
}

static void fill_piece(void *context, size_t first, size_t last)
{
    const struct filling *f = context;
    size_t leading = (size_t)f->matrix.leading;
    for (size_t at = first; at < last; at++) {
        const size_t row = at / leading, col = at % leading, alike = noise_behind(f, row, col, last - at);
        const int swapped = f->index != GEMM_C && (f->index == GEMM_B) != f->matrix.transposed;
        if (alike > 0)
            rng_fill_mixed(f->seed, swapped ? col : row, swapped, swapped ? row : col, !swapped, f->data + at,
                           alike);
        else
            f->data[at] = (float)value_at(f, row, col);
        at += alike > 0 ? alike - 1 : 0;
    }
}

void gemm_fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data)
{
    struct filling filling = {item, index, stored(item, index), rng_next(rng), data};
    parallel_for(elems, ELEMS_A_PIECE, fill_piece, &filling);
}

void gemm_describe(const struct lesson_case *item, char *text, size_t size)
{
    static const char *const dtypes[] = {"f32", "f16", "bf16"};
    const int64_t *value = item->value;
    int in = value[GEMM_DTYPE_IN] >= 0 && value[GEMM_DTYPE_IN] <= DTYPE_BF16;
    int out = value[GEMM_DTYPE_OUT] >= 0 && value[GEMM_DTYPE_OUT] <= DTYPE_BF16;
    int used = snprintf(text, size, "m %lld, n %lld, k %lld", (long long)value[GEMM_M],
                        (long long)value[GEMM_N], (long long)value[GEMM_K]);
    if (item->extent[GEMM_EX_FLAGS] & (GEMM_GENERAL | GEMM_INT8))
        used += snprintf(text + used, size - (size_t)used, ", %c%c", value[GEMM_TRANS_A] ? 'T' : 'N',
                         value[GEMM_TRANS_B] ? 'T' : 'N');
    int a_cols = item->extent[item->extent[GEMM_TRANS_A] ? GEMM_M : GEMM_K];
    int b_cols = item->extent[item->extent[GEMM_TRANS_B] ? GEMM_K : GEMM_N];
    if (value[GEMM_LDA] != a_cols || value[GEMM_LDB] != b_cols || value[GEMM_LDC] != value[GEMM_N])
        used += snprintf(text + used, size - (size_t)used, ", lda %lld, ldb %lld, ldc %lld",
                         (long long)value[GEMM_LDA], (long long)value[GEMM_LDB], (long long)value[GEMM_LDC]);
    if (item->real[GEMM_ALPHA] != 1.0 || item->real[GEMM_BETA] != 0.0)
        used += snprintf(text + used, size - (size_t)used, ", alpha %g, beta %g", item->real[GEMM_ALPHA],
                         item->real[GEMM_BETA]);
    if ((item->extent[GEMM_EX_FLAGS] & GEMM_CHOOSES_STAGES) && item->group != GROUP_SPEED)
        used += snprintf(text + used, size - (size_t)used, ", %lld stages", (long long)value[GEMM_CHOICE]);
    if ((item->extent[GEMM_EX_FLAGS] & GEMM_CHOOSES_TILE) && item->group != GROUP_SPEED)
        used += snprintf(text + used, size - (size_t)used, ", tile %lld", (long long)value[GEMM_CHOICE]);
    static const char *const names[GEMM_BUFFERS] = {"a", "b", "c"};
    for (int buffer = GEMM_A, begun = 0; buffer < GEMM_BUFFERS; buffer++)
        if (item->start[buffer] != 0)
            used += snprintf(text + used, size - (size_t)used, "%s %s+%d", begun++ ? "" : ", at",
                             names[buffer], item->start[buffer]);
    if (item->flags & CASE_SMALL_DEVICE) used += snprintf(text + used, size - (size_t)used, ", few SMs");
    if (item->extent[GEMM_EX_FLAGS] & GEMM_INT8) {
        int dequantised = item->extent[GEMM_EX_FLAGS] & GEMM_DEQUANTISED;
        const char *stored = !dequantised ? "int32" : out ? dtypes[value[GEMM_DTYPE_OUT]] : "other dtype";
        snprintf(text + used, size - (size_t)used, ", int8 -> %s", stored);
        return;
    }
    snprintf(text + used, size - (size_t)used, ", %s -> %s",
             in ? dtypes[value[GEMM_DTYPE_IN]] : "other dtype",
             out ? dtypes[value[GEMM_DTYPE_OUT]] : "other dtype");
}
