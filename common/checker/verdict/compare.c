/**
 * @file compare.c
 * @brief Bits first (guards, inputs, both runs), then values against the oracle.
 */
#include "compare.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checker/numbers/bound.h"
#include "base/parallel.h"
#include "remember.h"

/* For more operations than this the oracle computes only chosen rows. */
#define ORACLE_OPS 2e9
/* Fewer rows are chosen if each costs a lot: about this many operations in all. */
#define SAMPLED_OPS 1e9
/* Of each of the many random shapes of a property this share of both: the rows that one does not show, the next ones do. */
#define SHARE_OF_MANY 0.125
/* The oracle is called for pieces of about this many operations, some 10 ms, each on one thread. */
#define PIECE_OPS 2e7
enum { SAMPLED_STRATA = 512, SAMPLED_STRATA_LEAST = 64, SAMPLED_EDGES = 8, STRATA_BESIDE_IDENTITY = 16 };

static int is_input(enum wire_role role)
{
    return role == WIRE_IN || role == WIRE_INOUT;
}

static int is_output(enum wire_role role)
{
    return role == WIRE_OUT || role == WIRE_INOUT;
}

/* ---- the data -------------------------------------------------------------------------------------------- */

/** Elements on their way from the image. */
struct getting {
    enum storage storage;
    const unsigned char *raw;
    float *floats;
};

static void get_piece(void *context, size_t first, size_t last)
{
    const struct getting *getting = context;
    storage_get_all(getting->storage, getting->raw + first * storage_bytes(getting->storage),
                    getting->floats + first, last - first);
}

/* Elements that are floats already need no conversion: the result points into @p raw. An input is as it
 * was given, or compare_untouched() reports it. */
static const float *as_floats(const struct item *item, int b, const void *raw)
{
    const struct lesson_buffer *buffer = &item->buffer[b];
    size_t elems = lesson_elems(buffer);
    if (buffer->storage == STORAGE_F32) return raw;
    if (buffer->role == WIRE_IN) return item->input[b];
    float *floats = parallel_memory(elems * sizeof *floats);
    struct getting getting = {buffer->storage, raw, floats};
    if (floats != NULL) parallel_for(elems, 1 << 18, get_piece, &getting);
    return floats;
}

int judged_open(struct judged *judged, const struct session *session, int index)
{
    const struct item *item = &session->item[index];
    *judged = (struct judged){.session = session, .index = index, .item = item};
    for (int b = 0; b < item->buffer_count; b++) {
        enum wire_role role = item->buffer[b].role;
        for (int run = 0; run < 2 && role != WIRE_WORKSPACE; run++) {
            judged->raw[run][b] = session_copy(session, index, b, is_output(role) ? run : 0);
            const int again =
                run == 1 && memcmp(judged->raw[0][b], judged->raw[1][b], lesson_bytes(&item->buffer[b])) == 0;
            judged->got[run][b] = again ? judged->got[0][b] : as_floats(item, b, judged->raw[run][b]);
            if (judged->got[run][b] == NULL) return -1;
        }
        judged->inputs[b] = item->input[b];
        if (is_input(role) && judged->inputs[b] == NULL) return -1;
    }
    return 0;
}

/* Makes the rotated input of a timed call: its element 0 is the one @p bytes after the first. */
static float *turn_input(const struct item *item, int b, uint64_t bytes)
{
    const size_t elems = lesson_elems(&item->buffer[b]);
    const size_t by = (size_t)bytes / storage_bytes(item->buffer[b].storage);
    float *turned = parallel_memory(elems * sizeof *turned);
    if (turned == NULL) return NULL;
    memcpy(turned, item->input[b] + by, (elems - by) * sizeof *turned);
    memcpy(turned + (elems - by), item->input[b], by * sizeof *turned);
    return turned;
}

/* The same for integer inputs, whose timed calls had other numbers. */
static float *other_numbers(const struct item *item, int b, uint64_t with, uint64_t below)
{
    const size_t elems = lesson_elems(&item->buffer[b]);
    float *numbers = parallel_memory(elems * sizeof *numbers);
    for (size_t at = 0; numbers != NULL && at < elems; at++)
        numbers[at] = (float)wire_other_number((int32_t)item->input[b][at], at, with, below);
    return numbers;
}

