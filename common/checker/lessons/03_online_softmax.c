/**
 * @file 03_online_softmax.c
 * @brief Lesson 03: the merge of two pairs, softmax of rows, and attention one query row at a time.
 */
#include "checker/cases/attention_cases.h"
#include "protocol/online_softmax_items.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checker/numbers/bound.h"
#include "checker/cases/case_table.h"
#include "checker/cases/mistakes.h"
#include "softmax.h"

enum distribution {
    NORMAL,
    LARGE,
    LOW,
    EQUAL,
    RISING,
    FALLING,
    DOMINANT,
    WITH_NAN,
    WITH_EMPTY,
    WITH_NAN_AND_EMPTY, /* NaN, in some rows together with -infinity */
    WITH_INFINITY,
    EXTREME, /* 2^127 or -2^127, the same throughout a row or a pair */
    FAINT,   /* -85 ... 0, so that exp is anything down to 1e-37 */
    CAN_BE_ANY,
    PLACED /* normal; buffers begin at other places in every item */
};

enum row_flags {
    NO_LSE = 2,
    IN_OFFSET = 4 /* `in` begins 4 bytes after a multiple of 16 */
};

/** A case of the first two parts. */
struct table_row {
    const char *name;
    enum case_group group;
    int part;
    unsigned devices;
    int rows, cols; /* merge: count, 1 */
    enum distribution distribution;
    int repeat;
    unsigned flags; /* set of enum row_flags */
};

