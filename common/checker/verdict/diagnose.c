/**
 * @file diagnose.c
 * @brief Patterns, from the plainest to the most particular; the first that fits is told.
 */
#include "diagnose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define ALL_ZERO "all zero"

enum { LOOKED_AT = 24, ENOUGH = 4 };

/** The wrong elements of one buffer. */
struct symptoms {
    const struct judged *judged;
    int buffer;
    const struct lesson_buffer *shape;
    const struct buffer_comparison *found;
    size_t kept; /* how many of the wrong elements are at hand */
    struct verdict *verdict;
};

/* ---- values ---------------------------------------------------------------------------------------------- */

static int not_finite(const struct symptoms *s, char *text, size_t size)
{
    const struct lesson *lesson = s->judged->session->check->options.lesson;
    size_t nans = 0, infinities = 0, unexpected = 0;
    for (size_t i = 0; i < s->kept; i++) {
        if (isnan(s->found->first[i].expected) && !isnan(s->found->first[i].got)) unexpected++;
        if (isnan(s->found->first[i].got)) nans++;
        if (isinf(s->found->first[i].got)) infinities++;
    }
    if (unexpected == s->kept)
        snprintf(text, size, "a NaN of the input was swallowed: it must come out where it belongs");
    else if (nans > 0)
        snprintf(text, size, "NaN in %s of the wrong elements: %s", nans == s->kept ? "all" : "some",
                 lesson->nan != NULL ? lesson->nan
                                     : "0/0, infinity - infinity, or a NaN that was not to be read");
    else if (infinities == s->kept)
        snprintf(text, size,
                 "infinity in all wrong elements: overflow, a division by zero, or a mask too many");
    return unexpected == s->kept || nans > 0 || infinities == s->kept;
}

static int mask_seen(const struct symptoms *s, char *text, size_t size)
{
    size_t unmasked = 0, below = 0;
    for (size_t i = 0; i < s->kept; i++) {
        unmasked += isinf(s->found->first[i].expected) && isfinite(s->found->first[i].got);
        below += s->found->first[i].expected < 0.0;
    }
    if (unmasked < s->kept) return 0;
    snprintf(text, size, "elements that must be %s are finite numbers%s",
             below == s->kept ? "-infinity" : "infinite", below == s->kept ? "" : ": is something clamped?");
    return 1;
}

static int only_zeros(const struct symptoms *s)
{
    for (size_t i = 0; i < s->kept; i++)
        if (s->found->first[i].got != 0.0) return 0;
    return 1;
}

/* 1 if no element is anything but 0, those included that are near enough to be right. */
static int is_empty(const struct symptoms *s)
{
    if (s->found->wrong == s->found->compared) return 1;
    size_t elems = lesson_elems(s->shape);
    for (size_t i = 0; i < elems; i++)
        if (s->judged->got[0][s->buffer][i] != 0.0f) return 0;
    return 1;
}

static int all_zero(const struct symptoms *s, char *text, size_t size)
{
    if (!only_zeros(s)) return 0;
    snprintf(text, size, is_empty(s) ? ALL_ZERO : "the wrong elements are all zero");
    return 1;
}

static int constant_factor(const struct symptoms *s, char *text, size_t size)
{
    double factor = 0.0;
    size_t used = 0;
    for (size_t i = 0; i < s->kept; i++) {
        const struct wrong *wrong = &s->found->first[i];
        if (isinf(wrong->expected)) return 0; /* whatever is divided by it is 0 */
        if (!(fabs(wrong->expected) > 100.0 * wrong->bound) || !isfinite(wrong->got)) continue;
        double ratio = wrong->got / wrong->expected;
        if (used == 0) factor = ratio;
        if (!(fabs(ratio - factor) <= 1e-3 * fabs(factor))) return 0;
        used++;
    }
    if (used < ENOUGH || 2 * used < s->kept || fabs(factor - 1.0) < 1e-2) return 0;
    snprintf(text, size, "constant factor: every wrong element is %.4g times what it should be", factor);
    return 1;
}