int judged_open_turned(struct judged *judged, struct item *turned, const struct session *session, int index,
                       int which)
{
    const struct item *item = &session->item[index];
    const struct wire_case *wire = session_case(session, index);
    int turns = 0;
    *turned = *item;
    *judged = (struct judged){.session = session, .index = index, .item = turned};
    for (int b = 0; b < item->buffer_count; b++) {
        const uint64_t by = wire->result.turned[which][b], turn = session_turn(session, item, b);
        const uint64_t below = session_others_below(session, item, b);
        turns |= turn > 0 || below > 1;
        if (turn == 0 && below <= 1) continue;
        if (by == 0 || (turn > 0 && (by % turn != 0 || by >= lesson_bytes(&item->buffer[b])))) return -2;
        turned->input[b] = turn > 0 ? turn_input(item, b, by) : other_numbers(item, b, by, below);
        if (turned->input[b] == NULL) return -1;
    }
    if (!turns) return 1;
    for (int b = 0; b < item->buffer_count; b++) {
        judged->inputs[b] = turned->input[b];
        for (int run = 0; run < 2 && is_output(item->buffer[b].role); run++) {
            judged->raw[run][b] = session_copy(session, index, b, WIRE_TURNED + which);
            judged->got[run][b] = as_floats(turned, b, judged->raw[run][b]);
            if (judged->got[run][b] == NULL) return -1;
        }
        if (item->buffer[b].role == WIRE_IN) judged->raw[0][b] = judged->got[0][b] = turned->input[b];
        if (item->buffer[b].role == WIRE_IN) judged->raw[1][b] = judged->got[1][b] = turned->input[b];
    }
    return 0;
}

void judged_close_turned(struct judged *judged, struct item *turned)
{
    const struct item *item = &judged->session->item[judged->index];
    judged_close(judged);
    for (int b = 0; b < item->buffer_count; b++)
        if (turned->input[b] != item->input[b]) free(turned->input[b]);
}

void judged_close(struct judged *judged)
{
    for (int b = 0; b < WIRE_BUFFERS; b++) {
        for (int run = 0; run < 2; run++) {
            const void *floats = judged->got[run][b];
            if (run == 1 && floats == judged->got[0][b]) continue;
            if (floats != judged->raw[run][b] && floats != judged->inputs[b]) free((void *)floats);
        }
        free(judged->buffer[b].first);
    }
}

static enum record_storage storage_told(enum storage storage)
{
    return storage == STORAGE_F32   ? RECORD_F32
           : storage == STORAGE_I32 ? RECORD_WHOLE
           : storage == STORAGE_S8  ? RECORD_NUMBERS_OF_4_BITS
                                    : RECORD_SHORT_FLOAT;
}

void compare_place(const struct lesson_buffer *buffer, size_t at, struct record *record)
{
    struct record_memory *memory = &record->memory;
    const int last = buffer->rank - 1;
    snprintf(memory->buffer, sizeof memory->buffer, "%s", buffer->name);
    memory->rank = buffer->rank;
    record->value.storage = storage_told(buffer->storage);
    for (int axis = last; axis >= 0; axis--) {
        const size_t extent = buffer->extent[axis] > 0 ? buffer->extent[axis] : 1;
        memory->index[axis] = (int64_t)(at % extent);
        at /= extent;
    }
    const int64_t field = last >= 0 ? memory->index[last] : LESSON_COLUMNS;
    if (field < LESSON_COLUMNS && buffer->column[field] != NULL)
        snprintf(record->name[RECORD_NAME_FIELD], RECORD_TEXT, "%s", buffer->column[field]);
}

/* Sets @p found to a record about element @p at of @p buffer. */
static void find(struct record *found, enum record_kind kind, enum record_variant variant,
                 const struct lesson_buffer *buffer, size_t at)
{
    *found = (struct record){
        .version = RECORD_VERSION, .origin = RECORD_CHECKER, .kind = kind, .message = variant, .seen = 1};
    compare_place(buffer, at, found);
}

static void set_numbers(struct record *found, uint64_t first, uint64_t second)
{
    found->number[RECORD_N_FIRST] = (int64_t)first;
    found->number[RECORD_N_SECOND] = (int64_t)second;
}

/** The smallest block of indices that some elements lie in. */
struct block {
    int64_t low[LESSON_RANK], high[LESSON_RANK];
    size_t count; /* of these elements */
};

static void add_to_block(struct block *block, const struct lesson_buffer *buffer, size_t at)
{
    struct record place = {0};
    compare_place(buffer, at, &place);
    for (int axis = 0; axis < buffer->rank; axis++) {
        const int64_t index = place.memory.index[axis];
        if (block->count == 0 || index < block->low[axis]) block->low[axis] = index;
        if (block->count == 0 || index > block->high[axis]) block->high[axis] = index;
    }
    block->count++;
}

/* Notes the last element of a block in @p found, the first of which is known, if all of the block is unwritten and not all of the
 * buffer. */
static void tell_block(const struct block *block, const struct lesson_buffer *buffer, struct record *found)
{
    size_t held = 1, all = 1;
    int64_t ends = 0;
    for (int axis = 0; axis < buffer->rank; axis++) {
        const int last = axis == buffer->rank - 1;
        const size_t extent = last && buffer->row > 0 ? buffer->row : buffer->extent[axis];
        held *= (size_t)(block->high[axis] - block->low[axis] + 1), all *= extent;
        if (block->low[axis] > 0 && (size_t)block->high[axis] + 1 == extent) ends |= 1 << axis;
    }
    if (block->count < 2 || held != block->count || held == all || buffer->column[0] != NULL) return;
    for (int axis = 0; axis < buffer->rank; axis++) found->value.last[axis] = block->high[axis];
    found->number[RECORD_N_EXTENT] = ends;
}

