/**
 * @file gemm_guess.c
 * @brief What would come out if a well-known mistake had been made: the diagnosis tries them in this order.
 */
#include <math.h>
#include <stdio.h>

#include "gemm_cases.h"
#include "gemm_inputs.h"

/** A mistake, as a change to the definition. All 0 is no mistake. */
struct mistake {
    const char *message;
    int other_a, other_b; /* 1: read as if it were stored the other way round */
    int dense_a, dense_b; /* 1: rows taken to follow one another without a gap */
    int swapped;          /* 1: element (j, i) in place of (i, j) */
    enum {
        ALL_K,
        LAST_TILE_MISSING,
        FIRST_TILE_ONLY,
        LAST_TERM_MISSING,
        SAME_TILE,
        EVERY_OTHER_TILE,
        PADDED_WITH_ONES
    } terms;
    int tile;
    int stages;            /* of EVERY_OTHER_TILE */
    enum storage as_other; /* both are of this type, and taken for the other one of 16 bits */
    enum { FACTORS_RIGHT, ALPHA_IGNORED, ALPHA_TWICE, ALPHA_ON_C } alpha;
    enum { BETA_RIGHT, BETA_IGNORED, BETA_TAKEN_AS_1 } beta;
};

static const struct mistake MISTAKES[] = {
    {.message = "transposed: every element is that of row j, column i", .swapped = 1},
    {.message = "as if A were stored the other way round: is trans_a respected?", .other_a = 1},
    {.message = "as if B were stored the other way round: is trans_b respected?", .other_b = 1},
    {.message = "as if both A and B were stored the other way round", .other_a = 1, .other_b = 1},
    {.message = "as if the rows of A followed one another without a gap: is lda respected?", .dense_a = 1},
    {.message = "as if the rows of B followed one another without a gap: is ldb respected?", .dense_b = 1},
    {.message = "A and B are bf16, and are multiplied as if they were f16", .as_other = STORAGE_BF16},
    {.message = "A and B are f16, and are multiplied as if they were bf16", .as_other = STORAGE_F16},
    {.message = "alpha is ignored", .alpha = ALPHA_IGNORED},
    {.message = "alpha is applied twice", .alpha = ALPHA_TWICE},
    {.message = "alpha is applied to beta * C as well", .alpha = ALPHA_ON_C},
    {.message = "beta is ignored: what C held is missing", .beta = BETA_IGNORED},
    {.message = "beta is taken as 1", .beta = BETA_TAKEN_AS_1},
    {.message = "alpha and beta are both ignored", .alpha = ALPHA_IGNORED, .beta = BETA_IGNORED},
    {.message = "the last term of every sum is missing: k is one too small", .terms = LAST_TERM_MISSING},
    {.message = "the last K tile is missing (tiles of 8)", .terms = LAST_TILE_MISSING, .tile = 8},
    {.message = "the last K tile is missing (tiles of 16)", .terms = LAST_TILE_MISSING, .tile = 16},
    {.message = "the last K tile is missing (tiles of 32)", .terms = LAST_TILE_MISSING, .tile = 32},
    {.message = "the last K tile is missing (tiles of 64)", .terms = LAST_TILE_MISSING, .tile = 64},
    {.message = "only the first K tile counts (tiles of 8)", .terms = FIRST_TILE_ONLY, .tile = 8},
    {.message = "only the first K tile counts (tiles of 16)", .terms = FIRST_TILE_ONLY, .tile = 16},
    {.message = "only the first K tile counts (tiles of 32)", .terms = FIRST_TILE_ONLY, .tile = 32},
    {.message = "only the first K tile counts (tiles of 64)", .terms = FIRST_TILE_ONLY, .tile = 64},
    {.message = "the tail of the last K tile (of 16) is padded with ones: what pads must be 0",
     .terms = PADDED_WITH_ONES,
     .tile = 16},
    {.message = "the tail of the last K tile (of 32) is padded with ones: what pads must be 0",
     .terms = PADDED_WITH_ONES,
     .tile = 32},
    {.message = "the tail of the last K tile (of 64) is padded with ones: what pads must be 0",
     .terms = PADDED_WITH_ONES,
     .tile = 64},
    {.message = "every step multiplies the first K tile (of 16)", .terms = SAME_TILE, .tile = 16},
    {.message = "every step multiplies the first K tile (of 32)", .terms = SAME_TILE, .tile = 32},
    {.message = "every step multiplies the first stage, which a new K tile reaches every 2 steps: is the "
                "stage advanced?",
     .terms = EVERY_OTHER_TILE,
     .tile = 16,
     .stages = 2},
    {.message = "every step multiplies the first stage, which a new K tile reaches every 3 steps: is the "
                "stage advanced?",
     .terms = EVERY_OTHER_TILE,
     .tile = 16,
     .stages = 3},
    {.message = "every step multiplies the first stage, which a new K tile reaches every 4 steps: is the "
                "stage advanced?",
     .terms = EVERY_OTHER_TILE,
     .tile = 16,
     .stages = 4},
    {.message = "every step multiplies the first stage, which a new K tile reaches every 2 steps: is the "
                "stage advanced?",
     .terms = EVERY_OTHER_TILE,
     .tile = 32,
     .stages = 2},
    {.message = "every step multiplies the first stage, which a new K tile reaches every 3 steps: is the "
                "stage advanced?",
     .terms = EVERY_OTHER_TILE,
     .tile = 32,
     .stages = 3},
    {.message = "every step multiplies the first stage, which a new K tile reaches every 4 steps: is the "
                "stage advanced?",
     .terms = EVERY_OTHER_TILE,
     .tile = 32,
     .stages = 4},
    {.message = "every step multiplies the first stage, which a new K tile reaches every 2 steps: is the "
                "stage advanced?",
     .terms = EVERY_OTHER_TILE,
     .tile = 64,
     .stages = 2},
    {.message = "every step multiplies the first stage, which a new K tile reaches every 3 steps: is the "
                "stage advanced?",
     .terms = EVERY_OTHER_TILE,
     .tile = 64,
     .stages = 3},
    {.message = "every step multiplies the first stage, which a new K tile reaches every 4 steps: is the "
                "stage advanced?",
     .terms = EVERY_OTHER_TILE,
     .tile = 64,
     .stages = 4},
};

