/**
 * @file gemm_guess.c
 * @brief Products: what a kernel would compute with a well-known mistake in it.
 */
#include <math.h>

#include "int8_cases.h"
#include "misread.h"
#include "mistakes.h"

/** Numbers of mistakes; brackets say what mistake.size means. */
enum gemm_mistake {
    /* clang-format off */
    /* places */
    EXCHANGED_INDICES = 1, A_OTHERWISE, B_OTHERWISE, BOTH_OTHERWISE, A_DENSE, B_DENSE,
    /* elements and factors */
    READ_AS_F16, READ_AS_BF16, FLUSHED, ALPHA_IGNORED, ALPHA_TWICE, ALPHA_ON_C, BETA_IGNORED, BETA_AS_1, FACTORS_IGNORED,
    /* the tail of tiles of [k] */
    PADDED_WITH_ONES,
    /* bytes and their sum */
    A_UNSIGNED, B_UNSIGNED, BOTH_UNSIGNED, SIXTEEN_BITS, SATURATED, AS_FLOAT,
    /* scales */
    NO_ROW_SCALE, NO_COLUMN_SCALE, NO_SCALES, NO_BIAS, SCALES_EXCHANGED, BIAS_FIRST, ROW_SCALE_BY_COLUMN, ROW_SIGN_LOST,
    COLUMN_SIGN_LOST, SIGNS_LOST, SUM_0_UNSCALED, SUM_0_IS_0,
    /* to 16 bits, before they are added */
    PRODUCT_ROUNDED, C_ROUNDED, BOTH_ROUNDED, FACTORS_ROUNDED, TERMS_ROUNDED
    /* clang-format on */
};

/** mistake_row.where: what a case needs to show the mistake. */
enum { OTHER_ALPHA = 1, A_BETA = 2, SCALED = 4, NOT_SCALED = 8, A_BIAS = 16 };

/** What may be read at other indices, and along what. */
enum { OF_A = 1, OF_B = 2, OF_ROW_SCALE = 4, OF_COLUMN_SCALE = 8, OF_BIAS = 16 };
enum { ALONG_ROWS, ALONG_COLUMNS, ALONG_K };

/* clang-format off */
static const struct mistake_row MISTAKES[] = {
    {EXCHANGED_INDICES, RECORD_CAUSE_TRANSPOSED_OUTPUT, .message = "transposed: every element is that of row j, column i"},
    {A_OTHERWISE, RECORD_CAUSE_LAYOUT, .message = "as if A were stored the other way round: is trans_a respected?"},
    {B_OTHERWISE, RECORD_CAUSE_LAYOUT, .message = "as if B were stored the other way round: is trans_b respected?"},
    {BOTH_OTHERWISE, RECORD_CAUSE_LAYOUT, .message = "as if both A and B were stored the other way round"},
    {A_DENSE, RECORD_CAUSE_LEADING_DIMENSION,
     .message = "as if the rows of A followed one another without a gap: is lda respected?"},
    {B_DENSE, RECORD_CAUSE_LEADING_DIMENSION,
     .message = "as if the rows of B followed one another without a gap: is ldb respected?"},
    {READ_AS_F16, RECORD_CAUSE_STORAGE_TYPE, .message = "A and B are bf16, and are multiplied as if they were f16"},
    {READ_AS_BF16, RECORD_CAUSE_STORAGE_TYPE, .message = "A and B are f16, and are multiplied as if they were bf16"},
    {FLUSHED, RECORD_CAUSE_STORAGE_TYPE, .message = "elements of A and B that are subnormal halves, below 2^-14, are taken as 0"},
    {FACTORS_ROUNDED, RECORD_CAUSE_ALPHA_BETA,
     .message = "alpha and beta are rounded to the type of A and B: they are floats, and stay floats"},
    {TERMS_ROUNDED, RECORD_CAUSE_ACCUMULATOR,
     .message = "each product of two elements is rounded to their type before it is added: in float it is exact"},
    {ALPHA_IGNORED, RECORD_CAUSE_ALPHA_BETA, .where = OTHER_ALPHA, .message = "alpha is ignored"},
    {ALPHA_TWICE, RECORD_CAUSE_ALPHA_BETA, .where = OTHER_ALPHA, .message = "alpha is applied twice"},
    {ALPHA_ON_C, RECORD_CAUSE_ALPHA_BETA, .where = OTHER_ALPHA | A_BETA, .message = "alpha is applied to beta * C as well"},
    {BETA_IGNORED, RECORD_CAUSE_ALPHA_BETA, .where = A_BETA, .message = "beta is ignored: what C held is missing"},
    {BETA_AS_1, RECORD_CAUSE_ALPHA_BETA, .where = A_BETA, .message = "beta is taken as 1"},
    {FACTORS_IGNORED, RECORD_CAUSE_ALPHA_BETA, .where = OTHER_ALPHA | A_BETA, .message = "alpha and beta are both ignored"},
    {PRODUCT_ROUNDED, RECORD_CAUSE_ACCUMULATOR, .where = A_BETA,
     .message = "alpha times the sum is rounded to the type of C before beta * C is added: add first, and round once"},
    {C_ROUNDED, RECORD_CAUSE_ACCUMULATOR, .where = A_BETA,
     .message = "beta * C is rounded to the type of C before it is added: add first, and round once"},
    {BOTH_ROUNDED, RECORD_CAUSE_ACCUMULATOR, .where = A_BETA,
     .message = "alpha times the sum, and beta * C, are rounded to the type of C before they are added: round once"},
    {PADDED_WITH_ONES, RECORD_CAUSE_K_TAIL,
     .message = "the tail of the last K tile (of %d) is padded with ones: what pads must be 0", .sizes = {16, 32, 64}},
};