static const struct table_row TABLE[] = {
    /* clang-format off */
    /* name                                group             part        devices       rows   cols data                 items flags */
    {"merge/one",                          GROUP_BASIC,      PART_MERGE, ON_ANY,         1,     1, NORMAL,                 1, 0},
    {"merge/pairs_1000",                   GROUP_BASIC,      PART_MERGE, ON_ANY,      1000,     1, NORMAL,                 1, 0},
    {"merge/pairs_31",                     GROUP_EDGES,      PART_MERGE, ON_ANY,        31,     1, NORMAL,                 1, 0},
    {"merge/pairs_257",                    GROUP_EDGES,      PART_MERGE, ON_ANY,       257,     1, NORMAL,                 1, 0},
    {"merge/pairs_5000",                   GROUP_EDGES,      PART_MERGE, ON_ANY,      5000,     1, NORMAL,                 1, 0},
    {"merge/pairs_16800001",               GROUP_EDGES,      PART_MERGE, ON_GPU,  16800001,     1, NORMAL,                 1, 0},
    {"merge/empty",                        GROUP_NUMERICS,   PART_MERGE, ON_ANY,       300,     1, WITH_EMPTY,             1, 0},
    {"merge/large",                        GROUP_NUMERICS,   PART_MERGE, ON_ANY,       300,     1, LARGE,                  1, 0},
    {"merge/low",                          GROUP_NUMERICS,   PART_MERGE, ON_ANY,       300,     1, LOW,                    1, 0},
    {"merge/equal",                        GROUP_NUMERICS,   PART_MERGE, ON_ANY,       300,     1, EQUAL,                  1, 0},
    {"merge/nan",                          GROUP_NUMERICS,   PART_MERGE, ON_ANY,       300,     1, WITH_NAN,               1, 0},
    {"merge/nan_and_empty",                GROUP_NUMERICS,   PART_MERGE, ON_ANY,       300,     1, WITH_NAN_AND_EMPTY,     1, 0},
    {"merge/infinite",                     GROUP_NUMERICS,   PART_MERGE, ON_ANY,       300,     1, WITH_INFINITY,          1, 0},
    {"merge/extreme",                      GROUP_NUMERICS,   PART_MERGE, ON_ANY,       300,     1, EXTREME,                1, 0},
    {"merge/faint",                        GROUP_NUMERICS,   PART_MERGE, ON_ANY,       300,     1, FAINT,                  1, 0},
    {"merge/property_random",              GROUP_PROPERTIES, PART_MERGE, ON_ANY,         1,     1, CAN_BE_ANY,           100, 0},
    {"merge/sound_arguments",              GROUP_BAD_INPUT,  PART_MERGE, ON_ANY,         6,     1, NORMAL,                 1, 0},
    {"merge/alignments",                   GROUP_PROPERTIES, PART_MERGE, ON_ANY,        10,     1, PLACED,                 6, 0},

    {"rows/one",                           GROUP_BASIC,      PART_ROWS,  ON_ANY,         1,     1, NORMAL,                 1, 0},
    {"rows/tiny",                          GROUP_BASIC,      PART_ROWS,  ON_ANY,         3,     5, NORMAL,                 1, 0},
    {"rows/40x256",                        GROUP_BASIC,      PART_ROWS,  ON_ANY,        40,   256, NORMAL,                 1, 0},
    {"rows/7x1000",                        GROUP_BASIC,      PART_ROWS,  ON_ANY,         7,  1000, NORMAL,                 1, 0},
    {"rows/cols_31",                       GROUP_EDGES,      PART_ROWS,  ON_ANY,         9,    31, NORMAL,                 1, 0},
    {"rows/cols_32",                       GROUP_EDGES,      PART_ROWS,  ON_ANY,         9,    32, NORMAL,                 1, 0},
    {"rows/cols_33",                       GROUP_EDGES,      PART_ROWS,  ON_ANY,         9,    33, NORMAL,                 1, 0},
    {"rows/cols_63",                       GROUP_EDGES,      PART_ROWS,  ON_ANY,         9,    63, NORMAL,                 1, 0},
    {"rows/cols_64",                       GROUP_EDGES,      PART_ROWS,  ON_ANY,         9,    64, NORMAL,                 1, 0},
    {"rows/cols_65",                       GROUP_EDGES,      PART_ROWS,  ON_ANY,         9,    65, NORMAL,                 1, 0},
    {"rows/cols_127",                      GROUP_EDGES,      PART_ROWS,  ON_ANY,         9,   127, NORMAL,                 1, 0},
    {"rows/cols_128",                      GROUP_EDGES,      PART_ROWS,  ON_ANY,         9,   128, NORMAL,                 1, 0},
    {"rows/cols_129",                      GROUP_EDGES,      PART_ROWS,  ON_ANY,         9,   129, NORMAL,                 1, 0},
    {"rows/cols_1023",                     GROUP_EDGES,      PART_ROWS,  ON_ANY,         3,  1023, NORMAL,                 1, 0},
    {"rows/cols_1025",                     GROUP_EDGES,      PART_ROWS,  ON_ANY,         3,  1025, NORMAL,                 1, 0},
    {"rows/cols_4099",                     GROUP_EDGES,      PART_ROWS,  ON_ANY,         2,  4099, NORMAL,                 1, 0},
    {"rows/cols_9001",                     GROUP_EDGES,      PART_ROWS,  ON_ANY,         2,  9001, NORMAL,                 1, 0},
    {"rows/cols_12289",                    GROUP_EDGES,      PART_ROWS,  ON_ANY,         1, 12289, NORMAL,                 1, 0},
    {"rows/cols_16384",                    GROUP_EDGES,      PART_ROWS,  ON_ANY,         1, 16384, NORMAL,                 1, 0},
    {"rows/cols_16385",                    GROUP_EDGES,      PART_ROWS,  ON_ANY,         1, 16385, NORMAL,                 1, 0},
    {"rows/cols_32771",                    GROUP_EDGES,      PART_ROWS,  ON_ANY,         1, 32771, NORMAL,                 1, 0},
    {"rows/cols_40000",                    GROUP_EDGES,      PART_ROWS,  ON_ANY,         1, 40000, NORMAL,                 1, 0},
    {"rows/cols_66003",                    GROUP_EDGES,      PART_ROWS,  ON_ANY,         1, 66003, NORMAL,                 1, 0},
    {"rows/long_rows_7",                   GROUP_EDGES,      PART_ROWS,  ON_ANY,         7, 16385, NORMAL,                 1, 0},
    {"rows/many_rows",                     GROUP_EDGES,      PART_ROWS,  ON_ANY,      1031,     3, NORMAL,                 1, 0},
    {"rows/more_rows_than_a_grid_is_high", GROUP_EDGES,      PART_ROWS,  ON_GPU,     70001,     5, NORMAL,                 1, 0},
    {"rows/wide_rows_70001",               GROUP_EDGES,      PART_ROWS,  ON_GPU,     70001,     8, NORMAL,                 1, 0},
    {"rows/no_lse",                        GROUP_EDGES,      PART_ROWS,  ON_ANY,         5,   100, NORMAL,                 1, NO_LSE},
    {"rows/offset_4_bytes",                GROUP_EDGES,      PART_ROWS,  ON_ANY,         5,   260, NORMAL,                 1, IN_OFFSET},
    {"rows/large",                         GROUP_NUMERICS,   PART_ROWS,  ON_ANY,         9,   300, LARGE,                  1, 0},
    {"rows/low",                           GROUP_NUMERICS,   PART_ROWS,  ON_ANY,         9,   300, LOW,                    1, 0},
    {"rows/equal",                         GROUP_NUMERICS,   PART_ROWS,  ON_ANY,         2,  9000, EQUAL,                  1, 0},
    {"rows/rising",                        GROUP_NUMERICS,   PART_ROWS,  ON_ANY,         5,  1100, RISING,                 1, 0},
    {"rows/falling",                       GROUP_NUMERICS,   PART_ROWS,  ON_ANY,         5,  1100, FALLING,                1, 0},
    {"rows/dominant",                      GROUP_NUMERICS,   PART_ROWS,  ON_ANY,         5,  1100, DOMINANT,               1, 0},
    {"rows/nan",                           GROUP_NUMERICS,   PART_ROWS,  ON_ANY,        12,   300, WITH_NAN,               1, 0},
    {"rows/nothing_to_see",                GROUP_NUMERICS,   PART_ROWS,  ON_ANY,        12,   300, WITH_EMPTY,             1, 0},
    {"rows/nan_and_nothing",               GROUP_NUMERICS,   PART_ROWS,  ON_ANY,        12,   300, WITH_NAN_AND_EMPTY,     1, 0},
    {"rows/infinite",                      GROUP_NUMERICS,   PART_ROWS,  ON_ANY,        12,   300, WITH_INFINITY,          1, 0},
    {"rows/extreme",                       GROUP_NUMERICS,   PART_ROWS,  ON_ANY,         6,   300, EXTREME,                1, 0},
    {"rows/faint",                         GROUP_NUMERICS,   PART_ROWS,  ON_ANY,         6,   300, FAINT,                  1, 0},
    {"rows/rising_66003",                  GROUP_NUMERICS,   PART_ROWS,  ON_ANY,         1, 66003, RISING,                 1, 0},
    {"rows/long_low",                      GROUP_NUMERICS,   PART_ROWS,  ON_ANY,         1, 16400, LOW,                    1, 0},
    {"rows/long_nan",                      GROUP_NUMERICS,   PART_ROWS,  ON_ANY,         2, 16400, WITH_NAN,               1, 0},
    {"rows/long_nothing",                  GROUP_NUMERICS,   PART_ROWS,  ON_ANY,         2, 16400, WITH_EMPTY,             1, 0},
    {"rows/long_nan_and_none",             GROUP_NUMERICS,   PART_ROWS,  ON_ANY,         2, 16400, WITH_NAN_AND_EMPTY,     1, 0},
    {"rows/long_infinite",                 GROUP_NUMERICS,   PART_ROWS,  ON_ANY,         1, 16400, WITH_INFINITY,          1, 0},
    {"rows/long_extreme",                  GROUP_NUMERICS,   PART_ROWS,  ON_ANY,         2, 16400, EXTREME,                1, 0},
    {"rows/long_faint",                    GROUP_NUMERICS,   PART_ROWS,  ON_ANY,         1, 16400, FAINT,                  1, 0},
    {"rows/property_softmax",              GROUP_PROPERTIES, PART_ROWS,  ON_ANY,         1,     1, CAN_BE_ANY,           100, 0},
    {"rows/sound_arguments",               GROUP_BAD_INPUT,  PART_ROWS,  ON_ANY,         6,    40, NORMAL,                 1, 0},
    {"rows/alignments",                    GROUP_PROPERTIES, PART_ROWS,  ON_ANY,         4,   260, PLACED,                 9, 0},
    {"rows/long_row_alignments",           GROUP_PROPERTIES, PART_ROWS,  ON_ANY,         1, 16392, PLACED,                 6, 0},
    {"rows/16384x8192",                    GROUP_SPEED,      PART_ROWS,  ON_GPU,     16384,  8192, NORMAL,                 1, 0},
    {"rows/64x1024",                       GROUP_SPEED,      PART_ROWS,  ON_ANY,        64,  1024, NORMAL,                 1, 0},
    /* clang-format on */
};

