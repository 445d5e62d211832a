/**
 * @file gemm_guess.c
 * @brief Products: what a kernel would compute with a well-known mistake in it.
 */
#include <math.h>

#include "int8_cases.h"
#include "mistakes.h"

/** Numbers of mistakes; brackets say what mistake.size means. */
enum gemm_mistake {
    /* clang-format off */
    /* places */
    EXCHANGED_INDICES = 1, A_OTHERWISE, B_OTHERWISE, BOTH_OTHERWISE, A_DENSE, B_DENSE,
    /* elements and factors */
    READ_AS_F16, READ_AS_BF16, FLUSHED, ALPHA_IGNORED, ALPHA_TWICE, ALPHA_ON_C, BETA_IGNORED, BETA_AS_1, FACTORS_IGNORED,
    /* terms, of tiles of [k] */
    LAST_TERM_MISSING, LAST_TILE_MISSING, FIRST_TILE_ONLY, PADDED_WITH_ONES, SAME_TILE,
    EVERY_OTHER_TILE /* [stages], tiles of [other] */,
    /* bytes and their sum */
    A_UNSIGNED, B_UNSIGNED, BOTH_UNSIGNED, SIXTEEN_BITS, SATURATED, AS_FLOAT,
    /* scales */
    NO_ROW_SCALE, NO_COLUMN_SCALE, NO_SCALES, NO_BIAS, SCALES_EXCHANGED, BIAS_FIRST, ROW_SCALE_BY_COLUMN, ROW_SIGN_LOST,
    COLUMN_SIGN_LOST, SIGNS_LOST, SUM_0_UNSCALED, SUM_0_IS_0,
    /* whose sum is stored */
    EVEN_ROWS_TWICE, EVEN_COLUMNS_TWICE, NEXT_ROWS, NEXT_COLUMNS, ROWS_EIGHT_APART, ROWS_INTERLEAVED, COLUMNS_INTERLEAVED,
    BOTH_INTERLEAVED, ROWS_IN_HALVES, COLUMNS_IN_HALVES
    /* clang-format on */
};