/* What was stored as the other type of 16 bits: read as that, the elements are right. */
static int other_sixteen_bits(const struct symptoms *s, char *text, size_t size)
{
    const enum storage storage = s->shape->storage;
    size_t used = 0;
    if (storage != STORAGE_F16 && storage != STORAGE_BF16) return 0;
    for (size_t i = 0; i < s->kept; i++) {
        const struct wrong *wrong = &s->found->first[i];
        if (!isfinite(wrong->got) || !isfinite(wrong->expected) || wrong->expected == 0.0) continue;
        const double other = (double)storage_as_other(storage, (float)wrong->got);
        if (!(fabs(other - wrong->expected) <= wrong->bound + 0x1p-7 * fabs(wrong->expected))) return 0;
        used++;
    }
    if (used < ENOUGH) return 0;
    snprintf(text, size, "%s holds the bits of %s: its elements were stored as the other type of 16 bits",
             s->shape->name, storage == STORAGE_F16 ? "bf16, and is f16" : "f16, and is bf16");
    return 1;
}

static int copy_of_input(const struct symptoms *s, char *text, size_t size)
{
    for (int b = 0; b < s->judged->item->buffer_count; b++) {
        const float *input = s->judged->inputs[b];
        if (input == NULL || s->kept < ENOUGH) continue;
        size_t elems = lesson_elems(&s->judged->item->buffer[b]), same = 0, different = 0;
        for (size_t i = 0; i < s->kept; i++) {
            same += s->found->first[i].at < elems &&
                    (double)input[s->found->first[i].at] == s->found->first[i].got;
            different += s->found->first[i].got != s->found->first[0].got;
        }
        if (same < s->kept || different == 0) continue; /* one number throughout is no copy of anything */
        snprintf(text, size, "%s holds a copy of %s", s->shape->name, s->judged->item->buffer[b].name);
        return 1;
    }
    return 0;
}

/* What is no larger may be stored as 0: in f16 half of the smallest number, in the exponents of f32 what may be flushed. */
static double stored_as_zero(enum storage storage)
{
    return storage == STORAGE_F16 ? 0x1p-25 : 0x1p-126;
}

/* 1 if guess @p guess, which fits the wrong elements, gives what came out elsewhere, too: where nothing is wrong, a mistake must
 * have changed nothing. A kernel may make it in some blocks only, so that this is no more than a vote. */
static int is_thorough(const struct symptoms *s, int guess, double slack, double rounding)
{
    enum { ANYWHERE = 64 };
    const double as_float = 0x1p-24; /* whole numbers, too, are at hand as floats */
    const struct lesson *lesson = s->judged->session->check->options.lesson;
    const size_t elems = lesson_elems(s->shape);
    double bound = 0.0;
    for (size_t i = 0; i < s->kept; i++) bound = fmax(bound, s->found->first[i].bound);
    for (uint64_t i = 0; i < ANYWHERE; i++) {
        char message[VERDICT_TEXT];
        const size_t at = (size_t)(rng_mix(elems, i) % elems);
        double value;
        if (lesson->guess(&s->judged->item->settled, s->judged->inputs, guess, s->buffer, at, &value, message,
                          sizeof message) == 1 &&
            !compare_element((double)s->judged->got[0][s->buffer][at], value,
                             slack * bound + fmax(rounding, as_float) * fabs(value)))
            return 0;
    }
    return 1;
}

/* The lesson's guesses: each gives the value that a well-known mistake would have led to, and must do so within
 * @p slack times the bound, and @p rounding of its own size. Nothing but zeros is near the small values of many a mistake,
 * and comes of those alone that leave nothing. The first that fits is told, until all cases are known. */
