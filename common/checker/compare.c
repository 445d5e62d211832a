/**
 * @file compare.c
 * @brief Bits first (guards, inputs, both runs), then values against the oracle.
 */
#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Above this many operations the oracle looks at chosen rows only. */
#define ORACLE_OPS 2e9
/* Of chosen rows, fewer where each costs a great deal: about so many operations. */
#define SAMPLED_OPS 4e9
enum { SAMPLED_STRATA = 512, SAMPLED_STRATA_LEAST = 64, SAMPLED_EDGES = 8 };

static int is_input(enum wire_role role)
{
    return role == WIRE_IN || role == WIRE_INOUT;
}

static int is_output(enum wire_role role)
{
    return role == WIRE_OUT || role == WIRE_INOUT;
}

/* ---- the data -------------------------------------------------------------------------------------------- */

/* Where elements are floats already, what came back is looked at where it lies. */
static const float *as_floats(const struct lesson_buffer *buffer, const void *raw)
{
    size_t elems = lesson_elems(buffer);
    if (buffer->storage == STORAGE_F32) return raw;
    float *floats = malloc((elems + 1) * sizeof *floats);
    for (size_t at = 0; floats != NULL && at < elems; at++)
        floats[at] = storage_get(buffer->storage, raw, at);
    return floats;
}

int judged_open(struct judged *judged, const struct session *session, int index)
{
    const struct item *item = &session->item[index];
    *judged = (struct judged){.session = session, .index = index, .item = item};
    for (int b = 0; b < item->buffer_count; b++) {
        enum wire_role role = item->buffer[b].role;
        size_t elems = lesson_elems(&item->buffer[b]);
        for (int run = 0; run < 2 && role != WIRE_WORKSPACE; run++) {
            judged->raw[run][b] = session_copy(session, index, b, is_output(role) ? run : 0);
            judged->got[run][b] = as_floats(&item->buffer[b], judged->raw[run][b]);
            if (judged->got[run][b] == NULL) return -1;
        }
        if (!is_input(role)) continue;
        float *data = malloc(elems * sizeof *data);
        if (data == NULL) return -1;
        session_fill(session->check, item, b, data);
        judged->inputs[b] = data;
    }
    return 0;
}

void judged_close(struct judged *judged)
{
    for (int b = 0; b < WIRE_BUFFERS; b++) {
        free((void *)judged->inputs[b]);
        for (int run = 0; run < 2; run++)
            if ((const void *)judged->got[run][b] != judged->raw[run][b]) free((void *)judged->got[run][b]);
        free(judged->buffer[b].first);
    }
}

void compare_name(const struct lesson_buffer *buffer, size_t at, char *text, size_t size)
{
    size_t index[LESSON_RANK];
    for (int axis = buffer->rank - 1; axis >= 0; axis--) {
        index[axis] = at % buffer->extent[axis];
        at /= buffer->extent[axis];
    }
    int used = snprintf(text, size, "%s[", buffer->name);
    for (int axis = 0; axis < buffer->rank && used > 0 && (size_t)used < size; axis++) {
        const char *field = axis == buffer->rank - 1 && index[axis] < 4 ? buffer->column[index[axis]] : NULL;
        const char *end = axis == buffer->rank - 1 ? "]" : ",";
        if (axis == buffer->rank - 2 && buffer->column[0] != NULL) end = "].";
        used += field != NULL ? snprintf(text + used, size - (size_t)used, "%s", field)
                              : snprintf(text + used, size - (size_t)used, "%zu%s", index[axis], end);
    }
}

/* ---- bits ------------------------------------------------------------------------------------------------ */

/* Offset of the first byte of a guard zone that is not as it was, -1 if there is none. */
static ptrdiff_t first_change(uint64_t seed, unsigned zone, const unsigned char *bytes, size_t count)
{
    for (size_t at = 0; at < count; at++)
        if (bytes[at] != wire_guard_byte(seed, zone, at)) return (ptrdiff_t)at;
    return -1;
}