/** mistake_row.where: what a case needs to show the mistake. */
enum {
    OTHER_ALPHA = 1,
    A_BETA = 2,
    SCALED = 4,
    NOT_SCALED = 8,
    A_BIAS = 16,
    TWO_ROWS = 32,
    TWO_COLUMNS = 64
};

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
    {ALPHA_IGNORED, RECORD_CAUSE_ALPHA_BETA, .where = OTHER_ALPHA, .message = "alpha is ignored"},
    {ALPHA_TWICE, RECORD_CAUSE_ALPHA_BETA, .where = OTHER_ALPHA, .message = "alpha is applied twice"},
    {ALPHA_ON_C, RECORD_CAUSE_ALPHA_BETA, .where = OTHER_ALPHA | A_BETA, .message = "alpha is applied to beta * C as well"},
    {BETA_IGNORED, RECORD_CAUSE_ALPHA_BETA, .where = A_BETA, .message = "beta is ignored: what C held is missing"},
    {BETA_AS_1, RECORD_CAUSE_ALPHA_BETA, .where = A_BETA, .message = "beta is taken as 1"},
    {FACTORS_IGNORED, RECORD_CAUSE_ALPHA_BETA, .where = OTHER_ALPHA | A_BETA, .message = "alpha and beta are both ignored"},
    {LAST_TERM_MISSING, RECORD_CAUSE_K_TAIL,
     .message = "the last term of every sum is missing: k is one too small", .sizes = {1}},
    {LAST_TILE_MISSING, RECORD_CAUSE_K_TAIL, .message = "the last K tile is missing (tiles of %d)", .sizes = {8, 16, 32, 64}},
    {FIRST_TILE_ONLY, RECORD_CAUSE_K_TILES, .message = "only the first K tile counts (tiles of %d)", .sizes = {8, 16, 32, 64}},
    {PADDED_WITH_ONES, RECORD_CAUSE_K_TAIL,
     .message = "the tail of the last K tile (of %d) is padded with ones: what pads must be 0", .sizes = {16, 32, 64}},
    {SAME_TILE, RECORD_CAUSE_K_TILES, .message = "every step multiplies the first K tile (of %d)", .sizes = {16, 32}},
    {EVERY_OTHER_TILE, RECORD_CAUSE_STAGES,
     .message = "every step multiplies the first stage, which a new K tile reaches every %d steps: is the stage advanced?",
     .sizes = {2, 3, 4, 2, 3, 4, 2, 3, 4}, .others = {16, 16, 16, 32, 32, 32, 64, 64, 64}},
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
    {EVEN_ROWS_TWICE, RECORD_CAUSE_FRAGMENT, .where = TWO_ROWS,
     .message = "every odd row holds the sums of the even row before it"},
    {EVEN_COLUMNS_TWICE, RECORD_CAUSE_FRAGMENT, .where = TWO_COLUMNS,
     .message = "every odd column holds the sums of the even column before it"},
    {NEXT_ROWS, RECORD_CAUSE_FRAGMENT, .where = TWO_ROWS,
     .message = "neighbouring rows are exchanged: the sums of row i are stored in row i ^ 1"},
    {NEXT_COLUMNS, RECORD_CAUSE_FRAGMENT, .where = TWO_COLUMNS,
     .message = "neighbouring columns are exchanged: the sums of column j are stored in column j ^ 1"},
    {ROWS_EIGHT_APART, RECORD_CAUSE_FRAGMENT, .where = TWO_ROWS,
     .message = "rows 8 apart are exchanged: a lane has sums of rows g and g + 8 of a fragment"},
    {ROWS_INTERLEAVED, RECORD_CAUSE_FRAGMENT, .where = TWO_ROWS,
     .message = "of every 16 rows the first 8 are stored in the even rows, the last 8 in the odd ones: are rows loaded into a "
                "fragment in the order in which its sums are stored?"},
    {COLUMNS_INTERLEAVED, RECORD_CAUSE_FRAGMENT, .where = TWO_COLUMNS,
     .message = "of every 16 columns the first 8 are stored in the even columns, the last 8 in the odd ones: are columns "
                "loaded into a fragment in the order in which its sums are stored?"},
    {BOTH_INTERLEAVED, RECORD_CAUSE_FRAGMENT, .where = TWO_ROWS | TWO_COLUMNS,
     .message = "of every 16 rows and columns the first 8 are stored in the even ones, the last 8 in the odd ones: are rows "
                "and columns loaded into a fragment in the order in which its sums are stored?"},
    {ROWS_IN_HALVES, RECORD_CAUSE_FRAGMENT, .where = TWO_ROWS,
     .message = "of every 16 rows the even ones are stored in the first 8, the odd ones in the last 8: are rows loaded into a "
                "fragment in the order in which its sums are stored?"},
    {COLUMNS_IN_HALVES, RECORD_CAUSE_FRAGMENT, .where = TWO_COLUMNS,
     .message = "of every 16 columns the even ones are stored in the first 8, the odd ones in the last 8: are columns loaded "
                "into a fragment in the order in which its sums are stored?"},
};
/* clang-format on */

