/**
 * @file checker.c
 * @brief The checker without a runner: numbers, tables, bounds, and the diagnosis of planted mistakes.
 *
 * For the diagnosis an item's image is filled as a perfect kernel would fill it, with the oracle's own answer,
 * and then spoiled in one way; the verdict must say which.
 */
#include <glob.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checker/promises/promises.h"
#include "checker/cases/attention_cases.h"
#include "checker/cases/decode_cases.h"
#include "checker/numbers/bound.h"
#include "checker/verdict/compare.h"
#include "checker/verdict/diagnose.h"
#include "checker/verdict/judge.h"
#include "judged_case.h"
#include "checker/numbers/storage.h"
#include "checker/options.h"
#include "protocol/engine_items.h"
#include "checker/report/report.h"
#include "record/words.h"

static int failures;

void expect(int holds, const char *what, const char *found)
{
    if (holds) return;
    failures++;
    printf("FAIL %s: %s\n", what, found);
}

/* ---- numbers --------------------------------------------------------------------------------------------- */

static void test_compare_element(void)
{
    static const struct {
        double got, expected, bound;
        int right;
    } rows[] = {
        {1.0, 1.0, 0.0, 1},           {1.0, 1.1, 0.2, 1},          {1.0, 1.1, 0.05, 0},
        {NAN, NAN, 0.0, 1},           {NAN, 1.0, 1e9, 0},          {1.0, NAN, 1e9, 0},
        {INFINITY, INFINITY, 0, 1},   {-INFINITY, INFINITY, 1, 0}, {INFINITY, 1.0, 1e30, 0},
        {1.0, INFINITY, INFINITY, 0}, {1.0, 2.0, NAN, 0},          {-0.0, 0.0, 0.0, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[80];
        snprintf(text, sizeof text, "row %zu", i);
        expect(compare_element(rows[i].got, rows[i].expected, rows[i].bound) == rows[i].right,
               "compare_element", text);
    }
}

static void test_rng(void)
{
    struct rng one = {42}, two = {42}, other = {43};
    double sum = 0.0, squares = 0.0;
    int low = 0, high = 0, same = 0;
    for (int i = 0; i < 20000; i++) {
        double x = rng_normal(&one);
        expect(x == rng_normal(&two), "rng", "the same seed gives other numbers");
        same += x == rng_normal(&other);
        sum += x;
        squares += x * x;
        int die = rng_between(&one, 1, 6);
        rng_between(&two, 1, 6);
        low += die == 1;
        high += die == 6;
        expect(die >= 1 && die <= 6, "rng_between", "outside its range");
    }
    expect(same < 20, "rng", "other seeds give the same numbers");
    expect(fabs(sum / 20000) < 0.03 && fabs(squares / 20000 - 1.0) < 0.05, "rng_normal",
           "wrong mean or variance");
    expect(abs(low - 3333) < 300 && abs(high - 3333) < 300, "rng_between", "not even");
    expect(rng_mix(1, 2) != rng_mix(2, 1) && rng_mix_text(1, "ab") != rng_mix_text(1, "ba"), "rng_mix",
           "commutes");
    expect(rng_unforeseen() != rng_unforeseen(), "rng_unforeseen", "repeats itself");
}

static void test_bounds(void)
{
    expect(fabs(bound_sum(64, 1.0) - 8.0 * 8.0 * 0x1p-24) < 1e-12, "bound_sum", "c u sqrt(n)");
    expect(bound_stored(0.0) > 0.0 && bound_stored(0.0) < 1e-37, "bound_stored", "of zero");
    expect(bound_sum(8192, 1.0) < BOUND_UNIT_F32, "bound_sum", "looser than 1e-3 on unit scale");
    struct buffer_comparison found = {
        .largest_error = 3e-6, .largest_plain_error = 1e-6, .largest_floor = 0.5e-6};
    expect(compare_norm_share(&found) > 1.0, "compare_norm_share", "three times the plain error passes");
    found.largest_error = 2.4e-6;
    expect(compare_norm_share(&found) < 1.0, "compare_norm_share", "2.4 of 2.5 fails");
    expect(compare_norm_share(&(struct buffer_comparison){0}) == 0.0, "compare_norm_share", "of nothing");
}

static void test_names(void)
{
    struct lesson_buffer out = LESSON_BUFFER("out", WIRE_OUT, STORAGE_F16, 2, 3, 65, 64);
    struct lesson_buffer pairs = LESSON_BUFFER("a", WIRE_IN, STORAGE_F32, 5, 2);
    pairs.column[0] = "m";
    pairs.column[1] = "l";
    static const struct {
        int fields;
        size_t at;
        const char *name;
    } PLACES[] = {{0, ((1 * 3 + 2) * 65 + 64) * 64 + 7, "out[1,2,64,7]"}, {1, 7, "a[3].l"}};
    for (size_t i = 0; i < sizeof PLACES / sizeof PLACES[0]; i++) {
        struct record record = {0};
        char text[64];
        compare_place(PLACES[i].fields ? &pairs : &out, PLACES[i].at, &record);
        record_print_element(&record, text, sizeof text);
        expect(strcmp(text, PLACES[i].name) == 0, "compare_place", text);
    }
}

static void test_guards(void)
{
    int same = 0;
    for (uint64_t at = 0; at < 1000; at++) {
        same += wire_guard_byte(1, 0, at) == wire_guard_byte(1, 1, at);
        same += wire_guard_byte(1, 0, at) == wire_guard_byte(2, 0, at);
        same += wire_guard_byte(1, 0, at) == wire_guard_byte(1, 0, at + 1);
    }
    expect(same < 60, "wire_guard_byte", "patterns repeat");
}

/* A workspace has bytes, not elements, and ends where the student's own function says. */
static void test_workspace_guard(void)
{
    struct judged_case c;
    open_guarded_case(&c, options_lesson("01"), "attention/tiny");
    unsigned char *behind = copy_of(&c, ATTENTION_WORKSPACE, 0); /* what it held does not come back */
    behind[3] ^= 1;
    const struct verdict *verdict = judge_case(&c);
    expect(verdict->record.kind == RECORD_WROTE_OUTSIDE && verdict->record.message == RECORD_PAST_WORKSPACE &&
               verdict->record.number[RECORD_N_FIRST] == 3 && verdict->record.number[RECORD_N_SECOND] == 96,
           "guard of a workspace", headline_of(verdict));
    close_case(&c);
}

/* ---- tables ---------------------------------------------------------------------------------------------- */

static void test_table(const char *lesson_name)
{
    struct check *check = calloc(1, sizeof *check);
    if (check == NULL) exit(2);
    check->options.lesson = options_lesson(lesson_name);
    check->options.device = DEVICE_SIMT;
    check->case_count = promises_cases(check->options.lesson, check->cases, CHECK_CASES);
    double points[LESSON_PARTS] = {0}, of_refusals[LESSON_PARTS] = {0};
    expect(check->case_count < CHECK_CASES, lesson_name, "the table is full");
    for (int i = 0; i < check->case_count; i++) {
        const struct lesson_case *item = &check->cases[i];
        const char *part = check->options.lesson->part[item->part].name;
        size_t length = strlen(part);
        expect(strncmp(item->name, part, length) == 0 && item->name[length] == '/', item->name,
               "not named by its part");
        if (item->devices & ON_SIMT) {
            points[item->part] += check_points_max(check, i);
            if (item->expected != KERNEL_OK) of_refusals[item->part] += check_points_max(check, i);
        }
        expect(item->group != GROUP_BAD_INPUT || item->expected != KERNEL_OK, item->name,
               "bad input to accept");
        expect(strstr(item->name, "property") == NULL || item->repeat >= 100, item->name,
               "fewer than 100 inputs");
        for (int j = 0; j < i; j++)
            expect(strcmp(check->cases[j].name, item->name) != 0, item->name, "twice");
    }
    for (int part = 0; part < check->options.lesson->part_count; part++) {
        expect(fabs(points[part] - check->options.lesson->part[part].points) < 1e-9, lesson_name,
               "points do not add up");
        expect(of_refusals[part] <= 0.1 * points[part] + 1e-9, lesson_name,
               "refusals are worth more than a tenth of a part");
    }
    free(check);
}

/* ---- points ---------------------------------------------------------------------------------------------- */

static double points_of(const struct check *check)
{
    double points = 0.0;
    for (int i = 0; i < check->case_count; i++) points += check_points(check, i);
    return points;
}

static int is_value_case(const struct lesson_case *item)
{
    return item->expected == KERNEL_OK && item->weight > 0 && !(item->flags & CASE_LAUNCH_ONLY);
}

/* Verdicts by chance: most pass, or few. */
static void draw_verdicts(struct check *check, struct rng *rng)
{
    const int of_ten = rng_between(rng, 0, 10);
    for (int i = 0; i < check->case_count; i++) {
        const int passes = rng_between(rng, 1, 10) <= of_ten;
        check->verdicts[i].state = passes ? STATE_PASS : STATE_FAIL;
        check->verdicts[i].special = !passes && rng_between(rng, 0, 1);
    }
}

/* One more case that passes never lowers the points. Nor does what is not computed yet: while nothing is right, launches that
 * succeed and calls that are refused are worth nothing, so that the next mistake that is mended cannot take them away. */
static void test_points(const char *lesson_name)
{
    enum { DRAWN = 100 };
    struct check *check = calloc(1, sizeof *check);
    struct rng rng = {7};
    if (check == NULL) exit(2);
    check->options.lesson = options_lesson(lesson_name);
    check->options.device = DEVICE_SIMT;
    check->case_count = check->options.lesson->cases(check->cases, CHECK_CASES);
    for (int i = 0; i < check->case_count; i++) {
        check->chosen[i] = (check->cases[i].devices & ON_SIMT) != 0;
        check->verdicts[i].state = is_value_case(&check->cases[i]) ? STATE_FAIL : STATE_PASS;
    }
    expect(points_of(check) == 0.0, lesson_name, "points before a value is right");
    for (int n = 0; n < DRAWN; n++) {
        draw_verdicts(check, &rng);
        const double before = points_of(check);
        const int mended = rng_between(&rng, 0, check->case_count - 1);
        check->verdicts[mended].state = STATE_PASS;
        check->verdicts[mended].special = 0;
        expect(points_of(check) >= before - 1e-9, check->cases[mended].name,
               "lowers the points when it passes");
    }
    free(check);
}

/* What is wrong for infinities alone costs its own points; what is wrong for ordinary values, too, half of the others. */
static void test_special_points(void)
{
    struct check *check = calloc(1, sizeof *check);
    if (check == NULL) exit(2);
    check->options.lesson = options_lesson("05");
    check->options.device = DEVICE_SIMT;
    check->case_count = check->options.lesson->cases(check->cases, CHECK_CASES);
    for (int i = 0; i < check->case_count; i++) {
        check->chosen[i] = (check->cases[i].devices & ON_SIMT) != 0;
        check->verdicts[i].state = STATE_PASS;
    }
    const double all = points_of(check);
    int at = 0;
    while (strcmp(check->cases[at].name, "f32/infinite") != 0) at++;
    check->verdicts[at].state = STATE_FAIL;
    check->verdicts[at].special = 1;
    expect(fabs(points_of(check) - (all - check_points_max(check, at))) < 1e-9, "f32/infinite",
           "costs more than its own points");
    check->verdicts[at].special = 0;
    expect(points_of(check) < all - 20.0, "f32/infinite", "ordinary values do not cost half of the part");
    free(check);
}

/* ---- planted mistakes ------------------------------------------------------------------------------------ */

/* Lessons 01 to 03 store floats. */
static float *floats_of(struct judged_case *c, int buffer, int run)
{
    return copy_of(c, buffer, run);
}

enum damage {
    NONE,
    HALF_PRECISION,
    TIMES_TWO,
    ALL_ZERO,
    ALL_NAN,
    ONE_INFINITE,
    LAST_ROWS,
    LAST_COLUMNS,
    ODD_COLUMNS,
    EVEN_ROWS,
    UPPER_ROWS,  /* the last 8 of every 16 */
    ROW_FACTORS, /* each row has its own */
    TRANSPOSED,
    SWAPPED_AXES,
    SECOND_BATCH,
    EVERYWHERE,
    EVERYWHERE_AND_LSE,
    COPY_OF_Q,
    FINITE_MASK,
    UNTOUCHED,
    UNTOUCHED_ONCE, /* in one of the runs */
    ONE_RUN,
    READS_POISON,
    SWIZZLED,        /* halves: pieces of 16 bytes of a row change places */
    ROWS_EXCHANGED,  /* halves: rows 8 apart */
    PAIRS_EXCHANGED, /* halves: columns 2 apart */
    GUESS            /* what the lesson's guess with these words gives */
};

static void damage_element(struct judged_case *c, const struct lesson_buffer *buffer, enum damage damage,
                           size_t at, const float *before, float *value)
{
    size_t columns = buffer->extent[3], rows = buffer->extent[2], heads = buffer->extent[1];
    size_t column = at % columns, row = at / columns % rows, head = at / columns / rows % heads;
    size_t batch = at / columns / rows / heads;
    switch (damage) {
    case TIMES_TWO:
        *value *= 2.0f;
        break;
    case ALL_ZERO:
        *value = 0.0f;
        break;
    case ALL_NAN:
        *value = NAN;
        break;
    case ONE_INFINITE:
        *value = at == 5 ? INFINITY : *value;
        break;
    case LAST_ROWS:
        *value += row >= rows / 16 * 16 ? 0.1f * (float)(1 + at % 7) : 0.0f;
        break;
    case LAST_COLUMNS:
        *value += column >= columns / 16 * 16 ? 0.1f * (float)(1 + at % 7) : 0.0f;
        break;
    case ODD_COLUMNS:
        *value += column % 2 == 1 ? 0.1f * (float)(1 + at % 7) : 0.0f;
        break;
    case UPPER_ROWS:
        *value += row % 16 >= 8 ? 0.1f * (float)(1 + at % 7) : 0.0f;
        break;
    case ROW_FACTORS:
        *value *= 1.5f + 0.01f * (float)row;
        break;
    case EVEN_ROWS:
        *value += row % 2 == 0 ? 0.1f * (float)(1 + at % 7) : 0.0f;
        break;
    case TRANSPOSED:
        *value = before[((batch * heads + head) * rows + column) * columns + row];
        break;
    case SECOND_BATCH:
        *value += batch > 0 ? 0.1f * (float)(1 + at % 7) : 0.0f;
        break;
    case EVERYWHERE:
    case EVERYWHERE_AND_LSE:
        *value += 0.1f * (float)(1 + at % 7);
        break;
    case FINITE_MASK:
        *value = isinf(*value) ? (float)(1 + at % 7) : *value;
        break;
    case COPY_OF_Q:
        *value = floats_of(c, ATTENTION_Q, 0)[at];
        break;
    default:
        break;
    }
}

/* Moves what was stored as [.., i, j, ..] to [.., j, i, ..] for the axes of heads and rows. */
static void swap_heads_and_rows(const struct lesson_buffer *buffer, const float *before, float *out)
{
    size_t columns = buffer->extent[3], rows = buffer->extent[2], heads = buffer->extent[1];
    for (size_t b = 0; b < buffer->extent[0]; b++)
        for (size_t h = 0; h < heads; h++)
            for (size_t i = 0; i < rows; i++)
                memcpy(out + ((b * rows + i) * heads + h) * columns,
                       before + ((b * heads + h) * rows + i) * columns, columns * sizeof *out);
}

/* The first of the lesson's guesses that fits the case and whose message has the words @p says. */
static int find_guess(const struct judged_case *c, const struct judged *judged, int buffer, const char *says)
{
    struct lesson_guess guess = {0};
    for (int index = 0;; index++) {
        int known = c->check->options.lesson->guess(&c->item->settled, judged->inputs, index, buffer,
                                                    lesson_elems(&c->item->buffer[buffer]) - 1, &guess);
        if (known < 0) return -1;
        if (known == 1 && strstr(guess.words, says) != NULL) return index;
    }
}

/* What a mistake would leave in an output of halves or of whole numbers. */
static void spoil_stored(struct judged_case *c, int buffer, const char *says)
{
    const struct lesson_buffer *shape = &c->item->buffer[buffer];
    struct lesson_guess told = {0};
    struct judged judged;
    if (judged_open(&judged, &c->session, 0) != 0) exit(2);
    int guess = find_guess(c, &judged, buffer, says);
    for (int run = 0; run < 2 && guess >= 0; run++)
        for (size_t at = 0; at < lesson_elems(shape); at++)
            if (c->check->options.lesson->guess(&c->item->settled, judged.inputs, guess, buffer, at, &told) ==
                1)
                storage_put(shape->storage, floats_of(c, buffer, run), at, (float)told.value);
    judged_close(&judged);
}

/* Halves change places with others. */
static void exchange_halves(struct judged_case *c, int buffer, enum damage damage)
{
    enum { PIECE = 8, APART = 8, PAIR = 2 };
    const struct lesson_buffer *shape = &c->item->buffer[buffer];
    const size_t columns = shape->extent[3], rows = shape->extent[2], elems = lesson_elems(shape);
    uint16_t *before = malloc(elems * sizeof *before);
    if (before == NULL) exit(2);
    for (int run = 0; run < 2; run++) {
        uint16_t *out = (uint16_t *)copy_of(c, buffer, run);
        memcpy(before, out, elems * sizeof *before);
        for (size_t at = 0; at < elems; at++) {
            size_t column = at % columns, row = at / columns % rows, first = at - column - row * columns;
            if (damage == SWIZZLED) column ^= row % 8 * PIECE;
            if (damage == ROWS_EXCHANGED) row ^= APART;
            if (damage == PAIRS_EXCHANGED) column ^= PAIR;
            out[at] = before[first + row * columns + column];
        }
    }
    free(before);
}

static void clear(struct judged_case *c, int buffer)
{
    for (int run = 0; run < 2; run++)
        memset(copy_of(c, buffer, run), 0, lesson_bytes(&c->item->buffer[buffer]));
}

static void spoil(struct judged_case *c, int buffer, enum damage damage, const char *says)
{
    const struct lesson_buffer *shape = &c->item->buffer[buffer];
    size_t elems = lesson_elems(shape);
    float *before = malloc(elems * sizeof *before);
    struct judged judged;
    if (before == NULL || judged_open(&judged, &c->session, 0) != 0) exit(2);
    memcpy(before, floats_of(c, buffer, 0), elems * sizeof *before);
    int guess = damage == GUESS ? find_guess(c, &judged, buffer, says) : -1;
    for (int run = 0; run < 2; run++) {
        float *out = floats_of(c, buffer, run);
        if (damage == EVERYWHERE_AND_LSE) floats_of(c, ATTENTION_LSE, run)[3] += 0.5f;
        if (damage == SWAPPED_AXES) swap_heads_and_rows(shape, before, out);
        for (size_t at = 0; at < elems; at++) {
            struct lesson_guess told = {0};
            if (damage == HALF_PRECISION) out[at] = (float)(_Float16)out[at];
            uint32_t poison = session_poison(c->item, buffer, run);
            if (at % 3 == 0 && (damage == UNTOUCHED || (damage == UNTOUCHED_ONCE && run == 1)))
                memcpy(&out[at], &poison, sizeof *out);
            if (damage == READS_POISON && run == 0) out[at] = NAN;
            if (damage == ONE_RUN && run == 1) out[at] *= 1.000001f;
            if (shape->rank == 4 && damage < UNTOUCHED)
                damage_element(c, shape, damage, at, before, &out[at]);
            if (guess >= 0 && c->check->options.lesson->guess(&c->item->settled, judged.inputs, guess, buffer,
                                                              at, &told) == 1)
                out[at] = (float)told.value;
        }
    }
    judged_close(&judged);
    free(before);
}

/** What is spoiled, and what the verdict must contain. */
static const struct planted {
    const char *lesson, *name;
    int buffer;
    enum damage damage;
    enum state state;
    const char *says;
} PLANTED[] = {
    {"01", "attention/causal_tail", ATTENTION_OUT, NONE, STATE_PASS, ""},
    {"01", "attention/nan_k", ATTENTION_OUT, NONE, STATE_PASS, ""},
    {"01", "attention/causal_blind_rows", ATTENTION_OUT, NONE, STATE_PASS, ""},
    {"01", "scores/causal_64", ATTENTION_MATRIX, NONE, STATE_PASS, ""},
    {"01", "softmax/large_logits", ATTENTION_MATRIX, NONE, STATE_PASS, ""},
    {"03", "rows/nan", 1, NONE, STATE_PASS, ""},
    {"03", "merge/empty", 2, NONE, STATE_PASS, ""},
    {"01", "attention/square_64", ATTENTION_OUT, HALF_PRECISION, STATE_FAIL, "wrong"},
    {"01", "output/square_64", ATTENTION_OUT, HALF_PRECISION, STATE_FAIL, "wrong"},
    {"01", "scores/square_64", ATTENTION_MATRIX, HALF_PRECISION, STATE_FAIL, "wrong"},
    {"03", "rows/40x256", 1, HALF_PRECISION, STATE_FAIL, "wrong"},
    {"01", "attention/square_64", ATTENTION_OUT, TIMES_TWO, STATE_FAIL, "constant factor"},
    {"01", "attention/square_64", ATTENTION_OUT, ALL_ZERO, STATE_FAIL,
     "all zero; lse is right, so scores and sums are: O = P V is missing, or is not stored"},
    {"01", "attention/square_64", ATTENTION_OUT, ALL_NAN, STATE_FAIL, "NaN in all"},
    {"01", "attention/square_64", ATTENTION_OUT, ONE_INFINITE, STATE_FAIL, "infinity in all wrong"},
    {"01", "attention/causal_tail", ATTENTION_OUT, LAST_ROWS, STATE_FAIL, "only the rows of the last tile"},
    {"01", "attention/head_dim_33", ATTENTION_OUT, LAST_COLUMNS, STATE_FAIL,
     "only the columns of the last tile"},
    {"01", "attention/square_64", ATTENTION_OUT, ODD_COLUMNS, STATE_FAIL,
     "every wrong element is in an odd column: the even ones are right"},
    {"01", "scores/square_64", ATTENTION_MATRIX, EVEN_ROWS, STATE_FAIL,
     "every wrong element is in an even row: the odd ones are right"},
    {"01", "scores/square_64", ATTENTION_MATRIX, UPPER_ROWS, STATE_FAIL,
     "in the rows from 8 on of every 16: those before are right"},
    {"01", "attention/square_64", ATTENTION_OUT, ROW_FACTORS, STATE_FAIL, "times a factor of its own"},
    {"05", "f32/scale_lowest", ATTENTION_OUT, ALL_NAN, STATE_FAIL, "beyond float here: scale * log2(e)"},
    {"06", "v2/gqa_17", 6, GUESS, STATE_FAIL, "slope of head h % 8"},
    {"05", "f32/nan_behind_mask_21", ATTENTION_OUT, ALL_NAN, STATE_FAIL, "but one behind the mask is"},
    {"12", "f16/queries_300", ATTENTION_LSE, GUESS, STATE_FAIL, "weights that were rounded to 16 bits"},
    {"12", "f16/causal_129", ATTENTION_OUT, GUESS, STATE_FAIL, "so that later ones find zeros"},
    {"03", "rows/tiny", 1, GUESS, STATE_FAIL, "lanes 1 apart are never merged"},
    {"01", "scores/square_64", ATTENTION_MATRIX, TRANSPOSED, STATE_FAIL, "transposed: axes 2 and 3"},
    {"01", "attention/tail_31x33", ATTENTION_OUT, SWAPPED_AXES, STATE_FAIL, "transposed: axes 1 and 2"},
    {"01", "attention/batch_3", ATTENTION_OUT, SECOND_BATCH, STATE_FAIL,
     "only sequences of the batch from 1 on"},
    {"01", "attention/square_64", ATTENTION_OUT, EVERYWHERE, STATE_FAIL, "lse is right, so scores are"},
    {"01", "attention/square_64", ATTENTION_OUT, EVERYWHERE_AND_LSE, STATE_FAIL, "wrong"},
    {"01", "attention/square_64", ATTENTION_OUT, COPY_OF_Q, STATE_FAIL, "a copy of q"},
    {"01", "scores/causal_64", ATTENTION_MATRIX, FINITE_MASK, STATE_FAIL,
     "elements that must be -infinity are finite numbers"},
    {"01", "attention/square_64", ATTENTION_OUT, UNTOUCHED, STATE_FAIL, "never written"},
    {"01", "attention/square_64", ATTENTION_OUT, ONE_RUN, STATE_FAIL, "differs from run to run"},
    {"01", "attention/square_64", ATTENTION_OUT, GUESS, STATE_FAIL, "without the scale"},
    {"01", "scores/causal_more_keys", ATTENTION_MATRIX, GUESS, STATE_FAIL, "does not see the last key"},
    {"01", "attention/causal_more_keys", ATTENTION_OUT, GUESS, STATE_FAIL, "one key too many"},
    {"01", "attention/causal_more_keys", ATTENTION_OUT, GUESS, STATE_FAIL, "without the causal mask"},
    {"01", "scores/causal_more_keys", ATTENTION_MATRIX, GUESS, STATE_FAIL, "began at the top left"},
    {"01", "attention/gqa_batch_causal", ATTENTION_OUT, GUESS, STATE_FAIL, "h % kv_heads"},
    {"01", "attention/gqa_batch_causal", ATTENTION_OUT, GUESS, STATE_FAIL, "query head's own number"},
    {"01", "attention/square_64", ATTENTION_OUT, GUESS, STATE_FAIL, "never divided"},
    {"01", "attention/tail_63x65", ATTENTION_OUT, GUESS, STATE_FAIL, "the last keys are missing"},
    {"01", "output/tail_63x65", ATTENTION_OUT, GUESS, STATE_FAIL, "the last keys are missing"},
    {"01", "attention/tail_63x65", ATTENTION_OUT, GUESS, STATE_FAIL,
     "count as keys of score 0, as if kv_len were rounded up to a multiple of 64"},
    {"01", "attention/square_64", ATTENTION_OUT, GUESS, STATE_FAIL, "divided twice"},
    {"01", "attention/low_logits", ATTENTION_OUT, GUESS, STATE_FAIL, "maximum begins at 0"},
    {"01", "softmax/low_logits", ATTENTION_LSE, GUESS, STATE_FAIL, "without the maximum"},
    {"01", "attention/square_64", ATTENTION_LSE, GUESS, STATE_FAIL, "in base 2"},
    {"01", "attention/batch_3", ATTENTION_OUT, GUESS, STATE_FAIL, "kv_heads * kv_len rows"},
    {"01", "attention/tail_63x65", ATTENTION_OUT, GUESS, STATE_FAIL, "only the last K/V tile counts"},
    {"01", "attention/equal_scores", ATTENTION_OUT, GUESS, STATE_FAIL, "first 256 keys"},
    {"01", "attention/tail_63x65", ATTENTION_OUT, GUESS, STATE_FAIL, "sums of 4 parts of the keys"},
    {"01", "attention/square_64", ATTENTION_OUT, GUESS, STATE_FAIL, "exp2 were taken where exp"},
    {"01", "attention/square_64", ATTENTION_OUT, GUESS, STATE_FAIL, "exp were taken of scores"},
    {"01", "attention/tail_63x65", ATTENTION_OUT, GUESS, STATE_FAIL, "O is not rescaled"},
    {"01", "attention/tail_63x65", ATTENTION_OUT, GUESS, STATE_FAIL, "l is not rescaled"},
    {"01", "attention/tail_63x65", ATTENTION_OUT, GUESS, STATE_FAIL, "neither O nor l is rescaled"},
    {"01", "attention/tail_63x65", ATTENTION_OUT, GUESS, STATE_FAIL,
     "tile of 64 keys, is rescaled as if it were still the sum"},
    {"03", "merge/pairs_1000", 2, GUESS, STATE_FAIL, "without being rescaled"},
    {"03", "rows/cols_33", 1, GUESS, STATE_FAIL, "rounded up to a multiple of 32"},
    {"03", "rows/40x256", 1, GUESS, STATE_FAIL, "as with 32 threads per row"},
    {"01", "attention/tail_63x65", ATTENTION_OUT, GUESS, STATE_FAIL, "sums (O) of 4 parts of the keys"},
    {"01", "attention/tail_63x65", ATTENTION_OUT, GUESS, STATE_FAIL, "sums of weights (l) of 4 parts"},
    {"01", "scores/head_dim_33", ATTENTION_MATRIX, GUESS, STATE_FAIL,
     "head_dim were rounded down to a multiple of 32"},
    {"01", "attention/square_64", ATTENTION_OUT, READS_POISON, STATE_FAIL, "depends on what out held"},
    {"06", "v1/shuffled", 6, GUESS, STATE_FAIL, "sums of 4 parts of the keys"},
    {"06", "v1/shuffled", 6, GUESS, STATE_FAIL, "head_dim apart"},
    {"06", "v1/alibi", 6, GUESS, STATE_FAIL, "with the other sign"},
    {"06", "v1/alibi", 6, GUESS, STATE_FAIL, "with computed slopes"},
    {"06", "v1/scores_below", 6, GUESS, STATE_FAIL, "maximum begins at 0"},
    {"09", "product/deep_512", 2, GUESS, STATE_FAIL,
     "A and B differ along k: of A: in place of k i those of i + 32"},
    {"09", "product/deep_512", 2, GUESS, STATE_FAIL,
     "in place of columns 0 1 2 3 4 5 6 7 those of 1 0 3 2 5 4 7 6"},
    {"20", "tensor/rows_16x128x256", 1, GUESS, STATE_FAIL,
     "scales: in place of columns 0 2 4 6 8 10 12 14 those of 2 0 6 4 10 8 14 12"},
    {"20", "vector/rows_3x64x256", 1, GUESS, STATE_FAIL, "zeros: in place of groups i those of i + 1"},
    {"20", "shuffle/awq_128", 2, GUESS, STATE_FAIL,
     "in place of nibbles 0 1 2 3 4 5 6 7 those of 7 6 5 4 3 2 1 0"},
    {"20", "shuffle/gptq_128", 2, GUESS, STATE_FAIL, "in place of g0 g1 g2 the bits t0 t1 0 are taken"},
    {"20", "shuffle/gptq_128", 3, GUESS, STATE_FAIL, "1 too small"},
    {"21", "route/two_of_8", 2, GUESS, STATE_FAIL, "are not divided by the sum"},
    {"21", "group/pairs_100", 2, GUESS, STATE_FAIL, "rows are counted from 0 in every expert"},
    {"21", "product/few_swiglu", 3, GUESS, STATE_FAIL, "up is taken 16 rows of w after gate"},
    {"21", "product/few", 3, GUESS, STATE_FAIL, "weights of another expert"},
    {"21", "layer/few", 4, GUESS, STATE_FAIL, "the weights of a token's choices"},
    {"12", "f16/square_64", ATTENTION_OUT, GUESS, STATE_FAIL, "divided by l of one lane"},
    {"12", "f16/square_64", ATTENTION_OUT, GUESS, STATE_FAIL, "the last 8 elements of q and k are missing"},
    {"12", "f16/square_64", ATTENTION_OUT, GUESS, STATE_FAIL, "the last 16 elements of q and k are missing"},
    {"12", "f16/square_64", ATTENTION_OUT, GUESS, STATE_FAIL, "the last 32 elements of q and k are missing"},
    {"12", "f16/causal_129", ATTENTION_OUT, GUESS, STATE_FAIL, "that the first query of a Q tile sees"},
    {"12", "f16/queries_300", ATTENTION_OUT, GUESS, STATE_FAIL, "below exp(-8), are taken as 0"},
    {"01", "attention/square_64", ATTENTION_OUT, GUESS, STATE_FAIL, "as if every score were 0"},
    {"19", "ring/one_rank", ATTENTION_OUT, GUESS, STATE_FAIL, "all 12 keys have the same weight"},
    /* Zeros are near the small values of many a mistake, where a bound of halves is wide. */
    {"02", "scores/square_64", ATTENTION_MATRIX, GUESS, STATE_FAIL, "K is read as if it were transposed"},
    {"02", "output/square_64", ATTENTION_OUT, GUESS, STATE_FAIL, "V is read as if it were transposed"},
    {"02", "softmax/square_64", ATTENTION_MATRIX, GUESS, STATE_FAIL, "those of the first 16 threads"},
    {"12", "f16/square_64", ATTENTION_OUT, ALL_ZERO, STATE_FAIL,
     "all zero; lse is right, so scores and sums are: O = P V is missing, or is not stored"},
    {"12", "f16/scale_tiny", ATTENTION_OUT, ALL_ZERO, STATE_FAIL,
     "all zero; lse is right, so scores and sums are: O = P V is missing, or is not stored"},
    {"12", "bf16/one", ATTENTION_OUT, ALL_ZERO, STATE_FAIL,
     "all zero; lse is right, so scores and sums are: O = P V is missing, or is not stored"},
    {"12", "bf16/row_1x128", ATTENTION_OUT, ALL_ZERO, STATE_FAIL,
     "all zero; lse is right, so scores and sums are: O = P V is missing, or is not stored"},
    {"12", "f16/low_logits", ATTENTION_OUT, GUESS, STATE_FAIL, "maximum begins at 0"},
    {"01", "attention/square_64", ATTENTION_OUT, UNTOUCHED_ONCE, STATE_FAIL,
     "never written in one of two runs"},
    {"12", "f16/square_64", ATTENTION_OUT, GUESS, STATE_FAIL, "weights of rows 8 apart are exchanged"},
    {"12", "f16/square_64", ATTENTION_OUT, GUESS, STATE_FAIL,
     "out are f16, and are treated as if they were bf16"},
    {"12", "f16/square_64", ATTENTION_OUT, GUESS, STATE_FAIL, "the shuffle by 2 is missing"},
    {"12", "f16/square_64", ATTENTION_OUT, GUESS, STATE_FAIL, "the shuffle by 1 is missing"},
    {"12", "f16/square_64", ATTENTION_OUT, GUESS, STATE_FAIL, "each lane has a maximum of its own"},
    {"12", "bf16/square_64", ATTENTION_OUT, GUESS, STATE_FAIL,
     "v are bf16, and are read as if they were f16"},
    {"12", "f16/square_64", ATTENTION_OUT, SWIZZLED, STATE_FAIL, "rows of 128 bytes, as a swizzle does"},
    {"12", "f16/square_64", ATTENTION_OUT, ROWS_EXCHANGED, STATE_FAIL, "rows 8 apart are exchanged"},
    {"12", "f16/square_64", ATTENTION_OUT, PAIRS_EXCHANGED, STATE_FAIL, "columns 2 apart are exchanged"},
    {"13", "dequantised/scales_negative", 2, GUESS, STATE_FAIL, "sign of a row's scale is lost"},
    {"13", "dequantised/scales_negative", 2, GUESS, STATE_FAIL, "sign of a column's scale is lost"},
    {"13", "dequantised/scales_negative", 2, GUESS, STATE_FAIL, "signs of both scales are lost"},
    {"13", "s32/beyond_24_bits", 2, GUESS, STATE_FAIL, "rounded to a float"},
    {"13", "s32/square_64", 2, GUESS, STATE_FAIL,
     "in place of rows 0 1 2 3 4 5 6 7 those of 1 0 3 2 5 4 7 6"},
    {"13", "s32/square_64", 2, GUESS, STATE_FAIL,
     "in place of columns 0 1 2 3 4 5 6 7 those of 1 0 3 2 5 4 7 6"},
    {"13", "s32/square_64", 2, GUESS, STATE_FAIL,
     "in place of rows 0 1 2 3 4 5 6 7 those of 0 0 2 2 4 4 6 6"},
    {"13", "s32/square_64", 2, GUESS, STATE_FAIL,
     "in place of columns 0 1 2 3 4 5 6 7 those of 0 0 2 2 4 4 6 6"},
    {"13", "s32/square_64", 2, GUESS, STATE_FAIL,
     "in place of rows 0 8 16 24 32 40 48 56 those of 8 0 24 16 40 32 56 48"},
    {"13", "s32/square_64", 2, GUESS, STATE_FAIL,
     "in place of rows 0 1 2 3 4 5 6 7 those of 0 8 1 9 2 10 3 11"},
    {"13", "s32/square_64", 2, GUESS, STATE_FAIL,
     "in place of columns 0 1 2 3 4 5 6 7 those of 0 8 1 9 2 10 3 11"},
    {"13", "s32/square_64", 2, GUESS, STATE_FAIL,
     "in place of rows 0 1 2 3 4 5 6 7 those of 0 2 4 6 8 10 12 14"},
    {"13", "s32/square_64", 2, GUESS, STATE_FAIL,
     "in place of columns 0 1 2 3 4 5 6 7 those of 0 2 4 6 8 10 12 14"},
    {"15", "bf16/square_64", 2, GUESS, STATE_FAIL, "multiplied as if they were f16"},
    {"16", "f16/tail_300_two_consumers", ATTENTION_OUT, GUESS, STATE_FAIL,
     "values of the first K/V tile, the last"},
    {"16", "f16/causal_129", ATTENTION_OUT, GUESS, STATE_FAIL, "nothing is masked in the last K/V tiles"},
    {"16", "f16/causal_tail", ATTENTION_OUT, GUESS, STATE_FAIL, "nothing is masked in the last K/V tiles"},
    {"01", "attention/square_64", ATTENTION_OUT, GUESS, STATE_FAIL, "The scale 0 stands for"},
    {"17", "step/prompt", ENGINE_LOGITS, ALL_NAN, STATE_FAIL, "the cache is NaN where no row has appended"},
    {"17", "step/no_layers", ENGINE_LOGITS, GUESS, STATE_FAIL, "of a warp's own slice"},
    {"17", "step/no_layers", ENGINE_LOGITS, GUESS, STATE_FAIL, "root of the sum of the squares"},
    {"17", "step/prompt", ENGINE_LOGITS, GUESS, STATE_FAIL, "silu is taken of up"},
    {"17", "step/prompt", ENGINE_LOGITS, GUESS, STATE_FAIL, "pairs (2 d, 2 d + 1)"},
    {"17", "step/prompt", ENGINE_LOGITS, GUESS, STATE_FAIL,
     "keys are normalised with the gain of the queries"},
    {"17", "step/prompt", ENGINE_LOGITS, GUESS, STATE_FAIL, "as if the head were the embedding"},
    {"17", "step/token_by_token", ENGINE_LOGITS, GUESS, STATE_FAIL, "all layers share the cache of one"},
    {"17", "step/token_by_token", ENGINE_LOGITS, GUESS, STATE_FAIL, "by the number of a row in its step"},
    {"17", "step/rows_reversed", ENGINE_LOGITS, GUESS, STATE_FAIL, "what attention gives takes the place"},
    {"17", "step/three_groups", ENGINE_LOGITS, GUESS, STATE_FAIL, "h % kv_heads"},
    {"17", "step/few_wanted", ENGINE_LOGITS, GUESS, STATE_FAIL, "logits are those of the first rows"},
    {"17", "step/faint", ENGINE_LOGITS, GUESS, STATE_FAIL, "as if epsilon were 0"},
    {"11", "half2/keys_100", DC_OUT, GUESS, STATE_FAIL, "two halves were read as one float"},
    {"11", "vector/keys_100", DC_OUT, GUESS, STATE_FAIL, "only the first element of every load"},
    {"11", "vector/f32_keys_100", DC_OUT, GUESS, STATE_FAIL, "only the first element of every load"},
    {"11", "half2/head_dim_24", DC_OUT, GUESS, STATE_FAIL, "only whole steps of 16 elements"},
    {"11", "half2/head_dim_80", DC_OUT, GUESS, STATE_FAIL, "only whole steps of 32 elements"},
    {"11", "half2/keys_100", DC_OUT, GUESS, STATE_FAIL, "the grid is (heads, q_len, batch)"},
    {"11", "device/rising_scores", DC_OUT, GUESS, STATE_FAIL, "l is not rescaled where a later tile brings"},
    {"11", "device/rising_scores", DC_OUT, GUESS, STATE_FAIL, "O is not rescaled where a later tile brings"},
    {"11", "device/f32_keys_300", DC_OUT, GUESS, STATE_FAIL, "every tile takes the values of the first"},
    {"11", "device/f32_keys_300", DC_OUT, GUESS, STATE_FAIL, "every tile takes the keys of the first"},
    {"11", "device/position_negative", DC_OUT, GUESS, STATE_FAIL, "zeros were written for a sequence"},
    {"11", "device/position_negative", DC_STATUS, GUESS, STATE_FAIL, "*device_status is as it was"},
    {"11", "dispatch/auto_f16", DC_CHOSEN, GUESS, STATE_FAIL,
     "decode_choose_variant() says DECODE_FLASH_1, the contract DECODE_FLASH_2"},
};

/* Where scores are so far below 0 that a bound is as wide as values differ, no guess is made but the one that is meant. */
static void test_wide_bounds(void)
{
    struct judged_case c;
    struct judged judged;
    open_case(&c, options_lesson("11"), "half2/scores_below");
    if (judged_open(&judged, &c.session, 0) != 0) exit(2);
    expect(find_guess(&c, &judged, DC_OUT, "maximum begins at 0") >= 0, "half2/scores_below", "begins at 0");
    expect(find_guess(&c, &judged, DC_OUT, "one warp only") < 0, "half2/scores_below", "one warp");
    expect(find_guess(&c, &judged, DC_OUT, "the last key were not seen") < 0, "half2/scores_below",
           "last key");
    judged_close(&judged);
    for (int run = 0; run < 2; run++) /* no zeros, but no further from 0 than right values are */
        for (size_t at = 0; at < lesson_elems(&c.item->buffer[DC_OUT]); at++)
            storage_put(STORAGE_F16, copy_of(&c, DC_OUT, run), at, at % 2 ? 0.06f : -0.06f);
    const struct verdict *verdict = judge_case(&c);
    expect(verdict->state == STATE_FAIL, "half2/scores_below", headline_of(verdict));
    expect(strstr(pattern_of(verdict), "begins at 0") == NULL, "half2/scores_below", pattern_of(verdict));
    close_case(&c);
}

static void test_planted(void)
{
    for (size_t i = 0; i < sizeof PLANTED / sizeof PLANTED[0]; i++) {
        const struct planted *planted = &PLANTED[i];
        struct judged_case c;
        char text[2 * VERDICT_TEXT + 64];
        open_case(&c, options_lesson(planted->lesson), planted->name);
        enum storage storage = c.item->buffer[planted->buffer].storage;
        if (planted->damage == ALL_ZERO && storage != STORAGE_F32)
            clear(&c, planted->buffer);
        else if (planted->damage >= SWIZZLED && planted->damage <= PAIRS_EXCHANGED)
            exchange_halves(&c, planted->buffer, planted->damage);
        else if (planted->damage == GUESS && storage != STORAGE_F32)
            spoil_stored(&c, planted->buffer, planted->says);
        else if (planted->damage != NONE)
            spoil(&c, planted->buffer, planted->damage, planted->says);
        const struct verdict *verdict = judge_case(&c);
        snprintf(text, sizeof text, "row %zu: %s: %s / %s", i, state_name(verdict->state),
                 headline_of(verdict), pattern_of(verdict));
        expect(verdict->state == planted->state, planted->name, text);
        expect(strstr(headline_of(verdict), planted->says) != NULL ||
                   strstr(pattern_of(verdict), planted->says) != NULL,
               planted->name, text);
        expect(planted->damage == EVERYWHERE || planted->damage == ALL_ZERO ||
                   strstr(pattern_of(verdict), "lse is right") == NULL,
               planted->name, text);
        close_case(&c);
    }
}

/* A signal of the host's own code; where the device has found something, that is the cause. */
static void test_signals(void)
{
    static const struct {
        int signal, findings;
        enum record_cause cause;
    } ENDS[] = {{SIGSEGV, 0, RECORD_CAUSE_HOST_POINTER},
                {SIGSEGV, 1, RECORD_NO_CAUSE_KNOWN},
                {SIGFPE, 0, RECORD_CAUSE_DIVISION_BY_ZERO},
                {SIGABRT, 0, RECORD_NO_CAUSE_KNOWN}};
    for (size_t i = 0; i < sizeof ENDS / sizeof ENDS[0]; i++) {
        struct judged_case c;
        open_case(&c, options_lesson("01"), "attention/one");
        c.item->end = ITEM_CRASHED;
        c.item->signal = ENDS[i].signal;
        c.item->record_count = ENDS[i].findings;
        const struct verdict *verdict = judge_case(&c);
        expect(verdict->state == STATE_CRASH, "a signal", headline_of(verdict));
        expect(verdict->record.cause == (int)ENDS[i].cause, "a signal", pattern_of(verdict));
        close_case(&c);
    }
}

/* A finding of the device may come of a workspace that is smaller than the contract says: that is told of it. */
static void test_small_workspace(void)
{
    static const struct {
        int missing, finding; /* bytes that the kernel file does not ask for; 1: the device objects */
    } ASKED[] = {{0, 1}, {4, 1}, {-1, 1}, {0, 0}};
    for (size_t i = 0; i < sizeof ASKED / sizeof ASKED[0]; i++) {
        struct judged_case c;
        open_case(&c, options_lesson("11"), "mha/keys_100");
        struct wire_result *result = &session_case(&c.session, 0)->result;
        const uint64_t contract = result->workspace_asked;
        result->workspace_asked = ASKED[i].missing < 0 ? 0 : contract - (uint64_t)ASKED[i].missing;
        result->findings = (uint32_t)ASKED[i].finding;
        const struct verdict *verdict = judge_case(&c);
        expect(contract > 4, "mha/keys_100", "a workspace");
        expect(verdict->state == (ASKED[i].finding ? STATE_FAIL : STATE_PASS), "mha/keys_100",
               headline_of(verdict));
        expect(verdict->record.cause ==
                   (ASKED[i].missing == 0 ? RECORD_NO_CAUSE_KNOWN : RECORD_CAUSE_SMALL_WORKSPACE),
               "mha/keys_100", pattern_of(verdict));
        close_case(&c);
    }
}

/* What is valid and refused is no mistake of a size or a sum: a check asks for too much. */
static void test_refused(void)
{
    static const struct {
        enum kernel_status status;
        enum record_cause cause;
    } REFUSED[] = {{KERNEL_INVALID_CONFIG, RECORD_CAUSE_VALID_REFUSED},
                   {KERNEL_INVALID_DIMENSION, RECORD_CAUSE_VALID_REFUSED},
                   {KERNEL_UNSUPPORTED_DTYPE, RECORD_CAUSE_VALID_REFUSED},
                   {KERNEL_ALIGNMENT_ERROR, RECORD_CAUSE_VALID_REFUSED},
                   {KERNEL_CUDA_ERROR, RECORD_CAUSE_LAUNCH_REFUSED},
                   {KERNEL_OUT_OF_MEMORY, RECORD_NO_CAUSE_KNOWN}};
    for (size_t i = 0; i < sizeof REFUSED / sizeof REFUSED[0]; i++) {
        struct judged_case c;
        open_case(&c, options_lesson("13"), "s32/square_64");
        struct wire_result *result = &session_case(&c.session, 0)->result;
        result->status[0] = result->status[1] = REFUSED[i].status;
        const char *device = REFUSED[i].cause == RECORD_CAUSE_LAUNCH_REFUSED ? "its gridDim.y is 70000" : "";
        snprintf(result->cuda_message, sizeof result->cuda_message, "%s", device);
        const struct verdict *verdict = judge_case(&c);
        expect(verdict->state == STATE_FAIL, "refused", headline_of(verdict));
        expect(verdict->record.cause == (int)REFUSED[i].cause &&
                   verdict->record.number[RECORD_N_FIRST] == (int64_t)REFUSED[i].status,
               "refused", pattern_of(verdict));
        expect(strstr(pattern_of(verdict), device) != NULL, "refused", pattern_of(verdict));
        close_case(&c);
    }
}

/* ---- what the oracle said is kept -------------------------------------------------------------------------- */

static void remove_files(const char *folder)
{
    glob_t found;
    char pattern[64];
    snprintf(pattern, sizeof pattern, "%s/*", folder);
    if (glob(pattern, 0, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++) (void)unlink(found.gl_pathv[i]);
    globfree(&found);
}

/* The only file of @p folder; its name in @p path. */
static int only_file(const char *folder, char *path, size_t size)
{
    glob_t found;
    char pattern[64];
    snprintf(pattern, sizeof pattern, "%s/*", folder);
    int count = glob(pattern, 0, NULL, &found) == 0 ? (int)found.gl_pathc : 0;
    if (count == 1) snprintf(path, size, "%s", found.gl_pathv[0]);
    globfree(&found);
    return count == 1;
}

static void same_verdict(const struct verdict *got, const struct verdict *wanted, const char *when)
{
    expect(got->state == wanted->state && got->budget_share == wanted->budget_share &&
               memcmp(&got->record, &wanted->record, sizeof got->record) == 0,
           when, headline_of(got));
}

/* The first value expected: after the head, the place of the only piece, and what says which elements follow. */
static void change_file(const char *path)
{
    const double wrong = 1e9;
    FILE *file = fopen(path, "r+b");
    if (file == NULL || fseek(file, 4 * 8 + 2 * 8 + 5 * 8, SEEK_SET) != 0) exit(2);
    if (fwrite(&wrong, sizeof wrong, 1, file) != 1 || fclose(file) != 0) exit(2);
}

static const struct verdict *judge_again(struct judged_case *c)
{
    c->check->verdicts[c->item->case_index] = (struct verdict){0}; /* else the largest share so far counts */
    return judge_case(c);
}

/* The same verdict without a file, when it is written, when it is read, and when it is not whole. */
static void test_remember(const char *lesson, const char *name, int buffer, enum damage damage)
{
    char folder[] = "/tmp/warpwise-remember-XXXXXX", path[256] = "";
    struct judged_case c;
    open_case(&c, options_lesson(lesson), name);
    if (damage != NONE) spoil(&c, buffer, damage, "");
    const struct verdict plain = *judge_again(&c);
    if (mkdtemp(folder) == NULL) exit(2);
    c.check->options.remember = folder;
    same_verdict(judge_again(&c), &plain, "remember: written");
    expect(only_file(folder, path, sizeof path), "remember", "not exactly one file");
    same_verdict(judge_again(&c), &plain, "remember: read");
    c.item->settled.seed++;
    (void)judge_again(&c);
    expect(!only_file(folder, path, sizeof path), "remember", "another seed reads the file of this one");
    c.item->settled.seed--;
    change_file(path);
    expect(judge_again(&c)->budget_share != plain.budget_share, "remember", "the file is not read");
    expect(truncate(path, 200) == 0, "truncate", path);
    same_verdict(judge_again(&c), &plain, "remember: cut short");
    close_case(&c);
    remove_files(folder);
    expect(rmdir(folder) == 0, "rmdir", folder);
}

/* ---- the report: each cause once --------------------------------------------------------------------------- */

/** What failing cases of lesson 01, the first of a part each or the next, say; and a line that the report must have. */
static const struct told {
    int part[3];
    int kind, line[3]; /* of a finding of the device; or 0 */
    int cause[3];
    double factor[3];
    const char *expected;
} TOLD[] = {
    {{0, 0, 0}, RECORD_SHARED_RACE, {9, 9, 9}, {0}, {0}, "    the same in: %2, %3\n"},
    {{0, 0, 0}, RECORD_SHARED_RACE, {9, 8, 9}, {0}, {0}, "    the same in: %3\n"},
    {{0, 0, 0}, RECORD_DIVERGENT_BARRIER, {9, 8, 9}, {0}, {0}, "    the same in: %3\n"},
    {{0, 2, 2}, RECORD_SHARED_RACE, {9, 9, 8}, {0}, {0}, "  as above: %2\n"},
    {{0, 0, 2},
     0,
     {0},
     {RECORD_CAUSE_CONSTANT_FACTOR, RECORD_CAUSE_CONSTANT_FACTOR, RECORD_CAUSE_CONSTANT_FACTOR},
     {2, 3, 4},
     "  as above: %3\n"},
    {{0, 0, 0},
     0,
     {0},
     {RECORD_CAUSE_ALL_ZERO, RECORD_CAUSE_TRANSPOSED, RECORD_CAUSE_ALL_ZERO},
     {0},
     "    the same in: %3\n"},
};

/* The names of cases for %1, %2, %3. */
static void with_names(const struct check *check, const int *index, const char *form, char *text, size_t size)
{
    size_t used = 0;
    for (; *form != '\0' && used + 1 < size; form++) {
        if (*form != '%')
            text[used++] = *form;
        else
            used += (size_t)snprintf(text + used, size - used, "%s", check->cases[index[*++form - '1']].name);
    }
    text[used] = '\0';
}

static struct check *open_check(const char *lesson)
{
    struct check *check = calloc(1, sizeof *check);
    if (check == NULL) exit(2);
    check->options.lesson = options_lesson(lesson);
    check->options.device = DEVICE_SIMT;
    check->case_count = promises_cases(check->options.lesson, check->cases, CHECK_CASES);
    return check;
}

/* To be freed. */
static char *text_of(struct check *check)
{
    char *report = NULL;
    size_t size;
    FILE *kept = stdout;
    stdout = open_memstream(&report, &size);
    if (stdout == NULL) exit(2);
    report_text(check);
    fclose(stdout);
    stdout = kept;
    return report;
}

static void fail_with(struct verdict *verdict, enum record_cause cause)
{
    verdict->state = STATE_FAIL;
    verdict->record = (struct record){.origin = RECORD_CHECKER,
                                      .kind = RECORD_WRONG_VALUE,
                                      .cause = cause,
                                      .certainty = cause > 0 ? RECORD_CAUSE : RECORD_NO_CAUSE};
}

static void test_told(const struct told *told)
{
    struct check *check = open_check("01");
    char line[512];
    int index[3];
    for (int i = 0; i < 3; i++) {
        for (index[i] = 0; check->cases[index[i]].part != told->part[i] || check->chosen[index[i]];)
            index[i]++;
        struct verdict *verdict = &check->verdicts[index[i]];
        check->chosen[index[i]] = 1;
        fail_with(verdict, (enum record_cause)told->cause[i]);
        verdict->record.real[1] = told->factor[i];
        if (told->kind == 0) continue;
        verdict->record.origin = RECORD_DEVICE;
        verdict->record.kind = told->kind;
        verdict->record.actor[0].at[0] = (struct record_line){.file = "k.cu", .line = told->line[i]};
    }
    char *report = text_of(check);
    with_names(check, index, told->expected, line, sizeof line);
    expect(strstr(report, line) != NULL, line, report);
    free(report);
    free(check);
}

/* The first cases of lesson 12 that compute something: which fail, which of those name a cause, and which of two lines of
 * the report comes first. */
static const struct ordered {
    const char *fails, *names; /* cases by their place, 'x' those that do */
    const char *first, *then;
} ORDERED[] = {
    {"xxx.x", "....x", "case f16/one", "case f16/tall_128x32"}, /* most fail: the simplest */
    {"x...x", "....x", "case f16/tall_128x32", "also failing: f16/one"},
    {"xxxxx", "xxxxx", "case f16/one", "the same in"},
};

static void fill_ordered(struct check *check, const struct ordered *ordered)
{
    size_t place = 0;
    for (int i = 0; i < check->case_count && ordered->fails[place] != '\0'; i++) {
        struct verdict *verdict = &check->verdicts[i];
        if (check->cases[i].group != GROUP_BASIC) continue;
        check->chosen[i] = 1;
        if (ordered->fails[place] == 'x')
            fail_with(verdict, ordered->names[place] == 'x' ? RECORD_CAUSE_NAN : RECORD_NO_CAUSE_KNOWN);
        place++;
    }
}

static void expect_order(const char *report, const char *first, const char *then)
{
    const char *a = strstr(report, first), *b = strstr(report, then);
    expect(a != NULL && b != NULL && a < b, first, report);
}

static void test_ordered(const struct ordered *ordered)
{
    struct check *check = open_check("12");
    fill_ordered(check, ordered);
    char *report = text_of(check);
    expect_order(report, ordered->first, ordered->then);
    free(report);
    free(check);
}

/* What the failing cases have in common stands behind the cause that all of them name, and before all else. */
static void test_in_common(int named)
{
    struct check *check = open_check("12");
    for (int i = 0; i < check->case_count; i++) {
        const struct lesson_case *item = &check->cases[i];
        struct verdict *verdict = &check->verdicts[i];
        int fails = strstr(item->name, "head_dim_256") != NULL;
        if (item->part != 0 || (!fails && item->group != GROUP_BASIC)) continue;
        check->chosen[i] = 1;
        if (fails) fail_with(verdict, named ? RECORD_CAUSE_LAUNCH_REFUSED : RECORD_NO_CAUSE_KNOWN);
    }
    char *report = text_of(check);
    if (named)
        expect_order(report, "the runtime refused a call", "only cases with head_dim above 128");
    else
        expect_order(report, "only cases with head_dim above 128", "case f16/");
    free(report);
    free(check);
}

/* Where most say "all zero", a case that holds nothing else says so, too, whatever else would explain it. */
static void test_zeros_of_part(int saying)
{
    static const struct ordered all = {"xxxxx", "xxxxx", "", ""};
    struct check *check = open_check("12");
    int last = -1;
    fill_ordered(check, &all);
    for (int i = 0, place = 0; i < check->case_count; i++) {
        if (!check->chosen[i]) continue;
        check->verdicts[i].all_zero = 1;
        if (place++ < saying) check->verdicts[i].record.cause = RECORD_CAUSE_ALL_ZERO;
        last = i;
    }
    diagnose_parts(check);
    expect(check->verdicts[last].record.cause == (saying > 2 ? RECORD_CAUSE_ALL_ZERO : RECORD_CAUSE_NAN),
           "zeros of a part", pattern_of(&check->verdicts[last]));
    free(check);
}

static const struct lesson_case *find_case(const struct check *check, const char *name)
{
    for (int i = 0; i < check->case_count; i++)
        if (strcmp(check->cases[i].name, name) == 0) return &check->cases[i];
    expect(0, name, "no such case");
    exit(2);
}

/* What a case is about, and what it has in common with others. */
static void test_told_of_cases(void)
{
    static const struct {
        const char *lesson, *name, *says;
    } ABOUT[] = {{"13", "s32/far_tiles_of_a_odd", "beyond 2^31 elements"},
                 {"13", "dequantised/far_rows_of_c", "beyond 2^31 elements"},
                 {"12", "f16/head_dim_96", "no kernel for this head_dim"},
                 {"16", "f16/head_dim_256", "no kernel for this head_dim"}};
    static const struct {
        const char *name;
        int has[2]; /* both or neither of A and B transposed; A transposed, or B not */
    } LAYOUTS[] = {{"s32/transposed_nt", {0, 0}},
                   {"s32/transposed_tt", {1, 1}},
                   {"s32/k_129_nn", {1, 1}},
                   {"s32/k_640_tn", {0, 1}}};
    for (size_t i = 0; i < sizeof ABOUT / sizeof ABOUT[0]; i++) {
        struct check *check = open_check(ABOUT[i].lesson);
        const char *about = check->options.lesson->purpose(find_case(check, ABOUT[i].name));
        expect(about != NULL && strstr(about, ABOUT[i].says) != NULL, ABOUT[i].name,
               about != NULL ? about : "");
        free(check);
    }
    struct check *check = open_check("13");
    for (size_t i = 0; i < sizeof LAYOUTS / sizeof LAYOUTS[0]; i++)
        for (int trait = 0; trait < 2; trait++) {
            const char *message = "";
            const int has = check->options.lesson->trait(find_case(check, LAYOUTS[i].name), trait, &message);
            expect(has == LAYOUTS[i].has[trait], LAYOUTS[i].name, message);
        }
    free(check);
}

/* Guess @p index fits somewhere, and tells the same as guess @p told. */
static void fit_guess(struct check *check, int index, int told)
{
    check->guess[index] = (struct lesson_guess){.cause = RECORD_CAUSE_GUESS, .told = told};
}

/* Case @p at fits those guesses that have a digit in @p fits: 1 its wrong elements, 2 all. */
static void fit_case(struct check *check, int at, const char *fits)
{
    for (int i = 0; fits[i] != '\0'; i++) {
        check->verdicts[at].guesses[i] = (unsigned char)(fits[i] - '0');
        check->verdicts[at].guess_count += fits[i] != '0';
    }
}

/* Guess 0 fits the first case alone, guess 5 the first two: it is told of both. One that tells the same counts for it. */
static void test_chosen_guess(int same)
{
    static const struct ordered all = {"xxxxx", "xxxxx", "", ""};
    static const char *const fits[] = {"100001", "000001", "001", "001", ""};
    struct check *check = open_check("12");
    int index[5], place = 0;
    fill_ordered(check, &all);
    for (int i = 0; i < check->case_count; i++)
        if (check->chosen[i]) index[place++] = i;
    for (int i = 0; i < 5; i++) fit_case(check, index[i], fits[i]);
    fit_guess(check, 0, 0);
    fit_guess(check, 2, same ? 0 : 2);
    fit_guess(check, 5, 5);
    diagnose_parts(check);
    expect(check->verdicts[index[0]].record.guess == 1 + (same ? 0 : 5), "the guess that fits most cases",
           "");
    expect(check->verdicts[index[1]].record.guess == 1 + 5, "the only guess", "");
    expect(check->verdicts[index[4]].record.cause == RECORD_CAUSE_NAN, "no guess", "");
    free(check);
}

/* Guess 0 fits two cases, guess 5 three; but guess 0 gives what is right there, too. */
static void test_thorough_guess(int thorough)
{
    static const struct ordered all = {"xxxxx", "xxxxx", "", ""};
    static const char *const fits[2][5] = {{"100001", "000001", "000001", "1", ""},
                                           {"200001", "000001", "000001", "2", ""}};
    struct check *check = open_check("12");
    int index[5], place = 0;
    fill_ordered(check, &all);
    for (int i = 0; i < check->case_count; i++)
        if (check->chosen[i]) index[place++] = i;
    for (int i = 0; i < 5; i++) fit_case(check, index[i], fits[thorough][i]);
    fit_guess(check, 0, 0);
    fit_guess(check, 5, 5);
    diagnose_parts(check);
    expect(check->verdicts[index[0]].record.guess == 1 + (thorough ? 0 : 5),
           "a guess that gives the right elements", "");
    free(check);
}

/* Two guesses of lesson 16 give the same for every element of a case. */
static void test_same_guess(const char *name, const char *one, const char *other)
{
    struct judged_case c;
    struct judged judged;
    size_t different = 0;
    open_case(&c, options_lesson("16"), name);
    if (judged_open(&judged, &c.session, 0) != 0) exit(2);
    const int guess[] = {find_guess(&c, &judged, ATTENTION_OUT, one),
                         find_guess(&c, &judged, ATTENTION_OUT, other)};
    for (size_t at = 0; at < lesson_elems(&c.item->buffer[ATTENTION_OUT]); at++) {
        struct lesson_guess told[2] = {{.value = 0.0}, {.value = 1.0}};
        for (int i = 0; i < 2; i++)
            if (c.check->options.lesson->guess(&c.item->settled, judged.inputs, guess[i], ATTENTION_OUT, at,
                                               &told[i]) <= 0)
                told[i].value = NAN;
        different += !(told[0].value == told[1].value);
    }
    expect(guess[0] >= 0 && guess[1] >= 0 && guess[0] != guess[1], name, "two guesses");
    expect(different == 0, name, one);
    judged_close(&judged);
    close_case(&c);
}

/* In one tile of 64 queries and 64 keys no mask of the tile is no causal mask; without a causal mask it is the tail's. */
static void test_unmasked_tiles(void)
{
    test_same_guess("f16/causal_64", "nothing is masked", "without the causal mask");
    test_same_guess("f16/tail_300_two_consumers", "nothing is masked", "rounded up to a multiple of 64");
}

/* Where one key too many is seen, the wrong elements are those of no mask at all, too: it is the right ones that tell. All that is
 * wrong should be -infinity, and then a guess that does not fit them is none. */
static void test_right_elements(void)
{
    static const char *const WORDS[] = {"one key too many", "without the causal mask"};
    struct judged_case c;
    struct judged judged;
    open_case(&c, options_lesson("01"), "scores/causal_64");
    spoil(&c, ATTENTION_MATRIX, GUESS, WORDS[0]);
    const struct verdict *verdict = judge_case(&c);
    if (judged_open(&judged, &c.session, 0) != 0) exit(2);
    for (int i = 0; i < 2; i++) {
        const int guess = find_guess(&c, &judged, ATTENTION_MATRIX, WORDS[i]);
        expect(verdict->guesses[guess] == (i == 0 ? 2 : 0), "scores/causal_64: fits", WORDS[i]);
    }
    judged_close(&judged);
    close_case(&c);
}

/* ---- the command line ------------------------------------------------------------------------------------ */

static void test_options(void)
{
    char *good[] = {"checker",
                    "--lesson",
                    "1",
                    "--runner",
                    "r",
                    "--device",
                    "gpu",
                    "--case",
                    "causal_tail",
                    "--limit",
                    "copy_gbps=4245",
                    "--peer",
                    "01:attention/x=12.5",
                    "-v",
                    "--seed",
                    "0x10"};
    struct options options;
    expect(options_read(&options, 16, good) == 0, "options_read", "good arguments");
    expect(options.lesson->number == 1 && options.device == DEVICE_GPU && options.seed == 16 &&
               options.verbose,
           "options_read", "values");
    expect(options.limit[0].value == 4245.0 && options.peer[0].us == 12.5 &&
               strcmp(options.peer[0].label, "01") == 0,
           "options_read", "pairs");
    struct lesson_case item = {.name = "scores/causal_tail", .devices = ON_ANY};
    expect(options_choose(&options, &item), "options_choose", "a name without its part");
    item.devices = ON_SIMT;
    expect(!options_choose(&options, &item), "options_choose", "another device");
    char *bad[][4] = {{"checker", "--lesson", "99", NULL},  {"checker", "--device", "cpu", NULL},
                      {"checker", "--seed", "-1", NULL},    {"checker", "--limit", "x", NULL},
                      {"checker", "--nonsense", "1", NULL}, {"checker", "--time-limit", "0", NULL},
                      {"checker", "--peer", "a=1", NULL},   {"checker", "--case", NULL, NULL}};
    FILE *kept = stderr;
    stderr = fopen("/dev/null", "w");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect(options_read(&options, bad[i][2] == NULL ? 2 : 3, bad[i]) != 0, "options_read", bad[i][1]);
    fclose(stderr);
    stderr = kept;
}

int main(void)
{
    test_compare_element();
    test_rng();
    test_bounds();
    test_names();
    test_guards();
    test_workspace_guard();
    test_table("01");
    test_table("02");
    test_table("03");
    for (const struct lesson *const *lesson = lesson_table; *lesson != NULL; lesson++) {
        char number[8];
        snprintf(number, sizeof number, "%02d", (*lesson)->number);
        test_points(number);
    }
    test_special_points();
    test_planted();
    test_wide_bounds();
    test_remember("01", "attention/square_64", ATTENTION_OUT, NONE);
    test_remember("01", "attention/square_64", ATTENTION_OUT, TIMES_TWO);
    test_remember("10", "f32/deep_512", 2, NONE);
    for (size_t i = 0; i < sizeof TOLD / sizeof TOLD[0]; i++) test_told(&TOLD[i]);
    for (size_t i = 0; i < sizeof ORDERED / sizeof ORDERED[0]; i++) test_ordered(&ORDERED[i]);
    test_zeros_of_part(2);
    test_zeros_of_part(3);
    test_signals();
    test_small_workspace();
    test_refused();
    test_told_of_cases();
    test_chosen_guess(0);
    test_chosen_guess(1);
    test_thorough_guess(0);
    test_thorough_guess(1);
    test_right_elements();
    test_unmasked_tiles();
    test_in_common(1);
    test_in_common(0);
    test_options();
    printf("checker: %d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
