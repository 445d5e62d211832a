/**
 * @file words_values.c
 * @brief Verdicts in English: what is wrong with a result, and what that usually comes of.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "causes.h"
#include "contracts/kernel_status.h"
#include "words.h"

/** A sentence that grows. */
struct sentence {
    char *text;
    size_t size, used;
};

static void say(struct sentence *sentence, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct sentence *sentence, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int length = vsnprintf(sentence->text + sentence->used, sentence->size - sentence->used, format, values);
    va_end(values);
    if (length > 0) sentence->used += (size_t)length;
    if (sentence->used >= sentence->size) sentence->used = sentence->size - 1;
}

/* ---- places and numbers ---------------------------------------------------------------------------------- */

/* "out[0,1,64,0]", or "ml[0,3].m" where the last index counts fields. */
static void add_element(struct sentence *s, const struct record *r)
{
    const struct record_memory *memory = &r->memory;
    const char *field = r->name[RECORD_NAME_FIELD];
    say(s, "%s[", memory->buffer);
    for (int axis = 0; axis < memory->rank; axis++) {
        const int last = axis == memory->rank - 1;
        if (last && *field != '\0')
            say(s, "%s", field);
        else
            say(s, "%" PRId64 "%s", memory->index[axis],
                last                                         ? "]"
                : axis == memory->rank - 2 && *field != '\0' ? "]."
                                                             : ",");
    }
}

void record_print_element(const struct record *record, char *text, size_t size)
{
    struct sentence sentence = {text, size, 0};
    text[0] = '\0';
    add_element(&sentence, record);
}

static void add_value(struct sentence *s, const struct record *r, double value)
{
    if (isnan(value))
        say(s, "NaN");
    else if (r->value.storage == RECORD_WHOLE)
        say(s, "%.0f", value); /* all digits of a whole number */
    else if (r->value.storage == RECORD_NUMBERS_OF_4_BITS)
        say(s, "%d and %d", (int)value & 15, (int)value >> 4 & 15);
    else
        say(s, "%.6g", value);
}

static const char *first_status(const struct record *r)
{
    return kernel_status_name((enum kernel_status)r->number[RECORD_N_FIRST]);
}

static const char *second_status(const struct record *r)
{
    return kernel_status_name((enum kernel_status)r->number[RECORD_N_SECOND]);
}

/* ---- what is wrong --------------------------------------------------------------------------------------- */

static void add_end_of_runner(struct sentence *s, const struct record *r)
{
    const int64_t number = r->number[RECORD_N_FIRST];
    switch ((enum record_variant)r->message) {
    case RECORD_RAN_TOO_LONG:
        say(s, "the time limit passed: an endless loop, a deadlock, or far too slow");
        break;
    case RECORD_CHECK_TOO_LONG:
        say(s, "not tried: all cases together took longer than %.0f s (--total-limit)", r->real[0]);
        break;
    case RECORD_OTHERS_TOO_LONG:
        say(s, "not tried: the time limit passed in cases of this part before");
        break;
    case RECORD_OTHERS_TOO_MUCH:
        say(s, "not tried: cases of this part took all memory before");
        break;
    case RECORD_TOO_MUCH_MEMORY:
        say(s, "the runner took more memory of the host than any case needs");
        break;
    case RECORD_BY_SIGNAL:
        say(s, "the runner was killed by signal %d (%s)", (int)number, strsignal((int)number));
        break;
    case RECORD_BY_EXIT:
        say(s, "the runner ended by itself (exit code %d) before it had answered", (int)number);
        break;
    case RECORD_GAVE_UP:
        say(s, "the runner gave up before it came to this case");
        break;
    default:
        say(s, "the runner said that it was done, but its result is not complete");
    }
}