static int guards_of(const struct judged *judged, int b, int run, char *reason, size_t size)
{
    const struct item *item = judged->item;
    const struct lesson_buffer *buffer = &item->buffer[b];
    const struct wire_case *wire = session_case(judged->session, judged->index);
    size_t guard = session_guard_bytes(judged->session);
    if (guard == 0 || item->settled.null_buffer == b || lesson_elems(buffer) == 0) return 1;
    if (buffer->role == WIRE_WORKSPACE && wire->result.workspace_asked == 0) return 1;
    const unsigned char *contents = session_copy(judged->session, judged->index, b, run);
    int kept = buffer->role != WIRE_WORKSPACE || judged->session->check->options.dump;
    size_t bytes = lesson_bytes(buffer);
    ptrdiff_t front = first_change(item->guard_seed, 2 * (unsigned)b, contents - guard, guard);
    ptrdiff_t behind =
        first_change(item->guard_seed, 2 * (unsigned)b + 1, contents + (kept ? bytes : 0), guard);
    if (front >= 0)
        snprintf(reason, size, "guard zone hit: something wrote %td bytes before the start of %s",
                 (ptrdiff_t)guard - front, buffer->name);
    else if (behind >= 0)
        snprintf(reason, size,
                 "guard zone hit: something wrote %td bytes behind the end of %s (%zu elements)", behind,
                 buffer->name, lesson_elems(buffer));
    return front < 0 && behind < 0;
}

/* The bits that element `at` of an input had. */
static uint32_t bits_given(const struct judged *judged, int b, size_t at)
{
    enum storage storage = judged->item->buffer[b].storage;
    uint32_t element = 0;
    storage_put(storage, &element, 0, judged->inputs[b][at]);
    return storage_bits(storage, &element, 0);
}

int compare_untouched(const struct judged *judged, char *reason, size_t size)
{
    const struct item *item = judged->item;
    for (int b = 0; b < item->buffer_count; b++) {
        enum wire_role role = item->buffer[b].role;
        for (int run = 0; run < (role == WIRE_IN ? 1 : 2); run++)
            if (!guards_of(judged, b, run, reason, size)) return 0;
        if (role != WIRE_IN || item->settled.null_buffer == b) continue;
        size_t elems = lesson_elems(&item->buffer[b]), at = 0;
        while (at < elems &&
               storage_bits(item->buffer[b].storage, judged->raw[0][b], at) == bits_given(judged, b, at))
            at++;
        if (at == elems) continue;
        char name[96];
        compare_name(&item->buffer[b], at, name, sizeof name);
        snprintf(reason, size, "input modified: %s is not what it was", name);
        return 0;
    }
    return 1;
}

/* The bits that element `at` of an output had before run `run`. */
static uint32_t bits_before(const struct judged *judged, int b, int run, size_t at)
{
    const struct item *item = judged->item;
    if (item->buffer[b].role == WIRE_INOUT) return bits_given(judged, b, at);
    return storage_poison_bits(item->buffer[b].storage, session_poison(item, b, run), at);
}

static uint32_t bits_after(const struct judged *judged, int b, int run, size_t at)
{
    return storage_bits(judged->item->buffer[b].storage, judged->raw[run][b], at);
}

/* 1 if output `b` is as it was before the call; else 0 with the reason. */
static int left_alone(const struct judged *judged, int b, const char *why, char *reason, size_t size)
{
    const struct lesson_buffer *buffer = &judged->item->buffer[b];
    for (int run = 0; run < 2; run++)
        for (size_t at = 0; at < lesson_elems(buffer); at++) {
            if (bits_after(judged, b, run, at) == bits_before(judged, b, run, at)) continue;
            char name[96];
            compare_name(buffer, at, name, sizeof name);
            snprintf(reason, size, "%s, yet %s was written", why, name);
            return 0;
        }
    return 1;
}

/* 1 if the kernel is given output `b`. */
static int has_output(const struct judged *judged, int b)
{
    return is_output(judged->item->buffer[b].role) && judged->item->settled.null_buffer != b;
}

int compare_refused(const struct judged *judged, char *reason, size_t size)
{
    for (int b = 0; b < judged->item->buffer_count; b++)
        if (has_output(judged, b) && !left_alone(judged, b, "the call was refused", reason, size)) return 0;
    return 1;
}

/* 1 if nothing between the rows of output `b` was written; else 0 with the reason. */
static int rows_kept(const struct judged *judged, int b, char *reason, size_t size)
{
    const struct lesson_buffer *buffer = &judged->item->buffer[b];
    size_t columns = buffer->extent[buffer->rank - 1];
    if (buffer->extent[LESSON_ROW] == 0 || buffer->extent[LESSON_ROW] == columns) return 1;
    for (int run = 0; run < 2; run++)
        for (size_t at = 0; at < lesson_elems(buffer); at++) {
            if (!lesson_between_rows(buffer, at)) continue;
            if (bits_after(judged, b, run, at) == bits_before(judged, b, run, at)) continue;
            char name[96];
            compare_name(buffer, at, name, sizeof name);
            snprintf(
                reason, size,
                "%s was written: it lies behind the end of its row, which has %zu elements; the next row "
                "begins %zu further on",
                name, buffer->extent[LESSON_ROW], columns - at % columns);
            return 0;
        }
    return 1;
}

