/**
 * @file diagnose.c
 * @brief Looks for patterns in wrong elements, from the plainest to the most specific; reports the first that
 *        fits.
 */
#include "diagnose.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "altered.h"
#include "base/rng.h"
#include "checker/promises/making.h"
#include "record/words.h"
#include "terms.h"

enum { LOOKED_AT = 24, ENOUGH = 4, MANY_PAIRS = 32 };

/** The wrong elements of one buffer. */
struct symptoms {
    const struct judged *judged;
    int buffer;
    const struct lesson_buffer *shape;
    const struct buffer_comparison *found;
    size_t kept; /* how many of the wrong elements were kept */
    struct verdict *verdict;
};

/* ---- values ---------------------------------------------------------------------------------------------- */

/* 1 if the case has a logsumexp, compared and right. */
static int has_right_lse(const struct judged *judged, int buffer)
{
    const struct item *item = judged->item;
    for (int b = 0; b < item->buffer_count; b++) {
        const struct buffer_comparison *other = &judged->buffer[b];
        if (b == buffer || strcmp(item->buffer[b].name, "lse") != 0 || item->settled.null_buffer == b)
            continue;
        if (other->compared > 0 && other->wrong == 0 && other->share < 0.5) return 1;
    }
    return 0;
}

/* 1 if whole rows of small numbers of both signs are infinities of these signs. */
static int divided_by_zero(const struct symptoms *s)
{
    const size_t columns = s->shape->extent[s->shape->rank - 1];
    size_t below = 0;
    for (size_t i = 0; i < s->kept; i++) {
        const struct wrong *wrong = &s->found->first[i];
        if (!isinf(wrong->got) || !(fabs(wrong->expected) < 1e3) || wrong->got * wrong->expected < 0.0)
            return 0;
        below += wrong->got < 0.0;
    }
    return s->kept >= ENOUGH && s->found->wrong % columns == 0 && below > 0 && below < s->kept;
}

/* The bits of lesson::not_finite that hold in none of the rows that came out finite: what is beyond float there, too, does no harm. */
static unsigned harmful(const struct symptoms *s)
{
    enum { ROWS = 16 };
    const struct judged *judged = s->judged;
    const size_t columns = s->shape->extent[s->shape->rank - 1], rows = lesson_elems(s->shape) / columns;
    const float *got = judged->got[0][s->buffer];
    unsigned bits = ~0u;
    char words[RECORD_NOTE];
    for (size_t row = 0, step = rows > ROWS ? rows / ROWS : 1; row < rows; row += step) {
        unsigned here = ~0u;
        size_t finite = 0;
        while (finite < columns && isfinite(got[row * columns + finite])) finite++;
        if (finite == columns &&
            judged->session->check->options.lesson->not_finite(
                &judged->item->settled, judged->inputs, s->buffer, row * columns, &here, words, sizeof words))
            bits &= ~here;
    }
    return bits;
}

/* Tells that no input holds a NaN but between the rows of a matrix, where that is so. */
static int nan_between_rows(const struct judged *judged, char *words, size_t size)
{
    const char *name = NULL;
    size_t row = 0, apart = 0;
    for (int b = 0; b < judged->item->buffer_count; b++) {
        const struct lesson_buffer *buffer = &judged->item->buffer[b];
        for (size_t i = 0; judged->inputs[b] != NULL && i < lesson_elems(buffer); i++) {
            if (isfinite(judged->inputs[b][i])) continue;
            if (!lesson_between_rows(buffer, i)) return 0;
            name = buffer->name, row = buffer->row, apart = buffer->extent[buffer->rank - 1];
        }
    }
    if (name != NULL)
        snprintf(words, size,
                 "all inputs are finite, and NaN lies between the rows of %s, of %zu elements each, which "
                 "begin %zu "
                 "apart: is it that distance that rows are read at?",
                 name, row, apart);
    return name != NULL;
}

/** Inputs that are infinite or NaN: how many, and which, if they are few. */
struct specials {
    size_t nans, infinities;
    char words[RECORD_NOTE / 2];
};

static struct specials specials_of(const struct judged *judged)
{
    enum { FEW = 3 };
    struct specials all = {0, 0, ""};
    size_t used = 0;
    for (int b = 0; b < judged->item->buffer_count; b++) {
        const struct lesson_buffer *buffer = &judged->item->buffer[b];
        for (size_t i = 0; judged->inputs[b] != NULL && i < lesson_elems(buffer); i++) {
            const float x = judged->inputs[b][i];
            if (isfinite(x) || lesson_between_rows(buffer, i)) continue;
            all.nans += isnan(x) != 0, all.infinities += isinf(x) != 0;
            if (all.nans + all.infinities > FEW) continue;
            struct record place = {0};
            char element[2 * RECORD_TEXT];
            compare_place(buffer, i, &place);
            record_print_element(&place, element, sizeof element);
            used += (size_t)snprintf(all.words + used, sizeof all.words - used, "%s%s is %s",
                                     used > 0 ? ", " : "", element,
                                     isnan(x)   ? "NaN"
                                     : x > 0.0f ? "infinity"
                                                : "-infinity");
            if (used >= sizeof all.words) used = sizeof all.words - 1;
        }
    }
    if (all.nans + all.infinities > FEW)
        snprintf(all.words, sizeof all.words, "some inputs are %s",
                 all.nans == 0         ? "infinite"
                 : all.infinities == 0 ? "NaN"
                                       : "infinite or NaN");
    return all;
}

/* Why the first wrong element is not finite, in the lesson's words. */
static void explain_not_finite(const struct symptoms *s, struct record *record)
{
    const struct lesson *lesson = s->judged->session->check->options.lesson;
    const struct wrong *first = &s->found->first[0];
    record->number[RECORD_N_EXTENT] = has_right_lse(s->judged, s->buffer);
    if (lesson->not_finite != NULL && divided_by_zero(s)) {
        snprintf(record->note, sizeof record->note,
                 "whole rows have the signs that belong there: they were divided by 0, so the sum of the "
                 "weights lacks "
                 "those that O has, in some part of the keys");
        return;
    }
    if (lesson->not_finite != NULL && isfinite(first->expected) && !isfinite(first->got)) {
        for (unsigned holding = harmful(s);; holding = ~0u) {
            const int all = holding == ~0u;
            if (lesson->not_finite(&s->judged->item->settled, s->judged->inputs, s->buffer, first->at,
                                   &holding, record->note, sizeof record->note) &&
                record->note[0] != '\0') {
                record->number[RECORD_N_AXIS] = !all && holding >> LESSON_OF_ROWS != 0;
                return;
            }
            if (all) break;
        }
    }
    if (nan_between_rows(s->judged, record->note, sizeof record->note)) return;
    const struct specials inputs = specials_of(s->judged);
    if (record->cause == RECORD_CAUSE_NAN && inputs.infinities > 0 && inputs.nans == 0) {
        snprintf(record->note, sizeof record->note,
                 "%s: infinity - infinity is NaN, and so is 0 * infinity%s", inputs.words,
                 lesson->terms == NULL ? ""
                                       : ": are the zeros that pad a tile or a row multiplied with what lies "
                                         "past its end?");
        return;
    }
    /* the lesson's usual cause, unless the data are unusual */
    const int usual = lesson->nan != NULL && s->judged->item->settled.distribution == 0;
    snprintf(record->note, sizeof record->note, "%s", usual ? lesson->nan : "");
}