static void add_wrong_value(struct sentence *s, const struct record *r)
{
    const struct record_value *value = &r->value;
    const int64_t byte = r->memory.index[0];
    add_element(s, r);
    if (value->storage == RECORD_NUMBERS_OF_4_BITS)
        say(s, ", numbers %" PRId64 " and %" PRId64 " of word %" PRId64 ",", byte % 4 * 2, byte % 4 * 2 + 1,
            byte / 4);
    say(s, " = ");
    add_value(s, r, value->got);
    say(s, ", expected ");
    add_value(s, r, value->expected);
    if (isfinite(value->share)) say(s, " (%.3gx the error budget)", value->share);
    say(s, "; %" PRIu64 " of %" PRIu64 " wrong", value->wrong, value->compared);
}

static void add_large_error(struct sentence *s, const struct record *r)
{
    say(s, "largest error of %s is %.3g; a computation in f32%s may lose %.3g, a plain one loses %.3g",
        r->memory.buffer, r->value.got, r->value.storage == RECORD_F32 ? "" : ", stored so",
        r->value.expected, r->real[0]);
}

static void add_workspace(struct sentence *s, const struct record *r)
{
    const uint64_t asked = (uint64_t)r->number[RECORD_N_FIRST],
                   contract = (uint64_t)r->number[RECORD_N_SECOND];
    say(s,
        r->message == RECORD_STATUS_WORKSPACE
            ? "asked for %" PRIu64 " bytes of workspace, but was given the %" PRIu64 " of the contract"
            : "..._workspace_bytes() says %" PRIu64 " bytes, the contract %" PRIu64,
        asked, contract);
    if (contract == SIZE_MAX)
        say(s, " (SIZE_MAX): that is what stands for more than 2^63 - 1");
    else if (contract > UINT32_MAX && asked <= UINT32_MAX && (uint32_t)contract == asked)
        say(s, ", of which these are the lower 32 bits: are extents multiplied in 32 bits?");
}

static void add_own_memory(struct sentence *s, const struct record *r)
{
    const int64_t bytes = r->number[RECORD_N_FIRST], most = r->number[RECORD_N_SECOND];
    if (r->message == RECORD_CONSTANT_MEMORY)
        say(s, "has %" PRId64 " bytes of __constant__ variables, but a GPU has room for %" PRId64, bytes,
            most);
    else
        say(s,
            "has %" PRId64 " bytes of __device__ and static variables, but a kernel file may have %" PRId64
            " beside the memory that it is given",
            bytes, most);
}

/* All elements from the first to the last on each axis; 0 if there is no such block. */
static int add_block(struct sentence *s, const struct record *r)
{
    int64_t wide = 0;
    for (int axis = 0; axis < r->memory.rank; axis++) wide |= r->value.last[axis];
    if (wide == 0) return 0;
    say(s, "all of %s[", r->memory.buffer);
    for (int axis = 0; axis < r->memory.rank; axis++) {
        const int64_t low = r->memory.index[axis], high = r->value.last[axis];
        say(s, "%s%" PRId64, axis > 0 ? "," : "", low);
        if (high > low) say(s, " to %" PRId64, high);
    }
    say(s, "]");
    return 1;
}

/* What may have been left out, of a matrix in tiles, where an unwritten block ends with it. */
static const char *unwritten_tiles(const struct record *r)
{
    enum { ROWS = 1, COLUMNS = 2 };
    if (r->memory.rank != 2 || (r->number[RECORD_N_EXTENT] & COLUMNS) == 0) return "";
    return r->number[RECORD_N_EXTENT] & ROWS
               ? ", at the end of both axes: is the last tile both ways computed, and, where tiles are "
                 "numbered in "
                 "bands of rows, every tile of the last band, which may have fewer?"
               : ", at the end of rows: is every tile of a row computed, and, where tiles are numbered in "
                 "bands "
                 "of rows, also in a band that has fewer?";
}