/* Which element is looked at decides what is told: never written, or different from run to run. */
static int runs_of(const struct judged *judged, int b, char *reason, size_t size)
{
    const struct lesson_buffer *buffer = &judged->item->buffer[b];
    const float *one = judged->got[0][b], *two = judged->got[1][b];
    size_t elems = lesson_elems(buffer), unwritten = 0, different = 0, first = 0;
    if (memcmp(judged->raw[0][b], judged->raw[1][b], lesson_bytes(buffer)) == 0) return 1;
    for (size_t at = 0; at < elems; at++) {
        if (bits_after(judged, b, 0, at) == bits_after(judged, b, 1, at) ||
            (isnan(one[at]) && isnan(two[at])) || lesson_between_rows(buffer, at))
            continue;
        if (unwritten + different == 0) first = at;
        if (buffer->role == WIRE_OUT && bits_after(judged, b, 0, at) == bits_before(judged, b, 0, at) &&
            bits_after(judged, b, 1, at) == bits_before(judged, b, 1, at))
            unwritten++;
        else
            different++;
    }
    if (unwritten + different == 0) return 1;
    char name[96];
    compare_name(buffer, first, name, sizeof name);
    if (unwritten > 0 && different == 0)
        snprintf(reason, size, "never written: %zu of %zu elements of %s, the first is %s", unwritten, elems,
                 buffer->name, name);
    else
        snprintf(reason, size,
                 "differs from run to run: %zu of %zu elements of %s, the first is %s; a race, or memory "
                 "read before "
                 "it is written",
                 different, elems, buffer->name, name);
    return 0;
}

int compare_runs(const struct judged *judged, char *reason, size_t size)
{
    for (int b = 0; b < judged->item->buffer_count; b++) {
        if (!has_output(judged, b)) continue;
        int right = judged->item->settled.untouched >> b & 1
                        ? left_alone(judged, b, "this output had to stay as it was", reason, size)
                        : rows_kept(judged, b, reason, size) && runs_of(judged, b, reason, size);
        if (!right) return 0;
    }
    return 1;
}

int compare_timed(const struct judged *judged, char *reason, size_t size)
{
    for (int b = 0; b < judged->item->buffer_count; b++) {
        const struct lesson_buffer *buffer = &judged->item->buffer[b];
        if (!has_output(judged, b)) continue;
        const void *timed = session_copy(judged->session, judged->index, b, 2);
        if (memcmp(timed, judged->raw[0][b], lesson_bytes(buffer)) == 0) continue;
        snprintf(reason, size, "what the timing loop left in %s is not the checked result", buffer->name);
        return 0;
    }
    return 1;
}

/* ---- values ---------------------------------------------------------------------------------------------- */

int compare_element(double got, double expected, double bound)
{
    if (isnan(expected)) return isnan(got);
    if (isinf(expected)) return got == expected;
    return fabs(got - expected) <= bound;
}

double compare_norm_share(const struct buffer_comparison *buffer)
{
    double allowed = 2.0 * buffer->largest_plain_error + buffer->largest_floor;
    return allowed > 0.0 ? buffer->largest_error / allowed : 0.0;
}

static void keep_wrong(struct buffer_comparison *buffer, const struct wrong *wrong)
{
    if (buffer->first == NULL) buffer->first = malloc(WRONG_KEPT * sizeof *buffer->first);
    if (buffer->first != NULL && buffer->wrong < WRONG_KEPT) buffer->first[buffer->wrong] = *wrong;
    if (buffer->first != NULL) buffer->wrong++;
}

static void compare_span(struct judged *judged, const struct lesson_span *span)
{
    struct buffer_comparison *buffer = &judged->buffer[span->buffer];
    if (judged->item->settled.null_buffer == span->buffer) return;
    for (size_t i = 0; i < span->count; i++) {
        double got = (double)judged->got[0][span->buffer][span->first + i];
        struct wrong element = {span->first + i, got, span->expected[i], span->bound[i]};
        buffer->compared++;
        if (!compare_element(got, element.expected, element.bound)) keep_wrong(buffer, &element);
        if (!isfinite(element.expected) || !isfinite(got)) continue;
        double error = fabs(got - element.expected), plain = fabs(span->plain[i] - element.expected);
        buffer->share = fmax(buffer->share, error / element.bound);
        buffer->largest_error = fmax(buffer->largest_error, error);
        if (isfinite(plain)) buffer->largest_plain_error = fmax(buffer->largest_plain_error, plain);
        buffer->largest_floor = fmax(buffer->largest_floor, span->floor[i]);
    }
}