/* Of a large problem's parts all but the first are wrong. */
static int far_alone(const struct symptoms *s, struct record *record)
{
    const struct wire_parts *parts = &s->judged->item->settled.parts;
    int64_t most = 0;
    for (int b = 0; b < WIRE_BUFFERS; b++)
        if (s->judged->item->settled.apart[b] > most) most = s->judged->item->settled.apart[b];
    if (parts->total == 0 || most < INT32_MAX) return 0;
    const size_t count = (size_t)((parts->total - parts->each) / parts->step) + 1;
    for (size_t i = 0; i < s->kept; i++)
        if (s->found->first[i].at < lesson_elems(s->shape) / count) return 0;
    record->cause = RECORD_CAUSE_FAR;
    return 1;
}

/* 1 if the case turns scores into weights where they are, whatever keys they are of. */
static int is_of_scores(const struct judged *judged)
{
    for (int b = 0; b < judged->item->buffer_count; b++)
        if (judged->item->buffer[b].role == WIRE_INOUT && strcmp(judged->item->buffer[b].name, "scores") == 0)
            return 1;
    return 0;
}

/* 1 if the case has keys, so that some may be hidden. */
static int has_keys(const struct judged *judged)
{
    static const char *const names[] = {"k", "k_cache", "cache"};
    if (is_of_scores(judged)) return 0;
    for (int b = 0; b < judged->item->buffer_count; b++)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (strcmp(judged->item->buffer[b].name, names[i]) == 0) return 1;
    return 0;
}

/* Tells which NaN was lost, by what the inputs hold. */
static void tell_lost(const struct symptoms *s, struct record *record)
{
    const struct specials inputs = specials_of(s->judged);
    int below = strcmp(s->shape->name, "lse") == 0;
    for (size_t i = 0; i < s->kept; i++) below &= s->found->first[i].got == (double)-INFINITY;
    if (below)
        snprintf(record->note, sizeof record->note,
                 "a NaN was lost, and -infinity is in its place: is a row taken for one without keys because "
                 "its maximum, or its sum, is no number?");
    else if (inputs.infinities > 0 && inputs.nans == 0 && is_of_scores(s->judged))
        snprintf(record->note, sizeof record->note,
                 "a NaN was lost: a row with a score of +infinity is NaN throughout, for infinity - infinity "
                 "is NaN; is that maximum taken for the one of a row without keys?");
    else if (inputs.infinities > 0 && inputs.nans == 0)
        snprintf(record->note, sizeof record->note,
                 "a NaN was lost: %s, and 0 * infinity is NaN%s: is a term left out because its factor, such "
                 "as a weight, is 0?",
                 inputs.words, inputs.infinities > 1 ? ", as is infinity - infinity" : "");
    else
        snprintf(record->note, sizeof record->note,
                 "a NaN was lost%s%s: fmaxf, fminf and comparisons drop one", inputs.nans > 0 ? ": " : "",
                 inputs.nans > 0 ? inputs.words : "");
}

static int guessed(const struct symptoms *s, struct record *record);

/* 1 if all that is wrong should be NaN, and is 0, and no guess that fits all elements gives that. */
static int nan_as_zero(const struct symptoms *s, struct record *record)
{
    for (size_t i = 0; i < s->kept; i++)
        if (!isnan(s->found->first[i].expected) || s->found->first[i].got != 0.0) return 0;
    /* among zeros any misreading does that; one shows in other cases */
    if (s->judged->item->settled.special == 0 && guessed(s, record)) return 1;
    record->cause = RECORD_CAUSE_NAN_LOST;
    record->number[RECORD_N_FROM] = has_keys(s->judged) ? RECORD_ZERO_OF_KEYS
                                    : s->judged->session->check->options.lesson->terms != NULL
                                        ? RECORD_ZERO_OF_PRODUCT
                                        : RECORD_ZERO_OF_ANY;
    if (s->shape->storage == STORAGE_BF16 && signbit(s->found->first[0].got))
        snprintf(record->note, sizeof record->note,
                 "a NaN was lost, and -0 is in its place: is a float rounded to bf16 by adding to its bits? "
                 "Those of NaN, 0x7fffffff, carry "
                 "into the sign: ask for NaN first");
    if (record->note[0] != '\0') record->number[RECORD_N_FROM] = 0;
    return 1;
}

/* 1 if what came out is one number, or its negative, where more belongs, or NaN. A single number where NaN belongs has to be the largest
 * of a type. */
static int clamped(const struct symptoms *s, struct record *record)
{
    const double limit = fabs(s->found->first[0].got);
    size_t more = 0, negative = 0;
    for (size_t i = 0; i < s->kept; i++) {
        const struct wrong *wrong = &s->found->first[i];
        if (fabs(wrong->got) != limit) return 0;
        if (!isnan(wrong->expected) && !(fabs(wrong->expected) > limit && wrong->got * wrong->expected > 0.0))
            return 0;
        more += !isnan(wrong->expected), negative += wrong->got < 0.0;
    }
    const int of_a_type = limit == 65504.0 || limit == (double)FLT_MAX;
    if (s->kept < ENOUGH || !(limit > 0.0) || !isfinite(limit) ||
        (!of_a_type && (negative == 0 || negative == s->kept)))
        return 0;
    record->cause = RECORD_CAUSE_FINITE;
    snprintf(record->note, sizeof record->note, "%.6g or its negative wherever %s: results are clamped%s",
             limit,
             more == s->kept ? "more belongs"
             : more > 0      ? "more, or NaN, belongs"
                             : "NaN belongs",
             more == s->kept ? "" : ", and fminf and fmaxf make a number of NaN");
    return 1;
}

static int not_finite(const struct symptoms *s, struct record *record)
{
    size_t nans = 0, infinities = 0, unexpected = 0;
    for (size_t i = 0; i < s->kept; i++) {
        if (isnan(s->found->first[i].expected) && !isnan(s->found->first[i].got)) unexpected++;
        if (isnan(s->found->first[i].got)) nans++;
        if (isinf(s->found->first[i].got)) infinities++;
    }
    if (unexpected == s->kept) {
        record->cause = RECORD_CAUSE_NAN_LOST;
        tell_lost(s, record);
    } else if (nans > 0) {
        record->cause = RECORD_CAUSE_NAN;
        record->number[RECORD_N_FROM] = nans == s->kept;
        explain_not_finite(s, record);
    } else if (infinities == s->kept) {
        record->cause = RECORD_CAUSE_INFINITY;
        explain_not_finite(s, record);
    }
    return unexpected == s->kept || nans > 0 || infinities == s->kept;
}

static int mask_seen(const struct symptoms *s, struct record *record)
{
    size_t unmasked = 0, below = 0;
    for (size_t i = 0; i < s->kept; i++) {
        unmasked += isinf(s->found->first[i].expected) && isfinite(s->found->first[i].got);
        below += s->found->first[i].expected < 0.0;
    }
    if (unmasked < s->kept) return 0;
    record->cause = RECORD_CAUSE_FINITE;
    record->number[RECORD_N_FROM] = below == s->kept;
    return 1;
}

static int only_zeros(const struct symptoms *s)
{
    for (size_t i = 0; i < s->kept; i++)
        if (s->found->first[i].got != 0.0) return 0;
    return 1;
}

/* 1 if all elements are 0, including those that are close enough to be right. */
static int is_empty(const struct symptoms *s)
{
    if (s->found->wrong == s->found->compared) return 1;
    size_t elems = lesson_elems(s->shape);
    for (size_t i = 0; i < elems; i++)
        if (s->judged->got[0][s->buffer][i] != 0.0f) return 0;
    return 1;
}