static void start_case(struct lesson_case *item, const char *name, int part, int rows, int cols)
{
    *item = (struct lesson_case){.weight = 1,
                                 .part = part,
                                 .devices = ON_ANY,
                                 .extent = {rows, cols},
                                 .value = {rows, cols},
                                 .null_buffer = -1,
                                 .misaligned_buffer = -1,
                                 .group = GROUP_BAD_INPUT,
                                 .repeat = 1};
    snprintf(item->name, sizeof item->name, "%s", name);
}

static int cases(struct lesson_case *cases, int capacity)
{
    static const struct attention_family family = {.part = {-1, -1, -1, PART_ATTENTION}, .max_head_dim = 256};
    int count = 0;
    for (size_t i = 0; i < sizeof TABLE / sizeof TABLE[0] && count < capacity; i++) {
        struct lesson_case *item = &cases[count++];
        start_case(item, TABLE[i].name, TABLE[i].part, TABLE[i].rows, TABLE[i].cols);
        item->group = TABLE[i].group;
        item->weight = 2;
        item->devices = TABLE[i].devices;
        item->distribution = TABLE[i].distribution;
        item->repeat = TABLE[i].repeat;
        if (TABLE[i].distribution == NORMAL) item->flags |= CASE_UNIT_SCALE;
        if (TABLE[i].flags & NO_LSE) item->null_buffer = ROWS_LSE;
        if (!(TABLE[i].flags & IN_OFFSET)) continue;
        item->misaligned_buffer = ROWS_IN;
        item->misalignment = 4;
    }
    /* Long rows have launches of their own. */
    struct lesson_case *refused =
        case_table_copy(cases, &count, capacity, "rows", "long_low", "long_launch_refused");
    if (refused != NULL) case_table_refuse_launches(refused);
    return attention_cases(&family, cases, count, capacity);
}