/** Mistakes that only products of bytes have. Their table comes first there. */
static const struct mistake_row MISTAKES_OF_BYTES[] = {
    {A_UNSIGNED, RECORD_CAUSE_BYTES, .message = "A's bytes are taken as unsigned"},
    {B_UNSIGNED, RECORD_CAUSE_BYTES, .message = "B's bytes are taken as unsigned"},
    {BOTH_UNSIGNED, RECORD_CAUSE_BYTES, .message = "the bytes of both matrices are taken as unsigned"},
    {SIXTEEN_BITS, RECORD_CAUSE_ACCUMULATOR, .message = "the sum is kept in 16 bits: it wraps around"},
    {SATURATED, RECORD_CAUSE_ACCUMULATOR, .message = "the sum saturates at 16 bits"},
    {NO_ROW_SCALE, RECORD_CAUSE_DEQUANTISATION, .where = SCALED, .message = "row_scales is ignored"},
    {NO_COLUMN_SCALE, RECORD_CAUSE_DEQUANTISATION, .where = SCALED, .message = "column_scales is ignored"},
    {NO_SCALES, RECORD_CAUSE_DEQUANTISATION, .where = SCALED, .message = "neither scale is applied"},
    {NO_BIAS, RECORD_CAUSE_BIAS, .where = SCALED | A_BIAS, .message = "the bias is ignored"},
    {SCALES_EXCHANGED, RECORD_CAUSE_DEQUANTISATION, .where = SCALED,
     .message = "row_scales is read by column and column_scales by row"},
    {PRODUCT_ROUNDED, RECORD_CAUSE_BIAS, .where = SCALED | A_BIAS,
     .message = "the scaled sum is rounded to the type of C before the bias is added: add first, and round once"},
    {BOTH_ROUNDED, RECORD_CAUSE_BIAS, .where = SCALED | A_BIAS,
     .message = "the scaled sum and the bias are rounded to the type of C before they are added: round once"},
    {BIAS_FIRST, RECORD_CAUSE_BIAS, .where = SCALED | A_BIAS, .message = "the bias is added before the scales are applied"},
    {ROW_SCALE_BY_COLUMN, RECORD_CAUSE_DEQUANTISATION, .where = SCALED, .message = "row_scales is read by column"},
    {ROW_SIGN_LOST, RECORD_CAUSE_DEQUANTISATION, .where = SCALED,
     .message = "the sign of a row's scale is lost: where row_scales is negative, its magnitude is taken"},
    {COLUMN_SIGN_LOST, RECORD_CAUSE_DEQUANTISATION, .where = SCALED,
     .message = "the sign of a column's scale is lost: where column_scales is negative, its magnitude is taken"},
    {SIGNS_LOST, RECORD_CAUSE_DEQUANTISATION, .where = SCALED,
     .message = "the signs of both scales are lost: the magnitudes are taken"},
    {SUM_0_UNSCALED, RECORD_CAUSE_DEQUANTISATION, .where = SCALED,
     .message = "a sum of 0 is not multiplied by its scales: 0 times an infinite scale is NaN"},
    {SUM_0_IS_0, RECORD_CAUSE_BIAS, .where = SCALED | A_BIAS,
     .message = "where a sum is 0, so is the result: the scales may be infinite, and the bias is added in any case"},
    {AS_FLOAT, RECORD_CAUSE_ACCUMULATOR, .where = NOT_SCALED,
     .message = "the sum is rounded to a float, which holds every whole number only up to 2^24"},
};