static int guessed_within(const struct symptoms *s, double slack, double rounding, char *text, size_t size)
{
    struct check *check = s->judged->session->check;
    const struct lesson *lesson = check->options.lesson;
    const struct lesson_case *settled = &s->judged->item->settled;
    size_t step = s->kept > LOOKED_AT ? s->kept / LOOKED_AT : 1;
    int zeros = only_zeros(s), fitting = 0;
    for (int guess = 0; lesson->guess != NULL; guess++) {
        char message[VERDICT_TEXT];
        int known = 0, fits = 1, numbers = 0;
        for (size_t i = 0; i < s->kept && fits; i += step) {
            const struct wrong *wrong = &s->found->first[i];
            double value;
            known = lesson->guess(settled, s->judged->inputs, guess, s->buffer, wrong->at, &value, message,
                                  sizeof message);
            if (known != 1) break;
            numbers += !isnan(value) && !compare_element(value, wrong->expected, wrong->bound);
            const double allowed = slack * wrong->bound + rounding * fabs(value);
            /* Where the bound is as wide as what is expected, a mistake that leaves zeros leaves just these. */
            const int zero_alone = value == 0.0 && !compare_element(value, wrong->expected, wrong->bound) &&
                                   compare_element(value, wrong->expected, allowed);
            fits = zeros ? fabs(value) <= stored_as_zero(s->shape->storage)
                         : compare_element(wrong->got, value,
                                           zero_alone ? stored_as_zero(s->shape->storage) : allowed);
        }
        if (known < 0) break;
        if (known == 0 || !fits || numbers == 0) continue;
        if (fitting++ == 0) snprintf(text, size, "%s", message);
        if (guess >= CHECK_GUESSES) break; /* no bit for it */
        s->verdict->guesses |= UINT64_C(1) << guess;
        if (is_thorough(s, guess, slack, rounding)) s->verdict->thorough |= UINT64_C(1) << guess;
        snprintf(check->guess_text[guess], sizeof check->guess_text[guess], "%s", message);
    }
    return fitting > 0;
}

static int guessed(const struct symptoms *s, char *text, size_t size)
{
    enum {
        LONG_ROW = 16
    }; /* of these mistakes each changes whole rows: one element of many is none of them */
    if (s->found->wrong == 1 && s->shape->extent[s->shape->rank - 1] >= LONG_ROW) return 0;
    /* Of a wrong value, which may be a large one. */
    double share = s->shape->storage == STORAGE_BF16  ? 4e-3
                   : s->shape->storage == STORAGE_F16 ? 5e-4
                   : s->shape->storage == STORAGE_I32 ? 0.0
                                                      : 1e-5;
    return guessed_within(s, 4.0, share, text, size);
}

/* A small excess, or one that is small beside every element, is rounding and nothing else, unless a guess gives
 * all that was looked at. Errors of a few bounds are near everything: here the patterns below would find what
 * is not there. */
static int rounding(const struct symptoms *s, char *text, size_t size)
{
    const enum storage storage = s->shape->storage;
    const int short_floats = storage == STORAGE_F16 || storage == STORAGE_BF16;
    const double small = short_floats ? 3.0 : 8.0; /* a half is rounded few times */
    double worst = 0.0;
    for (size_t i = 0; i < s->kept; i++) {
        const struct wrong *wrong = &s->found->first[i];
        double error = fabs(wrong->got - wrong->expected), times = error / wrong->bound;
        int as_half = s->shape->storage == STORAGE_F32 && error <= 0x1p-10 * fabs(wrong->expected);
        if (!(times < small) && !as_half) return 0;
        worst = fmax(worst, times);
    }
    if (!isfinite(worst)) return 0;
    if (s->kept >= ENOUGH && guessed_within(s, 1.0, 0.0, text, size)) return 1;
    diagnose_rounding(worst, text, size);
    return 1;
}

/* ---- places ---------------------------------------------------------------------------------------------- */

static size_t index_on(const struct lesson_buffer *shape, size_t at, int axis)
{
    for (int behind = shape->rank - 1; behind > axis; behind--) at /= shape->extent[behind];
    return at % shape->extent[axis];
}

static void range_on(const struct symptoms *s, int axis, size_t *low, size_t *high)
{
    *low = SIZE_MAX;
    *high = 0;
    for (size_t i = 0; i < s->kept; i++) {
        size_t index = index_on(s->shape, s->found->first[i].at, axis);
        if (index < *low) *low = index;
        if (index > *high) *high = index;
    }
}

/* What the lesson calls the axes of its outputs of rank 4; the first is NULL where they are the usual ones. */
static const char *const *own_axes(const struct symptoms *s)
{
    return s->judged->session->check->options.lesson->axes;
}