static int buffers(const struct lesson_case *item, struct lesson_buffer *buffers);

enum { LONGER_EVERY = 8, STEP = 1024 };

/* Somewhat longer than 1, 4 or 16 times 1024, beyond which other kernels may serve, with what is left of 1024 in each of its quarters. */
static void make_longer(struct lesson_case *item, int index, struct rng *rng)
{
    item->extent[0] = 1;
    item->extent[1] = (STEP << 2 * (index % 3)) + index / 3 % 4 * (STEP / 4) + rng_between(rng, 1, STEP / 4);
}

static void vary(struct lesson_case *item, int index, struct rng *rng)
{
    if (item->part == PART_ATTENTION) {
        attention_vary(item, index, rng);
        return;
    }
    if (item->distribution == PLACED) {
        struct lesson_buffer buffer[WIRE_BUFFERS];
        case_table_place(item, index, buffer, buffers(item, buffer));
        return;
    }
    int wide = item->devices == ON_GPU;
    item->seed = rng_next(rng);
    item->extent[0] = rng_between(rng, 1, item->part == PART_MERGE ? 300 : wide ? 64 : 4);
    item->extent[1] = item->part == PART_MERGE ? 1 : rng_between(rng, 1, wide ? 5000 : 300);
    if (item->part == PART_ROWS && index % LONGER_EVERY == LONGER_EVERY - 1)
        make_longer(item, index / LONGER_EVERY, rng);
    item->value[ON_ROWS] = item->extent[0];
    item->value[ON_COLS] = item->extent[1];
    item->distribution = rng_between(rng, NORMAL, CAN_BE_ANY - 1);
}

static int buffers(const struct lesson_case *item, struct lesson_buffer *buffers)
{
    if (item->part == PART_ATTENTION) return attention_buffers(item, buffers);
    size_t rows = (size_t)item->extent[0], cols = (size_t)item->extent[1];
    if (item->part == PART_ROWS) {
        buffers[ROWS_IN] = LESSON_BUFFER("in", WIRE_IN, STORAGE_F32, rows, cols);
        buffers[ROWS_OUT] = LESSON_BUFFER("out", WIRE_OUT, STORAGE_F32, rows, cols);
        buffers[ROWS_LSE] = LESSON_BUFFER("lse", WIRE_OUT, STORAGE_F32, rows);
        return ROWS_LSE + 1;
    }
    static const char *const pairs[] = {[MERGE_A] = "a", [MERGE_B] = "b", [MERGE_OUT] = "out"};
    for (int b = MERGE_A; b <= MERGE_OUT; b++) {
        buffers[b] = LESSON_BUFFER(pairs[b], b == MERGE_OUT ? WIRE_OUT : WIRE_IN, STORAGE_F32, rows, 2);
        buffers[b].column[0] = "m";
        buffers[b].column[1] = "l";
        buffers[b].align = 8;
    }
    return MERGE_OUT + 1;
}

/* Element `at` of `count`, in a row or in a list of maxima. */
static float value_of(const struct lesson_case *item, size_t at, size_t count, double noise)
{
    double place = (double)at;
    switch (item->distribution) {
    case LARGE:
        return (float)(1e4 * noise);
    case LOW:
        return (float)(-1e4 + noise);
    case EQUAL:
        return 2.5f;
    case RISING:
        return (float)(0.25 * place + 0.01 * noise);
    case FALLING:
        return (float)(0.05 * ((double)count - place) + 0.01 * noise);
    case DOMINANT:
        return (float)(at == count - count / 3 - 1 ? 60.0 : noise);
    case EXTREME:
        return 0x1p127f; /* times log2(e) it is as exact, for kernels with powers of 2 */
    case FAINT:          /* one largest value in the row, and values 1 to 80 below it */
        return (float)(at == count / 2 ? 5.0 : 4.0 - (double)(at * 31 % 80) + 0.01 * noise);
    default:
        return (float)noise;
    }
}

static void fill_pairs(const struct lesson_case *item, int index, size_t count, struct rng *rng, float *data)
{
    for (size_t i = 0; i < count; i++, data += 2) {
        data[0] = value_of(item, i, count, rng_normal(rng));
        data[1] = (float)(1.0 + 99.0 * rng_uniform(rng));
        if (item->distribution == EXTREME && i % 2 == 0) data[0] = -data[0];
        /* Ten million values that are 15 to 34 below the largest of the other piece still add up to
         * something. */
        if (item->distribution == FAINT) {
            int far_below = index == (int)(i % 2);
            data[0] = (float)(far_below ? -15.0 - (double)(i % 20) : 0.0);
            data[1] = far_below ? 1e7f : 1.0f;
        }
        /* In rotation, neither, the first, the second or both pairs of a merge are special. */
        int chosen = (i >> index & 1) != 0;
        int empty = item->distribution == WITH_EMPTY || item->distribution == WITH_NAN_AND_EMPTY;
        if (empty && chosen) {
            data[0] = -INFINITY;
            data[1] = 0.0f;
        }
        int nan =
            item->distribution == WITH_NAN ? chosen : item->distribution == WITH_NAN_AND_EMPTY && !chosen;
        if (nan && i % 3 == 0) data[i % 2] = NAN;
        if (item->distribution == WITH_INFINITY && chosen) data[0] = INFINITY;
    }
}