static void add_never_written(struct sentence *s, const struct record *r)
{
    say(s, "never written%s: %" PRId64 " of %" PRId64 " elements of %s, ",
        r->message == RECORD_NEVER ? "" : " in one of two runs", r->number[RECORD_N_FIRST],
        r->number[RECORD_N_SECOND], r->memory.buffer);
    if (add_block(s, r)) {
        say(s, "%s", unwritten_tiles(r));
    } else {
        say(s, "the first is ");
        add_element(s, r);
    }
    if (isnan(r->value.got))
        say(s, "; it is NaN as before, so not written there, or made of what was there before");
    if (r->message == RECORD_NOT_WHERE_ANY_PLACE)
        say(s, "; its buffers begin at any element: what does the kernel do then?");
    if (r->message == RECORD_NOT_WHERE_ALIGNED)
        say(s, "; its buffers are aligned, and the other run's are not: what does the kernel do then?");
}

static void add_depends_on_output(struct sentence *s, const struct record *r)
{
    say(s, "depends on what %s held before the call: %" PRId64 " of %" PRId64 " elements, the first is ",
        r->memory.buffer, r->number[RECORD_N_FIRST], r->number[RECORD_N_SECOND]);
    add_element(s, r);
    say(s, "; %s",
        r->note[0] != '\0' ? r->note : "is it, or memory that goes into it, read before it is written?");
}

static void add_runs_differ(struct sentence *s, const struct record *r)
{
    if (r->message == RECORD_ATOMICS_DIFFER) {
        say(s,
            "what atomics leave in memory differs with the order of blocks and threads, which is another "
            "each time: are floats added "
            "by atomicAdd, whose sums round otherwise then? %s, rounded, does not show it here, and with "
            "other values will",
            r->memory.buffer);
        return;
    }
    say(s, "differs from run to run: %" PRId64 " of %" PRId64 " elements of %s, the first is ",
        r->number[RECORD_N_FIRST], r->number[RECORD_N_SECOND], r->memory.buffer);
    add_element(s, r);
    if (r->message == RECORD_TWO_PLACES_WATCHED) {
        say(s, "; one run has aligned buffers, the other not, and the software device saw no race: are these "
               "two ways, which add in "
               "another order, or round at other places?");
        return;
    }
    if (r->message == RECORD_TWO_RUNS_WATCHED) {
        say(s,
            "; the software device saw no race, and nothing read that was not set: %s, which is another each "
            "time?",
            r->value.storage == RECORD_WHOLE ? "are places or pieces of work taken in the order of a counter"
                                             : "are floats added by atomicAdd, or in the order of a counter");
        return;
    }
    say(s, "; %sa race, memory or registers that are read before they are set, or %s, another each time",
        r->message == RECORD_TWO_PLACES
            ? "one run has aligned buffers, the other not: two ways that do not give the same, "
            : "",
        r->value.storage == RECORD_WHOLE
            ? "places in the order of atomics"
            : "sums in the order of atomics (floats added by atomicAdd, work taken from a counter)");
}

static void add_wrote_outside(struct sentence *s, const struct record *r)
{
    const int64_t first = r->number[RECORD_N_FIRST], second = r->number[RECORD_N_SECOND];
    if (r->message == RECORD_BETWEEN_ROWS) {
        add_element(s, r);
        say(s,
            " was written: it lies past the end of its row, which has %" PRId64
            " elements; the next row begins %" PRId64 " further on",
            first, second);
    } else if (r->message == RECORD_BEFORE_START) {
        say(s, "guard zone hit: something wrote %" PRId64 " bytes before the start of %s", first,
            r->memory.buffer);
    } else {
        say(s, "guard zone hit: something wrote %" PRId64 " bytes past the end of %s (%" PRId64 " %s)", first,
            r->memory.buffer, second, r->message == RECORD_PAST_WORKSPACE ? "bytes" : "elements");
    }
}

static void add_wrong_bits(struct sentence *s, const struct record *r)
{
    say(s, "not the same bits: ");
    add_element(s, r);
    say(s, " is %.9g, and %.9g for the same problem with %s", r->value.got, r->value.expected, r->note);
}