#define FRAGMENT "is it loaded into a fragment in the order in which its sums are stored?"
static const struct misread_row MISREADS[] = {
    {OF_A | OF_ROW_SCALE, ALONG_ROWS, 7, NULL, RECORD_CAUSE_FRAGMENT, "rows of A, or of C where it is stored", "rows", FRAGMENT, NULL},
    {OF_B | OF_COLUMN_SCALE | OF_BIAS, ALONG_COLUMNS, 7, NULL, RECORD_CAUSE_FRAGMENT, "columns of B, or of C where it is stored",
     "columns", FRAGMENT, NULL},
    {OF_A, ALONG_K, 9, NULL, RECORD_CAUSE_LAYOUT, "A and B differ along k: of A", "k", NULL, NULL},
    {OF_B, ALONG_K, 9, NULL, RECORD_CAUSE_LAYOUT, "A and B differ along k: of B", "k", NULL, NULL},
    /* of products of bytes that are scaled */
    {OF_ROW_SCALE, ALONG_ROWS, 7, NULL, RECORD_CAUSE_DEQUANTISATION, "row_scales", "rows", NULL, NULL},
    {OF_COLUMN_SCALE, ALONG_COLUMNS, 7, NULL, RECORD_CAUSE_DEQUANTISATION, "column_scales", "columns", NULL, NULL},
    {OF_BIAS, ALONG_COLUMNS, 7, NULL, RECORD_CAUSE_BIAS, "bias", "columns", NULL, NULL},
};
/* clang-format on */

enum {
    COUNT = sizeof MISTAKES / sizeof MISTAKES[0],
    COUNT_OF_BYTES = sizeof MISTAKES_OF_BYTES / sizeof MISTAKES_OF_BYTES[0],
    MISREAD_COUNT = sizeof MISREADS / sizeof MISREADS[0]
};

/** What is done wrong: a mistake, or a misreading, or nothing. */
struct wrong_product {
    struct mistake mistake;
    struct misread misread;
};

static int is(const struct mistake *mistake, int one, int other)
{
    return mistake->number == one || mistake->number == other;
}

/* ---- places ------------------------------------------------------------------------------------------------- */

/** One operand: op()[line, p] is element line * line_step + p * p_step of data, where that exists. */
struct operand {
    const float *data;
    size_t line_step, p_step, elems;
};

static struct operand operand(const struct lesson_case *item, const float *const *data, int index,
                              const struct mistake *mistake)
{
    struct lesson_buffer buffers[GEMM_BUFFERS];
    const int b = index == GEMM_B, other = is(mistake, b ? B_OTHERWISE : A_OTHERWISE, BOTH_OTHERWISE);
    gemm_buffers(item, buffers);
    const struct lesson_buffer *buffer = &buffers[index];
    size_t row = mistake->number == (b ? B_DENSE : A_DENSE) ? buffer->row : buffer->extent[1];
    /* Lines of A are its rows, those of B its columns. */
    int along_rows = b ^ item->extent[b ? GEMM_TRANS_B : GEMM_TRANS_A] ^ other;
    return (struct operand){data[index], along_rows ? 1 : row, along_rows ? row : 1, lesson_elems(buffer)};
}

/* ---- sums --------------------------------------------------------------------------------------------------- */

static double taken(const struct mistake *mistake, float x, int byte_unsigned)
{
    if (mistake->number == READ_AS_F16) return (double)storage_as_other(STORAGE_BF16, x);
    if (mistake->number == READ_AS_BF16) return (double)storage_as_other(STORAGE_F16, x);
    if (mistake->number == FLUSHED && fabsf(x) < 0x1p-14f) return 0.0;
    return is(mistake, byte_unsigned, BOTH_UNSIGNED) && x < 0.0f ? (double)x + 256.0 : (double)x;
}

static double factor_of_product(const struct lesson_case *item, const struct mistake *mistake)
{
    double alpha = item->real[GEMM_ALPHA];
    if (mistake->number == FACTORS_ROUNDED)
        return (double)storage_round(gemm_storage(item, GEMM_A), (float)alpha);
    return is(mistake, ALPHA_IGNORED, FACTORS_IGNORED) ? 1.0
           : mistake->number == ALPHA_TWICE            ? alpha * alpha
                                                       : alpha;
}