static void fill(const struct lesson_case *item, int index, size_t elems, struct rng *rng, float *data)
{
    if (item->part == PART_ATTENTION) {
        attention_fill(item, index, elems, rng, data);
        return;
    }
    if (item->part == PART_MERGE) {
        fill_pairs(item, index, elems / 2, rng, data);
        return;
    }
    size_t cols = (size_t)item->extent[1];
    for (size_t row = 0; row < elems / cols; row++)
        for (size_t col = 0; col < cols; col++) {
            float value = value_of(item, col, cols, rng_normal(rng));
            if (item->distribution == WITH_EMPTY && (row % 3 == 1 || col % 4 == 2)) value = -INFINITY;
            if (item->distribution == WITH_NAN && row % 3 == 1 && col == cols / 2) value = NAN;
            if (item->distribution == WITH_NAN_AND_EMPTY)
                value = row % 3 == 1 && col == cols / 2 ? NAN : -INFINITY;
            if (item->distribution == WITH_INFINITY && row % 3 == 0 && col == cols / 2) value = INFINITY;
            if (item->distribution == EXTREME && row % 2 == 1) value = -value;
            data[row * cols + col] = value;
        }
}

static size_t units(const struct lesson_case *item)
{
    return item->part == PART_ATTENTION ? attention_units(item) : (size_t)item->extent[0];
}

static size_t unit_elems(const struct lesson_case *item)
{
    return item->part == PART_ATTENTION ? attention_unit_elems(item) : (size_t)item->extent[1] + 2;
}

/* m is one of the two inputs, bit for bit. l is a sum of two products with an exp each, whose argument is
 * rounded. Where a NaN makes l NaN, m means nothing: any m will do. */
static void expect_merge(const struct lesson_case *item, const float *const *data, size_t unit,
                         struct lesson_expectation *e)
{
    const float *a = data[MERGE_A] + 2 * unit, *b = data[MERGE_B] + 2 * unit;
    struct lesson_span *span = &e->span[0];
    double m, l;
    (void)item;
    ref_softmax_merge((double)a[0], (double)a[1], (double)b[0], (double)b[1], &m, &l);
    float plain_m = fmaxf(a[0], b[0]);
    float plain_l = plain_m == -INFINITY ? 0.0f : a[1] * expf(a[0] - plain_m) + b[1] * expf(b[0] - plain_m);
    double below = isfinite(a[0]) && isfinite(b[0]) ? fmin(fabs((double)a[0] - (double)b[0]), 100.0) : 0.0;
    double error = bound_floor(l * (2.0 + below));
    span->buffer = MERGE_OUT;
    span->first = 2 * unit;
    span->count = isnan(l) ? 1 : 2;
    int at = isnan(l) ? 0 : 1;
    if (isnan(l)) span->first++;
    span->expected[0] = m;
    span->bound[0] = span->floor[0] = 0.0;
    span->plain[0] = (double)plain_m;
    span->expected[at] = l;
    span->plain[at] = (double)plain_l;
    span->bound[at] = span->floor[at] = bound_stored(l) + error;
    e->span_count = 1;
}

/* fmax(), NaN and all, for loops: Debian 12's gcc for aarch64 gives up ("internal compiler error") on a loop of fmax(). */
static double larger(double max, double x)
{
    return x > max ? x : max;
}

/* See attention_oracle.c: p_j changes by p_j (e_j - sum p_k e_k), where e_j is the rounding error of x_j -
 * max. */