/* If the logsumexp is right, so are scores, maximum and sum: the mistake comes after them. */
static int lse_right(const struct symptoms *s, struct record *record)
{
    if (!has_right_lse(s->judged, s->buffer)) return 0;
    record->cause = RECORD_CAUSE_LSE_RIGHT;
    return 1;
}

static int all_zero(const struct symptoms *s, struct record *record)
{
    if (!only_zeros(s)) return 0;
    record->cause = is_empty(s) ? RECORD_CAUSE_ALL_ZERO : RECORD_CAUSE_WRONG_ARE_ZERO;
    if (record->cause == RECORD_CAUSE_ALL_ZERO)
        record->number[RECORD_N_FROM] = has_right_lse(s->judged, s->buffer);
    return 1;
}

/* The factor from what is expected to what is there, the same for all wrong elements, or for those of each row; 0 if there is none. */
static int find_factors(const struct symptoms *s, int by_row, double *least, double *most)
{
    const size_t columns = s->shape->extent[s->shape->rank - 1];
    size_t used = 0, row = SIZE_MAX, in_row = 0;
    double factor = 0.0, first = 0.0;
    int unlike = 0; /* numbers that are all the same have a factor, too, and it says nothing */
    *least = (double)INFINITY, *most = (double)-INFINITY;
    for (size_t i = 0; i < s->kept; i++) {
        const struct wrong *wrong = &s->found->first[i];
        if (isinf(wrong->expected)) return 0; /* anything divided by infinity is 0 */
        if (!(fabs(wrong->expected) > 100.0 * wrong->bound) || !isfinite(wrong->got)) continue;
        const double ratio = wrong->got / wrong->expected;
        if (ratio == 0.0) return 0; /* nothing is there: that is no factor */
        if (used == 0 || (by_row && wrong->at / columns != row)) {
            if (used > 0 && in_row < ENOUGH) return 0;
            factor = ratio, row = wrong->at / columns, in_row = 0;
            first = wrong->expected;
        }
        unlike |= wrong->expected != first;
        if (!(fabs(ratio - factor) <= 1e-3 * fabs(factor))) return 0;
        *least = fmin(*least, factor), *most = fmax(*most, factor);
        used++, in_row++;
    }
    return unlike && used >= ENOUGH && 2 * used >= s->kept;
}

static int constant_factor(const struct symptoms *s, struct record *record)
{
    double least, most;
    const int one = find_factors(s, 0, &least, &most);
    if (!one && (s->shape->rank < 2 || !find_factors(s, 1, &least, &most))) return 0;
    if (one && fabs(least - 1.0) < 1e-2) return 0;
    record->cause = one ? RECORD_CAUSE_CONSTANT_FACTOR : RECORD_CAUSE_FACTOR_OF_ROW;
    record->real[1] = least;
    record->real[0] = most;
    record->number[RECORD_N_FROM] = s->judged->session->check->options.lesson->not_finite != NULL &&
                                    s->found->wrong <= s->shape->extent[s->shape->rank - 1] && least > 1.0;
    return 1;
}

/* Whole numbers that are off by the same, or by multiples of 2^16. */
static int constant_difference(const struct symptoms *s, struct record *record)
{
    enum { AT_LEAST = 3, SIXTEEN_BITS = 1 << 16 };
    const double first = s->found->first[0].got - s->found->first[0].expected;
    int same = 1, wrapped = 1;
    for (size_t i = 0; i < s->kept; i++) {
        const double off = s->found->first[i].got - s->found->first[i].expected;
        same &= off == first;
        wrapped &= fmod(off, SIXTEEN_BITS) == 0.0;
    }
    if (s->shape->storage != STORAGE_I32 || s->kept < AT_LEAST || !(same || wrapped)) return 0;
    record->cause = RECORD_CAUSE_CONSTANT_DIFFERENCE;
    record->number[RECORD_N_FROM] = wrapped ? 0 : (int64_t)first;
    return 1;
}

/* 1 if the elements were stored as the other 16-bit type: read as that, they are right. */
static int other_sixteen_bits(const struct symptoms *s, struct record *record)
{
    const enum storage storage = s->shape->storage;
    size_t used = 0;
    if (storage != STORAGE_F16 && storage != STORAGE_BF16) return 0;
    for (size_t i = 0; i < s->kept; i++) {
        const struct wrong *wrong = &s->found->first[i];
        if (!isfinite(wrong->got) || !isfinite(wrong->expected)) continue;
        if (fabs(wrong->expected) <= wrong->bound) continue; /* 0 would do */
        const double other = (double)storage_as_other(storage, (float)wrong->got);
        if (!(fabs(other - wrong->expected) <= wrong->bound + 0x1p-7 * fabs(wrong->expected))) return 0;
        used++;
    }
    if (used < ENOUGH) return 0;
    record->cause = RECORD_CAUSE_OTHER_SIXTEEN_BITS;
    record->number[RECORD_N_FROM] = storage == STORAGE_F16;
    return 1;
}

static int copy_of_input(const struct symptoms *s, struct record *record)
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
        /* one number throughout could be a copy of anything */
        if (same < s->kept || different == 0) continue;
        record->cause = RECORD_CAUSE_COPY_OF_INPUT;
        snprintf(record->name[RECORD_NAME_OTHER], RECORD_TEXT, "%s", s->judged->item->buffer[b].name);
        return 1;
    }
    return 0;
}

/* Values up to this size may be stored as 0: in f16 half of its smallest number; in types with the
 * exponents of f32, what may be flushed to zero. */
static double stored_as_zero(enum storage storage)
{
    return storage == STORAGE_F16 ? 0x1p-25 : 0x1p-126;
}

/* As lesson::guess: guess @p index at element @p at. */
static int guess_at(const struct symptoms *s, int index, size_t at, struct lesson_guess *guess)
{
    *guess = (struct lesson_guess){.told = index, .cause = RECORD_CAUSE_GUESS};
    return s->judged->session->check->options.lesson->guess(&s->judged->item->settled, s->judged->inputs,
                                                            index, s->buffer, at, guess);
}

/* 1 if guess @p index, which fits the wrong elements, gives what came out elsewhere, too: where nothing is wrong, a mistake must
 * have changed nothing. A kernel may make it in some blocks only, so that this is no more than a vote. */
static int is_thorough(const struct symptoms *s, int index, double slack, double rounding)
{
    enum { ANYWHERE = 64 };
    const double as_float = 0x1p-24; /* whole numbers, too, are at hand as floats */
    const size_t elems = lesson_elems(s->shape);
    double bound = 0.0;
    for (size_t i = 0; i < s->kept; i++) bound = fmax(bound, s->found->first[i].bound);
    for (uint64_t i = 0; i < ANYWHERE; i++) {
        const size_t at = (size_t)(rng_mix(elems, i) % elems);
        struct lesson_guess guess;
        if (guess_at(s, index, at, &guess) == 1 &&
            !compare_element((double)s->judged->got[0][s->buffer][at], guess.value,
                             slack * bound + fmax(rounding, as_float) * fabs(guess.value)))
            return 0;
    }
    return 1;
}

static void tell_guess(struct record *record, const struct lesson_guess *guess)
{
    record->cause = guess->cause;
    record->guess = 1 + guess->told;
    snprintf(record->note, sizeof record->note, "%s", guess->words);
}

