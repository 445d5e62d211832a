/**
 * @file checker_gemm.c
 * @brief Matrix products: arguments, the case table, the verdict on planted mistakes, and the identity.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checker/verdict/compare.h"
#include "checker/cases/gemm_cases.h"
#include "checker/cases/gemm_inputs.h"
#include "checker/numbers/freivalds.h"
#include "judged_case.h"

static int failures;

void expect(int holds, const char *what, const char *found)
{
    if (holds) return;
    failures++;
    printf("FAIL %s: %s\n", what, found);
}

static int cases(struct lesson_case *cases, int capacity)
{
    static const struct gemm_family plain = {.name = "plain",
                                             .dtype_in = DTYPE_F16,
                                             .tensor_cores = 1,
                                             .choice = GEMM_STAGES,
                                             .first_choice = 2,
                                             .last_choice = 4};
    static const struct gemm_family f32 = {.part = 1,
                                           .name = "f32",
                                           .general = 1,
                                           .same_layouts = 1,
                                           .choice = GEMM_TILE,
                                           .first_choice = 0,
                                           .last_choice = 2};
    static const struct gemm_family f16 = {
        .part = 2, .name = "f16", .dtype_in = DTYPE_F16, .dtype_out = DTYPE_F16, .general = 1};
    int count = gemm_cases(&plain, cases, 0, capacity);
    count = gemm_cases(&f32, cases, count, capacity);
    return gemm_cases(&f16, cases, count, capacity);
}

static const struct lesson PRODUCTS = {.number = 91,
                                       .topic = "products",
                                       .title = "matrix products",
                                       .part_count = 3,
                                       .part = {{"plain", 40}, {"f32", 30}, {"f16", 30}},
                                       GEMM_CALLBACKS,
                                       .cases = cases};

/* ---- arguments ------------------------------------------------------------------------------------------- */

static void test_arguments(void)
{
    static float memory[16];
    const struct gemm_args good = {.m = 3,
                                   .n = 5,
                                   .k = 7,
                                   .lda = 7,
                                   .ldb = 5,
                                   .ldc = 5,
                                   .alpha = 1.0f,
                                   .dtype_in = DTYPE_F16,
                                   .a = memory,
                                   .b = memory,
                                   .c = memory};
    struct gemm_args args = good;
    expect(gemm_args_check(&good, 0) == KERNEL_OK, "arguments", "good ones are refused");
    expect(gemm_args_check_plain(&good) == KERNEL_OK, "arguments", "good plain ones are refused");
    expect(gemm_args_check(NULL, 0) == KERNEL_INVALID_CONFIG, "arguments", "NULL");
    expect(gemm_args_check_plain(NULL) == KERNEL_INVALID_CONFIG, "arguments", "NULL, plain");
    args.k = 0;
    expect(gemm_args_check(&args, 0) == KERNEL_OK, "arguments", "k = 0 is refused");
    expect(gemm_args_check_plain(&args) == KERNEL_INVALID_DIMENSION, "arguments", "plain k = 0 is taken");
    args = good;
    args.trans_a = 1; /* stored [7, 3] */
    args.lda = 3;
    expect(gemm_args_check(&args, 0) == KERNEL_OK, "arguments", "lda of a transposed A");
    expect(gemm_args_check_plain(&args) == KERNEL_INVALID_CONFIG, "arguments", "plain trans_a");
    args.lda = 2;
    expect(gemm_args_check(&args, 0) == KERNEL_INVALID_DIMENSION, "arguments", "short lda, transposed");
    args = good;
    args.trans_b = 1; /* stored [5, 7] */
    expect(gemm_args_check(&args, 0) == KERNEL_INVALID_DIMENSION, "arguments", "short ldb, transposed");
    args = good;
    args.m = args.n = args.ldb = args.ldc = 1 << 20;
    expect(gemm_args_check(&args, 0) == KERNEL_INVALID_DIMENSION, "arguments", "too many tiles");
    args.n = args.ldb = args.ldc = 1 << 18;
    expect(gemm_args_check(&args, 0) == KERNEL_OK, "arguments", "2^38 elements of C");
    args = good;
    args.m = args.lda = INT_MAX;
    expect(gemm_args_check(&args, 0) == KERNEL_INVALID_DIMENSION, "arguments", "2^62 elements of A");
    args = good;
    args.dtype_in = (enum dtype)9;
    args.a = (const char *)memory + 1;
    expect(gemm_args_check(&args, 0) == KERNEL_UNSUPPORTED_DTYPE, "arguments", "storage type comes first");
    args.dtype_in = DTYPE_F16;
    expect(gemm_args_check(&args, 0) == KERNEL_ALIGNMENT_ERROR, "arguments", "odd address");
    args = good;
    expect(gemm_args_check(&args, 4) == KERNEL_OUT_OF_MEMORY, "arguments", "no workspace");
}