void compare_tell_block(const struct buffer_comparison *wrong, const struct lesson_buffer *buffer,
                        struct record *found)
{
    struct block block = {.count = 0};
    for (size_t i = 0; i < wrong->wrong && i < WRONG_KEPT; i++)
        add_to_block(&block, buffer, wrong->first[i].at);
    if (block.count == wrong->wrong) tell_block(&block, buffer, found);
}

/* ---- bits ------------------------------------------------------------------------------------------------ */

/* Offset of the first byte of a guard zone that has changed, -1 if there is none. */
static ptrdiff_t first_change(uint64_t seed, unsigned zone, const unsigned char *bytes, size_t count)
{
    for (size_t at = 0; at < count; at++)
        if (bytes[at] != wire_guard_byte(seed, zone, at)) return (ptrdiff_t)at;
    return -1;
}

static int guards_of(const struct judged *judged, int b, int run, struct record *found)
{
    const struct item *item = judged->item;
    const struct lesson_buffer *buffer = &item->buffer[b];
    const struct wire_case *wire = session_case(judged->session, judged->index);
    size_t guard = session_guard_bytes(judged->session), bytes = lesson_bytes(buffer);
    if (guard == 0 || item->settled.null_buffer == b || lesson_elems(buffer) == 0) return 1;
    const uint64_t asked = wire->result.workspace_asked < bytes ? wire->result.workspace_asked : bytes;
    if (buffer->role == WIRE_WORKSPACE && asked == 0) return 1;
    const unsigned char *contents = session_copy(judged->session, judged->index, b, run);
    int kept = buffer->role != WIRE_WORKSPACE || judged->session->check->options.dump;
    ptrdiff_t front = first_change(item->guard_seed, 2 * (unsigned)b, contents - guard, guard);
    ptrdiff_t behind =
        first_change(item->guard_seed, 2 * (unsigned)b + 1, contents + (kept ? bytes : 0), guard);
    if (front < 0 && behind < 0) return 1;
    find(found, RECORD_WROTE_OUTSIDE,
         front >= 0                       ? RECORD_BEFORE_START
         : buffer->role == WIRE_WORKSPACE ? RECORD_PAST_WORKSPACE
                                          : RECORD_PAST_END,
         buffer, 0);
    if (front >= 0)
        set_numbers(found, (uint64_t)((ptrdiff_t)guard - front), 0);
    else
        set_numbers(found, (uint64_t)behind, buffer->role == WIRE_WORKSPACE ? asked : lesson_elems(buffer));
    return 0;
}

/* The bits that element `at` of an input had before the call. */
static uint32_t bits_given(const struct judged *judged, int b, size_t at)
{
    enum storage storage = judged->item->buffer[b].storage;
    uint32_t element = 0;
    storage_put(storage, &element, 0, judged->inputs[b][at]);
    return storage_bits(storage, &element, 0);
}

enum { BLOCK = 1024, BLOCKS_A_PIECE = 256 };

/** Looks for the first element of an input that has changed. */
struct searching {
    const struct judged *judged;
    int buffer;
    atomic_size_t first;
};

/* A block that differs is searched element by element. */
static void search_piece(void *context, size_t first_block, size_t last_block)
{
    struct searching *searching = context;
    const struct judged *judged = searching->judged;
    int b = searching->buffer;
    enum storage storage = judged->item->buffer[b].storage;
    size_t elems = lesson_elems(&judged->item->buffer[b]), bytes = storage_bytes(storage);
    const unsigned char *raw = judged->raw[0][b];
    float values[BLOCK];
    uint32_t given[BLOCK];
    for (size_t at = first_block * BLOCK; at < elems && at < last_block * BLOCK; at += BLOCK) {
        size_t count = elems - at < BLOCK ? elems - at : BLOCK, same = 0;
        memcpy(values, judged->inputs[b] + at, count * sizeof *values);
        storage_put_all(storage, given, values, count);
        if (memcmp(given, raw + at * bytes, count * bytes) == 0) continue;
        while (storage_bits(storage, raw, at + same) == bits_given(judged, b, at + same)) same++;
        size_t known = searching->first;
        while (at + same < known && !atomic_compare_exchange_weak(&searching->first, &known, at + same)) {
        }
        return;
    }
}

/* Index of the first element of input @p b that has changed; the number of elements if none has. */
static size_t first_modified(const struct judged *judged, int b)
{
    size_t elems = lesson_elems(&judged->item->buffer[b]);
    struct searching searching = {judged, b, elems};
    parallel_for(elems / BLOCK + 1, BLOCKS_A_PIECE, search_piece, &searching);
    return searching.first;
}

