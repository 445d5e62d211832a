/**
 * @file altered.c
 * @brief Asks the oracle what comes of inputs in which subnormal numbers are 0, infinities and NaN are finite, or -128 is another byte,
 *        and of the cases that a lesson's mistakes make of this one.
 */
#include "altered.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_WRONG = 4, LEAST_COMPARED = 64 };

/* The oracle is asked once more, by one thread. */
#define MOST_OPS 2e8

static float largest_of(enum storage storage)
{
    return storage == STORAGE_F16 ? 65504.0f : storage_round(storage, 3.38e38f);
}

static float flushed(enum storage storage, float x)
{
    return fabsf(x) < (storage == STORAGE_F16 ? 0x1p-14f : 0x1p-126f) ? 0.0f : x;
}

static float limited(enum storage storage, float x)
{
    return isinf(x) ? copysignf(largest_of(storage), x) : x;
}

/* As if exponent 31 of a half were one like others: of infinity alone, or of NaN as well. */
static float infinity_shifted(enum storage storage, float x)
{
    return storage == STORAGE_F16 && isinf(x) ? copysignf(65536.0f, x) : x;
}

static float shifted(enum storage storage, float x)
{
    return storage == STORAGE_F16 && isnan(x) ? copysignf(98304.0f, x) : infinity_shifted(storage, x);
}

static float without_nan(enum storage storage, float x)
{
    (void)storage;
    return isnan(x) ? 0.0f : x;
}

/* As infinity_shifted() and shifted(), where a weight of 0 may have left the element out. */
static float without_specials(enum storage storage, float x)
{
    (void)storage;
    return isfinite(x) ? x : 0.0f;
}

static float byte_limited(enum storage storage, float x)
{
    (void)storage;
    return x == -128.0f ? -127.0f : x;
}

/* Of an output that is an input, too. */
static float left_out(enum storage storage, float x)
{
    (void)storage, (void)x;
    return 0.0f;
}

#define SHIFTED ": are halves converted by shifting their bits? Exponent 31 has a meaning of its own"

static const struct alteration {
    float (*taken)(enum storage storage, float x);
    const char *words;
    int of_specials; /* of what is infinite or NaN: many a mistake gives the same */
} ALTERATIONS[] = {
    {byte_limited, "as if bytes that are -128 were -127", 0},
    {left_out,
     "as if what the output held before the call, NaN or infinity, were left out: it counts unless its "
     "factor is 0, and a tiny one is not",
     0},
    {flushed, "as if inputs that are subnormal (in f16 below 6.1e-5) were 0: they are numbers like others",
     0},
    {without_specials,
     "as if inputs that are infinite or NaN were left out, perhaps where their weight is 0: 0 times either "
     "is "
     "NaN",
     1},
    {infinity_shifted, "as if infinite halves were 65536" SHIFTED, 1},
    {shifted, "as if infinite halves were 65536, and NaN 98304" SHIFTED, 1},
    {limited, "as if infinite inputs were the largest finite number", 1},
    {without_nan, "as if inputs that are NaN were 0, or were left out", 1},
};

static int stores_floats(enum storage storage)
{
    return storage == STORAGE_F16 || storage == STORAGE_BF16 || storage == STORAGE_F32;
}

/* Whether an alteration is about buffer @p b. */
static int is_about(const struct alteration *alteration, const struct lesson_buffer *buffer,
                    const float *data)
{
    int special = 0;
    if (alteration->taken == byte_limited) return buffer->storage == STORAGE_S8;
    if (alteration->taken != left_out) return stores_floats(buffer->storage);
    for (size_t i = 0; i < lesson_elems(buffer) && buffer->role == WIRE_INOUT; i++)
        special |= !isfinite(data[i]);
    return special;
}

/* The inputs of @p judged, altered; 0 if that changes nothing. */
static int alter(const struct judged *judged, const struct alteration *alteration,
                 float *inputs[WIRE_BUFFERS])
{
    int changed = 0;
    for (int b = 0; b < judged->item->buffer_count; b++) {
        const enum storage storage = judged->item->buffer[b].storage;
        const size_t elems = lesson_elems(&judged->item->buffer[b]);
        if (judged->inputs[b] == NULL) continue;
        inputs[b] = malloc((elems + 1) * sizeof *inputs[b]);
        if (inputs[b] == NULL) abort();
        const int here = is_about(alteration, &judged->item->buffer[b], judged->inputs[b]);
        for (size_t i = 0; i < elems; i++) {
            const float x = judged->inputs[b][i];
            inputs[b][i] = here ? alteration->taken(storage, x) : x;
            changed |= memcmp(&inputs[b][i], &x, sizeof x) != 0 && x != 0.0f;
        }
    }
    return changed;
}

/* 1 if a number within so much of @p value is stored as @p got. */
static int is_stored_as(enum storage storage, double value, double within, double got)
{
    return stores_floats(storage) && got >= (double)storage_round(storage, (float)(value - within)) &&
           got <= (double)storage_round(storage, (float)(value + within));
}

/* How many of the wrong elements a span has; -1 if it does not give one of them, @p other counts those that should be something else.
 * In another case, its bounds may be wide, and say nothing of this one. */