/* ---- the table ------------------------------------------------------------------------------------------- */

static void test_item(const struct lesson_case *item)
{
    struct lesson_buffer buffers[WIRE_BUFFERS];
    char shape[160];
    gemm_buffers(item, buffers);
    gemm_describe(item, shape, sizeof shape);
    expect(strlen(shape) < sizeof shape - 1, item->name, "its shape does not fit");
    for (int b = 0; b < GEMM_BUFFERS; b++) {
        size_t gap = buffers[b].extent[1] - buffers[b].row;
        expect(buffers[b].row <= buffers[b].extent[1], item->name, "rows overlap");
        expect(lesson_elems(&buffers[b]) == buffers[b].extent[0] * buffers[b].extent[1] - gap, item->name,
               "something lies behind the last row");
    }
}

/* Names are unique, sizes are those promised, every choice takes its turn, and all of it fits. */
static void test_table(void)
{
    static struct lesson_case all[CHECK_CASES];
    int count = cases(all, CHECK_CASES), turns[3][5] = {{0}}, refused[3] = {0},
        groups[3][GROUP_COUNT] = {{0}};
    expect(count < CHECK_CASES, "table", "too many cases");
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < i; j++) expect(strcmp(all[j].name, all[i].name) != 0, all[i].name, "twice");
        refused[all[i].part] += all[i].expected != KERNEL_OK;
        groups[all[i].part][all[i].group]++;
        if (all[i].expected == KERNEL_OK && all[i].value[GEMM_CHOICE] < 5)
            turns[all[i].part][all[i].value[GEMM_CHOICE]]++;
        test_item(&all[i]);
        for (int n = 0; n < all[i].repeat && all[i].repeat > 1; n++) {
            struct lesson_case item = all[i];
            struct rng rng = {rng_mix(9, (uint64_t)n)};
            item.devices = n % 2 ? ON_GPU : ON_SIMT;
            gemm_vary(&item, n, &rng);
            test_item(&item);
        }
    }
    for (int part = 0; part < 3; part++) {
        expect(refused[part] > 0, "table", "refusals are missing"); /* promises.c makes most of them */
        for (int group = 0; group < GROUP_COUNT; group++)
            expect(groups[part][group] > 0, PRODUCTS.part[part].name, "an empty group");
    }
    expect(turns[0][2] > 9 && turns[0][3] > 9 && turns[0][4] > 9, "table", "stages do not take turns");
    expect(turns[1][0] > 9 && turns[1][1] > 9 && turns[1][2] > 9, "table", "tiles do not take turns");
}

/* What the matrices of an item hold, however they are stored. */
static double contents(const struct lesson_case *item)
{
    struct lesson_buffer buffers[GEMM_BUFFERS];
    double sum = 0.0;
    gemm_buffers(item, buffers);
    for (int b = GEMM_A; b <= GEMM_B; b++) {
        size_t elems = lesson_elems(&buffers[b]);
        float *data = malloc(elems * sizeof *data);
        struct rng filler = {rng_mix(item->seed, (uint64_t)b)};
        if (data == NULL) exit(2);
        gemm_fill(item, b, elems, &filler, data);
        for (size_t at = 0; at < elems; at++)
            if (!lesson_between_rows(&buffers[b], at)) sum += (b + 1) * fabs((double)data[at]);
        free(data);
    }
    return sum;
}

/** What is counted of the items that must have the same bits as the one before them. */
struct pairs {
    int all, other_choice, other_layout, other_rows, other_start, other_by_4, small_device;
};