static double factor_of_c(const struct lesson_case *item, const struct mistake *mistake)
{
    double beta = item->real[GEMM_BETA];
    if (beta == 0.0 || is(mistake, BETA_IGNORED, FACTORS_IGNORED)) return 0.0;
    if (mistake->number == BETA_AS_1) return 1.0;
    if (mistake->number == FACTORS_ROUNDED)
        return (double)storage_round(gemm_storage(item, GEMM_A), (float)beta);
    return mistake->number == ALPHA_ON_C ? beta * item->real[GEMM_ALPHA] : beta;
}

/* Computes the sum of terms @p from to before @p to that is stored at (i, j), before scaling; 0 if a mistake reads what nobody knows. */
static int sum_terms(const struct lesson_case *item, const float *const *data, const struct wrong_product *w,
                     size_t i, size_t j, size_t from, size_t to, double *value)
{
    const struct mistake *mistake = &w->mistake;
    const struct operand a = operand(item, data, GEMM_A, mistake), b = operand(item, data, GEMM_B, mistake);
    const double alpha = factor_of_product(item, mistake);
    const size_t k = (size_t)item->extent[GEMM_K];
    *value = 0.0;
    for (size_t p = from; p < to && alpha != 0.0; p++) {
        const size_t p_of_a = misread_index(&w->misread, OF_A, ALONG_K, p, k),
                     p_of_b = misread_index(&w->misread, OF_B, ALONG_K, p, k);
        if (p_of_a >= k || p_of_b >= k) return 0;
        size_t of_a = i * a.line_step + p_of_a * a.p_step, of_b = j * b.line_step + p_of_b * b.p_step;
        if (of_a >= a.elems || of_b >= b.elems) return 0;
        const double term =
            taken(mistake, a.data[of_a], A_UNSIGNED) * taken(mistake, b.data[of_b], B_UNSIGNED);
        *value += alpha * (mistake->number == TERMS_ROUNDED
                               ? (double)storage_round(gemm_storage(item, GEMM_A), (float)term)
                               : term);
    }
    return 1;
}

static double times_beta(const struct lesson_case *item, const float *const *data,
                         const struct mistake *mistake, size_t i, size_t j)
{
    const double beta = factor_of_c(item, mistake);
    return beta != 0.0 ? beta * (double)data[GEMM_C][i * (size_t)item->extent[GEMM_LDC] + j] : 0.0;
}

/* As an element of C, which has 16 bits. */
static double as_stored(const struct lesson_case *item, double x)
{
    return (double)storage_round(gemm_storage(item, GEMM_C), (float)x);
}

static int is_short(enum storage storage)
{
    return storage == STORAGE_F16 || storage == STORAGE_BF16;
}

/* The product and beta * C, rounded before they are added. */
static double added_rounded(const struct lesson_case *item, int mistake, double product, double c)
{
    const double left = mistake == C_ROUNDED ? product : as_stored(item, product),
                 right = mistake == PRODUCT_ROUNDED ? c : as_stored(item, c);
    return as_stored(item, left + right);
}

/* All of them, and what is added to them; row @p i of A, or another one, and column @p j of B. */
static int find_sum(const struct lesson_case *item, const float *const *data, const struct wrong_product *w,
                    size_t i, size_t j, double *value)
{
    const struct mistake *mistake = &w->mistake;
    const size_t m = (size_t)item->extent[GEMM_M], n = (size_t)item->extent[GEMM_N];
    const size_t row = misread_index(&w->misread, OF_A, ALONG_ROWS, i, m),
                 column = misread_index(&w->misread, OF_B, ALONG_COLUMNS, j, n);
    if (w->misread.row != NULL && (row >= m || column >= n)) return 0;
    if (!sum_terms(item, data, w, row, column, 0, (size_t)item->extent[GEMM_K], value)) return 0;
    const double alpha = factor_of_product(item, mistake);
    if (mistake->number == PADDED_WITH_ONES)
        *value += alpha * (mistake->size - item->extent[GEMM_K] % mistake->size);
    const double c = times_beta(item, data, mistake, i, j);
    const int rounded = mistake->number == BOTH_ROUNDED || is(mistake, PRODUCT_ROUNDED, C_ROUNDED);
    *value = rounded && !(item->extent[GEMM_EX_FLAGS] & GEMM_DEQUANTISED)
                 ? added_rounded(item, mistake->number, *value, c)
                 : *value + c;
    if (mistake->number == AS_FLOAT) *value = (double)(float)*value;
    if (mistake->number == FACTORS_ROUNDED && is_short(gemm_storage(item, GEMM_C)))
        *value = as_stored(item, *value);
    if (mistake->number == SIXTEEN_BITS) *value -= 65536.0 * floor((*value + 32768.0) / 65536.0);
    if (mistake->number == SATURATED) *value = fmin(fmax(*value, -32768.0), 32767.0);
    return 1;
}