/* 1 if all that is wrong should be infinite or NaN. */
static int only_special(const struct symptoms *s)
{
    for (size_t i = 0; i < s->kept; i++)
        if (isfinite(s->found->first[i].expected)) return 0;
    return 1;
}

/* 1 if a guess of @p value explains what came out, and is not merely as near to it as what is expected. */
static int explains(const struct wrong *wrong, double value)
{
    if (isfinite(wrong->got) && isfinite(wrong->expected))
        return fabs(wrong->got - value) <= 0.5 * fabs(wrong->got - wrong->expected);
    if (isnan(value) || (isinf(value) && !isfinite(wrong->expected)))
        return 0; /* many a mistake leads there */
    return !compare_element(value, wrong->expected, wrong->bound);
}

/* The lesson's guesses: each gives the value that a well-known mistake would have led to, and must do so within
 * @p slack times the bound, and @p rounding of its own size. Nothing but zeros is near the small values of many a mistake,
 * and comes of those alone that leave nothing. The first that fits what is right, too, is told, or else the first, until all
 * cases are known. Where nothing is wrong but what should be infinite or NaN, or all that is wrong is 0, a guess has to fit all that came
 * out: nearly every mistake loses those, or leaves 0 somewhere. So it has to with @p all. */
static int guessed_within(const struct symptoms *s, double slack, double rounding, int all,
                          struct record *record)
{
    struct check *check = s->judged->session->check;
    const struct lesson *lesson = check->options.lesson;
    size_t step = s->kept > LOOKED_AT ? s->kept / LOOKED_AT : 1;
    int zeros = only_zeros(s), special = only_special(s), fitting = 0, best = 0;
    double least, most;
    const int one_number =
        s->found->wrong <= s->shape->extent[s->shape->rank - 1] &&
        find_factors(s, 0, &least, &most); /* a row divided by another sum: many sums come near */
    for (int index = 0; lesson->guess != NULL; index++) {
        struct lesson_guess guess = {0};
        int known = 0, fits = 1;
        size_t finite = 0, explained = 0, looked_at = 0, unknown = 0;
        for (size_t i = 0; i < s->kept && fits; i += step, looked_at++) {
            const struct wrong *wrong = &s->found->first[i];
            known = guess_at(s, index, wrong->at, &guess);
            if (known <= 0) break;
            unknown += known == 2;
            if (known == 2) continue;
            const double value = guess.value;
            finite += isfinite(wrong->got) && isfinite(wrong->expected);
            explained += (size_t)explains(wrong, value);
            const double allowed =
                (guess.of_many ? fmin(slack, 1.5) : slack) * wrong->bound + rounding * fabs(value);
            /* Where the bound is as large as the expected value, zeros can only come from a mistake that
             * gives zeros. */
            const int zero_alone = value == 0.0 && !compare_element(value, wrong->expected, wrong->bound) &&
                                   compare_element(value, wrong->expected, allowed);
            fits = zeros ? fabs(value) <= stored_as_zero(s->shape->storage)
                         : compare_element(wrong->got, value,
                                           zero_alone ? stored_as_zero(s->shape->storage) : allowed);
        }
        if (known < 0) break;
        if (known == 0 || !fits || explained == 0 || 2 * explained < finite || 2 * unknown > looked_at)
            continue;
        if (guess.of_many && 10 * explained < 9 * finite) continue;
        const int thorough = is_thorough(s, index, slack, rounding);
        if ((special || zeros || all) && !thorough) continue;
        const int votes = guess.votes && index < CHECK_GUESSES;
        if (one_number && !votes &&
            (guess.cause == RECORD_CAUSE_RESCALE || guess.cause == RECORD_CAUSE_PARTIALS))
            continue;
        if (fitting++ == 0 || (thorough && !best)) tell_guess(record, &guess);
        best |= thorough;
        if (!votes && (best || s->verdict->guess_count > 0)) break;
        if (!votes) continue;
        s->verdict->guesses[index] = (unsigned char)(1 + thorough);
        s->verdict->guess_count++;
        check->guess[index] = guess;
    }
    return fitting > 0;
}

/* 1 if parts or rows of a case lie so far apart that an offset needs 64 bits. */
static int has_parts_apart(const struct lesson_case *item)
{
    for (int b = 0; b < WIRE_BUFFERS; b++)
        if (item->apart[b] != 0) return 1;
    return 0;
}

/* 1 if something lies so far apart that an offset needs 64 bits. Such a case is there for that alone: what else is wrong shows in others,
 * and an offset that has overflowed looks like many a mistake. */
static int lies_far(const struct symptoms *s)
{
    return has_parts_apart(&s->judged->item->settled);
}

static int guessed(const struct symptoms *s, struct record *record)
{
    /* each of these mistakes changes whole rows: a single wrong element has another cause */
    enum { LONG_ROW = 16 };
    if (lies_far(s) || (s->found->wrong == 1 && s->shape->extent[s->shape->rank - 1] >= LONG_ROW)) return 0;
    /* Relative to the wrong value, which may be large. */
    double share = s->shape->storage == STORAGE_BF16  ? 4e-3
                   : s->shape->storage == STORAGE_F16 ? 5e-4
                   : s->shape->storage == STORAGE_I32 ? 0.0
                                                      : 1e-5;
    return guessed_within(s, 4.0, share, 0, record);
}

/* Inputs that are taken for other numbers. */
static int altered(const struct symptoms *s, struct record *record)
{
    return altered_explain(s->judged, s->buffer, s->found->first, s->kept, 0, record);
}

/* Inputs that are infinite or NaN, and taken for numbers. */
static int specials_altered(const struct symptoms *s, struct record *record)
{
    return altered_explain(s->judged, s->buffer, s->found->first, s->kept, 1, record);
}

/* Results among the subnormal halves that are stored as 0, while no element is one of those. */
static int results_flushed(const struct symptoms *s, struct record *record)
{
    const double least = 0x1p-14;
    const float *got = s->judged->got[0][s->buffer];
    if (s->shape->storage != STORAGE_F16 || !only_zeros(s)) return 0;
    if (is_empty(s) && guessed(s, record))
        return 1; /* where nothing but zeros comes out, another mistake may give them */
    int beyond = 0;
    for (size_t i = 0; i < s->kept; i++) {
        const double expected = fabs(s->found->first[i].expected);
        if (!(expected < least)) return 0;
        beyond |= expected >= 4.0 * 0x1p-24 && expected > 3.0 * s->found->first[i].bound;
    }
    if (!beyond) return 0;
    for (size_t i = 0; i < lesson_elems(s->shape); i++)
        if (got[i] != 0.0f && fabs((double)got[i]) < least) return 0;
    record->cause = RECORD_CAUSE_STORAGE_TYPE;
    snprintf(record->note, sizeof record->note,
             "results below 6.1e-5, which are subnormal halves, are stored as 0: a half holds numbers down "
             "to 6e-8");
    return 1;
}

/* A sum of other terms, or of some of them several times. */
static int miscounted(const struct symptoms *s, struct record *record)
{
    return !lies_far(s) && terms_explain(s->judged, s->buffer, s->found->first, s->kept, record);
}

/* What a kernel leaves as it was: an output that it may read, too. */
static int as_before(const struct symptoms *s, struct record *record)
{
    if (s->shape->role != WIRE_INOUT) return 0;
    for (size_t i = 0; i < s->kept; i++)
        if (!compare_element(s->found->first[i].got,
                             (double)s->judged->inputs[s->buffer][s->found->first[i].at], 0.0))
            return 0;
    record->cause = RECORD_CAUSE_AS_BEFORE;
    compare_tell_block(s->found, s->shape, record);
    return 1;
}