static void count_pair(const struct lesson_case *item, const struct lesson_case *before, struct pairs *pairs)
{
    const int *now = item->extent, *then = before->extent;
    pairs->all++;
    pairs->other_choice += item->value[GEMM_CHOICE] != before->value[GEMM_CHOICE];
    pairs->other_layout += now[GEMM_TRANS_A] != then[GEMM_TRANS_A] || now[GEMM_TRANS_B] != then[GEMM_TRANS_B];
    pairs->other_rows += now[GEMM_LDC] != then[GEMM_LDC];
    for (int b = GEMM_A; b <= GEMM_C; b++) pairs->other_start += item->start[b] != before->start[b];
    pairs->other_by_4 += item->start[GEMM_C] % 8 == 4;
    pairs->small_device += (item->flags & CASE_SMALL_DEVICE) != 0;
    for (int i = GEMM_M; i <= GEMM_K; i++) expect(now[i] == then[i], item->name, "another product");
    expect(item->real[GEMM_BETA] == before->real[GEMM_BETA], item->name, "another product");
    expect(fabs(contents(item) - contents(before)) <= 1e-9 * contents(item), item->name, "other matrices");
}

/* Where a family promises the same bits, there are items that are compared, of every kind that was promised. */
static void test_same_bits(void)
{
    static struct lesson_case all[CHECK_CASES];
    struct pairs pairs[3] = {{0}};
    int count = cases(all, CHECK_CASES);
    for (int i = 0; i < count; i++) {
        struct lesson_case before = {0};
        for (int n = 0; n < all[i].repeat && (all[i].flags & CASE_SAME_BITS); n++) {
            struct lesson_case item = all[i];
            struct rng rng = {rng_mix(9, (uint64_t)n)};
            item.seed = 77;
            gemm_vary(&item, n, &rng);
            expect(n > 0 || !(item.flags & CASE_SAME_BITS), item.name, "the first of all has none before it");
            if (item.flags & CASE_SAME_BITS) count_pair(&item, &before, &pairs[item.part]);
            before = item;
        }
    }
    expect(pairs[0].other_choice > 50 && pairs[0].other_layout + pairs[0].other_start == 0, "same bits",
           "stages");
    expect(pairs[1].other_choice > 50 && pairs[1].other_layout > 50 && pairs[1].other_rows > 30 &&
               pairs[1].other_start > 50 && pairs[1].other_by_4 > 5,
           "same bits", "layouts");
    expect(pairs[0].small_device > 10 && pairs[1].small_device > 10, "same bits", "large tiles");
    expect(pairs[2].all == 0, "same bits", "nobody promised them");
}

/* ---- planted mistakes ------------------------------------------------------------------------------------ */

enum damage {
    NONE,
    /* another product */
    LAST_TERM,
    LAST_TILE_16,
    FIRST_TILE_32,
    ALPHA_1,
    ALPHA_SQUARED,
    ALPHA_ON_C,
    BETA_0,
    BETA_1,
    FLIPPED_A,
    FLIPPED_B,
    DENSE_A,
    DENSE_B,
    ROWS_SWAPPED,
    /* element by element */
    TIMES_TWO,
    ALL_ZERO,
    TAIL_ZERO,
    SUMMED_AS_HALF,
    SUMMED_BY_CORES,
    CUT_OFF,
    INPUTS_AS_HALF,
    NAN_AS_ZERO,
    /* bits */
    GAP_WRITTEN,
    GAP_WRITTEN_TWICE,
    LAST_ROW_UNTOUCHED,
    INPUT_CHANGED
};

