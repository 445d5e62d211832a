/**
 * @file int8_guess.c
 * @brief Mistakes that only products of bytes have; after them those of every product, scaled (gemm_guess.c).
 */
#include <math.h>
#include <stdio.h>

#include "int8_cases.h"

/** What is done with the bytes and with their sum. */
struct mistake {
    const char *message;
    int scaled; /* 1: only where sums are scaled */
    int unsigned_a, unsigned_b;
    int sixteen_bits; /* 1: the sum wraps around at 16 bits; 2: it saturates there */
    int no_row, no_column, no_bias, exchanged, bias_first, row_of_column;
};

static const struct mistake MISTAKES[] = {
    {.message = "A's bytes are taken as unsigned", .unsigned_a = 1},
    {.message = "B's bytes are taken as unsigned", .unsigned_b = 1},
    {.message = "the bytes of both matrices are taken as unsigned", .unsigned_a = 1, .unsigned_b = 1},
    {.message = "the sum is kept in 16 bits: it wraps around", .sixteen_bits = 1},
    {.message = "the sum saturates at 16 bits", .sixteen_bits = 2},
    {.message = "row_scales is ignored", .scaled = 1, .no_row = 1},
    {.message = "column_scales is ignored", .scaled = 1, .no_column = 1},
    {.message = "neither scale is applied", .scaled = 1, .no_row = 1, .no_column = 1},
    {.message = "the bias is ignored", .scaled = 1, .no_bias = 1},
    {.message = "row_scales is read by column and column_scales by row", .scaled = 1, .exchanged = 1},
    {.message = "the bias is added before the scales are applied", .scaled = 1, .bias_first = 1},
    {.message = "row_scales is read by column", .scaled = 1, .row_of_column = 1},
};

enum { OWN = sizeof MISTAKES / sizeof MISTAKES[0] };

static double narrowed(double sum, int how)
{
    if (how == 1) return sum - 65536.0 * floor((sum + 32768.0) / 65536.0);
    return how == 2 ? fmin(fmax(sum, -32768.0), 32767.0) : sum;
}

static double byte_of(float value, int taken_as_unsigned)
{
    return taken_as_unsigned && value < 0.0f ? (double)value + 256.0 : (double)value;
}

static double sum_with(const struct lesson_case *item, const float *const *data,
                       const struct mistake *mistake, size_t i, size_t j)
{
    const int *extent = item->extent;
    size_t lda = (size_t)extent[GEMM_LDA], ldb = (size_t)extent[GEMM_LDB];
    double sum = 0.0;
    for (size_t p = 0; p < (size_t)extent[GEMM_K]; p++) {
        float a = data[GEMM_A][extent[GEMM_TRANS_A] ? p * lda + i : i * lda + p];
        float b = data[GEMM_B][extent[GEMM_TRANS_B] ? j * ldb + p : p * ldb + j];
        sum += byte_of(a, mistake->unsigned_a) * byte_of(b, mistake->unsigned_b);
    }
    return narrowed(sum, mistake->sixteen_bits);
}

/* What becomes of @p sum. */
static double scaled(const struct lesson_case *item, const float *const *data, const struct mistake *mistake,
                     size_t i, size_t j, double sum)
{
    if (!(item->extent[GEMM_EX_FLAGS] & GEMM_DEQUANTISED)) return sum;
    size_t row = mistake->exchanged || mistake->row_of_column ? j : i, column = mistake->exchanged ? i : j;
    double of_row = mistake->no_row ? 1.0 : (double)data[INT8_ROW_SCALES][row];
    double of_column = mistake->no_column ? 1.0 : (double)data[INT8_COLUMN_SCALES][column];
    double bias = item->extent[INT8_EX_BIAS] && !mistake->no_bias ? (double)data[INT8_BIAS][j] : 0.0;
    return mistake->bias_first ? (sum + bias) * of_row * of_column : sum * of_row * of_column + bias;
}

/* 1 if the mistake can be made at row @p i and column @p j, and changes anything. */
static int applies(const struct lesson_case *item, const struct mistake *mistake, size_t i, size_t j)
{
    if (mistake->scaled && !(item->extent[GEMM_EX_FLAGS] & GEMM_DEQUANTISED)) return 0;
    if ((mistake->no_bias || mistake->bias_first) && !item->extent[INT8_EX_BIAS]) return 0;
    if ((mistake->exchanged || mistake->row_of_column) && j >= (size_t)item->extent[GEMM_M]) return 0;
    return !mistake->exchanged || i < (size_t)item->extent[GEMM_N];
}

int int8_guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
               double *value, char *message, size_t size)
{
    static const struct mistake none = {0};
    size_t ldc = (size_t)item->extent[GEMM_LDC], i = at / ldc, j = at % ldc;
    if (index >= OWN) {
        int says = gemm_guess(item, data, index - OWN, buffer, at, value, message, size);
        if (says == 1) *value = scaled(item, data, &none, i, j, *value);
        return says;
    }
    const struct mistake *mistake = &MISTAKES[index];
    if (buffer != GEMM_C || !applies(item, mistake, i, j)) return 0;
    snprintf(message, size, "%s", mistake->message);
    *value = scaled(item, data, mistake, i, j, sum_with(item, data, mistake, i, j));
    return 1;
}