static double scale_of(float scale, int ignored, int magnitude_only)
{
    return ignored ? 1.0 : magnitude_only ? fabs((double)scale) : (double)scale;
}

/* The value stored for a sum of products of bytes; NaN if it is scaled by what nobody knows. */
static double scaled(const struct lesson_case *item, const float *const *data, const struct wrong_product *w,
                     size_t i, size_t j, double sum)
{
    const struct mistake *m = &w->mistake;
    const size_t rows = (size_t)item->extent[GEMM_M], columns = (size_t)item->extent[GEMM_N];
    if (!(item->extent[GEMM_EX_FLAGS] & GEMM_DEQUANTISED)) return sum;
    if (sum == 0.0 && m->number == SUM_0_IS_0) return 0.0;
    size_t row = is(m, SCALES_EXCHANGED, ROW_SCALE_BY_COLUMN) ? j : i,
           column = m->number == SCALES_EXCHANGED ? i : j,
           of_bias = misread_index(&w->misread, OF_BIAS, ALONG_COLUMNS, j, columns);
    row = misread_index(&w->misread, OF_ROW_SCALE, ALONG_ROWS, row, rows);
    column = misread_index(&w->misread, OF_COLUMN_SCALE, ALONG_COLUMNS, column, columns);
    if (row >= rows || column >= columns || of_bias >= columns) return (double)NAN;
    double of_row = scale_of(data[INT8_ROW_SCALES][row], is(m, NO_ROW_SCALE, NO_SCALES),
                             is(m, ROW_SIGN_LOST, SIGNS_LOST));
    double of_column = scale_of(data[INT8_COLUMN_SCALES][column], is(m, NO_COLUMN_SCALE, NO_SCALES),
                                is(m, COLUMN_SIGN_LOST, SIGNS_LOST));
    if (sum == 0.0 && m->number == SUM_0_UNSCALED) of_row = of_column = 1.0;
    double bias = item->extent[INT8_EX_BIAS] && m->number != NO_BIAS ? (double)data[INT8_BIAS][of_bias] : 0.0;
    if (is(m, PRODUCT_ROUNDED, BOTH_ROUNDED))
        return added_rounded(item, m->number, sum * of_row * of_column, bias);
    return m->number == BIAS_FIRST ? (sum + bias) * of_row * of_column : sum * of_row * of_column + bias;
}

/* ---- guesses ------------------------------------------------------------------------------------------------ */

/* 1 if the mistake would change the result of this item. */
static int applies(const struct lesson_case *item, unsigned where, const struct mistake *mistake)
{
    const int *extent = item->extent, k = extent[GEMM_K];
    if (where & OTHER_ALPHA && item->real[GEMM_ALPHA] == 1.0) return 0;
    if (where & A_BETA && item->real[GEMM_BETA] == 0.0) return 0;
    switch (mistake->number) {
    case PRODUCT_ROUNDED:
    case C_ROUNDED:
    case BOTH_ROUNDED:
        return is_short(gemm_storage(item, GEMM_C));
    case FACTORS_ROUNDED:
    case TERMS_ROUNDED:
        return is_short(gemm_storage(item, GEMM_A));
    case READ_AS_F16:
        return gemm_storage(item, GEMM_A) == STORAGE_BF16;
    case READ_AS_BF16:
    case FLUSHED:
        return gemm_storage(item, GEMM_A) == STORAGE_F16;
    case A_DENSE:
        return extent[GEMM_LDA] != extent[extent[GEMM_TRANS_A] ? GEMM_M : GEMM_K];
    case B_DENSE:
        return extent[GEMM_LDB] != extent[extent[GEMM_TRANS_B] ? GEMM_K : GEMM_N];
    case PADDED_WITH_ONES:
        return k % mistake->size != 0;
    default:
        return 1;
    }
}