static const struct planted {
    const char *name;
    enum damage damage;
    enum state state;
    const char *says;
} PLANTED[] = {
    {"plain/square_64", NONE, STATE_PASS, ""},
    {"plain/rows_apart_odd", NONE, STATE_PASS, ""},
    {"plain/large", NONE, STATE_PASS, ""},
    {"plain/small", NONE, STATE_PASS, ""},
    {"plain/cancel", NONE, STATE_PASS, ""},
    {"plain/spread", NONE, STATE_PASS, ""},
    {"plain/positive_1000", NONE, STATE_PASS, ""},
    {"plain/nan_a", NONE, STATE_PASS, ""},
    {"plain/property_padding", NONE, STATE_PASS, ""},
    {"plain/lda_short", NONE, STATE_PASS, ""},
    {"f32/alpha_0", NONE, STATE_PASS, ""},
    {"f32/k_0", NONE, STATE_PASS, ""},
    {"f32/k_0_beta_0", NONE, STATE_PASS, ""},
    {"f32/nan_c_beta", NONE, STATE_PASS, ""},
    {"f32/unlike", NONE, STATE_PASS, ""},
    {"f16/large", NONE, STATE_PASS, ""},
    {"f16/small", NONE, STATE_PASS, ""},
    {"f16/tt_rows_apart", NONE, STATE_PASS, ""},
    {"plain/square_64", LAST_TERM, STATE_FAIL, "of 64 terms along k 63 is missing"},
    {"plain/deep_512", LAST_TILE_16, STATE_FAIL, "of 512 terms along k 496 to 511 are missing"},
    {"plain/edge_64_63_65", LAST_TERM, STATE_FAIL, "of 65 terms along k 64 is missing"},
    {"plain/deep_512", FIRST_TILE_32, STATE_FAIL, "of 512 terms along k 32 to 511 are missing"},
    {"f32/alpha", ALPHA_1, STATE_FAIL, "alpha is ignored"},
    {"f32/alpha", ALPHA_SQUARED, STATE_FAIL, "alpha is applied twice"},
    {"f32/alpha_beta_tail", ALPHA_ON_C, STATE_FAIL, "alpha is applied to beta * C as well"},
    {"f32/beta", BETA_0, STATE_FAIL, "beta is ignored"},
    {"f16/beta", BETA_1, STATE_FAIL, "beta is taken as 1"},
    {"f32/square_64", FLIPPED_A, STATE_FAIL, "is trans_a respected?"},
    {"f32/square_64", FLIPPED_B, STATE_FAIL, "is trans_b respected?"},
    {"plain/rows_apart_8", DENSE_A, STATE_FAIL, "is lda respected?"},
    {"plain/rows_apart_8", DENSE_B, STATE_FAIL, "NaN lies between the rows of b"},
    {"plain/square_64", ROWS_SWAPPED, STATE_FAIL, "transposed: every element is that of row j, column i"},
    {"plain/edge_64_63_65", TIMES_TWO, STATE_FAIL, "constant factor"},
    {"f16/square_64", TIMES_TWO, STATE_FAIL, "constant factor"},
    {"plain/square_64", ALL_ZERO, STATE_FAIL, "all zero"},
    {"plain/edge_63_65_64", TAIL_ZERO, STATE_FAIL, "the wrong elements are all zero"},
    {"plain/square_64", SUMMED_AS_HALF, STATE_FAIL, "wrong"},
    {"plain/positive_1000", SUMMED_AS_HALF, STATE_FAIL, "wrong"},
    {"plain/cancel", SUMMED_AS_HALF, STATE_FAIL, ""},
    {"plain/square_128", SUMMED_BY_CORES, STATE_PASS, ""}, /* tensor cores cut off, and may */
    {"plain/positive_1000", SUMMED_BY_CORES, STATE_PASS, ""},
    {"f32/positive_1000", CUT_OFF, STATE_FAIL, "rounding: "}, /* other sums may not */
    {"f32/square_64", INPUTS_AS_HALF, STATE_FAIL, ""},
    {"f32/tile_16", INPUTS_AS_HALF, STATE_FAIL, ""},
    {"plain/nan_a", NAN_AS_ZERO, STATE_FAIL, "a NaN was lost"},
    {"plain/nan_b", NAN_AS_ZERO, STATE_FAIL, "a NaN was lost"},
    {"plain/rows_apart_odd", GAP_WRITTEN, STATE_FAIL, "c[3,66] was written: it lies past the end of its row"},
    {"plain/rows_apart_odd", GAP_WRITTEN_TWICE, STATE_FAIL, "c[3,66] was written: it lies past the end"},
    {"f32/tn_rows_apart", GAP_WRITTEN_TWICE, STATE_FAIL, "c[3,62] was written: it lies past the end"},
    {"plain/rows_apart_odd", LAST_ROW_UNTOUCHED, STATE_FAIL, "never written: 64 of"},
    {"plain/rows_apart_odd", INPUT_CHANGED, STATE_FAIL, "input modified: b[0,3]"},
};