static void add_broken_check(struct sentence *s, const struct record *r)
{
    if (r->message == RECORD_NO_MEMORY)
        say(s, "no memory to compare the result");
    else if (r->message == RECORD_NOTHING_TO_AGREE)
        say(s, "what this has to agree with is not there; please report this");
    else if (r->message == RECORD_NO_BOUND)
        say(s, "the checker found no error bound for %" PRId64 " elements of %s; please report this",
            r->number[RECORD_N_FIRST], r->memory.buffer);
    else
        say(s, "%s", r->note);
}

static void add_timed_call(struct sentence *s, const struct record *r)
{
    if (r->message == RECORD_NO_OTHER_INPUTS)
        say(s, "the timing loop made no call with other inputs");
    else
        say(s, "what the timing loop left in %s is not the checked result", r->memory.buffer);
}

static void add_wrote(struct sentence *s, const struct record *r)
{
    if (r->kind == RECORD_WROTE_REFUSED)
        say(s, "%s, yet ",
            r->message == RECORD_CALL_REFUSED ? "the call was refused" : "this output had to stay as it was");
    else
        say(s, "input modified: ");
    add_element(s, r);
    say(s, r->kind == RECORD_WROTE_REFUSED ? " was written" : " is not what it was");
    if (r->note[0] != '\0') say(s, ": %s", r->note);
}

static void add_kind(struct sentence *s, const struct record *r)
{
    switch ((enum record_kind)r->kind) {
    case RECORD_TIME_LIMIT:
    case RECORD_MEMORY_LIMIT:
    case RECORD_CRASH:
        add_end_of_runner(s, r);
        break;
    case RECORD_WRONG_VALUE:
        add_wrong_value(s, r);
        break;
    case RECORD_LARGE_ERROR:
        add_large_error(s, r);
        break;
    case RECORD_NEVER_WRITTEN:
        add_never_written(s, r);
        break;
    case RECORD_DEPENDS_ON_OUTPUT:
        add_depends_on_output(s, r);
        break;
    case RECORD_RUNS_DIFFER:
        add_runs_differ(s, r);
        break;
    case RECORD_WRONG_BITS:
        add_wrong_bits(s, r);
        break;
    case RECORD_WROTE_INPUT:
    case RECORD_WROTE_REFUSED:
        add_wrote(s, r);
        break;
    case RECORD_WROTE_OUTSIDE:
        add_wrote_outside(s, r);
        break;
    case RECORD_WRONG_STATUS:
        say(s, "returned %s, expected %s", first_status(r), second_status(r));
        break;
    case RECORD_WRONG_WORKSPACE:
        add_workspace(s, r);
        break;
    case RECORD_OWN_MEMORY:
        add_own_memory(s, r);
        break;
    case RECORD_CUDA_ERROR:
        say(s, "CUDA error %d: %s", (int)r->number[RECORD_N_FIRST], r->note);
        break;
    case RECORD_PRINTS:
        say(s, "right, but it prints: an entry point and its kernels never do");
        break;
    case RECORD_WROTE_ARGS:
        say(s, "right, but it writes into the struct of arguments, which is the caller's: change a copy");
        break;
    case RECORD_TIMED_CALL:
        add_timed_call(s, r);
        break;
    case RECORD_NOT_STARTED:
        say(s, "KERNEL_NOT_STARTED: nothing has been written here yet");
        break;
    case RECORD_BROKEN_CHECK:
        add_broken_check(s, r);
        break;
    default: /* broken-identity, broken-property, no-device: the lesson's words, the driver's */
        say(s, "%s", r->note);
    }
}

void record_verdict_headline(const struct record *record, char *text, size_t size)
{
    struct sentence sentence = {text, size, 0};
    text[0] = '\0';
    if (record->number[RECORD_N_OTHER_INPUTS] != 0) say(&sentence, "a timed call with other inputs: ");
    if (record->origin != RECORD_DEVICE) {
        add_kind(&sentence, record);
        return;
    }
    say(&sentence, "the software device found a mistake%s",
        record->kind == RECORD_SEEN_BEFORE ? "; checked alone, the case shows where" : "");
}