/** One operand: op()[line, p] at line * line_step + p * p_step, as far as there are elements. */
struct operand {
    const float *data;
    size_t line_step, p_step, elems;
};

static struct operand operand(const struct lesson_case *item, const float *const *data, int index, int other,
                              int dense)
{
    struct lesson_buffer buffers[GEMM_BUFFERS];
    gemm_buffers(item, buffers);
    const struct lesson_buffer *buffer = &buffers[index];
    size_t row = dense ? buffer->row : buffer->extent[1];
    /* Lines of A are its rows, those of B its columns. */
    int along_rows = (index == GEMM_B) ^ item->extent[index == GEMM_A ? GEMM_TRANS_A : GEMM_TRANS_B] ^ other;
    return (struct operand){data[index], along_rows ? 1 : row, along_rows ? row : 1, lesson_elems(buffer)};
}

static size_t terms_counted(const struct mistake *mistake, size_t k)
{
    size_t tile = (size_t)mistake->tile;
    switch (mistake->terms) {
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

/* The term that is multiplied where term p should be. */
static size_t term_of(const struct mistake *mistake, size_t p)
{
    size_t tile = (size_t)mistake->tile;
    if (mistake->terms == SAME_TILE) return p % tile;
    if (mistake->terms == EVERY_OTHER_TILE) return p - p / tile % (size_t)mistake->stages * tile;
    return p;
}

/* 1 if the mistake changes anything here. */
static int applies(const struct lesson_case *item, const struct mistake *mistake)
{
    const int *extent = item->extent;
    int a_cols = extent[extent[GEMM_TRANS_A] ? GEMM_M : GEMM_K];
    int b_cols = extent[extent[GEMM_TRANS_B] ? GEMM_K : GEMM_N];
    if (mistake->as_other && gemm_storage(item, GEMM_A) != mistake->as_other) return 0;
    if (mistake->dense_a && extent[GEMM_LDA] == a_cols) return 0;
    if (mistake->dense_b && extent[GEMM_LDB] == b_cols) return 0;
    if (mistake->alpha && item->real[GEMM_ALPHA] == 1.0) return 0;
    if (mistake->beta && item->real[GEMM_BETA] == 0.0) return 0;
    if (mistake->alpha == ALPHA_ON_C && item->real[GEMM_BETA] == 0.0) return 0;
    if (mistake->terms == PADDED_WITH_ONES) return extent[GEMM_K] % mistake->tile != 0;
    if (mistake->terms == FIRST_TILE_ONLY) return extent[GEMM_K] > 2 * mistake->tile;
    return !mistake->terms || extent[GEMM_K] > (mistake->tile ? mistake->tile : 1);
}

static double taken(const struct mistake *mistake, float x)
{
    return (double)(mistake->as_other ? storage_as_other(mistake->as_other, x) : x);
}

static double factor_of_product(const struct lesson_case *item, const struct mistake *mistake)
{
    double alpha = item->real[GEMM_ALPHA];
    return mistake->alpha == ALPHA_IGNORED ? 1.0 : mistake->alpha == ALPHA_TWICE ? alpha * alpha : alpha;
}

static double factor_of_c(const struct lesson_case *item, const struct mistake *mistake)
{
    double beta = item->real[GEMM_BETA];
    if (beta == 0.0 || mistake->beta == BETA_IGNORED) return 0.0;
    if (mistake->beta == BETA_TAKEN_AS_1) return 1.0;
    return mistake->alpha == ALPHA_ON_C ? beta * item->real[GEMM_ALPHA] : beta;
}

int gemm_guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
               double *value, char *message, size_t size)
{
    if (index >= (int)(sizeof MISTAKES / sizeof MISTAKES[0])) return -1;
    const struct mistake *mistake = &MISTAKES[index];
    if (buffer != GEMM_C || !applies(item, mistake)) return 0;
    snprintf(message, size, "%s", mistake->message);
    size_t ldc = (size_t)item->extent[GEMM_LDC], i = at / ldc, j = at % ldc;
    if (mistake->swapped) {
        size_t row = i;
        i = j;
        j = row;
        if (i >= (size_t)item->extent[GEMM_M] || j >= (size_t)item->extent[GEMM_N]) return 0;
    }
    struct operand a = operand(item, data, GEMM_A, mistake->other_a, mistake->dense_a);
    struct operand b = operand(item, data, GEMM_B, mistake->other_b, mistake->dense_b);
    double alpha = factor_of_product(item, mistake), beta = factor_of_c(item, mistake);
    size_t terms =
        alpha != 0.0 && item->extent[GEMM_K] > 0 ? terms_counted(mistake, (size_t)item->extent[GEMM_K]) : 0;
    *value = 0.0;
    for (size_t p = 0; p < terms; p++) {
        size_t term = term_of(mistake, p);
        size_t of_a = i * a.line_step + term * a.p_step, of_b = j * b.line_step + term * b.p_step;
        if (of_a >= a.elems || of_b >= b.elems) return 0; /* nobody knows what was read there */
        *value += alpha * taken(mistake, a.data[of_a]) * taken(mistake, b.data[of_b]);
    }
    if (mistake->terms == PADDED_WITH_ONES)
        *value += alpha * (mistake->tile - item->extent[GEMM_K] % mistake->tile);
    if (beta != 0.0) *value += beta * (double)data[GEMM_C][i * ldc + j];
    return 1;
}

int gemm_trait(const struct lesson_case *item, int index, const char **message)
{
    static const char *const messages[] = {
        "only cases with a transposed A fail",
        "only cases with a transposed B fail",
        "only cases with alpha other than 1 fail",
        "only cases with beta other than 0 fail",
        "only cases with k = 0 fail",
        "only cases with a NaN or an infinity in the input fail",
        "only cases in which rows lie apart (lda, ldb or ldc larger than a row) fail",
        "only cases whose k is no multiple of 8 fail: is the last K tile's tail handled?",
        "only cases whose k is no multiple of 16 fail: is the last K tile's tail handled?",
        "only cases whose k is no multiple of 32 fail: is the last K tile's tail handled?",
        "only cases whose m is no multiple of 16 fail: is the last tile's tail of rows handled?",
        "only cases whose n is no multiple of 16 fail: is the last tile's tail of columns handled?",
        "only cases of several stages and several K tiles fail: does each step load, and multiply, the right "
        "stage?",
        "only cases with k above 16 fail: what happens from one K tile to the next?",
        "only cases with k above 32 fail: what happens from one K tile to the next?",
        "only cases with k above 64 fail: what happens from one K tile to the next?",
        "only cases with more than 64 rows fail",
        "only cases with more than 128 rows fail",
        "only cases with more than 64 columns fail",
        "only cases with more than 128 columns fail",
    };
    const int *extent = item->extent;
    int m = extent[GEMM_M], n = extent[GEMM_N], k = extent[GEMM_K];
    int a_cols = extent[GEMM_TRANS_A] ? m : k, b_cols = extent[GEMM_TRANS_B] ? k : n;
    const int has[] = {
        extent[GEMM_TRANS_A],
        extent[GEMM_TRANS_B],
        item->real[GEMM_ALPHA] != 1.0,
        item->real[GEMM_BETA] != 0.0,
        k == 0,
        item->distribution >= GEMM_NAN_A && item->distribution < GEMM_DISTRIBUTIONS,
        (k > 0 && extent[GEMM_LDA] > a_cols) || (k > 0 && extent[GEMM_LDB] > b_cols) || extent[GEMM_LDC] > n,
        k % 8 != 0,
        k % 16 != 0,
        k % 32 != 0,
        m % 16 != 0,
        n % 16 != 0,
        extent[GEMM_EX_FLAGS] & GEMM_CHOOSES_STAGES && item->value[GEMM_CHOICE] > 1 && k > 32,
        k > 16,
        k > 32,
        k > 64,
        m > 64,
        m > 128,
        n > 64,
        n > 128,
    };
    if (index >= (int)(sizeof messages / sizeof messages[0])) return -1;
    *message = messages[index];
    return has[index];
}

/* 1 if rows of matrix @p index begin at whole vectors of 16 bytes, and end within one. */
static int ends_within_a_vector(const struct lesson_case *item, int index)
{
    struct lesson_buffer buffers[GEMM_BUFFERS];
    gemm_buffers(item, buffers);
    size_t vector = 16 / storage_bytes(buffers[index].storage);
    return buffers[index].extent[1] % vector == 0 && buffers[index].row % vector != 0;
}

/* What is wrong with the family's choice; NULL if nothing is. */
static const char *wrong_choice(const struct lesson_case *item)
{
    int first = item->extent[GEMM_EX_CHOICES] / 256, last = item->extent[GEMM_EX_CHOICES] % 256;
    if (item->value[GEMM_CHOICE] >= first && item->value[GEMM_CHOICE] <= last) return NULL;
    if (item->extent[GEMM_EX_FLAGS] & GEMM_CHOOSES_STAGES)
        return "the number of stages is none that the contract allows";
    return item->extent[GEMM_EX_FLAGS] & GEMM_CHOOSES_TILE ? "the tile is none of enum gemm_tile" : NULL;
}

const char *gemm_purpose(const struct lesson_case *item)
{
    if (item->flags & CASE_OLD_DEVICE)
        return "the device says that it is an sm_75: refused after all that is wrong with the arguments";
    if (item->flags & CASE_NEW_DEVICE)
        return "the device says that it is an sm_100, which lacks what sm_90a alone has: refused";
    enum { MANY_ROWS = 512, MANY_COLUMNS = 64 };
    if (item->expected == KERNEL_INVALID_CONFIG && wrong_choice(item) != NULL) return wrong_choice(item);
    if (item->extent[GEMM_M] > MANY_ROWS && item->extent[GEMM_N] > MANY_COLUMNS && item->group == GROUP_EDGES)
        return "many rows of tiles, and more than one column: is every tile computed, and once?";
    if (item->value[GEMM_UNUSED] & GEMM_UNUSED_STAGES)
        return "stages and the workspace, which have no meaning here, hold something: neither is to be "
               "looked at";
    if (item->value[GEMM_UNUSED] != 0)
        return "the workspace, which has no meaning here, is given: it is not to be looked at";
    for (int b = GEMM_A; b <= GEMM_C; b++)
        if (item->apart[b] != 0)
            return "rows lie so far apart that the last ones begin beyond 2^31 elements: is every product of "
                   "an "
                   "offset computed in 64 bits (size_t)?";
    if (item->distribution == GEMM_NORMAL && item->group == GROUP_EDGES)
        for (int b = GEMM_A; b <= GEMM_C; b++)
            if (ends_within_a_vector(item, b))
                return "rows begin at whole vectors of 16 bytes and end within one: is the tail of a row "
                       "left to "
                       "single elements?";
    if (item->extent[GEMM_K] == 0)
        return "k is 0: the product is 0, A and B have no elements, and C becomes beta * C";
    switch (item->distribution) {
    case GEMM_LARGE:
        return "inputs of magnitude 1e3: sums kept as half overflow";
    case GEMM_SMALL:
        return "inputs of magnitude 1e-4: products as half would be zero or nearly so";
    case GEMM_UNLIKE:
        return "A is of magnitude 1e3, B of 1e-4";
    case GEMM_CANCEL:
        return "terms nearly cancel in pairs: every rounding shows";
    case GEMM_POSITIVE:
        return "all terms are positive: a sum kept as half stops growing";
    case GEMM_SPREAD:
        return "terms of very unlike size";
    case GEMM_NAN_A:
        return "some rows of op(A) end in a NaN: it must come out in those rows of C and nowhere else";
    case GEMM_NAN_B:
        return "some columns of op(B) hold a NaN: it must come out in those columns of C and nowhere else";
    case GEMM_HUGE:
        return "some sums are beyond 65504, the largest half: only what is stored may become infinite";
    case GEMM_SUBNORMAL:
        return "elements of A are subnormal halves: they are not 0";
    case GEMM_INF_B:
        return "infinities in some columns of op(B): what pads a tile must not be multiplied with them";
    case GEMM_INF_A:
        return "infinities in some rows of op(A): what pads a tile must not be multiplied with them";
    case GEMM_NAN_AB:
        return "alpha is 0: A and B, which are NaN throughout, are not to be read";
    case GEMM_NAN_C:
        return "C holds NaN, and beta is not 0: they must come out where they are";
    default:
        return NULL;
    }
}