static void expect_rows(const struct lesson_case *item, const float *in, size_t row,
                        struct lesson_expectation *e)
{
    size_t cols = (size_t)item->extent[1];
    struct lesson_span *out = &e->span[0], *lse = &e->span[1];
    double max = (double)-INFINITY, mean = 0.0;
    float plain_sum = 0.0f;
    for (size_t j = 0; j < cols; j++) {
        out->expected[j] = (double)in[row * cols + j];
        max = larger(max, out->expected[j]);
    }
    const float plain_max = (float)max;
    for (size_t j = 0; j < cols; j++) {
        e->scratch[j] = fabs(out->expected[j] - max);
        plain_sum += expf(in[row * cols + j] - plain_max);
    }
    lse->expected[0] = ref_softmax_row(out->expected, (int64_t)cols);
    for (size_t j = 0; j < cols; j++)
        if (out->expected[j] > 0.0) mean += out->expected[j] * e->scratch[j];
    struct bound_weights weights = {0};
    for (size_t j = 0; j < cols; j++) bound_weights_add(&weights, out->expected[j]);
    double running = bound_weights_running(&weights), alike = bound_weights_alike(&weights);
    for (size_t j = 0; j < cols; j++) {
        double p = out->expected[j], off = p > 0.0 ? p * (e->scratch[j] + mean) : 0.0;
        out->plain[j] = (double)(expf(in[row * cols + j] - plain_max) / plain_sum);
        out->bound[j] = bound_stored(p) + bound_sum((double)cols, p) + bound_floor(off) + p * alike;
        out->floor[j] = bound_stored(p) + bound_floor(p + off) + p * (running + alike);
    }
    lse->plain[0] = (double)(plain_max + logf(plain_sum));
    double stored = bound_stored(lse->expected[0]) + bound_base_2(max);
    lse->bound[0] = stored + bound_sum((double)cols, 1.0) + bound_floor(mean) + alike;
    lse->floor[0] = stored + bound_floor(1.0 + mean) + running + alike;
    out->buffer = ROWS_OUT;
    out->first = row * cols;
    out->count = cols;
    lse->buffer = ROWS_LSE;
    lse->first = row;
    lse->count = 1;
    e->span_count = 2;
}

static void expect(const struct lesson_case *item, const float *const *data, size_t unit,
                   struct lesson_expectation *e)
{
    switch (item->part) {
    case PART_MERGE:
        expect_merge(item, data, unit, e);
        break;
    case PART_ROWS:
        expect_rows(item, data[ROWS_IN], unit, e);
        break;
    default:
        attention_expect(item, data, unit, e);
        break;
    }
    for (int s = 0; item->part == PART_ROWS && (item->flags & CASE_UNIT_SCALE) && s < e->span_count; s++)
        for (size_t i = 0; i < e->span[s].count; i++)
            e->span[s].bound[i] = fmin(e->span[s].bound[i], BOUND_UNIT_F32);
}

/* How far the sum of a row's probabilities may be from 1: each has its own rounding error, and they share
 * that of the sum they were divided by. */
static double row_slack(const float *in, size_t cols)
{
    struct bound_weights weights = {0};
    double max = (double)-INFINITY;
    for (size_t j = 0; j < cols; j++) max = larger(max, (double)in[j]);
    for (size_t j = 0; j < cols && isfinite(max); j++) bound_weights_add(&weights, exp((double)in[j] - max));
    return bound_sum((double)cols, 1.0) + bound_floor(1.0) + bound_weights_running(&weights) +
           bound_weights_alike(&weights);
}

/* Softmax rows are in [0, 1] (0 where exp underflows), sum to 1 and keep the order of the scores. */
static int row_holds(const float *in, const float *out, size_t cols, char *reason, size_t size)
{
    for (size_t j = 0; j < cols; j++)
        if (isnan(in[j]) || in[j] == INFINITY) return 1; /* the oracle says that the whole row is NaN */
    double sum = 0.0, slack = row_slack(in, cols);
    int nothing = 1;
    for (size_t j = 0; j < cols; j++) {
        nothing = nothing && in[j] == -INFINITY;
        sum += (double)out[j];
        if (!(out[j] >= 0.0f && (double)out[j] <= 1.0 + slack))
            return snprintf(reason, size, "a probability is %g, outside [0, 1]", (double)out[j]) < 0;
        if (j > 0 && in[j] > in[j - 1] && out[j] < out[j - 1])
            return snprintf(reason, size, "a larger score has a smaller probability (column %zu)", j) < 0;
    }
    if (!nothing && !(fabs(sum - 1.0) <= slack)) return snprintf(reason, size, "a row sums to %.9g", sum) < 0;
    return 1;
}

static int holds(const struct lesson_case *item, const float *const *got, const struct lesson_case *before,
                 const float *const *got_before, char *reason, size_t size)
{
    if (item->part == PART_ATTENTION) return attention_holds(item, got, before, got_before, reason, size);
    if (item->part == PART_MERGE) return 1;
    size_t cols = (size_t)item->extent[1];
    for (size_t row = 0; row < (size_t)item->extent[0]; row++)
        if (!row_holds(got[ROWS_IN] + row * cols, got[ROWS_OUT] + row * cols, cols, reason, size)) return 0;
    return 1;
}