/* ---- what it comes of ------------------------------------------------------------------------------------ */

/* The lesson's own words, where it has some. */
static void add_note_or(struct sentence *s, const struct record *r, const char *usual)
{
    say(s, "%s", r->note[0] != '\0' ? r->note : usual);
}

/* Where the logsumexp is right, what is not finite came after it, or of the maximum: lse is right for any m. */
static void add_lse_right(struct sentence *s, const struct record *r)
{
    if (r->number[RECORD_N_EXTENT] != 0) say(s, "; scores are right, as lse is");
}

static void add_nan(struct sentence *s, const struct record *r)
{
    say(s, "NaN in %s of the wrong elements: ", r->number[RECORD_N_FROM] != 0 ? "all" : "some");
    add_note_or(s, r, "0/0, infinity - infinity, or a NaN that was not to be read");
    add_lse_right(s, r);
}

/* What to look at where an entry point refuses what it should take. */
static const char *what_refuses(const struct record *r)
{
    switch ((enum kernel_status)r->number[RECORD_N_FIRST]) {
    case KERNEL_INVALID_CONFIG:
        return "does a check ask for a pointer that may be NULL here, or for another option?";
    case KERNEL_INVALID_DIMENSION:
        return "does a check ask more of an extent, or of a leading dimension, than the contract does?";
    case KERNEL_UNSUPPORTED_DTYPE:
        return "does a check leave out a storage type, or look at one that has no meaning here?";
    case KERNEL_UNSUPPORTED_ARCHITECTURE:
        return "does the check of the device's capability exclude one that the contract names?";
    default:
        return "does a check ask for a larger alignment than the contract does, or look at a pointer that "
               "has no meaning here?";
    }
}

static void add_place(struct sentence *s, const struct record *r)
{
    const char *what = r->name[RECORD_NAME_AXIS];
    const int64_t from = r->number[RECORD_N_FROM], extent = r->number[RECORD_N_EXTENT];
    if (r->cause == RECORD_CAUSE_LAST_TILE)
        say(s,
            "only the %s of the last tile are wrong (from %" PRId64 " of %" PRId64
            " on, as with tiles of %" PRId64 "): is its tail handled?%s",
            what, from, extent, r->number[RECORD_N_TILE],
            r->number[RECORD_N_TILE] <= 64 ? " Or does a later warp or warpgroup have these?" : "");
    else if (r->cause == RECORD_CAUSE_FIRST_PART)
        say(s, "only %s up to %" PRId64 " of %" PRId64 " are wrong", what, from, extent);
    else if (extent == 0)
        say(s, "only %s from %" PRId64 " on are wrong", what, from);
    else
        say(s, "only %s from %" PRId64 " of %" PRId64 " on are wrong%s", what, from, extent,
            r->number[RECORD_N_TILE] != 0
                ? ": where do the next blocks of columns, of 128 bytes per row, lie? "
                  "(offsets, strides of a descriptor)"
                : "");
}

static void add_columns_exchanged(struct sentence *s, const struct record *r)
{
    if (r->number[RECORD_N_FROM] == 8)
        say(s, "columns 8 apart are exchanged: of a fragment of 16 columns, a lane has elements of columns c "
               "and c + 8");
    else if (r->number[RECORD_N_FROM] == 2)
        say(s, "columns 2 apart are exchanged: of four elements that are loaded at once, the second half is "
               "taken for the first");
    else
        say(s, "neighbouring columns are exchanged: which is the lower half of a register?");
}