/* 1 if nothing else is wrong on this axis than what was kept: all of it, or of the last axis many rows. */
static int all_known(const struct symptoms *s, int axis)
{
    enum { MANY_ROWS = 8 };
    size_t low, high;
    if (s->kept == s->found->wrong) return 1;
    if (axis != s->shape->rank - 1 || axis == 0) return 0;
    range_on(s, axis - 1, &low, &high);
    return high - low >= MANY_ROWS;
}

static int tail_of(const struct symptoms *s, int axis, const char *what, char *text, size_t size)
{
    static const size_t tiles[] = {8, 16, 32, 64, 128};
    size_t low, high, extent = s->shape->extent[axis];
    range_on(s, axis, &low, &high);
    for (int i = 0; i < 5; i++) {
        size_t last = extent / tiles[i] * tiles[i];
        if (last == 0 || last == extent || low < last) continue;
        snprintf(text, size,
                 "only the %s of the last tile are wrong (from %zu of %zu on, as with tiles of %zu): is its "
                 "tail handled?",
                 what, last, extent, tiles[i]);
        return 1;
    }
    /* Columns from a whole number of rows of 128 bytes on, as a swizzle takes them. */
    enum { BLOCK_BYTES = 128 };
    const int blocks = axis == s->shape->rank - 1 && storage_bytes(s->shape->storage) == sizeof(uint16_t) &&
                       low * sizeof(uint16_t) % BLOCK_BYTES == 0;
    if (low > 0 && (4 * low >= extent || blocks) && all_known(s, axis)) {
        snprintf(text, size, "only %s from %zu of %zu on are wrong%s", what, low, extent,
                 blocks ? ": where do the next blocks of columns, of 128 bytes a row, lie? (offsets, strides "
                          "of a descriptor)"
                        : "");
        return 1;
    }
    if (own_axes(s)[0] != NULL) return 0; /* its last places may be those that nothing is wanted for */
    if (high + 1 < extent && 4 * (high + 1) <= 3 * extent && all_known(s, axis)) {
        snprintf(text, size, "only %s up to %zu of %zu are wrong", what, high, extent);
        return 1;
    }
    return 0;
}

static int tails_of_four(const struct symptoms *s, char *text, size_t size)
{
    static const char *const usual[] = {"sequences of the batch", "heads", "rows", "columns"};
    const char *const *axes = own_axes(s)[0] != NULL ? own_axes(s) : usual;
    size_t low, high;
    for (int axis = 2; axis < 4; axis++)
        if (tail_of(s, axis, axes[axis], text, size)) return 1;
    for (int axis = 1; axis >= 0; axis--) {
        range_on(s, axis, &low, &high);
        if (low > 0) return snprintf(text, size, "only %s from %zu on are wrong", axes[axis], low) > 0;
    }
    return 0;
}

/* Which of two neighbours are wrong, on an axis: 0 the even ones, 1 the odd ones, -1 neither. */
static int wrong_neighbours(const struct symptoms *s, int axis)
{
    enum { DIFFERENT = 6 }; /* as many different places */
    size_t places[DIFFERENT], different = 0;
    if (!all_known(s, axis)) return -1;
    const size_t first = index_on(s->shape, s->found->first[0].at, axis);
    for (size_t i = 0; i < s->kept; i++) {
        size_t place = index_on(s->shape, s->found->first[i].at, axis), seen = 0;
        if (place % 2 != first % 2) return -1;
        while (seen < different && places[seen] != place) seen++;
        if (seen == different && different < DIFFERENT) places[different++] = place;
    }
    return different < DIFFERENT ? -1 : (int)(first % 2);
}

static int every_second(const struct symptoms *s, char *text, size_t size)
{
    if ((s->shape->rank != 2 && s->shape->rank != 4) || s->shape->column[0] != NULL || own_axes(s)[0] != NULL)
        return 0;
    for (int axis = s->shape->rank - 2; axis < s->shape->rank; axis++) {
        const int odd = wrong_neighbours(s, axis);
        if (odd < 0) continue;
        snprintf(text, size, "every wrong element is in an %s %s: the %s ones are right",
                 odd ? "odd" : "even", axis == s->shape->rank - 1 ? "column" : "row", odd ? "even" : "odd");
        return 1;
    }
    return 0;
}

