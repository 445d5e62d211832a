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
    int unsigned_row, unsigned_column; /* 1: only the magnitude of a scale counts */
    int as_float;                      /* 1: only where sums are not scaled */
    enum {
        IN_PLACE,
        NEXT_TO,
        EVEN_TWICE,
        EIGHT_APART,
        INTERLEAVED,
        IN_HALVES
    } rows,
        columns; /* whose sum is stored */
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
    {.message = "the sign of a row's scale is lost: where row_scales is negative, its magnitude is taken",
     .scaled = 1,
     .unsigned_row = 1},
    {.message =
         "the sign of a column's scale is lost: where column_scales is negative, its magnitude is taken",
     .scaled = 1,
     .unsigned_column = 1},
    {.message = "the signs of both scales are lost: the magnitudes are taken",
     .scaled = 1,
     .unsigned_row = 1,
     .unsigned_column = 1},
    {.message = "the sum is rounded to a float, which holds every whole number only up to 2^24",
     .as_float = 1},
    {.message = "every odd row holds the sums of the even row before it", .rows = EVEN_TWICE},
    {.message = "every odd column holds the sums of the even column before it", .columns = EVEN_TWICE},
    {.message = "neighbouring rows are exchanged: the sums of row i are stored in row i ^ 1",
     .rows = NEXT_TO},
    {.message = "neighbouring columns are exchanged: the sums of column j are stored in column j ^ 1",
     .columns = NEXT_TO},
    {.message = "rows 8 apart are exchanged: a lane has sums of rows g and g + 8 of a fragment",
     .rows = EIGHT_APART},
    {.message =
         "of every 16 rows the first 8 are stored in the even rows, the last 8 in the odd ones: are rows "
         "loaded into a fragment in the order in which its sums are stored?",
     .rows = INTERLEAVED},
    {.message =
         "of every 16 columns the first 8 are stored in the even columns, the last 8 in the odd ones: are "
         "columns loaded into a fragment in the order in which its sums are stored?",
     .columns = INTERLEAVED},
    {.message =
         "of every 16 rows and columns the first 8 are stored in the even ones, the last 8 in the odd ones: "
         "are rows and columns loaded into a fragment in the order in which its sums are stored?",
     .rows = INTERLEAVED,
     .columns = INTERLEAVED},
    {.message =
         "of every 16 rows the even ones are stored in the first 8, the odd ones in the last 8: are rows "
         "loaded into a fragment in the order in which its sums are stored?",
     .rows = IN_HALVES},
    {.message =
         "of every 16 columns the even ones are stored in the first 8, the odd ones in the last 8: are "
         "columns loaded into a fragment in the order in which its sums are stored?",
     .columns = IN_HALVES},
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
    return mistake->as_float ? (double)(float)sum : narrowed(sum, mistake->sixteen_bits);
}

static double scale_of(float scale, int ignored, int magnitude_only)
{
    return ignored ? 1.0 : magnitude_only ? fabs((double)scale) : (double)scale;
}

/* Whose sum is stored in row or column @p at. */
static size_t taken_from(int order, size_t at)
{
    enum { FRAGMENT = 16 };
    size_t within = at % FRAGMENT, first = at - within;
    switch (order) {
    case NEXT_TO:
        return at ^ 1;
    case EVEN_TWICE:
        return at - at % 2;
    case EIGHT_APART:
        return at ^ (FRAGMENT / 2);
    case INTERLEAVED:
        return first + within / 2 + within % 2 * (FRAGMENT / 2);
    case IN_HALVES:
        return first + within % (FRAGMENT / 2) * 2 + within / (FRAGMENT / 2);
    default:
        return at;
    }
}

/* What becomes of @p sum. */
static double scaled(const struct lesson_case *item, const float *const *data, const struct mistake *mistake,
                     size_t i, size_t j, double sum)
{
    if (!(item->extent[GEMM_EX_FLAGS] & GEMM_DEQUANTISED)) return sum;
    size_t row = mistake->exchanged || mistake->row_of_column ? j : i, column = mistake->exchanged ? i : j;
    double of_row = scale_of(data[INT8_ROW_SCALES][row], mistake->no_row, mistake->unsigned_row);
    double of_column =
        scale_of(data[INT8_COLUMN_SCALES][column], mistake->no_column, mistake->unsigned_column);
    double bias = item->extent[INT8_EX_BIAS] && !mistake->no_bias ? (double)data[INT8_BIAS][j] : 0.0;
    return mistake->bias_first ? (sum + bias) * of_row * of_column : sum * of_row * of_column + bias;
}

/* 1 if the mistake can be made at row @p i and column @p j, and changes anything. */
static int applies(const struct lesson_case *item, const struct mistake *mistake, size_t i, size_t j)
{
    const int is_scaled = (item->extent[GEMM_EX_FLAGS] & GEMM_DEQUANTISED) != 0;
    if ((mistake->scaled && !is_scaled) || (mistake->as_float && is_scaled)) return 0;
    /* Lines of two kinds in turn: of more than two nobody can tell which was taken. */
    const int alike = item->distribution == INT8_EXTREMES;
    if (alike && mistake->rows != IN_PLACE && item->extent[GEMM_M] > 2) return 0;
    if (alike && mistake->columns != IN_PLACE && item->extent[GEMM_N] > 2) return 0;
    /* Nobody knows what is stored there of rows and columns past the end. */
    if (taken_from((int)mistake->rows, i) >= (size_t)item->extent[GEMM_M]) return 0;
    if (taken_from((int)mistake->columns, j) >= (size_t)item->extent[GEMM_N]) return 0;
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
    double sum = sum_with(item, data, mistake, taken_from((int)mistake->rows, i),
                          taken_from((int)mistake->columns, j));
    *value = scaled(item, data, mistake, i, j, sum);
    return 1;
}

int int8_trait(const struct lesson_case *item, int index, const char **message)
{
    static const char *const messages[] = {
        "only cases fail in which A and B are both transposed or neither is, so that the elements of one "
        "follow "
        "one another along k, and those of the other do not: is the layout of A taken from trans_a and that "
        "of "
        "B from trans_b, and do both come in the same order of k?",
        "only cases fail in which A is transposed or B is not, so that the bytes of a line of it lie apart: "
        "are "
        "they in the right order of k, and each in its own line, once they are in registers?",
    };
    enum { TRAITS = sizeof messages / sizeof messages[0] };
    const int of_a = item->extent[GEMM_TRANS_A] != 0, of_b = item->extent[GEMM_TRANS_B] != 0;
    if (index >= TRAITS) return gemm_trait(item, index - TRAITS, message);
    *message = messages[index];
    return index == 0 ? of_a == of_b : of_a || !of_b;
}