static void add_neighbours(struct sentence *s, const struct record *r)
{
    const int64_t part = r->number[RECORD_N_NEIGHBOURS], period = part >> 16, count = (part & 0xffff) >> 1;
    const int last = (part & 1) != 0;
    const char *what = r->name[RECORD_NAME_AXIS];
    if (period <= 0) return;
    say(s, "%severy wrong element is in ", s->used > 0 ? "; " : "");
    if (period == 2)
        say(s, "an %s %s: the %s ones are right", last ? "odd" : "even", what, last ? "even" : "odd");
    else if (last)
        say(s, "the %ss from %" PRId64 " on of every %" PRId64 ": those before are right", what, count,
            period);
    else
        say(s, "the first %" PRId64 " %ss of every %" PRId64 ": the others are right", count, what, period);
}

/* Patterns of wrong elements. */
/* Rows, or pieces of rows, that stand in each other's place. */
static void add_exchanged(struct sentence *s, const struct record *r)
{
    const int64_t from = r->number[RECORD_N_FROM];
    if (r->cause == RECORD_CAUSE_SWIZZLED)
        say(s,
            "pieces of 16 bytes are exchanged within rows of %" PRId64 " bytes, as a swizzle does: what is "
            "written to shared memory, and what is read from there (or the tensor map), must have the same "
            "one",
            from);
    else
        say(s, from == 8
                   ? "rows 8 apart are exchanged: of a fragment of 16 rows, a lane has elements of rows g "
                     "and g + 8"
                   : "neighbouring rows are exchanged");
}

/* What the wrong elements hold, or lack: NaN, infinity or zero. */
static void add_special_values(struct sentence *s, const struct record *r)
{
    const int64_t from = r->number[RECORD_N_FROM];
    switch ((enum record_cause)r->cause) {
    case RECORD_CAUSE_NAN_LOST:
        say(s, "%s",
            from == 0 && r->note[0] != '\0' ? r->note
            : from == RECORD_ZERO_OF_KEYS
                ? "a NaN was lost, and 0 is in its place: is a row, or a part of it, taken for one without "
                  "keys because of a value, such as lse or a maximum of -infinity, or a weight for 0 because "
                  "a comparison is false for NaN? Only the mask says what is not seen"
            : from == RECORD_ZERO_OF_PRODUCT
                ? "a NaN was lost, and 0 is in its place: is a product left out because a factor is 0? "
                  "0 times NaN is NaN, and so is 0 times infinity"
            : from == RECORD_ZERO_OF_ANY
                ? "a NaN was lost, and 0 is in its place: is an element, or a row, taken for one that does "
                  "not count, because of its place or of a value, such as a maximum of -infinity?"
                : "a NaN was lost, one of the input, of 0 * infinity or of infinity - infinity: fmaxf, fminf "
                  "and comparisons drop one");
        break;
    case RECORD_CAUSE_FAR:
        say(s, "what is far from the first element is wrong, what is near is right: an offset of 32 bits "
               "overflows, even if it "
               "counts vectors");
        break;
    case RECORD_CAUSE_NAN:
        add_nan(s, r);
        break;
    case RECORD_CAUSE_INFINITY:
        say(s, "infinity in all wrong elements: ");
        add_note_or(s, r, "overflow, a division by zero, or a mask too many");
        add_lse_right(s, r);
        break;
    case RECORD_CAUSE_ALL_ZERO:
        say(s, "all zero%s",
            from != 0 ? "; lse is right, so scores and sums are: O = P V is missing, or is not stored" : "");
        break;
    case RECORD_CAUSE_WRONG_ARE_ZERO:
        say(s, "the wrong elements are all zero");
        break;
    case RECORD_CAUSE_FINITE:
        if (r->note[0] != '\0') {
            say(s, "%s", r->note);
            break;
        }
        say(s, "elements that must be %s are finite numbers%s", from != 0 ? "-infinity" : "infinite",
            from != 0 ? "" : ": is something clamped?");
        break;
    default:
        break;
    }
}