/* The product that a mistaken kernel would compute. */
static struct ref_gemm_shape mistaken(const struct lesson_case *item, enum damage damage)
{
    struct ref_gemm_shape shape = gemm_shape(item);
    double alpha = shape.alpha;
    if (damage == LAST_TERM) shape.k--;
    if (damage == LAST_TILE_16) shape.k -= 16;
    if (damage == FIRST_TILE_32) shape.k = 32;
    if (damage == ALPHA_1) shape.alpha = 1.0;
    if (damage == ALPHA_SQUARED) shape.alpha *= alpha;
    if (damage == ALPHA_ON_C) shape.beta *= alpha;
    if (damage == BETA_0) shape.beta = 0.0;
    if (damage == BETA_1) shape.beta = 1.0;
    if (damage == FLIPPED_A) shape.transpose_a = 1;
    if (damage == FLIPPED_B) shape.transpose_b = 1;
    if (damage == DENSE_A) shape.lda = shape.k;
    if (damage == DENSE_B) shape.ldb = shape.n;
    return shape;
}

static double summed_as_half(const struct ref_gemm_shape *shape, const float *a, const float *b, size_t i,
                             size_t j)
{
    float sum = 0.0f;
    for (size_t p = 0; p < (size_t)shape->k; p++)
        sum = storage_round(STORAGE_F16, sum + a[i * (size_t)shape->lda + p] * b[p * (size_t)shape->ldb + j]);
    return (double)sum;
}

/* So many products at once, four on tensor cores, and what does not fit a float is cut off. */
static double summed_by_cores(const struct ref_gemm_shape *shape, const float *a, const float *b, size_t i,
                              size_t j, size_t products)
{
    double sum = 0.0;
    for (size_t p = 0; p < (size_t)shape->k; p++) {
        sum += (double)a[i * (size_t)shape->lda + p] * (double)b[p * (size_t)shape->ldb + j];
        float cut = (float)sum;
        if (fabs((double)cut) > fabs(sum)) cut = nextafterf(cut, 0.0f);
        if (p % products == products - 1 || p + 1 == (size_t)shape->k) sum = (double)cut;
    }
    return sum;
}

static double inputs_as_half(const struct ref_gemm_shape *shape, const float *a, const float *b, size_t i,
                             size_t j)
{
    double sum = 0.0;
    for (size_t p = 0; p < (size_t)shape->k; p++)
        sum += (double)storage_round(STORAGE_F16, a[i * (size_t)shape->lda + p]) *
               (double)storage_round(STORAGE_F16, b[p * (size_t)shape->ldb + j]);
    return sum;
}

static double spoiled(const struct ref_gemm_shape *shape, const float *const *data, enum damage damage,
                      size_t i, size_t j, double value)
{
    switch (damage) {
    case TIMES_TWO:
        return 2.0 * value;
    case ALL_ZERO:
        return 0.0;
    case TAIL_ZERO:
        return j >= 64 ? 0.0 : value;
    case SUMMED_AS_HALF:
        return summed_as_half(shape, data[GEMM_A], data[GEMM_B], i, j);
    case SUMMED_BY_CORES:
        return summed_by_cores(shape, data[GEMM_A], data[GEMM_B], i, j, 4);
    case CUT_OFF:
        return summed_by_cores(shape, data[GEMM_A], data[GEMM_B], i, j, 1);
    case INPUTS_AS_HALF:
        return inputs_as_half(shape, data[GEMM_A], data[GEMM_B], i, j);
    case NAN_AS_ZERO:
        return isnan(value) ? 0.0 : value;
    default:
        return value;
    }
}