enum {
    COUNT = sizeof MISTAKES / sizeof MISTAKES[0],
    COUNT_OF_BYTES = sizeof MISTAKES_OF_BYTES / sizeof MISTAKES_OF_BYTES[0]
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

/* The row or column whose sum a kernel stores in row or column @p at, with one of the given mistakes about
 * rows or about columns. */
static size_t taken_from(size_t at, int twice, int next, int eight_apart, int interleaved, int in_halves)
{
    enum { FRAGMENT = 16 };
    size_t within = at % FRAGMENT, first = at - within;
    if (twice) return at - at % 2;
    if (next) return at ^ 1;
    if (eight_apart) return at ^ (FRAGMENT / 2);
    if (interleaved) return first + within / 2 + within % 2 * (FRAGMENT / 2);
    return in_halves ? first + within % (FRAGMENT / 2) * 2 + within / (FRAGMENT / 2) : at;
}

static size_t row_taken(const struct mistake *m, size_t i)
{
    return taken_from(i, m->number == EVEN_ROWS_TWICE, m->number == NEXT_ROWS, m->number == ROWS_EIGHT_APART,
                      is(m, ROWS_INTERLEAVED, BOTH_INTERLEAVED), m->number == ROWS_IN_HALVES);
}

static size_t column_taken(const struct mistake *m, size_t j)
{
    return taken_from(j, m->number == EVEN_COLUMNS_TWICE, m->number == NEXT_COLUMNS, 0,
                      is(m, COLUMNS_INTERLEAVED, BOTH_INTERLEAVED), m->number == COLUMNS_IN_HALVES);
}

/* ---- sums --------------------------------------------------------------------------------------------------- */

static size_t terms_counted(const struct mistake *mistake, size_t k)
{
    size_t tile = (size_t)mistake->size;
    switch (mistake->number) {
    case LAST_TILE_MISSING:
        return (k - 1) / tile * tile;
    case FIRST_TILE_ONLY:
        return tile < k ? tile : k;
    case LAST_TERM_MISSING:
        return k - 1;
    default:
        return k;
    }
}

/* The index of the term that a kernel multiplies where it should multiply term p. */
static size_t term_of(const struct mistake *mistake, size_t p)
{
    size_t tile = (size_t)mistake->other;
    if (mistake->number == SAME_TILE) return p % (size_t)mistake->size;
    if (mistake->number == EVERY_OTHER_TILE) return p - p / tile % (size_t)mistake->size * tile;
    return p;
}

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
    return is(mistake, ALPHA_IGNORED, FACTORS_IGNORED) ? 1.0
           : mistake->number == ALPHA_TWICE            ? alpha * alpha
                                                       : alpha;
}

static double factor_of_c(const struct lesson_case *item, const struct mistake *mistake)
{
    double beta = item->real[GEMM_BETA];
    if (beta == 0.0 || is(mistake, BETA_IGNORED, FACTORS_IGNORED)) return 0.0;
    if (mistake->number == BETA_AS_1) return 1.0;
    return mistake->number == ALPHA_ON_C ? beta * item->real[GEMM_ALPHA] : beta;
}

/* Computes the sum that is stored at (i, j), before scaling; 0 if the mistake reads what nobody knows. */
static int find_sum(const struct lesson_case *item, const float *const *data, const struct mistake *mistake,
                    size_t i, size_t j, double *value)
{
    const struct operand a = operand(item, data, GEMM_A, mistake), b = operand(item, data, GEMM_B, mistake);
    const double alpha = factor_of_product(item, mistake), beta = factor_of_c(item, mistake);
    const size_t k = (size_t)item->extent[GEMM_K];
    const size_t terms = alpha != 0.0 && k > 0 ? terms_counted(mistake, k) : 0;
    *value = 0.0;
    for (size_t p = 0; p < terms; p++) {
        size_t term = term_of(mistake, p);
        size_t of_a = i * a.line_step + term * a.p_step, of_b = j * b.line_step + term * b.p_step;
        if (of_a >= a.elems || of_b >= b.elems) return 0;
        *value += alpha * taken(mistake, a.data[of_a], A_UNSIGNED) * taken(mistake, b.data[of_b], B_UNSIGNED);
    }
    if (mistake->number == PADDED_WITH_ONES)
        *value += alpha * (mistake->size - item->extent[GEMM_K] % mistake->size);
    if (beta != 0.0) *value += beta * (double)data[GEMM_C][i * (size_t)item->extent[GEMM_LDC] + j];
    if (mistake->number == AS_FLOAT) *value = (double)(float)*value;
    if (mistake->number == SIXTEEN_BITS) *value -= 65536.0 * floor((*value + 32768.0) / 65536.0);
    if (mistake->number == SATURATED) *value = fmin(fmax(*value, -32768.0), 32767.0);
    return 1;
}

static double scale_of(float scale, int ignored, int magnitude_only)
{
    return ignored ? 1.0 : magnitude_only ? fabs((double)scale) : (double)scale;
}