/* What each wrong number, or each wrong row, is off by. */
static void add_constant(struct sentence *s, const struct record *r)
{
    const int64_t from = r->number[RECORD_N_FROM];
    if (r->cause == RECORD_CAUSE_CONSTANT_FACTOR) {
        say(s, "constant factor: every wrong element is %.4g times what it should be", r->real[1]);
        if (from != 0)
            say(s,
                ", as if the row were divided by %.2g%% of the sum of its weights: do all parts of the keys "
                "count in it?",
                100.0 / r->real[1]);
    } else if (r->cause == RECORD_CAUSE_FACTOR_OF_ROW) {
        say(s,
            "every wrong row is what it should be times a factor of its own, %.4g to %.4g: it was divided by "
            "a wrong sum, or scaled "
            "wrongly",
            r->real[1], r->real[0]);
    } else {
        if (from == 0)
            say(s,
                "every wrong number is off by a multiple of 65536: has a count, a sum or an index 16 bits?");
        else
            say(s, "every wrong number is %" PRId64 " %s than it should be", from > 0 ? from : -from,
                from > 0 ? "more" : "less");
    }
}

static void add_pattern(struct sentence *s, const struct record *r)
{
    const int64_t from = r->number[RECORD_N_FROM];
    switch ((enum record_cause)r->cause) {
    case RECORD_CAUSE_ROUNDING:
        say(s,
            "rounding: %.3g times what this computation may lose; is something kept in lower precision, or "
            "rounded many more times than it needs?",
            r->real[1]);
        break;
    case RECORD_CAUSE_AS_BEFORE:
        if (!add_block(s, r)) say(s, "%s", r->memory.buffer);
        say(s, " is as it was before the call: is it written in every case?%s", unwritten_tiles(r));
        break;
    case RECORD_CAUSE_KEPT:
        say(s, "alone this case passes: something is kept from an earlier call, in a static or __device__ "
               "variable, in an "
               "attribute that is set once, or in device memory");
        break;
    case RECORD_CAUSE_CONSTANT_FACTOR:
    case RECORD_CAUSE_FACTOR_OF_ROW:
    case RECORD_CAUSE_CONSTANT_DIFFERENCE:
        add_constant(s, r);
        break;
    case RECORD_CAUSE_OTHER_SIXTEEN_BITS:
        say(s, "%s holds the bits of %s: its elements were stored as the other type of 16 bits",
            r->memory.buffer, from != 0 ? "bf16, and is f16" : "f16, and is bf16");
        break;
    case RECORD_CAUSE_COPY_OF_INPUT:
        say(s, "%s holds a copy of %s", r->memory.buffer, r->name[RECORD_NAME_OTHER]);
        break;
    case RECORD_CAUSE_TRANSPOSED:
        say(s, "transposed: axes %" PRId64 " and %" PRId64 " of %s are stored the other way round",
            r->number[RECORD_N_AXIS], r->number[RECORD_N_AXIS] + 1, r->memory.buffer);
        break;
    case RECORD_CAUSE_SWIZZLED:
    case RECORD_CAUSE_ROWS_EXCHANGED:
        add_exchanged(s, r);
        break;
    case RECORD_CAUSE_COLUMNS_EXCHANGED:
        add_columns_exchanged(s, r);
        break;
    case RECORD_CAUSE_FAR:
    case RECORD_CAUSE_NAN_LOST:
    case RECORD_CAUSE_NAN:
    case RECORD_CAUSE_INFINITY:
    case RECORD_CAUSE_ALL_ZERO:
    case RECORD_CAUSE_WRONG_ARE_ZERO:
    case RECORD_CAUSE_FINITE:
        add_special_values(s, r);
        break;
    case RECORD_CAUSE_LAST_TILE:
    case RECORD_CAUSE_LATER_PART:
    case RECORD_CAUSE_FIRST_PART:
        add_place(s, r);
        break;
    case RECORD_CAUSE_LSE_RIGHT:
        say(s,
            "lse is right, so scores are, and m and l fit each other: is m the maximum of all visible "
            "scores, "
            "and of no others (weights of 16 bits vanish or overflow)? Else look at what the weights are "
            "multiplied with, and at how %s is rescaled, divided and stored",
            r->memory.buffer);
        break;
    default: /* what is known of the neighbours says it all; or there is a guess, which has its own sentence */
        if (r->guess > 0 || r->cause == RECORD_CAUSE_TERMS || r->cause == RECORD_CAUSE_STORAGE_TYPE)
            say(s, "%s", r->note);
    }
}