static int tails(const struct symptoms *s, char *text, size_t size)
{
    if (s->shape->rank == 4) return tails_of_four(s, text, size);
    if (s->shape->rank == 2 && s->shape->column[0] == NULL)
        return tail_of(s, 0, "rows", text, size) || tail_of(s, 1, "columns", text, size);
    return s->shape->rank == 3 && tail_of(s, 2, "rows", text, size);
}

static int by_place(const void *one, const void *two)
{
    size_t a = ((const struct wrong *)one)->at, b = ((const struct wrong *)two)->at;
    return a < b ? -1 : a > b;
}

/* Where the element would lie if axes `first` and `first + 1` were stored the other way round. */
static size_t swapped_place(const struct lesson_buffer *shape, size_t at, int first)
{
    size_t index[LESSON_RANK], flat = 0;
    size_t behind = 1;
    for (int axis = first + 2; axis < shape->rank; axis++) behind *= shape->extent[axis];
    size_t inner = at % behind, pair = at / behind, rows = shape->extent[first],
           columns = shape->extent[first + 1];
    size_t front = pair / (rows * columns);
    index[0] = pair % (rows * columns) / rows;
    index[1] = pair % rows;
    flat = (front * rows + index[1]) * columns + index[0];
    return flat * behind + inner;
}

static int transposed(const struct symptoms *s, char *text, size_t size)
{
    for (int first = s->shape->rank - 2; first >= 0 && s->kept >= ENOUGH; first--) {
        size_t known = 0, same = 0;
        if (s->shape->extent[first] < 2 || s->shape->extent[first + 1] < 2) continue;
        for (size_t i = 0; i < s->kept; i++) {
            struct wrong key = {.at = swapped_place(s->shape, s->found->first[i].at, first)};
            const struct wrong *other = bsearch(&key, s->found->first, s->kept, sizeof key, by_place);
            if (other == NULL || other->at == s->found->first[i].at) continue;
            if (compare_element(s->found->first[i].expected, other->expected, 4.0 * other->bound)) continue;
            known++; /* where the bound is as wide as values differ, any of them would do */
            same += compare_element(s->found->first[i].got, other->expected, 4.0 * other->bound);
        }
        if (known < ENOUGH || same < known) continue;
        snprintf(text, size, "transposed: axes %d and %d of %s are stored the other way round", first,
                 first + 1, s->shape->name);
        return 1;
    }
    return 0;
}

/* What stands in a row and column of the output where that of another one belongs. */
static const struct permutation {
    const char *message;
    enum { SWIZZLED, ROWS_APART, COLUMNS_APART } kind;
    size_t size; /* bytes of a swizzled row; how far apart */
} PERMUTATIONS[] = {
    {"pieces of 16 bytes are exchanged within rows of 128 bytes, as a swizzle does: what is written to "
     "shared "
     "memory, and what is read from there (or the tensor map), must have the same one",
     SWIZZLED, 128},
    {"pieces of 16 bytes are exchanged within rows of 64 bytes, as a swizzle does: what is written to shared "
     "memory, and what is read from there (or the tensor map), must have the same one",
     SWIZZLED, 64},
    {"pieces of 16 bytes are exchanged within rows of 32 bytes, as a swizzle does: what is written to shared "
     "memory, and what is read from there (or the tensor map), must have the same one",
     SWIZZLED, 32},
    {"rows 8 apart are exchanged: of a fragment of 16 rows, a lane has elements of rows g and g + 8",
     ROWS_APART, 8},
    {"columns 8 apart are exchanged: of a fragment of 16 columns, a lane has elements of columns c and c + 8",
     COLUMNS_APART, 8},
    {"columns 2 apart are exchanged: of four elements that are loaded at once, the second half is taken for "
     "the first",
     COLUMNS_APART, 2},
    {"neighbouring rows are exchanged", ROWS_APART, 1},
    {"neighbouring columns are exchanged: which is the lower half of a register?", COLUMNS_APART, 1},
};