static int found_in(const struct lesson_span *span, enum storage storage, int of_other_case,
                    const struct wrong *wrong, size_t kept, int *other)
{
    int found = 0;
    for (size_t i = 0; i < kept; i++) {
        if (wrong[i].at < span->first || wrong[i].at - span->first >= span->count) continue;
        const size_t at = wrong[i].at - span->first;
        if (!isfinite(wrong[i].got) && isfinite(wrong[i].expected))
            return -1; /* many a mistake leads there */
        /* whole numbers, too, are at hand as floats */
        const double as_float = 0x1p-24 * fabs(span->expected[at]);
        const double within = 2.0 * fmax(wrong[i].bound, of_other_case ? 0.0 : span->bound[at]) + as_float;
        if (!compare_element(wrong[i].got, span->expected[at], within) &&
            (isfinite(wrong[i].expected) || !is_stored_as(storage, span->expected[at], within, wrong[i].got)))
            return -1;
        *other += !compare_element(span->expected[at], wrong[i].expected, wrong[i].bound);
        found++;
    }
    return found;
}

/* 1 if a span gives all that came out, right or wrong. */
static int came_out(const struct judged *judged, const struct lesson_span *span)
{
    for (size_t i = 0; i < span->count; i++)
        if (!compare_element((double)judged->got[0][span->buffer][span->first + i], span->expected[i],
                             2.0 * span->bound[i]))
            return 0;
    return 1;
}

/* 1 if the oracle with this case and these inputs gives all that is wrong; where that is little, all that came out. */
static int gives_all(const struct judged *judged, const struct lesson_case *item, const float *const *inputs,
                     int buffer, const struct wrong *wrong, size_t kept)
{
    const struct lesson *lesson = judged->session->check->options.lesson;
    struct lesson_expectation e = {.shared = lesson->prepare != NULL ? lesson->prepare(item, inputs) : NULL};
    double *memory = compare_expectation(&e, lesson->unit_elems(item));
    size_t found = 0;
    int fits = memory != NULL, other = 0, of_other_case = item != &judged->item->settled;
    for (size_t unit = 0; unit < judged->units && fits && (found < kept || kept < LEAST_WRONG); unit++) {
        lesson->expect(item, inputs, unit, &e);
        for (int s = 0; s < e.span_count && fits; s++) {
            const int here = e.span[s].buffer == buffer
                                 ? found_in(&e.span[s], judged->item->buffer[buffer].storage, of_other_case,
                                            wrong, kept, &other)
                                 : 0;
            fits = here >= 0 &&
                   (kept >= LEAST_WRONG || e.span[s].buffer != buffer || came_out(judged, &e.span[s]));
            found += (size_t)(here > 0 ? here : 0);
        }
    }
    free(e.kept);
    free(e.shared);
    free(memory);
    return fits && found == kept && 2 * (size_t)other >= kept;
}

/* 1 if an input holds an infinity or a NaN. */
static int is_special(const struct judged *judged)
{
    for (int b = 0; b < judged->item->buffer_count; b++)
        for (size_t i = 0; judged->inputs[b] != NULL && i < lesson_elems(&judged->item->buffer[b]); i++)
            if (!isfinite(judged->inputs[b][i])) return 1;
    return 0;
}

/* The first of the lesson's mistakes that gives all that is wrong; NULL if none does. Where an input is infinite or NaN many a mistake
 * gives the same. */
static const char *find_mistake(const struct judged *judged, int buffer, const struct wrong *wrong,
                                size_t kept)
{
    const struct lesson *lesson = judged->session->check->options.lesson;
    for (int i = 0; lesson->mistaken != NULL && !is_special(judged); i++) {
        struct lesson_case item = judged->item->settled;
        const char *words = lesson->mistaken(&item, i);
        if (words == NULL) break;
        if (*words != '\0' &&
            gives_all(judged, &item, (const float *const *)judged->inputs, buffer, wrong, kept))
            return words;
    }
    return NULL;
}

/* 1 if an element is wrong that should be infinite: what takes infinities for numbers gives such, and not 0 * infinity alone. */
static int lacks_infinity(const struct wrong *wrong, size_t kept)
{
    for (size_t i = 0; i < kept; i++)
        if (isinf(wrong[i].expected)) return 1;
    return 0;
}

int altered_explain(const struct judged *judged, int buffer, const struct wrong *wrong, size_t kept,
                    int of_specials, struct record *record)
{
    const struct lesson *lesson = judged->session->check->options.lesson;
    struct lesson_cost cost = {0};
    lesson->cost(&judged->item->settled, &cost);
    if (kept < LEAST_WRONG && judged->buffer[buffer].compared < LEAST_COMPARED) return 0;
    if (judged->sampled > 0 || cost.oracle_ops > MOST_OPS) return 0;
    for (size_t i = 0; i < sizeof ALTERATIONS / sizeof ALTERATIONS[0]; i++) {
        float *inputs[WIRE_BUFFERS] = {NULL};
        if (ALTERATIONS[i].of_specials != of_specials ||
            (ALTERATIONS[i].taken == limited && !lacks_infinity(wrong, kept)))
            continue;
        const int explains =
            alter(judged, &ALTERATIONS[i], inputs) &&
            gives_all(judged, &judged->item->settled, (const float *const *)inputs, buffer, wrong, kept);
        for (int b = 0; b < WIRE_BUFFERS; b++) free(inputs[b]);
        if (!explains) continue;
        record->cause = RECORD_CAUSE_STORAGE_TYPE;
        snprintf(record->note, sizeof record->note, "%s", ALTERATIONS[i].words);
        return 1;
    }
    const char *words = of_specials ? NULL : find_mistake(judged, buffer, wrong, kept);
    if (words == NULL) return 0;
    record->cause = RECORD_CAUSE_STORAGE_TYPE;
    snprintf(record->note, sizeof record->note, "%s", words);
    return 1;
}