/* The sum of a row dealt out element by element to this many threads, each of which forgets to rescale. */
static double unscaled_sum(const float *in, int cols, int threads)
{
    double largest = (double)-INFINITY, all = 0.0;
    for (int j = 0; j < cols; j++) largest = larger(largest, (double)in[j]);
    for (int thread = 0; thread < threads && thread < cols; thread++) {
        double max = (double)-INFINITY, sum = 0.0;
        for (int j = thread; j < cols; j += threads) {
            max = larger(max, (double)in[j]);
            sum += exp((double)in[j] - max);
        }
        all += sum * exp(max - largest);
    }
    return all * exp(largest);
}

/* What mistake.size is: columns; threads of a row; the distance of lanes that are never merged, each with mistake.other columns next
 * to each other; the only sum that is rescaled, the first or the second. */
enum {
    TAIL_AS_ZEROS = 1,
    NOT_RESCALED,
    STEP_MISSING,
    STEP_OF_LANE_0,
    STEP_TWICE,
    MINUS_LSE,
    ONE_RESCALED,
    NONE_RESCALED
};
#define STEP "the reduction over a warp lacks a step: lanes %d apart are never merged, "
#define EVERY_STEP .sizes = {1, 2, 4, 8, 16, 1, 2, 4, 8, 16}, .others = {1, 1, 1, 1, 1, 4, 4, 4, 4, 4}
static const struct mistake_row OF_ROWS[] = {
    {TAIL_AS_ZEROS, RECORD_CAUSE_TAIL,
     .message = "what lies past the end of a row counts as values of 0, as if cols were rounded up to a "
                "multiple of %d",
     .sizes = {4, 32, 64, 128, 256, 512, 1024}},
    {NOT_RESCALED, RECORD_CAUSE_RESCALE,
     .message = "l is not rescaled where a later element of a row brings a new maximum (as with %d thread%s "
                "per row)",
     .sizes = {1, 32, 128, 256, 512, 1024}},
    {MINUS_LSE, RECORD_CAUSE_GUESS,
     .message = "the weights are exp(x - lse): log(l) is rounded where it is added to a large m; divide "
                "exp(x - m) by "
                "l"},
    {STEP_OF_LANE_0, RECORD_CAUSE_WARP_REDUCTION, .message = STEP "and all take what lane 0 has", EVERY_STEP},
    {STEP_MISSING, RECORD_CAUSE_WARP_REDUCTION, .message = STEP "and each takes what it has", EVERY_STEP},
    {STEP_TWICE, RECORD_CAUSE_WARP_REDUCTION, .message = STEP "and half of the lanes are left with nothing",
     EVERY_STEP},
};
static const struct mistake_row OF_MERGES[] = {
    {ONE_RESCALED, RECORD_CAUSE_RESCALE,
     .message = "only one of the two sums is rescaled to the common maximum", .sizes = {1, 2}},
    {NONE_RESCALED, RECORD_CAUSE_RESCALE,
     .message = "the two sums are added without being rescaled to the common maximum"},
};

/* 1 if a lane distance apart from the others of its half has column @p j. */
static int in_half(const struct mistake *mistake, int j)
{
    return (j / mistake->other & mistake->size) != 0;
}

/* What is at column @p at of a row, of which a warp's lanes merge all but those of one distance: each half keeps its own sum, or both
 * have that of lane 0's; where a second such step follows, which lane 0's half begins, the others are left with nothing. */
static double half_merged(const float *in, int cols, const struct mistake *mistake, int at, int in_lse)
{
    const int half = mistake->number == STEP_MISSING && !in_lse && in_half(mistake, at);
    double sum = 0.0;
    for (int j = 0; j < cols; j++) sum += in_half(mistake, j) == half ? exp((double)in[j]) : 0.0;
    if (in_lse) return log(sum);
    return mistake->number == STEP_TWICE && in_half(mistake, at) ? 0.0 : exp((double)in[at]) / sum;
}

static int minus_lse(const float *in, int cols, int buffer, size_t at, struct lesson_guess *guess)
{
    const float *row = in + at / (size_t)cols * (size_t)cols;
    double max = (double)-INFINITY, sum = 0.0;
    if (buffer == ROWS_LSE) return 0;
    for (int j = 0; j < cols; j++) max = larger(max, (double)row[j]);
    for (int j = 0; j < cols; j++) sum += exp((double)row[j] - max);
    guess->value = exp((double)in[at] - (double)(float)(max + log(sum)));
    return 1;
}