/* Where the element is that was expected at @p at; SIZE_MAX if there is none. */
static size_t permuted_place(const struct lesson_buffer *shape, const struct permutation *permutation,
                             size_t at)
{
    const size_t columns = shape->extent[shape->rank - 1], rows = shape->extent[shape->rank - 2];
    const size_t vector = 16 / storage_bytes(shape->storage), bytes = permutation->size;
    size_t column = at % columns, row = at / columns % rows, first = at - column - row * columns;
    if (permutation->kind == ROWS_APART) row ^= permutation->size;
    if (permutation->kind == COLUMNS_APART) column ^= permutation->size;
    if (permutation->kind == SWIZZLED) column ^= row % 8 / (128 / bytes) * vector;
    return row < rows && column < columns ? first + row * columns + column : SIZE_MAX;
}

static int permuted(const struct symptoms *s, char *text, size_t size)
{
    enum { MANY = 32 };
    for (size_t i = 0; i < sizeof PERMUTATIONS / sizeof PERMUTATIONS[0] && s->shape->rank >= 2; i++) {
        size_t known = 0, same = 0;
        for (size_t k = 0; k < s->kept; k++) {
            struct wrong key = {.at = permuted_place(s->shape, &PERMUTATIONS[i], s->found->first[k].at)};
            const struct wrong *other = bsearch(&key, s->found->first, s->kept, sizeof key, by_place);
            if (other == NULL || other->at == s->found->first[k].at) continue;
            if (compare_element(s->found->first[k].expected, other->expected, 4.0 * other->bound)) continue;
            known++;
            same += compare_element(s->found->first[k].got, other->expected, 4.0 * other->bound);
        }
        if (known < MANY || 2 * known < s->kept || 20 * same < 19 * known) continue;
        snprintf(text, size, "%s", PERMUTATIONS[i].message);
        return 1;
    }
    return 0;
}

/* Mean error of the first and of the last quarter of the wrong elements. */
static int growing(const struct symptoms *s, char *text, size_t size)
{
    size_t quarter = s->kept / 4;
    double early = 0.0, late = 0.0;
    if (quarter < 8 || s->kept < s->found->wrong) return 0;
    for (size_t i = 0; i < quarter; i++) {
        early += fabs(s->found->first[i].got - s->found->first[i].expected);
        late += fabs(s->found->first[s->kept - 1 - i].got - s->found->first[s->kept - 1 - i].expected);
    }
    if (!(late > 8.0 * early)) return 0;
    snprintf(text, size,
             "the error grows along %s: is what was summed rescaled when a later tile brings a new maximum?",
             s->shape->name);
    return 1;
}

void diagnose_rounding(double times, char *text, size_t size)
{
    snprintf(text, size,
             "rounding: %.3g times what this computation may lose; is something kept in lower precision, or "
             "rounded many more times than it needs?",
             times);
}

/* Scores, maximum and sum are right where the logsumexp is: what is left is the rest of the way. */
static int lse_right(const struct symptoms *s, char *text, size_t size)
{
    const struct item *item = s->judged->item;
    for (int b = 0; b < item->buffer_count; b++) {
        const struct buffer_comparison *other = &s->judged->buffer[b];
        if (b == s->buffer || strcmp(item->buffer[b].name, "lse") != 0 || item->settled.null_buffer == b)
            continue;
        if (other->compared == 0 || other->wrong > 0) continue;
        snprintf(
            text, size,
            "lse is right, so scores, maximum and sum are: look at what the weights are multiplied with, "
            "and at how %s is rescaled, divided and stored",
            s->shape->name);
        return 1;
    }
    return 0;
}

/* 0 if there are none. */
static int find_symptoms(struct symptoms *symptoms, const struct judged *judged, int buffer,
                         struct verdict *verdict)
{
    const struct buffer_comparison *found = &judged->buffer[buffer];
    if (found->wrong == 0 || found->first == NULL) return 0;
    *symptoms = (struct symptoms){judged,
                                  buffer,
                                  &judged->item->buffer[buffer],
                                  found,
                                  found->wrong < WRONG_KEPT ? found->wrong : WRONG_KEPT,
                                  verdict};
    return 1;
}