static void add_cause(struct sentence *s, const struct record *r)
{
    switch ((enum record_cause)r->cause) {
    case RECORD_CAUSE_DIVISION_BY_ZERO:
        say(s, "an integer was divided by zero");
        break;
    case RECORD_CAUSE_HOST_POINTER:
        if (r->name[RECORD_NAME_OTHER][0] != '\0')
            say(s, "%s is NULL in this call, and was used before it was checked", r->name[RECORD_NAME_OTHER]);
        else
            say(s,
                "a function of the host used a pointer that is null, or is not the host's: device memory is "
                "for kernels and cudaMemcpy");
        break;
    case RECORD_CAUSE_SMALL_WORKSPACE:
        say(s,
            "the workspace is too small: ..._workspace_bytes() says %" PRId64 " bytes, the contract %" PRId64
            "%s",
            r->number[RECORD_N_FROM], r->number[RECORD_N_EXTENT],
            r->number[RECORD_N_FROM] == 0 ? ", so that the kernel is given none, and NULL as its pointer"
                                          : "");
        break;
    case RECORD_CAUSE_VECTOR_TAIL:
        say(s, "a vector begins inside of a buffer and reaches past its end: leave the tail to single "
               "elements");
        break;
    case RECORD_CAUSE_C_READ:
        say(s, "C is read although beta is 0 (-0 is 0, too)");
        break;
    case RECORD_CAUSE_NCCL_COUNT:
        say(s,
            "NCCL's counts are in elements of the type, not in bytes; is the buffer as large as that, or is "
            "there one transfer too many?");
        break;
    case RECORD_CAUSE_LAUNCH_REFUSED:
        add_note_or(
            s, r,
            "the runtime refused a call: a launch of no block, of too many (gridDim.y and gridDim.z end "
            "at 65,535; did a product or sum overflow?), of more than 1024 threads, or of more than 48 KB of "
            "shared memory that were "
            "not asked for; a tensor map of an address or row length that is no multiple of 16 "
            "bytes; or, while "
            "capturing, a wait or an allocation");
        break;
    case RECORD_CAUSE_VALID_REFUSED:
        say(s, "valid arguments are refused: ");
        add_note_or(s, r, what_refuses(r));
        if (r->note[0] == '\0' && r->number[RECORD_N_FIRST] == KERNEL_INVALID_CONFIG &&
            r->name[RECORD_NAME_OTHER][0] != '\0')
            say(s, " %s has no meaning here: is it looked at?", r->name[RECORD_NAME_OTHER]);
        break;
    case RECORD_CAUSE_OTHER_REFUSAL:
        say(s, "of several faults the first decides, in the order of @return in the lesson's header: what is "
               "looked at first?");
        break;
    case RECORD_CAUSE_NOT_REFUSED:
        say(s, "nothing refused it: the workspace is smaller than what runs here needs: is it looked at "
               "before a "
               "kernel is launched, or is another one taken that needs less?");
        break;
    case RECORD_CAUSE_WORKSPACE_UNLIKE:
        if (r->number[RECORD_N_EXTENT] == 0) {
            say(s, "no workspace is needed here: its pointer and its size are not looked at");
            break;
        }
        say(s, "the call wants more workspace than the function that tells its size: do both compute it from "
               "the same "
               "arguments, and from none that the size must not depend on?");
        break;
    default:
        add_pattern(s, r);
    }
}

void record_print_cause(const struct record *record, char *text, size_t size)
{
    struct sentence sentence = {text, size, 0};
    text[0] = '\0';
    if (record->cause != RECORD_NO_CAUSE_KNOWN) add_cause(&sentence, record);
    add_neighbours(&sentence, record);
}