static void spoil_values(struct judged_case *c, enum damage damage, const float *const *data)
{
    struct ref_gemm_shape shape = mistaken(&c->item->settled, damage);
    size_t m = (size_t)shape.m, n = (size_t)shape.n, ldc = (size_t)shape.ldc;
    double *product = malloc(m * n * sizeof *product);
    if (product == NULL) exit(2);
    ref_gemm(&shape, data[GEMM_A], data[GEMM_B], data[GEMM_C], product, NULL);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            for (int run = 0; run < 2; run++) {
                double value = damage == ROWS_SWAPPED ? product[j * n + i] : product[i * n + j];
                value = spoiled(&shape, data, damage, i, j, value);
                storage_put(c->item->buffer[GEMM_C].storage, copy_of(c, GEMM_C, run), i * ldc + j,
                            (float)value);
            }
    free(product);
}

static void spoil_bits(struct judged_case *c, enum damage damage)
{
    const struct lesson_buffer *buffer = &c->item->buffer[GEMM_C];
    size_t ldc = buffer->extent[1], n = buffer->row, m = buffer->extent[0];
    if (damage == INPUT_CHANGED) ((unsigned char *)copy_of(c, GEMM_B, 0))[6] ^= 1;
    for (int run = 0; run < 2; run++) {
        unsigned char *out = copy_of(c, GEMM_C, run);
        uint32_t poison = session_poison(c->item, GEMM_C, run);
        if (damage == GAP_WRITTEN_TWICE || (damage == GAP_WRITTEN && run == 1))
            storage_put(buffer->storage, out, 3 * ldc + n + 2, 0.5f);
        for (size_t j = 0; damage == LAST_ROW_UNTOUCHED && j < n; j++)
            memcpy(out + 4 * ((m - 1) * ldc + j), &poison, sizeof poison);
    }
}

static void spoil(struct judged_case *c, enum damage damage)
{
    if (damage < GAP_WRITTEN)
        spoil_values(c, damage, (const float *const *)c->item->input);
    else
        spoil_bits(c, damage);
}

static void test_planted(void)
{
    for (size_t i = 0; i < sizeof PLANTED / sizeof PLANTED[0]; i++) {
        const struct planted *planted = &PLANTED[i];
        struct judged_case c;
        char text[2 * VERDICT_TEXT + 64];
        open_case(&c, &PRODUCTS, planted->name);
        if (planted->damage != NONE) spoil(&c, planted->damage);
        const struct verdict *verdict = judge_case(&c);
        snprintf(text, sizeof text, "row %zu: %s: %s / %s", i, state_name(verdict->state),
                 headline_of(verdict), pattern_of(verdict));
        expect(verdict->state == planted->state, planted->name, text);
        expect(strstr(headline_of(verdict), planted->says) != NULL ||
                   strstr(pattern_of(verdict), planted->says) != NULL,
               planted->name, text);
        close_case(&c);
    }
}

/* ---- the identity ---------------------------------------------------------------------------------------- */

enum { LONGEST = 600, MOST = LONGEST * 20 };

/* A product of integers, so that a claim is right to the last bit, and what the check says of it. */
static struct {
    struct ref_gemm_shape shape;
    float a[MOST], b[MOST], c[MOST], claimed[MOST];
} product;

static void make_product(int input)
{
    const int ta = input & 1, tb = input >> 1 & 1, long_m = input % 3 == 0 ? LONGEST - input : 7;
    double exact[MOST];
    struct ref_gemm_shape *s = &product.shape;
    *s = (struct ref_gemm_shape){.m = long_m,
                                 .n = 9 + input % 8,
                                 .k = 1 + input % 17,
                                 .transpose_a = ta,
                                 .transpose_b = tb,
                                 .alpha = input % 4,
                                 .beta = input % 3 - 1};
    s->lda = (ta ? s->m : s->k) + input % 2;
    s->ldb = (tb ? s->k : s->n) + input % 3;
    s->ldc = s->n + input % 2;
    for (int i = 0; i < MOST; i++) product.a[i] = (float)(i * 7 % 19 - 9);
    for (int i = 0; i < MOST; i++) product.b[i] = (float)(i * 5 % 17 - 8);
    for (int i = 0; i < MOST; i++) product.c[i] = (float)(i % 13 - 6);
    ref_gemm(s, product.a, product.b, product.c, exact, NULL);
    for (int i = 0; i < s->m * s->n; i++) product.claimed[i / s->n * s->ldc + i % s->n] = (float)exact[i];
}