int diagnose_all_zero(const struct judged *judged, int buffer)
{
    struct symptoms symptoms;
    return find_symptoms(&symptoms, judged, buffer, NULL) && only_zeros(&symptoms) && is_empty(&symptoms);
}

static void add_pattern(struct verdict *verdict, const char *text)
{
    size_t used = strlen(verdict->pattern);
    snprintf(verdict->pattern + used, sizeof verdict->pattern - used, "%s%s", used > 0 ? "; " : "", text);
    if (verdict->pattern_kind == PATTERN_NONE) verdict->pattern_kind = PATTERN_PLACE;
}

/* What is right tells how far a kernel came. */
static void add_stage(const struct judged *judged, struct verdict *verdict)
{
    const struct lesson *lesson = judged->session->check->options.lesson;
    unsigned compared = 0, wrong = 0;
    for (int b = 0; b < judged->item->buffer_count; b++) {
        compared |= (unsigned)(judged->buffer[b].compared > 0) << b;
        wrong |= (unsigned)(judged->buffer[b].wrong > 0) << b;
    }
    const char *stage = lesson->stage != NULL ? lesson->stage(&judged->item->settled, compared, wrong) : NULL;
    if (stage != NULL) add_pattern(verdict, stage);
}

/* Infinities, zeros and a factor come of many a mistake: their places tell more. */
static void add_places(const struct symptoms *symptoms, struct verdict *verdict)
{
    char places[VERDICT_TEXT];
    if (verdict->pattern_kind == PATTERN_CAUSE && every_second(symptoms, places, sizeof places))
        add_pattern(verdict, places);
}

void diagnose_item(const struct judged *judged, int buffer, struct verdict *verdict)
{
    static const struct {
        int (*fits)(const struct symptoms *, char *, size_t);
        enum pattern kind;
    } patterns[] = {
        {rounding, PATTERN_ROUNDING},   {guessed, PATTERN_CAUSE},         {not_finite, PATTERN_CAUSE},
        {all_zero, PATTERN_CAUSE},      {constant_factor, PATTERN_CAUSE}, {other_sixteen_bits, PATTERN_CAUSE},
        {copy_of_input, PATTERN_CAUSE}, {transposed, PATTERN_CAUSE},      {permuted, PATTERN_CAUSE},
        {mask_seen, PATTERN_CAUSE},     {every_second, PATTERN_PLACE},    {tails, PATTERN_PLACE},
        {growing, PATTERN_PLACE},       {lse_right, PATTERN_PLACE}};
    struct symptoms symptoms;
    verdict->pattern[0] = '\0';
    verdict->pattern_kind = PATTERN_NONE;
    verdict->guesses = verdict->thorough = 0;
    if (!find_symptoms(&symptoms, judged, buffer, verdict)) return;
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        if (!patterns[i].fits(&symptoms, verdict->pattern, sizeof verdict->pattern)) continue;
        verdict->pattern_kind = patterns[i].kind;
        break;
    }
    if (verdict->guesses == 0 && strcmp(verdict->pattern, ALL_ZERO) != 0) add_places(&symptoms, verdict);
    if (verdict->guesses == 0 && verdict->pattern_kind != PATTERN_ROUNDING &&
        strcmp(verdict->pattern, ALL_ZERO) != 0)
        add_stage(judged, verdict);
}

/* ---- cases ----------------------------------------------------------------------------------------------- */

static int has_failed(enum state state)
{
    return state == STATE_FAIL || state == STATE_CRASH;
}

static int counts(const struct check *check, int index, int part)
{
    enum case_group group = check->cases[index].group;
    enum state state = check->verdicts[index].state;
    return check->chosen[index] && check->cases[index].part == part && group != GROUP_BAD_INPUT &&
           group != GROUP_PROPERTIES && (state == STATE_PASS || has_failed(state));
}

/** How well a trait tells the failing cases of a part from the passing ones. */
struct fit {
    int failing, passing; /* cases */
    int spared;           /* of those that pass, have the trait */
    int missed;           /* of those that fail, do not have it */
};