/* The same for mistakes of products of bytes, at row @p i and column @p j. */
static int applies_to_bytes(const struct lesson_case *item, unsigned where, const struct mistake *mistake,
                            size_t i, size_t j)
{
    const size_t m = (size_t)item->extent[GEMM_M], n = (size_t)item->extent[GEMM_N];
    const int is_scaled = (item->extent[GEMM_EX_FLAGS] & GEMM_DEQUANTISED) != 0;
    if (where & (is_scaled ? NOT_SCALED : SCALED)) return 0;
    if (where & A_BIAS && !item->extent[INT8_EX_BIAS]) return 0;
    if (is(mistake, PRODUCT_ROUNDED, BOTH_ROUNDED) && !is_short(gemm_storage(item, GEMM_C))) return 0;
    if (is(mistake, SCALES_EXCHANGED, ROW_SCALE_BY_COLUMN) && j >= m) return 0;
    return mistake->number != SCALES_EXCHANGED || i < n;
}

/* Two kinds of rows or columns alternate in some cases: of more than two, nobody can tell which one a kernel read. */
static int tells_lines_apart(const struct lesson_case *item)
{
    return !(item->extent[GEMM_EX_FLAGS] & GEMM_INT8) || item->distribution != INT8_EXTREMES ||
           (item->extent[GEMM_M] <= 2 && item->extent[GEMM_N] <= 2);
}

static int guess_any(const struct lesson_case *item, const float *const *data, int index, int buffer,
                     size_t at, struct wrong_product *w, struct lesson_guess *guess)
{
    const struct mistake_row *row = mistake_at(MISTAKES, COUNT, &index, &w->mistake, guess);
    const size_t ldc = (size_t)item->extent[GEMM_LDC], i = at / ldc, j = at % ldc;
    const int exchanged = row != NULL && w->mistake.number == EXCHANGED_INDICES;
    if (row == NULL && !misread_at(MISREADS, MISREAD_COUNT, &index, &w->misread, guess)) return -1;
    if (j >= (size_t)item->extent[GEMM_N] || buffer != GEMM_C) return 0; /* between two rows of C */
    if (row != NULL ? !applies(item, row->where, &w->mistake) : !tells_lines_apart(item)) return 0;
    if (exchanged && (j >= (size_t)item->extent[GEMM_M] || i >= (size_t)item->extent[GEMM_N])) return 0;
    if (find_sum(item, data, w, exchanged ? j : i, exchanged ? i : j, &guess->value)) return 1;
    return row == NULL ? 2 : 0;
}

int gemm_guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
               struct lesson_guess *guess)
{
    struct wrong_product w = {0};
    return guess_any(item, data, index, buffer, at, &w, guess);
}

int int8_guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
               struct lesson_guess *guess)
{
    const size_t ldc = (size_t)item->extent[GEMM_LDC], i = at / ldc, j = at % ldc;
    struct wrong_product w = {0};
    const struct mistake_row *row = mistake_at(MISTAKES_OF_BYTES, COUNT_OF_BYTES, &index, &w.mistake, guess);
    if (row == NULL) {
        int known = guess_any(item, data, index, buffer, at, &w, guess);
        w.mistake = (struct mistake){0};
        if (known == 1) guess->value = scaled(item, data, &w, i, j, guess->value);
        return known == 1 && w.misread.row != NULL && isnan(guess->value) ? 2 : known;
    }
    if (j >= (size_t)item->extent[GEMM_N]) return 0; /* between two rows of C */
    if (buffer != GEMM_C || !applies_to_bytes(item, row->where, &w.mistake, i, j)) return 0;
    if (!find_sum(item, data, &w, i, j, &guess->value)) return 0;
    guess->value = scaled(item, data, &w, i, j, guess->value);
    return 1;
}

int gemm_terms(const struct lesson_case *item, const float *const *data, int buffer, size_t at, size_t from,
               size_t to, struct lesson_terms *terms)
{
    static const struct wrong_product none = {0};
    const size_t ldc = (size_t)item->extent[GEMM_LDC], i = at / ldc, j = at % ldc;
    if (buffer != GEMM_C || !tells_lines_apart(item)) return 0;
    *terms = (struct lesson_terms){.count = (size_t)item->extent[GEMM_K], .what = "k"};
    if (!sum_terms(item, data, &none, i, j, from, to, &terms->sum)) return 0;
    if (item->extent[GEMM_EX_FLAGS] & GEMM_DEQUANTISED)
        terms->sum = scaled(item, data, &none, i, j, terms->sum) -
                     (from < to && item->extent[INT8_EX_BIAS] ? (double)data[INT8_BIAS][j] : 0.0);
    if (from == to) terms->sum += times_beta(item, data, &none.mistake, i, j);
    return 1;
}