int compare_untouched(const struct judged *judged, struct record *found)
{
    const struct item *item = judged->item;
    for (int b = 0; b < item->buffer_count; b++) {
        enum wire_role role = item->buffer[b].role;
        for (int run = 0; run < (role == WIRE_IN ? 1 : 2); run++)
            if (!guards_of(judged, b, run, found)) return 0;
        if (role != WIRE_IN || item->settled.null_buffer == b || item->settled.unread >> b & 1) continue;
        size_t at = first_modified(judged, b);
        if (at == lesson_elems(&item->buffer[b])) continue;
        find(found, RECORD_WROTE_INPUT, RECORD_ANY_VARIANT, &item->buffer[b], at);
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

/* 1 if output `b` is as it was before the call; else 0 with a record. */
static int left_alone(const struct judged *judged, int b, enum record_variant why, struct record *found)
{
    const struct lesson_buffer *buffer = &judged->item->buffer[b];
    for (int run = 0; run < 2; run++)
        for (size_t at = 0; at < lesson_elems(buffer); at++) {
            if (bits_after(judged, b, run, at) == bits_before(judged, b, run, at)) continue;
            find(found, RECORD_WROTE_REFUSED, why, buffer, at);
            return 0;
        }
    return 1;
}

/* 1 if the kernel receives output `b`. */
static int has_output(const struct judged *judged, int b)
{
    return is_output(judged->item->buffer[b].role) && judged->item->settled.null_buffer != b;
}

int compare_refused(const struct judged *judged, struct record *found)
{
    for (int b = 0; b < judged->item->buffer_count; b++)
        if (has_output(judged, b) && !left_alone(judged, b, RECORD_CALL_REFUSED, found)) return 0;
    return 1;
}

/* 1 if nothing between the rows of output `b` was written; else 0 with a record. */
static int rows_kept(const struct judged *judged, int b, struct record *found)
{
    const struct lesson_buffer *buffer = &judged->item->buffer[b];
    size_t columns = buffer->extent[buffer->rank - 1];
    if (buffer->row == 0 || buffer->row == columns) return 1;
    for (int run = 0; run < 2; run++)
        for (size_t at = 0; at < lesson_elems(buffer); at++) {
            if (!lesson_between_rows(buffer, at)) continue;
            if (bits_after(judged, b, run, at) == bits_before(judged, b, run, at)) continue;
            find(found, RECORD_WROTE_OUTSIDE, RECORD_BETWEEN_ROWS, buffer, at);
            set_numbers(found, buffer->row, columns - at % columns);
            return 0;
        }
    return 1;
}

/* 1 if the bits of output `b` may differ from run to run. */
static int is_order_free(const struct judged *judged, int b)
{
    return (judged->item->settled.order_free >> b & 1) != 0;
}

/* 1 if element @p at of output @p b is as it was before run @p run. */
static int is_kept(const struct judged *judged, int b, int run, size_t at)
{
    return judged->item->buffer[b].role == WIRE_OUT &&
           bits_after(judged, b, run, at) == bits_before(judged, b, run, at);
}

int compare_written(const struct judged *judged, int b, struct record *found)
{
    const struct buffer_comparison *wrong = &judged->buffer[b];
    for (size_t i = 0; i < wrong->wrong && i < WRONG_KEPT; i++)
        if (!is_kept(judged, b, 0, wrong->first[i].at)) return 1;
    find(found, RECORD_NEVER_WRITTEN, RECORD_NEVER, &judged->item->buffer[b], wrong->first[0].at);
    set_numbers(found, wrong->wrong, lesson_elems(&judged->item->buffer[b]));
    compare_tell_block(wrong, &judged->item->buffer[b], found);
    return 0;
}

int compare_two_places(const struct judged *judged)
{
    return (session_case(judged->session, judged->index)->flags & WIRE_TWO_PLACES) != 0;
}

/* Looks for the element that shows most: one never written; one that differs from run to run; or one
 * computed from what memory held before, NaN in the first run and numbers in the second. */
/* 1 if a NaN comes of an input, so that one that came out need not be what an output held. */
static int is_given_nan(const struct judged *judged)
{
    for (int b = 0; b < judged->item->buffer_count; b++) {
        const struct lesson_buffer *buffer = &judged->item->buffer[b];
        for (size_t i = 0; is_input(buffer->role) && i < lesson_elems(buffer); i++)
            if (isnan(judged->inputs[b][i]) && !lesson_between_rows(buffer, i)) return 1;
    }
    return 0;
}

static int runs_of(const struct judged *judged, int b, struct record *found)
{
    const struct lesson_buffer *buffer = &judged->item->buffer[b];
    const float *one = judged->got[0][b], *two = judged->got[1][b];
    size_t elems = lesson_elems(buffer), unwritten = 0, different = 0, poisoned = 0, first = 0;
    size_t left_out[2] = {0}, left_out_once = 0;
    struct block block = {.count = 0};
    if (memcmp(judged->raw[0][b], judged->raw[1][b], lesson_bytes(buffer)) == 0) return 1;
    for (size_t at = 0; at < elems; at++) {
        if (bits_after(judged, b, 0, at) == bits_after(judged, b, 1, at) ||
            (isnan(one[at]) && isnan(two[at])) || lesson_between_rows(buffer, at))
            continue;
        int is_unwritten = is_kept(judged, b, 0, at) && is_kept(judged, b, 1, at);
        if (!is_unwritten && is_order_free(judged, b)) continue;
        if (unwritten + different == 0) first = at;
        if (is_unwritten) {
            unwritten++;
            add_to_block(&block, buffer, at);
        } else {
            different++;
            for (int run = 0; run < 2; run++) left_out[run] += (size_t)is_kept(judged, b, run, at);
            left_out_once += is_kept(judged, b, 0, at) || is_kept(judged, b, 1, at);
            poisoned += buffer->role == WIRE_OUT && isnan(one[at]) && !isnan(two[at]);
        }
    }
    if (unwritten + different == 0) return 1;
    const int two_places = compare_two_places(judged);
    const char *stale = judged->session->check->options.lesson->stale;
    if (unwritten > 0 && different == 0) {
        find(found, RECORD_NEVER_WRITTEN, RECORD_NEVER, buffer, first);
        tell_block(&block, buffer, found);
    } else if (unwritten == 0 && (left_out[0] == different || left_out[1] == different)) {
        find(found, RECORD_NEVER_WRITTEN,
             !two_places                ? RECORD_NOT_IN_ONE_RUN
             : left_out[1] == different ? RECORD_NOT_WHERE_ANY_PLACE
                                        : RECORD_NOT_WHERE_ALIGNED,
             buffer, first);
        found->value.got = left_out[1] == different ? two[first] : one[first];
    } else if (left_out_once == different) {
        find(found, RECORD_NEVER_WRITTEN, RECORD_NOT_IN_ONE_RUN, buffer, first);
    } else if (poisoned == different && !is_given_nan(judged)) {
        find(found, RECORD_DEPENDS_ON_OUTPUT, RECORD_ANY_VARIANT, buffer, first);
        if (stale != NULL) snprintf(found->note, sizeof found->note, "%s", stale);
    } else {
        const int watched = judged->session->check->options.device == DEVICE_SIMT;
        find(found, RECORD_RUNS_DIFFER,
             watched      ? (two_places ? RECORD_TWO_PLACES_WATCHED : RECORD_TWO_RUNS_WATCHED)
             : two_places ? RECORD_TWO_PLACES
                          : RECORD_TWO_RUNS,
             buffer, first);
    }
    set_numbers(found, different > 0 ? different : unwritten, elems);
    return 0;
}

/* The first element of output `b` that differs from the item before; SIZE_MAX if none does. Rows have the
 * same number of elements in both items, but their distance may differ. */
static size_t first_other_bits(const struct judged *judged, const struct judged *before, int b)
{
    const struct lesson_buffer *now = &judged->item->buffer[b], *then = &before->item->buffer[b];
    size_t pitch = now->extent[now->rank - 1], pitch_then = then->extent[then->rank - 1];
    size_t elems = lesson_elems(now);
    for (size_t at = 0; at < elems; at++) {
        if (lesson_between_rows(now, at)) continue;
        size_t at_then = at / pitch * pitch_then + at % pitch;
        if (bits_after(judged, b, 0, at) == bits_after(before, b, 0, at_then)) continue;
        if (!isnan(judged->got[0][b][at]) || !isnan(before->got[0][b][at_then])) return at;
    }
    return SIZE_MAX;
}

int compare_same_bits(const struct judged *judged, const struct judged *before, struct record *found)
{
    const struct lesson *lesson = judged->session->check->options.lesson;
    for (int b = 0; b < judged->item->buffer_count; b++) {
        const struct lesson_buffer *now = &judged->item->buffer[b], *then = &before->item->buffer[b];
        if (!has_output(judged, b)) continue;
        size_t at = first_other_bits(judged, before, b);
        if (at == SIZE_MAX) continue;
        size_t pitch = now->extent[now->rank - 1], pitch_then = then->extent[then->rank - 1];
        find(found, RECORD_WRONG_BITS, RECORD_ANY_VARIANT, now, at);
        found->value.got = (double)judged->got[0][b][at];
        found->value.expected = (double)before->got[0][b][at / pitch * pitch_then + at % pitch];
        lesson->describe(&before->item->settled, found->note, sizeof found->note);
        return 0;
    }
    return 1;
}

/* Whether atomics have left the same in memory whatever the order of threads, as outputs whose bits must not depend on it need. */
static int atomics_agree(const struct judged *judged, struct record *found)
{
    const struct wire_case *asked = session_case(judged->session, judged->index);
    const uint64_t *left = asked->result.left_by_atomics;
    if (left[0] == left[1] || judged->item->settled.order_free != 0 || judged->item->one_call ||
        asked->flags & (WIRE_TWO_PLACES | CASE_TWO_STREAMS))
        return 1;
    for (int b = 0; b < judged->item->buffer_count; b++) {
        if (!has_output(judged, b)) continue;
        find(found, RECORD_RUNS_DIFFER, RECORD_ATOMICS_DIFFER, &judged->item->buffer[b], 0);
        return 0;
    }
    return 1;
}

int compare_runs(const struct judged *judged, struct record *found)
{
    for (int b = 0; b < judged->item->buffer_count; b++) {
        if (!has_output(judged, b)) continue;
        int right = judged->item->settled.untouched >> b & 1
                        ? left_alone(judged, b, RECORD_OUTPUT_KEPT, found)
                        : rows_kept(judged, b, found) && runs_of(judged, b, found);
        if (!right) return 0;
    }
    return atomics_agree(judged, found);
}

/* 1 if every element at `timed` is as close to that of the first run as two right results are to each
 * other. */
static int timed_is_near(const struct judged *judged, int b, const void *timed)
{
    const struct lesson_buffer *buffer = &judged->item->buffer[b];
    const struct buffer_comparison *found = &judged->buffer[b];
    double allowed = 2.0 * (2.0 * found->largest_plain_error + found->largest_floor);
    for (size_t at = 0; at < lesson_elems(buffer); at++) {
        double now = (double)storage_get(buffer->storage, timed, at), then = (double)judged->got[0][b][at];
        if (!(fabs(now - then) <= allowed) && !(isnan(now) && isnan(then)) && now != then) return 0;
    }
    return 1;
}

int compare_timed(const struct judged *judged, struct record *found)
{
    for (int b = 0; b < judged->item->buffer_count; b++) {
        const struct lesson_buffer *buffer = &judged->item->buffer[b];
        if (!has_output(judged, b)) continue;
        const void *timed = session_copy(judged->session, judged->index, b, WIRE_TIMED);
        if (memcmp(timed, judged->raw[0][b], lesson_bytes(buffer)) == 0) continue;
        if (is_order_free(judged, b) && timed_is_near(judged, b, timed)) continue;
        find(found, RECORD_TIMED_CALL, RECORD_TIMED_OTHER_RESULT, buffer, 0);
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

double compare_allowed_mean(const struct buffer_comparison *buffer)
{
    double count = fmax(1.0, (double)buffer->compared);
    return 2.0 * sqrt(buffer->plain_squares / count) + sqrt(buffer->floor_squares / count);
}

static void keep_wrong(struct buffer_comparison *buffer, const struct wrong *wrong)
{
    if (buffer->first == NULL) buffer->first = malloc(WRONG_KEPT * sizeof *buffer->first);
    if (buffer->first != NULL && buffer->wrong < WRONG_KEPT) buffer->first[buffer->wrong] = *wrong;
    if (buffer->first != NULL) buffer->wrong++;
}

/* As fmax() if @p most is never NaN, but without a function call. */
static double larger(double most, double value)
{
    return value > most ? value : most;
}

/* Element `at` of output `b`, as run `run` left it; a float cannot hold every integer. */
static double element_got(const struct judged *judged, int b, int run, size_t at)
{
    enum storage storage = judged->item->buffer[b].storage;
    return storage == STORAGE_I32 ? storage_exact(storage, judged->raw[run][b], at)
                                  : (double)judged->got[run][b][at];
}

/* Where only a share of the blocks runs, others may be the ones that write an element. Where all do, after blocks that did not, it is what
 * they write that does not count. */
static int may_keep_value(const struct judged *judged, int b, int run, size_t at)
{
    if (judged->item->settled.parts.total == 0 || judged->session->check->options.device != DEVICE_SIMT)
        return 0;
    const struct wire_result *result = &session_case(judged->session, judged->index)->result;
    const int kept = bits_after(judged, b, run, at) == bits_before(judged, b, run, at);
    return result->ended >> b & 1 ? result->not_told && !kept : kept;
}

static void compare_run(const struct judged *judged, const struct lesson_span *span, int run,
                        struct buffer_comparison *buffer)
{
    enum storage storage = judged->item->buffer[span->buffer].storage;
    for (size_t i = 0; i < span->count; i++) {
        const size_t at = lesson_span_at(span, i);
        double got = element_got(judged, span->buffer, run, at);
        struct wrong element = {at, got, span->expected[i], span->bound[i]};
        if (may_keep_value(judged, span->buffer, run, element.at)) continue;
        buffer->compared++;
        if (isfinite(element.expected) && !isfinite(element.bound)) buffer->unbounded++;
        buffer->special += !isfinite(element.expected);
        if (!compare_element(got, element.expected, element.bound)) keep_wrong(buffer, &element);
        if (!isfinite(element.expected) || !isfinite(got)) continue;
        double error = fabs(got - element.expected), plain = fabs(span->plain[i] - element.expected);
        buffer->share = larger(
            buffer->share, bound_share(storage, element.expected, error, element.bound, span->rounding[i]));
        buffer->largest_error = larger(buffer->largest_error, error);
        if (isfinite(plain)) buffer->largest_plain_error = larger(buffer->largest_plain_error, plain);
        buffer->largest_floor = larger(buffer->largest_floor, span->floor[i]);
        buffer->plain_squares += isfinite(plain) ? plain * plain : 0.0;
        buffer->floor_squares += span->floor[i] * span->floor[i];
    }
}

/* Both runs have the same bits, or both are compared with the oracle. */
static void compare_span(const struct judged *judged, const struct lesson_span *span,
                         struct buffer_comparison *buffer)
{
    if (judged->item->settled.null_buffer == span->buffer) return;
    for (int run = 0; run < (is_order_free(judged, span->buffer) ? 2 : 1); run++)
        compare_run(judged, span, run, buffer);
}

/* Adds the results of a later piece to those of the pieces before it. */
static void add_comparison(struct buffer_comparison *sum, struct buffer_comparison *piece)
{
    size_t kept = piece->wrong < WRONG_KEPT ? piece->wrong : WRONG_KEPT;
    if (sum->first == NULL) {
        sum->first = piece->first;
        piece->first = NULL;
    } else if (piece->first != NULL) {
        for (size_t i = 0; i < kept && sum->wrong + i < WRONG_KEPT; i++)
            sum->first[sum->wrong + i] = piece->first[i];
    }
    sum->compared += piece->compared;
    sum->wrong += piece->wrong;
    sum->unbounded += piece->unbounded;
    sum->special += piece->special;
    sum->share = fmax(sum->share, piece->share);
    sum->largest_error = fmax(sum->largest_error, piece->largest_error);
    sum->largest_plain_error = fmax(sum->largest_plain_error, piece->largest_plain_error);
    sum->largest_floor = fmax(sum->largest_floor, piece->largest_floor);
    sum->plain_squares += piece->plain_squares;
    sum->floor_squares += piece->floor_squares;
    free(piece->first);
}

/* Units to compare: edges of tiles and one unit of every stratum. The secret seed chooses them, so that a
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

/** Shared by the threads that call the oracle: which units, and the result of each piece of them. */
struct asking {
    const struct judged *judged;
    const size_t *chosen; /* NULL: all, in order */
    size_t units_a_piece;
    struct buffer_comparison *found; /* [pieces, WIRE_BUFFERS] */
    struct remembered *remembered;
    void *shared; /* what the lesson has prepared */
    atomic_int failed;
};

/* The oracle's answer for this piece, kept from an earlier check. */
static void recall_piece(const struct asking *asking, size_t piece)
{
    struct lesson_span span;
    for (size_t at = 0; remembered_next(asking->remembered, piece, &at, &span);)
        compare_span(asking->judged, &span, &asking->found[piece * WIRE_BUFFERS + (size_t)span.buffer]);
}

/* Pieces hold the same units on any number of threads, and are added up in order. */
static void ask_piece(void *context, size_t first, size_t last)
{
    struct asking *asking = context;
    const struct judged *judged = asking->judged;
    const struct lesson *lesson = judged->session->check->options.lesson;
    const struct lesson_case *settled = &judged->item->settled;
    size_t piece = first / asking->units_a_piece;
    struct buffer_comparison *found = asking->found + piece * WIRE_BUFFERS;
    struct lesson_expectation expectation = {.shared = asking->shared, .chosen = 1};
    struct remembered_piece kept = {0};
    if (asking->remembered->map != NULL) {
        recall_piece(asking, piece);
        return;
    }
    double *memory = compare_expectation(&expectation, lesson->unit_elems(settled));
    if (memory == NULL) asking->failed = 1;
    for (size_t turn = first; turn < last && memory != NULL; turn++) {
        lesson->expect(settled, judged->inputs, asking->chosen != NULL ? asking->chosen[turn] : turn,
                       &expectation);
        for (int s = 0; s < expectation.span_count; s++) {
            compare_span(judged, &expectation.span[s], &found[expectation.span[s].buffer]);
            remembered_keep(asking->remembered, &kept, &expectation.span[s]);
        }
    }
    remembered_put(asking->remembered, piece, &kept);
    free(expectation.kept);
    free(memory);
}

/* Output elements that belong to the compared units. */
static double compared_elems(const struct judged *judged, size_t turns)
{
    double elems = 0.0;
    for (int b = 0; b < judged->item->buffer_count; b++)
        if (is_output(judged->item->buffer[b].role)) elems += (double)lesson_elems(&judged->item->buffer[b]);
    return judged->units > 0 ? elems * (double)turns / (double)judged->units : 0.0;
}

static size_t *choose_units(const struct judged *judged)
{
    struct rng rng = {rng_mix(judged->item->settled.seed, 1000)};
    size_t *chosen = malloc(judged->sampled * sizeof *chosen);
    for (size_t turn = 0; chosen != NULL && turn < judged->sampled; turn++)
        chosen[turn] = sampled_unit(judged->units, turn, judged->sampled - SAMPLED_EDGES, &rng);
    return chosen;
}

void *compare_prepare(const struct judged *judged)
{
    const struct lesson *lesson = judged->session->check->options.lesson;
    return lesson->prepare != NULL ? lesson->prepare(&judged->item->settled, judged->inputs) : NULL;
}

/* 0, or -1 if memory is short. */
static int compare_units(struct judged *judged, double ops_a_unit)
{
    size_t turns = judged->sampled > 0 ? judged->sampled : judged->units;
    size_t together = ops_a_unit < PIECE_OPS ? (size_t)(PIECE_OPS / fmax(ops_a_unit, 1.0)) : 1;
    size_t pieces = turns / together + 1;
    size_t *chosen = judged->sampled > 0 ? choose_units(judged) : NULL;
    struct remembered remembered;
    remembered_open(&remembered, judged->session->check, judged->item, pieces, compared_elems(judged, turns),
                    ops_a_unit * (double)turns);
    struct asking asking = {.judged = judged,
                            .chosen = chosen,
                            .units_a_piece = together,
                            .found = calloc(pieces * WIRE_BUFFERS, sizeof *asking.found),
                            .remembered = &remembered};
    if (asking.found == NULL || (judged->sampled > 0 && chosen == NULL)) asking.failed = 1;
    if (!asking.failed && remembered.map == NULL) asking.shared = compare_prepare(judged);
    if (!asking.failed) parallel_for(turns, together, ask_piece, &asking);
    remembered_close(&remembered, !asking.failed);
    for (size_t i = 0; i < pieces * WIRE_BUFFERS && asking.found != NULL; i++)
        add_comparison(&judged->buffer[i % WIRE_BUFFERS], &asking.found[i]);
    free(asking.shared);
    free(asking.found);
    free(chosen);
    return asking.failed ? -1 : 0;
}

double *compare_expectation(struct lesson_expectation *expectation, size_t elems)
{
    double *memory = calloc((5 * LESSON_SPANS + 1) * (elems + 1), sizeof *memory), *next = memory;
    for (int s = 0; s < LESSON_SPANS && memory != NULL; s++) {
        struct lesson_span *span = &expectation->span[s];
        span->expected = next;
        span->bound = next + elems;
        span->plain = next + 2 * elems;
        span->floor = next + 3 * elems;
        span->rounding = next + 4 * elems;
        next += 5 * elems;
    }
    expectation->scratch = next;
    return memory;
}

/* Where an identity looks at every unit, the compared ones need only show how large errors are. */
static size_t sampled_strata(const struct lesson *lesson, double ops_a_unit, double share)
{
    const size_t least = lesson->identity != NULL ? STRATA_BESIDE_IDENTITY : SAMPLED_STRATA_LEAST;
    double affordable = share * SAMPLED_OPS / ops_a_unit;
    if (affordable >= SAMPLED_STRATA) return SAMPLED_STRATA;
    return affordable > (double)least ? (size_t)affordable : least;
}

int compare_identity(const struct judged *judged, char *reason, size_t size)
{
    const struct lesson *lesson = judged->session->check->options.lesson;
    double allowed[WIRE_BUFFERS];
    if (judged->sampled == 0 || lesson->identity == NULL) return 1;
    for (int b = 0; b < WIRE_BUFFERS; b++) allowed[b] = compare_allowed_mean(&judged->buffer[b]);
    return lesson->identity(&judged->item->settled, judged->inputs, judged->got[0], allowed,
                            rng_mix(judged->item->settled.seed, 2000), reason, size);
}

int compare_values(struct judged *judged, struct record *broken)
{
    const struct lesson *lesson = judged->session->check->options.lesson;
    const struct lesson_case *settled = &judged->item->settled;
    struct lesson_cost cost;
    *broken = (struct record){0};
    lesson->cost(settled, &cost);
    judged->units = lesson->units(settled);
    const double share = settled->group == GROUP_PROPERTIES && settled->repeat > 1 ? SHARE_OF_MANY : 1.0;
    if (cost.oracle_ops > share * ORACLE_OPS && judged->units > SAMPLED_STRATA + SAMPLED_EDGES)
        judged->sampled =
            sampled_strata(lesson, cost.oracle_ops / (double)judged->units, share) + SAMPLED_EDGES;
    if (compare_units(judged, judged->units > 0 ? cost.oracle_ops / (double)judged->units : 0.0) != 0) {
        find(broken, RECORD_BROKEN_CHECK, RECORD_NO_MEMORY, &judged->item->buffer[0], 0);
        return 0;
    }
    int right = 1;
    for (int b = 0; b < judged->item->buffer_count; b++) {
        struct buffer_comparison *buffer = &judged->buffer[b];
        double norm = compare_norm_share(buffer);
        if (buffer->unbounded > 0) {
            find(broken, RECORD_BROKEN_CHECK, RECORD_NO_BOUND, &judged->item->buffer[b], 0);
            set_numbers(broken, buffer->unbounded, 0);
        }
        judged->share = fmax(judged->share, fmax(buffer->share, norm));
        right = right && buffer->wrong == 0 && !(norm > 1.0);
    }
    return right;
}