/* 0 if there is no such trait. */
static int fit_of(const struct check *check, int part, int trait, struct fit *fit, const char **message)
{
    *fit = (struct fit){0};
    for (int i = 0; i < check->case_count; i++) {
        int has = check->options.lesson->trait(&check->cases[i], trait, message);
        if (has < 0) return 0;
        if (!counts(check, i, part)) continue;
        int failed = has_failed(check->verdicts[i].state);
        fit->failing += failed;
        fit->passing += !failed;
        fit->spared += !failed && has;
        fit->missed += failed && !has;
    }
    return 1;
}

/* A trait that all failing cases have, and no passing one; else that which the fewest passing ones have, if they are few:
 * a case may be too small for the mistake to show. */
void diagnose_part(const struct check *check, int part, char *text, size_t size)
{
    struct fit fit;
    const char *message = NULL;
    int fewest = -1;
    text[0] = '\0';
    for (int trait = 0; check->options.lesson->trait != NULL; trait++) {
        if (!fit_of(check, part, trait, &fit, &message)) return;
        if (fit.missed > 0 || fit.failing < 2 || fit.passing < 2 || 3 * fit.spared > fit.failing) continue;
        if (fit.spared == fit.passing) continue; /* every case of the part has it */
        if (fewest >= 0 && fit.spared >= fewest) continue;
        fewest = fit.spared;
        snprintf(text, size, "%s", message);
    }
}

/* One case may have a cause of its own that leaves zeros, such as a maximum that begins at 0 where scores are low. */
static void spread_zeros(struct check *check, int part)
{
    int failing = 0, say_so = 0;
    for (int i = 0; i < check->case_count; i++) {
        if (!counts(check, i, part) || !has_failed(check->verdicts[i].state)) continue;
        failing++;
        say_so += strcmp(check->verdicts[i].pattern, ALL_ZERO) == 0;
    }
    for (int i = 0; i < check->case_count && 2 * say_so > failing; i++) {
        struct verdict *verdict = &check->verdicts[i];
        if (!check->chosen[i] || check->cases[i].part != part || !verdict->all_zero) continue;
        snprintf(verdict->pattern, sizeof verdict->pattern, "%s", ALL_ZERO);
        verdict->pattern_kind = PATTERN_CAUSE;
    }
}

/* The guesses that say the same as guess @p index. */
static uint64_t same_words(const struct check *check, int index)
{
    uint64_t same = 0;
    for (int i = 0; i < CHECK_GUESSES; i++)
        same |= (uint64_t)(strcmp(check->guess_text[i], check->guess_text[index]) == 0) << i;
    return same;
}

/* In a small case many a guess fits. Of those, that is told which fits the most cases of the part; a case counts twice where
 * the guess gives its right elements, too. */
static void choose_guesses(struct check *check, int part)
{
    int votes[CHECK_GUESSES] = {0};
    for (int guess = 0; guess < CHECK_GUESSES; guess++) {
        uint64_t same = check->guess_text[guess][0] != '\0' ? same_words(check, guess) : 0;
        for (int i = 0; i < check->case_count && same != 0; i++) {
            const struct verdict *verdict = &check->verdicts[i];
            if (check->cases[i].part == part)
                votes[guess] += ((verdict->guesses & same) != 0) + ((verdict->thorough & same) != 0);
        }
    }
    for (int i = 0; i < check->case_count; i++) {
        struct verdict *verdict = &check->verdicts[i];
        int most = -1;
        for (int guess = 0; guess < CHECK_GUESSES && check->cases[i].part == part; guess++)
            if ((verdict->guesses >> guess & 1) != 0 && (most < 0 || votes[guess] > votes[most]))
                most = guess;
        if (most >= 0) snprintf(verdict->pattern, sizeof verdict->pattern, "%s", check->guess_text[most]);
    }
}

void diagnose_parts(struct check *check)
{
    for (int part = 0; part < check->options.lesson->part_count; part++) {
        choose_guesses(check, part);
        spread_zeros(check, part);
    }
}