static int holds(char *reason)
{
    return freivalds_holds(&product.shape, product.a, product.b, product.c, product.claimed, 1e-12, 5, "B",
                           reason, 256);
}

static void test_freivalds(void)
{
    char reason[256] = "", row[32];
    for (int input = 0; input < 60; input++) {
        make_product(input);
        expect(holds(reason), "a product that is right", reason);
        const int wrong = input * 31 % product.shape.m, j = input % product.shape.n;
        float *at = product.claimed + wrong * product.shape.ldc + j;
        *at += 1.0f;
        snprintf(row, sizeof row, "in row %d,", wrong);
        expect(!holds(reason) && strstr(reason, row) != NULL, row, reason);
        *at = NAN;
        expect(!holds(reason) && strstr(reason, row) != NULL, "NaN", reason);
    }
    make_product(0); /* alpha is 0, so A and B are not read; then beta, and C is not */
    for (int i = 0; i < MOST; i++) product.a[i] = product.b[i] = NAN;
    expect(holds(reason), "alpha is 0", reason);
    make_product(1);
    for (int i = 0; i < MOST; i++) product.c[i] = NAN;
    expect(product.shape.beta == 0.0 && holds(reason), "beta is 0", reason);
}

/* A product that costs so much, on paper, that only some rows are compared. */
static void costly(const struct lesson_case *item, struct lesson_cost *cost)
{
    gemm_cost(item, cost);
    cost->oracle_ops = 1e10;
}

static int tall_case(struct lesson_case *item, int capacity)
{
    static const struct gemm_family family = {.name = "tall", .dtype_in = DTYPE_F16, .tensor_cores = 1};
    if (capacity < 1) return 0;
    *item = gemm_case(&family, "700x40x50", GROUP_SPEED, ON_ANY, 700, 40, 50);
    item->extent[GEMM_LDC] = 43;
    item->value[GEMM_LDC] = 43;
    return 1;
}

static const struct lesson TALL = {.number = 92,
                                   .topic = "tall",
                                   .title = "one that is sampled",
                                   .part_count = 1,
                                   .part = {{"tall", 100}},
                                   .vary = gemm_vary,
                                   .buffers = gemm_buffers,
                                   .fill = gemm_fill,
                                   .units = gemm_units,
                                   .unit_elems = gemm_unit_elems,
                                   .expect = gemm_expect,
                                   .identity = gemm_identity,
                                   .guess = gemm_guess,
                                   .trait = gemm_trait,
                                   .cost = costly,
                                   .workspace_bytes = gemm_workspace_bytes,
                                   .describe = gemm_describe,
                                   .purpose = gemm_purpose,
                                   .cases = tall_case};

/* One wrong element anywhere is found: where its row was compared, or else by the identity. */
static void test_identity(void)
{
    int by_identity = 0, by_row = 0;
    for (int row = -1; row < 700; row += 50) {
        struct judged_case c;
        open_case(&c, &TALL, "tall/700x40x50");
        for (int run = 0; run < 2 && row >= 0; run++) {
            float *element = (float *)copy_of(&c, GEMM_C, run) + row * 43 + 7;
            *element = row % 100 == 49 ? *element + 0.05f : NAN;
        }
        const struct verdict *verdict = judge_case(&c);
        expect(verdict->sampled > 64 && verdict->sampled < 700, "identity", "not sampled");
        expect(verdict->state == (row < 0 ? STATE_PASS : STATE_FAIL), "identity", headline_of(verdict));
        by_identity += row >= 0 && strstr(headline_of(verdict), "Freivalds") != NULL;
        by_row += row >= 0 && strstr(headline_of(verdict), "wrong") != NULL &&
                  strstr(headline_of(verdict), "Freivalds") == NULL;
        close_case(&c);
    }
    expect(by_identity >= 4 && by_row >= 2 && by_identity + by_row == 14, "identity",
           "not found in both of two ways");
}

int main(void)
{
    test_arguments();
    test_table();
    test_same_bits();
    test_planted();
    test_freivalds();
    test_identity();
    printf("checker_gemm: %d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