/* If errors exceed the bound by little, or are small compared with every element, the cause is rounding,
 * unless a guess explains everything that was compared. Errors of a few bounds are close to many values:
 * the patterns below would find something that is not there. */
static int rounding(const struct symptoms *s, struct record *record)
{
    const enum storage storage = s->shape->storage;
    const int short_floats = storage == STORAGE_F16 || storage == STORAGE_BF16;
    const double small = short_floats ? 3.0 : 8.0; /* a half is rounded only a few times */
    double worst = 0.0;
    for (size_t i = 0; i < s->kept; i++) {
        const struct wrong *wrong = &s->found->first[i];
        double error = fabs(wrong->got - wrong->expected), times = error / wrong->bound;
        int as_half = s->shape->storage == STORAGE_F32 && error <= 0x1p-10 * fabs(wrong->expected);
        if (!(times < small) && !as_half) return 0;
        worst = fmax(worst, times);
    }
    if (!isfinite(worst) || only_zeros(s)) return 0; /* rounding leaves no zeros */
    record->real[1] = worst;
    if (s->kept >= ENOUGH && !lies_far(s) && guessed_within(s, 1.0, 0.0, 1, record)) return 1;
    if (!lies_far(s) && altered(s, record)) return 1;
    record->cause = RECORD_CAUSE_ROUNDING;
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

/* The lesson's names for the axes of its outputs of rank 4; the first is NULL if they are the usual ones. */
static const char *const *own_axes(const struct symptoms *s)
{
    return s->judged->session->check->options.lesson->axes;
}

/* 1 if the kept elements show all that is wrong on this axis: all of them were kept, or, for the last
 * axis, many rows of them. */
static int all_known(const struct symptoms *s, int axis)
{
    enum { MANY_ROWS = 8 };
    size_t low, high;
    if (s->kept == s->found->wrong) return 1;
    if (axis != s->shape->rank - 1 || axis == 0) return 0;
    range_on(s, axis - 1, &low, &high);
    return high - low >= MANY_ROWS;
}

/* Marks which indices of @p axis are wrong. */
static int tell_place(struct record *record, enum record_cause cause, const char *what, size_t from,
                      size_t extent)
{
    record->cause = cause;
    snprintf(record->name[RECORD_NAME_AXIS], RECORD_TEXT, "%s", what);
    record->number[RECORD_N_FROM] = (int64_t)from;
    record->number[RECORD_N_EXTENT] = (int64_t)extent;
    return 1;
}

/* 1 if of the indices @p first to @p last of @p axis most are wrong, and a good part of the elements there: a few that are wrong lie
 * somewhere by chance. */
static int is_mostly_wrong(const struct symptoms *s, int axis, size_t first, size_t last)
{
    const size_t count = last - first + 1, extent = s->shape->extent[axis];
    unsigned char *wrong = calloc(extent, 1);
    size_t places = 0;
    if (wrong == NULL) abort();
    for (size_t i = 0; i < s->kept; i++) wrong[index_on(s->shape, s->found->first[i].at, axis)] = 1;
    for (size_t i = first; i <= last; i++) places += wrong[i];
    free(wrong);
    return 4 * places >= 3 * count && 4 * s->found->wrong * extent >= s->found->compared * count;
}

static int tail_of(const struct symptoms *s, int axis, const char *what, struct record *record)
{
    enum { SIZES = 5 };
    static const size_t tiles[SIZES] = {8, 16, 32, 64, 128};
    size_t low, high, extent = s->shape->extent[axis];
    range_on(s, axis, &low, &high);
    for (int turn = 0; turn < 2 * SIZES;
         turn++) { /* the largest tile that begins there, else the smallest around it */
        const int begins = turn < SIZES, i = begins ? SIZES - 1 - turn : turn - SIZES;
        size_t last = extent / tiles[i] * tiles[i];
        if (last == 0 || last == extent || (begins ? low != last : low < last)) continue;
        record->number[RECORD_N_TILE] = (int64_t)tiles[i];
        return tell_place(record, RECORD_CAUSE_LAST_TILE, what, last, extent);
    }
    /* Wrong columns may also begin at a multiple of 128 bytes, the row length of a swizzle. */
    enum { BLOCK_BYTES = 128 };
    const int blocks = axis == s->shape->rank - 1 && storage_bytes(s->shape->storage) == sizeof(uint16_t) &&
                       low * sizeof(uint16_t) % BLOCK_BYTES == 0;
    if (low > 0 && (4 * low >= extent || blocks) && all_known(s, axis) &&
        is_mostly_wrong(s, axis, low, extent - 1)) {
        record->number[RECORD_N_TILE] = blocks;
        return tell_place(record, RECORD_CAUSE_LATER_PART, what, low, extent);
    }
    if (own_axes(s)[0] != NULL) return 0; /* nothing may be expected in the last places */
    if (high + 1 < extent && 4 * (high + 1) <= 3 * extent && all_known(s, axis) &&
        is_mostly_wrong(s, axis, 0, high))
        return tell_place(record, RECORD_CAUSE_FIRST_PART, what, high, extent);
    return 0;
}

static int tails_of_four(const struct symptoms *s, struct record *record)
{
    static const char *const usual[] = {"sequences of the batch", "heads", "rows", "columns"};
    const char *const *axes = own_axes(s)[0] != NULL ? own_axes(s) : usual;
    size_t low, high;
    for (int axis = 2; axis < 4; axis++)
        if (tail_of(s, axis, axes[axis], record)) return 1;
    for (int axis = 1; axis >= 0; axis--) {
        range_on(s, axis, &low, &high);
        if (low > 0 &&
            (s->kept < s->found->wrong || is_mostly_wrong(s, axis, low, s->shape->extent[axis] - 1)))
            return tell_place(record, RECORD_CAUSE_LATER_PART, axes[axis], low, 0);
    }
    return 0;
}

enum { PLACES = 4096 };

/* Marks the indices of @p axis that are wrong; 0 if not all of them are known. */
static int mark_places(const struct symptoms *s, int axis, unsigned char wrong[PLACES])
{
    if (!all_known(s, axis) || s->shape->extent[axis] > PLACES) return 0;
    memset(wrong, 0, PLACES);
    for (size_t i = 0; i < s->kept; i++) wrong[index_on(s->shape, s->found->first[i].at, axis)] = 1;
    return 1;
}

/* Of every @p period indices, the part that all wrong ones lie in, if it is the first or the last ones and is wrong nearly everywhere;
 * else 0. */
static int64_t part_of_periods(const unsigned char wrong[PLACES], size_t extent, size_t period)
{
    enum { ENOUGH_PLACES = 6 };
    size_t low = period, high = 0, places = 0, held = 0;
    for (size_t i = 0; i < extent; i++) {
        if (!wrong[i]) continue;
        low = i % period < low ? i % period : low;
        high = i % period > high ? i % period : high;
        places++;
    }
    const int last = low > 0;
    if (places < ENOUGH_PLACES || extent < 2 * period || (last ? high + 1 < period : high + 1 == period))
        return 0;
    for (size_t i = 0; i < extent; i++) held += last ? i % period >= low : i % period <= high;
    if (4 * places < 3 * held) return 0;
    return RECORD_PART_OF(period, last ? low : high + 1, last);
}

/* Every second row or column, or the same part of every tile of them: the lanes, warps or warpgroups that have these. */
static int every_second(const struct symptoms *s, struct record *record)
{
    unsigned char wrong[PLACES];
    if ((s->shape->rank != 2 && s->shape->rank != 4) || s->shape->column[0] != NULL || own_axes(s)[0] != NULL)
        return 0;
    for (int axis = s->shape->rank - 2; axis < s->shape->rank; axis++) {
        if (!mark_places(s, axis, wrong)) continue;
        for (size_t period = 2; period <= 128; period *= 2) {
            const int64_t part = part_of_periods(wrong, s->shape->extent[axis], period);
            if (part == 0) continue;
            record->number[RECORD_N_NEIGHBOURS] = part;
            snprintf(record->name[RECORD_NAME_AXIS], RECORD_TEXT,
                     axis == s->shape->rank - 1 ? "column" : "row");
            if (record->cause == RECORD_NO_CAUSE_KNOWN) record->cause = RECORD_CAUSE_EVERY_SECOND;
            return 1;
        }
    }
    return 0;
}

/* lse[batch, heads, rows], or out[batch, heads, columns]. */
static int tails_of_three(const struct symptoms *s, struct record *record)
{
    static const char *const axes[] = {"sequences of the batch", "heads"};
    const int is_lse = strcmp(s->shape->name, "lse") == 0;
    size_t low, high;
    if (tail_of(s, 2, is_lse ? "rows" : "columns", record)) return 1;
    if (!is_lse && strcmp(s->shape->name, "out") != 0) return 0;
    for (int axis = 1; axis >= 0; axis--) {
        range_on(s, axis, &low, &high);
        if (low > 0 &&
            (s->kept < s->found->wrong || is_mostly_wrong(s, axis, low, s->shape->extent[axis] - 1)))
            return tell_place(record, RECORD_CAUSE_LATER_PART, axes[axis], low, 0);
    }
    return 0;
}

static int tails(const struct symptoms *s, struct record *record)
{
    if (s->shape->rank == 4) return tails_of_four(s, record);
    if (s->shape->rank == 2 && s->shape->column[0] == NULL)
        return tail_of(s, 0, "rows", record) || tail_of(s, 1, "columns", record);
    return s->shape->rank == 3 && tails_of_three(s, record);
}

static int by_place(const void *one, const void *two)
{
    size_t a = ((const struct wrong *)one)->at, b = ((const struct wrong *)two)->at;
    return a < b ? -1 : a > b;
}

/* Where the element would lie if axes `first` and `first + 1` were stored in the opposite order. */
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

static int transposed(const struct symptoms *s, struct record *record)
{
    for (int first = s->shape->rank - 2; first >= 0 && s->kept >= ENOUGH; first--) {
        size_t known = 0, same = 0;
        if (s->shape->extent[first] < 2 || s->shape->extent[first + 1] < 2) continue;
        for (size_t i = 0; i < s->kept; i++) {
            struct wrong key = {.at = swapped_place(s->shape, s->found->first[i].at, first)};
            const struct wrong *other = bsearch(&key, s->found->first, s->kept, sizeof key, by_place);
            if (other == NULL || other->at == s->found->first[i].at) continue;
            if (compare_element(s->found->first[i].expected, other->expected, 4.0 * other->bound)) continue;
            known++; /* where the bound is as large as the values' differences, any place would fit */
            same += compare_element(s->found->first[i].got, other->expected, 4.0 * other->bound);
        }
        if (known < MANY_PAIRS || 2 * known < s->kept || same < known) continue;
        record->cause = RECORD_CAUSE_TRANSPOSED;
        record->number[RECORD_N_AXIS] = first;
        return 1;
    }
    return 0;
}

/* Permutations: how a kernel may store an element at the row and column of another one. */
static const struct permutation {
    enum record_cause cause;
    size_t size; /* row length of a swizzle in bytes; or a distance */
} PERMUTATIONS[] = {
    {RECORD_CAUSE_SWIZZLED, 128},        {RECORD_CAUSE_SWIZZLED, 64},
    {RECORD_CAUSE_SWIZZLED, 32},         {RECORD_CAUSE_ROWS_EXCHANGED, 8},
    {RECORD_CAUSE_COLUMNS_EXCHANGED, 8}, {RECORD_CAUSE_COLUMNS_EXCHANGED, 2},
    {RECORD_CAUSE_ROWS_EXCHANGED, 1},    {RECORD_CAUSE_COLUMNS_EXCHANGED, 1},
};

/* The place at which the element expected at @p at was stored; SIZE_MAX if there is none. */
static size_t permuted_place(const struct lesson_buffer *shape, const struct permutation *permutation,
                             size_t at)
{
    const size_t columns = shape->extent[shape->rank - 1], rows = shape->extent[shape->rank - 2];
    const size_t vector = 16 / storage_bytes(shape->storage), bytes = permutation->size;
    size_t column = at % columns, row = at / columns % rows, first = at - column - row * columns;
    if (permutation->cause == RECORD_CAUSE_ROWS_EXCHANGED) row ^= permutation->size;
    if (permutation->cause == RECORD_CAUSE_COLUMNS_EXCHANGED) column ^= permutation->size;
    if (permutation->cause == RECORD_CAUSE_SWIZZLED) column ^= row % 8 / (128 / bytes) * vector;
    return row < rows && column < columns ? first + row * columns + column : SIZE_MAX;
}

static int permuted(const struct symptoms *s, struct record *record)
{
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
        if (known < MANY_PAIRS || 2 * known < s->kept || 20 * same < 19 * known) continue;
        record->cause = PERMUTATIONS[i].cause;
        record->number[RECORD_N_FROM] = (int64_t)PERMUTATIONS[i].size;
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

enum diagnosed_zeros diagnose_all_zero(const struct judged *judged, int buffer)
{
    struct symptoms symptoms;
    if (!find_symptoms(&symptoms, judged, buffer, NULL) || !only_zeros(&symptoms) || !is_empty(&symptoms))
        return DIAGNOSED_OTHER;
    return has_right_lse(judged, buffer) ? DIAGNOSED_ZERO_BESIDE_LSE : DIAGNOSED_ZERO;
}

/* The outputs that are right show how far a kernel got. */
static void add_stage(const struct judged *judged, struct verdict *verdict)
{
    const struct lesson *lesson = judged->session->check->options.lesson;
    unsigned compared = 0, wrong = 0;
    for (int b = 0; b < judged->item->buffer_count; b++) {
        compared |= (unsigned)(judged->buffer[b].compared > 0) << b;
        wrong |= (unsigned)(judged->buffer[b].wrong > 0) << b;
    }
    if (lesson->stage != NULL) verdict->stage = lesson->stage(&judged->item->settled, compared, wrong);
    if (verdict->stage != NULL && verdict->record.certainty == RECORD_NO_CAUSE)
        verdict->record.certainty = RECORD_WHERE_ONLY;
}

/** Patterns of wrong elements, from the plainest to the most specific. */
static const struct pattern {
    int (*fits)(const struct symptoms *, struct record *);
    enum record_certainty certainty;
} PATTERNS[] = {{far_alone, RECORD_CAUSE},
                {clamped, RECORD_CAUSE},
                {nan_as_zero, RECORD_CAUSE},
                {results_flushed, RECORD_CAUSE},
                {rounding, RECORD_ROUNDING},
                {altered, RECORD_CAUSE},
                {guessed, RECORD_CAUSE},
                {specials_altered, RECORD_CAUSE},
                {miscounted, RECORD_CAUSE},
                {as_before, RECORD_CAUSE},
                {not_finite, RECORD_CAUSE},
                {all_zero, RECORD_CAUSE},
                {constant_factor, RECORD_CAUSE},
                {constant_difference, RECORD_CAUSE},
                {other_sixteen_bits, RECORD_CAUSE},
                {copy_of_input, RECORD_CAUSE},
                {transposed, RECORD_CAUSE},
                {permuted, RECORD_CAUSE},
                {mask_seen, RECORD_CAUSE},
                {every_second, RECORD_WHERE_ONLY},
                {tails, RECORD_WHERE_ONLY},
                {lse_right, RECORD_WHERE_ONLY}};

/* Tells the first pattern that fits; with @p guesses of 0, of those after guesses. */
static void tell_pattern(const struct symptoms *s, int guesses, struct verdict *verdict)
{
    struct record *record = &verdict->record;
    for (size_t i = 0; i < sizeof PATTERNS / sizeof PATTERNS[0]; i++) {
        if (guesses && PATTERNS[i].fits(s, record)) {
            record->certainty = PATTERNS[i].certainty;
            break;
        }
        guesses |= PATTERNS[i].fits == guessed;
    }
    if (verdict->guess_count > 0 && record->guess > 0) return;
    if (record->cause == RECORD_CAUSE_ALL_ZERO) return;
    /* Many mistakes cause infinities, zeros or a constant factor: where they lie says more. */
    if (record->certainty == RECORD_CAUSE) every_second(s, record);
    if (record->certainty != RECORD_ROUNDING) add_stage(s->judged, verdict);
}

void diagnose_item(const struct judged *judged, int buffer, struct verdict *verdict)
{
    struct symptoms symptoms;
    struct record *record = &verdict->record;
    const struct record before = *record;
    memset(verdict->guesses, 0, sizeof verdict->guesses);
    verdict->guess_count = 0;
    if (!find_symptoms(&symptoms, judged, buffer, verdict)) return;
    /* What is kept of an earlier call with the same addresses looks like many a mistake, which other cases show; not like rounding. */
    if (judged->item->settled.flags & CASE_SAME_ADDRESSES) {
        if (rounding(&symptoms, record)) record->certainty = RECORD_ROUNDING;
        return;
    }
    tell_pattern(&symptoms, 1, verdict);
    if (verdict->guess_count == 0) return;
    const struct record told = *record;
    *record = before;
    if (told.certainty == RECORD_ROUNDING) {
        record->cause = RECORD_CAUSE_ROUNDING;
        record->certainty = RECORD_ROUNDING;
        record->real[1] = told.real[1];
    } else {
        tell_pattern(&symptoms, 0, verdict);
    }
    verdict->without_guess = *record;
    verdict->stage_without_guess = verdict->stage;
    verdict->stage = NULL;
    *record = told;
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

/** How well a trait separates the failing cases of a part from the passing ones. */
struct fit {
    int failing, passing; /* cases */
    int spared;           /* passing cases that have the trait */
    int missed;           /* failing cases that do not have the trait */
};

/* Returns 0 if there is no such trait. */
static int fit_of(const struct check *check, int part, int trait, struct fit *fit, const char **message)
{
    *fit = (struct fit){0};
    for (int i = 0; i < check->case_count; i++) {
        int has = check->options.lesson->trait(&check->cases[i], trait, message);
        if (has < 0) return 0;
        /* what a set of calls is made of is no trait of it */
        if (!counts(check, i, part) || check->cases[i].repeat > 1) continue;
        int failed = has_failed(check->verdicts[i].state);
        fit->failing += failed;
        fit->passing += !failed;
        fit->spared += !failed && has;
        fit->missed += failed && !has;
    }
    return 1;
}

/* A size of a case: extent @p line, or, if that is "kv_heads", how many query heads share one. */
static int64_t size_of_case(const struct lesson *lesson, const struct lesson_case *item,
                            const struct described *line)
{
    const struct described *heads = NULL;
    const int64_t value = item->value[line->at];
    if (strcmp(line->name, "kv_heads") != 0) return value;
    while ((heads = described_next(lesson, item->part, DESCRIBED_EXTENT, heads)) != NULL)
        if (strcmp(heads->name, "heads") == 0) return value > 0 ? item->value[heads->at] / value : 0;
    return value;
}

/* 1 if a case of the part with such data passes. */
static int passes_with(const struct check *check, int part, int distribution)
{
    for (int i = 0; i < check->case_count; i++)
        if (counts(check, i, part) && check->cases[i].distribution == distribution &&
            check->verdicts[i].state == STATE_PASS)
            return 1;
    return 0;
}

/* Reports the only size that is larger in all failing cases than in any that pass, unless their data may be why they fail. */
static void tell_threshold(const struct check *check, int part, char *text, size_t size)
{
    const struct lesson *lesson = check->options.lesson;
    const struct described *line = NULL;
    char words[VERDICT_TEXT];
    int found = 0;
    while ((line = described_next(lesson, part, DESCRIBED_EXTENT, line)) != NULL) {
        const char *name = strcmp(line->name, "kv_heads") == 0 ? "query heads per K/V head" : line->name;
        struct {
            int64_t least, most;
            int count;
        } of[2] = {{INT64_MAX, INT64_MIN, 0},
                   {INT64_MAX, INT64_MIN, 0}}; /* those that pass, those that fail */
        for (int i = 0; i < check->case_count; i++) {
            const struct lesson_case *item = &check->cases[i];
            const struct verdict *verdict = &check->verdicts[i];
            const int failed = has_failed(verdict->state);
            if (!counts(check, i, part) || item->repeat > 1 || item->expected != KERNEL_OK) continue;
            if (item->flags & (CASE_LAUNCH_ONLY | CASE_ASK_ONLY) || has_parts_apart(item)) continue;
            const int anywhere =
                failed && (verdict->special || !passes_with(check, part, item->distribution));
            const int64_t here = size_of_case(lesson, item, line);
            if (!failed && here == 0) continue; /* nothing is computed */
            of[failed].least = anywhere ? INT64_MIN : here < of[failed].least ? here : of[failed].least;
            of[failed].most = anywhere ? INT64_MAX : here > of[failed].most ? here : of[failed].most;
            of[failed].count++;
        }
        if (of[0].count == 0 || of[1].count == 0) continue;
        if (of[1].least > of[0].most)
            snprintf(words, sizeof words, "only cases with %s above %lld fail (%lld does, %lld does not)",
                     name, (long long)of[0].most, (long long)of[1].least, (long long)of[0].most);
        else if (of[1].most < of[0].least && of[1].count > 1)
            snprintf(words, sizeof words,
                     "only cases with %s below %lld fail (%lld does, %lld does not): do they run code of "
                     "their own?",
                     name, (long long)of[0].least, (long long)of[1].most, (long long)of[0].least);
        else
            continue;
        found++;
    }
    if (found == 1) snprintf(text, size, "%s", words);
}

/* Reports a trait that all failing cases have and no passing one. Else the trait that the fewest passing
 * cases have, if they are few: a case may be too small for the mistake to show. */
void diagnose_part(const struct check *check, int part, char *text, size_t size)
{
    struct fit fit;
    const char *message = NULL;
    int fewest = -1;
    text[0] = '\0';
    for (int trait = 0; check->options.lesson->trait != NULL; trait++) {
        if (!fit_of(check, part, trait, &fit, &message)) break;
        if (fit.missed > 0 || fit.failing < 2 || fit.passing < 2 || 3 * fit.spared > fit.failing) continue;
        if (fit.spared == fit.passing) continue; /* every case of the part has it */
        if (fewest >= 0 && fit.spared >= fewest) continue;
        fewest = fit.spared;
        snprintf(text, size, "%s", message);
    }
    if (fewest != 0) tell_threshold(check, part, text, size);
}

/* A single case may write zeros for a reason of its own, such as a maximum that begins at 0 where scores
 * are low. */
static void spread_zeros(struct check *check, int part)
{
    int failing = 0, say_so = 0;
    for (int i = 0; i < check->case_count; i++) {
        if (!counts(check, i, part) || !has_failed(check->verdicts[i].state)) continue;
        failing++;
        say_so += check->verdicts[i].record.cause == RECORD_CAUSE_ALL_ZERO;
    }
    for (int i = 0; i < check->case_count && 2 * say_so > failing; i++) {
        struct verdict *verdict = &check->verdicts[i];
        if (!check->chosen[i] || check->cases[i].part != part || !verdict->all_zero) continue;
        verdict->record.cause = RECORD_CAUSE_ALL_ZERO;
        verdict->record.certainty = RECORD_CAUSE;
        verdict->record.guess = 0;
        verdict->record.number[RECORD_N_NEIGHBOURS] = 0;
        verdict->record.number[RECORD_N_FROM] = verdict->all_zero == DIAGNOSED_ZERO_BESIDE_LSE;
        verdict->stage = NULL;
    }
}

/* How well guess @p index, or another one with its message, fits a case: 0 not, 1 its wrong elements, 2 all. */
static int fit_with_same(const struct check *check, int index, const struct verdict *verdict)
{
    int best = 0;
    for (int i = 0; i < CHECK_GUESSES; i++)
        if (check->guess[i].cause != 0 && check->guess[i].told == check->guess[index].told &&
            verdict->guesses[i] > best)
            best = verdict->guesses[i];
    return best;
}

/* 1 if a mistake of this kind shows in every case that has what it is about, whatever its data are. */
static int is_of_structure(enum record_cause cause)
{
    return cause == RECORD_CAUSE_SCALE || cause == RECORD_CAUSE_MASK || cause == RECORD_CAUSE_KV_HEAD ||
           cause == RECORD_CAUSE_KV_TILES || cause == RECORD_CAUSE_Q_TILES ||
           cause == RECORD_CAUSE_HEAD_DIM || cause == RECORD_CAUSE_TAIL;
}

/* 1 if the failing cases of a part contradict a guess that fits @p fitting of them: most do not show it, or the only one has special
 * data, and ordinary ones pass. */
static int is_contradicted(const struct check *check, int part, int fitting)
{
    enum { FEW = 3 };
    int failing = 0, of_data = 0, passing = 0;
    for (int i = 0; i < check->case_count; i++) {
        const struct verdict *verdict = &check->verdicts[i];
        const struct lesson_case *item = &check->cases[i];
        if (!counts(check, i, part) || item->flags & CASE_SAME_ADDRESSES || has_parts_apart(item)) continue;
        const int ordinary = item->distribution == 0 && item->scores == 0;
        passing += ordinary && verdict->state == STATE_PASS && item->expected == KERNEL_OK;
        if (verdict->record.kind != RECORD_WRONG_VALUE || verdict->special) continue;
        failing++, of_data += !ordinary;
    }
    return (failing > FEW && 2 * fitting < failing) || (failing == 1 && of_data == 1 && passing > 0);
}

/* In a small case many guesses fit. Of those, the one that fits the most cases of the part is reported; a
 * case counts twice if the guess also explains its right elements. None is that the part's other cases contradict. */
static void choose_guesses(struct check *check, int part)
{
    int votes[CHECK_GUESSES] = {0};
    for (int guess = 0; guess < CHECK_GUESSES; guess++) {
        int fitting = 0;
        for (int i = 0; i < check->case_count && check->guess[guess].cause != 0; i++) {
            if (check->cases[i].part != part || check->verdicts[i].guess_count == 0) continue;
            const int fit = fit_with_same(check, guess, &check->verdicts[i]);
            votes[guess] += fit, fitting += fit > 0;
        }
        if (fitting > 0 && is_of_structure(check->guess[guess].cause) &&
            is_contradicted(check, part, fitting))
            votes[guess] = 0;
    }
    for (int i = 0; i < check->case_count; i++) {
        struct verdict *verdict = &check->verdicts[i];
        int most = -1, fitting = 0;
        for (int guess = 0; guess < CHECK_GUESSES && check->cases[i].part == part; guess++) {
            fitting += verdict->guesses[guess] != 0;
            if (verdict->guesses[guess] != 0 && votes[guess] > 0 && (most < 0 || votes[guess] > votes[most]))
                most = guess;
        }
        if (most >= 0) {
            tell_guess(&verdict->record, &check->guess[most]);
        } else if (fitting > 0) {
            verdict->record = verdict->without_guess;
            verdict->stage = verdict->stage_without_guess;
        }
    }
}

/* 1 if no rounding explains a case: an element that is off by more than any type of 16 bits rounds, and by many bounds. */
static int is_beyond_rounding(const struct verdict *verdict)
{
    const struct record_value *value = &verdict->record.value;
    return has_failed(verdict->state) && verdict->record.kind == RECORD_WRONG_VALUE &&
           verdict->record.certainty == RECORD_NO_CAUSE && !verdict->special && value->share > 100.0 &&
           fabs(value->got - value->expected) > 0x1p-7 * fabs(value->expected);
}

/* What is wrong by far in one case of a part may be wrong by little in another, whose values hardly depend on it. */
static void doubt_rounding(struct check *check, int part)
{
    int beyond = 0;
    for (int i = 0; i < check->case_count; i++)
        beyond |= counts(check, i, part) && is_beyond_rounding(&check->verdicts[i]);
    for (int i = 0; i < check->case_count && beyond; i++) {
        struct record *record = &check->verdicts[i].record;
        if (check->cases[i].part != part || record->cause != RECORD_CAUSE_ROUNDING) continue;
        record->cause = RECORD_NO_CAUSE_KNOWN;
        record->certainty = RECORD_NO_CAUSE;
    }
}

/* What is not finite with a negative scale, and right with the same scale without its sign, is not so for its size. */
static void blame_sign(struct check *check, int part)
{
    const struct lesson *lesson = check->options.lesson;
    const struct described *scale = described_next(lesson, part, DESCRIBED_SCALAR, NULL);
    if (scale == NULL || lesson->not_finite == NULL) return;
    for (int i = 0; i < check->case_count; i++) {
        struct record *record = &check->verdicts[i].record;
        const double of_case = check->cases[i].real[scale->at];
        if (record->cause != RECORD_CAUSE_NAN && record->cause != RECORD_CAUSE_INFINITY) continue;
        for (int j = 0; j < check->case_count && of_case < 0.0 && counts(check, i, part); j++)
            if (counts(check, j, part) && check->verdicts[j].state == STATE_PASS &&
                check->cases[j].real[scale->at] == -of_case &&
                check->cases[j].distribution == check->cases[i].distribution)
                snprintf(
                    record->note, sizeof record->note,
                    "only where the scale is negative: %s, where it is as large and positive, is right; is "
                    "a size compared without fabsf()?",
                    check->cases[j].name);
    }
}

void diagnose_parts(struct check *check)
{
    for (int part = 0; part < check->options.lesson->part_count; part++) {
        choose_guesses(check, part);
        spread_zeros(check, part);
        doubt_rounding(check, part);
        blame_sign(check, part);
    }
}