static int rows_guess(const struct lesson_case *item, const float *const *data, int index, int buffer,
                      size_t at, struct lesson_guess *guess)
{
    struct mistake mistake;
    if (mistake_at(OF_ROWS, sizeof OF_ROWS / sizeof OF_ROWS[0], &index, &mistake, guess) == NULL) return -1;
    const int cols = item->extent[1], size = mistake.size, zeros = mistake.number == TAIL_AS_ZEROS;
    if (buffer != ROWS_OUT && buffer != ROWS_LSE) return 0;
    if (mistake.number == MINUS_LSE) return minus_lse(data[ROWS_IN], cols, buffer, at, guess);
    if (zeros ? cols % size == 0 : cols <= size) return 0;
    size_t row = buffer == ROWS_LSE ? at : at / (size_t)cols;
    const float *in = data[ROWS_IN] + row * (size_t)cols;
    if (mistake.other > 0) {
        guess->value = half_merged(in, cols, &mistake, (int)(at % (size_t)cols), buffer == ROWS_LSE);
        return cols > size * mistake.other;
    }
    double sum = zeros ? 0.0 : unscaled_sum(in, cols, size);
    for (int j = 0; zeros && j < cols; j++) sum += exp((double)in[j]);
    if (zeros) sum += size - cols % size;
    guess->value = buffer == ROWS_LSE ? log(sum) : exp((double)data[ROWS_IN][at]) / sum;
    return 1;
}

static int guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
                 struct lesson_guess *guess)
{
    struct mistake mistake;
    if (item->part == PART_ATTENTION) return attention_guess(item, data, index, buffer, at, guess);
    if (item->part == PART_ROWS) return rows_guess(item, data, index, buffer, at, guess);
    if (mistake_at(OF_MERGES, sizeof OF_MERGES / sizeof OF_MERGES[0], &index, &mistake, guess) == NULL)
        return -1;
    const float *a = data[MERGE_A] + 2 * (at / 2), *b = data[MERGE_B] + 2 * (at / 2);
    if (at % 2 == 0) return 0;
    double max = fmax((double)a[0], (double)b[0]);
    double from_a = (double)a[1] * (mistake.size == 1 ? exp((double)a[0] - max) : 1.0);
    double from_b = (double)b[1] * (mistake.size == 2 ? exp((double)b[0] - max) : 1.0);
    guess->value = from_a + from_b;
    return 1;
}

static int trait(const struct lesson_case *item, int index, const char **message)
{
    const int cols = item->extent[1];
    const struct trait traits[] = {
        {cols > 32, "only rows longer than 32 fail: does the reduction reach every warp?"},
        {cols > 256, "only rows longer than 256 fail"},
        {cols > 1024, "only rows longer than 1024 fail"},
    };
    if (item->part == PART_ATTENTION) return attention_trait(item, index, message);
    return trait_at(traits, sizeof traits / sizeof traits[0], item->part == PART_ROWS, index, message);
}

static const char *purpose(const struct lesson_case *item)
{
    if (item->part == PART_ATTENTION) return attention_purpose(item);
    switch (item->distribution) {
    case LARGE:
        return "values of magnitude 1e4: exp overflows unless the maximum is subtracted first";
    case LOW:
        return "all values are far below zero: does the maximum begin at -infinity?";
    case RISING:
        return "values rise along the row: is the sum rescaled whenever the maximum grows?";
    case WITH_NAN:
        return "an input holds a NaN: it must come out where it belongs and nowhere else";
    case WITH_NAN_AND_EMPTY:
        return "a NaN beside -infinity: it is no empty piece";
    case WITH_INFINITY:
        return "some values are +infinity, and infinity - infinity is NaN";
    case EXTREME:
        return "all values are 2^127 or -2^127: does the maximum begin at -infinity?";
    case FAINT:
        return "what is far below the maximum is small and not 0";
    case WITH_EMPTY:
        return item->part == PART_MERGE
                   ? "some pieces are empty, (-infinity, 0): merging them changes nothing"
                   : "some elements are -infinity, and some rows nothing else";
    default:
        return NULL;
    }
}

static void cost(const struct lesson_case *item, struct lesson_cost *cost)
{
    if (item->part == PART_ATTENTION) {
        attention_cost(item, cost);
        return;
    }
    double rows = item->extent[0], elems = rows * item->extent[1];
    if (item->part == PART_MERGE)
        *cost = (struct lesson_cost){.flop = 7.0 * rows, .min_bytes = 24.0 * rows, .oracle_ops = 50.0 * rows};
    else
        *cost = (struct lesson_cost){
            .flop = 5.0 * elems, .min_bytes = 8.0 * elems + 4.0 * rows, .oracle_ops = 50.0 * elems};
}

static size_t workspace_bytes(const struct lesson_case *item)
{
    (void)item;
    return 0;
}

static void describe(const struct lesson_case *item, char *text, size_t size)
{
    if (item->part == PART_ATTENTION)
        attention_describe(item, text, size);
    else if (item->part == PART_MERGE)
        snprintf(text, size, "count %lld, f32", (long long)item->value[ON_COUNT]);
    else
        snprintf(text, size, "rows %lld, cols %lld, f32", (long long)item->value[ON_ROWS],
                 (long long)item->value[ON_COLS]);
}

const struct lesson lesson_03_online_softmax = {
#include "checker/cases/described.h"
    LESSON_CALLBACKS(),
    .turns = "in",
    .distributions = DIST_COUNT, /* of the attention cases; those of merge and rows use fewer */
    .holds = holds,
};