/* The value stored for a sum of products of bytes. */
static double scaled(const struct lesson_case *item, const float *const *data, const struct mistake *m,
                     size_t i, size_t j, double sum)
{
    if (!(item->extent[GEMM_EX_FLAGS] & GEMM_DEQUANTISED)) return sum;
    if (sum == 0.0 && m->number == SUM_0_IS_0) return 0.0;
    size_t row = is(m, SCALES_EXCHANGED, ROW_SCALE_BY_COLUMN) ? j : i,
           column = m->number == SCALES_EXCHANGED ? i : j;
    double of_row = scale_of(data[INT8_ROW_SCALES][row], is(m, NO_ROW_SCALE, NO_SCALES),
                             is(m, ROW_SIGN_LOST, SIGNS_LOST));
    double of_column = scale_of(data[INT8_COLUMN_SCALES][column], is(m, NO_COLUMN_SCALE, NO_SCALES),
                                is(m, COLUMN_SIGN_LOST, SIGNS_LOST));
    if (sum == 0.0 && m->number == SUM_0_UNSCALED) of_row = of_column = 1.0;
    double bias = item->extent[INT8_EX_BIAS] && m->number != NO_BIAS ? (double)data[INT8_BIAS][j] : 0.0;
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
    case FIRST_TILE_ONLY:
        return k > 2 * mistake->size;
    case EVERY_OTHER_TILE:
        return k > mistake->other;
    case LAST_TERM_MISSING:
    case LAST_TILE_MISSING:
    case SAME_TILE:
        return k > mistake->size;
    default:
        return 1;
    }
}

/* The same for mistakes of products of bytes, at row @p i and column @p j. */
static int applies_to_bytes(const struct lesson_case *item, unsigned where, const struct mistake *mistake,
                            size_t i, size_t j)
{
    const size_t m = (size_t)item->extent[GEMM_M], n = (size_t)item->extent[GEMM_N];
    const size_t row = row_taken(mistake, i), column = column_taken(mistake, j);
    const int is_scaled = (item->extent[GEMM_EX_FLAGS] & GEMM_DEQUANTISED) != 0;
    const int alike = item->distribution == INT8_EXTREMES;
    if (where & (is_scaled ? NOT_SCALED : SCALED)) return 0;
    /* Two kinds of rows or columns alternate: with more than two of them, nobody can tell which one a
     * kernel read. */
    if (alike && ((where & TWO_ROWS && m > 2) || (where & TWO_COLUMNS && n > 2))) return 0;
    if (row >= m || column >= n)
        return 0; /* past the end of rows and columns lies memory whose contents nobody knows */
    if (where & A_BIAS && !item->extent[INT8_EX_BIAS]) return 0;
    if (is(mistake, SCALES_EXCHANGED, ROW_SCALE_BY_COLUMN) && j >= m) return 0;
    return mistake->number != SCALES_EXCHANGED || i < n;
}

int gemm_guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
               struct lesson_guess *guess)
{
    struct mistake mistake;
    const struct mistake_row *row = mistake_at(MISTAKES, COUNT, &index, &mistake, guess);
    const size_t ldc = (size_t)item->extent[GEMM_LDC], i = at / ldc, j = at % ldc;
    const int exchanged = row != NULL && mistake.number == EXCHANGED_INDICES;
    if (row == NULL) return -1;
    if (j >= (size_t)item->extent[GEMM_N]) return 0; /* between two rows of C */
    if (buffer != GEMM_C || !applies(item, row->where, &mistake)) return 0;
    if (exchanged && (j >= (size_t)item->extent[GEMM_M] || i >= (size_t)item->extent[GEMM_N])) return 0;
    return find_sum(item, data, &mistake, exchanged ? j : i, exchanged ? i : j, &guess->value);
}

int int8_guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
               struct lesson_guess *guess)
{
    static const struct mistake none = {0};
    const size_t ldc = (size_t)item->extent[GEMM_LDC], i = at / ldc, j = at % ldc;
    struct mistake mistake;
    const struct mistake_row *row = mistake_at(MISTAKES_OF_BYTES, COUNT_OF_BYTES, &index, &mistake, guess);
    if (row == NULL) {
        int known = gemm_guess(item, data, index, buffer, at, guess);
        if (known == 1) guess->value = scaled(item, data, &none, i, j, guess->value);
        return known;
    }
    if (j >= (size_t)item->extent[GEMM_N]) return 0; /* between two rows of C */
    if (buffer != GEMM_C || !applies_to_bytes(item, row->where, &mistake, i, j)) return 0;
    if (!find_sum(item, data, &mistake, row_taken(&mistake, i), column_taken(&mistake, j), &guess->value))
        return 0;
    guess->value = scaled(item, data, &mistake, i, j, guess->value);
    return 1;
}