/* Units to look at: edges of tiles and one unit of every stratum. They come from the secret seed, so that a
 * kernel cannot know them. */
static size_t sampled_unit(size_t units, size_t sample, size_t strata, struct rng *rng)
{
    static const size_t tile[] = {16, 32, 64, 128};
    if (sample == 0) return 0;
    if (sample == 1) return units - 1;
    if (sample < SAMPLED_EDGES) {
        size_t size = tile[sample % 4];
        size_t edge = (rng_next(rng) % (units / size + 1)) * size + rng_next(rng) % 2;
        return edge == 0 || edge > units ? units - 1 : edge - 1;
    }
    size_t stratum = sample - SAMPLED_EDGES;
    size_t low = units * stratum / strata, high = units * (stratum + 1) / strata;
    return low + rng_next(rng) % (high > low ? high - low : 1);
}

static void compare_units(struct judged *judged, struct lesson_expectation *expectation)
{
    const struct lesson *lesson = judged->session->check->options.lesson;
    const struct lesson_case *settled = &judged->item->settled;
    struct rng rng = {rng_mix(judged->item->settled.seed, 1000)};
    size_t turns = judged->sampled > 0 ? judged->sampled : judged->units;
    for (size_t turn = 0; turn < turns; turn++) {
        size_t unit =
            judged->sampled > 0 ? sampled_unit(judged->units, turn, turns - SAMPLED_EDGES, &rng) : turn;
        lesson->expect(settled, judged->inputs, unit, expectation);
        for (int s = 0; s < expectation->span_count; s++) compare_span(judged, &expectation->span[s]);
    }
}

double *compare_expectation(struct lesson_expectation *expectation, size_t elems)
{
    double *memory = calloc((4 * LESSON_SPANS + 1) * (elems + 1), sizeof *memory), *next = memory;
    for (int s = 0; s < LESSON_SPANS && memory != NULL; s++) {
        struct lesson_span *span = &expectation->span[s];
        span->expected = next;
        span->bound = next + elems;
        span->plain = next + 2 * elems;
        span->floor = next + 3 * elems;
        next += 4 * elems;
    }
    expectation->scratch = next;
    return memory;
}

static size_t sampled_strata(double ops_a_unit)
{
    double affordable = SAMPLED_OPS / ops_a_unit;
    if (affordable >= SAMPLED_STRATA) return SAMPLED_STRATA;
    return affordable > SAMPLED_STRATA_LEAST ? (size_t)affordable : SAMPLED_STRATA_LEAST;
}

int compare_identity(const struct judged *judged, char *reason, size_t size)
{
    const struct lesson *lesson = judged->session->check->options.lesson;
    double allowed[WIRE_BUFFERS];
    if (judged->sampled == 0 || lesson->identity == NULL) return 1;
    for (int b = 0; b < WIRE_BUFFERS; b++) {
        const struct buffer_comparison *buffer = &judged->buffer[b];
        allowed[b] = 2.0 * buffer->largest_plain_error + buffer->largest_floor;
    }
    return lesson->identity(&judged->item->settled, judged->inputs, judged->got[0], allowed,
                            rng_mix(judged->item->settled.seed, 2000), reason, size);
}

int compare_values(struct judged *judged)
{
    const struct lesson *lesson = judged->session->check->options.lesson;
    const struct lesson_case *settled = &judged->item->settled;
    struct lesson_cost cost;
    lesson->cost(settled, &cost);
    judged->units = lesson->units(settled);
    if (cost.oracle_ops > ORACLE_OPS && judged->units > SAMPLED_STRATA + SAMPLED_EDGES)
        judged->sampled = sampled_strata(cost.oracle_ops / (double)judged->units) + SAMPLED_EDGES;
    struct lesson_expectation expectation = {0};
    double *memory = compare_expectation(&expectation, lesson->unit_elems(settled));
    if (memory == NULL) return 0;
    compare_units(judged, &expectation);
    free(memory);
    int right = 1;
    for (int b = 0; b < judged->item->buffer_count; b++) {
        struct buffer_comparison *buffer = &judged->buffer[b];
        double norm = compare_norm_share(buffer);
        judged->share = fmax(judged->share, fmax(buffer->share, norm));
        right = right && buffer->wrong == 0 && !(norm > 1.0);
    }
    return right;
}
