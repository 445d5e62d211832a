/**
 * @file causes.c
 * @brief Names of causes, and when two failures come of the same.
 */
#include "causes.h"

#include <string.h>

#define CAUSE_NAME(number, name) name,
static const char *const NAMES[RECORD_CAUSE_COUNT] = {"", RECORD_CAUSES(CAUSE_NAME)};
#undef CAUSE_NAME

const char *record_cause_name(int cause)
{
    return cause > 0 && cause < RECORD_CAUSE_COUNT ? NAMES[cause] : "";
}

enum record_cause record_cause_of(const char *name)
{
    for (int cause = 1; cause < RECORD_CAUSE_COUNT; cause++) {
        const char *a = NAMES[cause], *b = name;
        while (*a != '\0' && (*a == *b || (*a == '-' && *b == ' '))) a++, b++;
        if (*a == '\0' && *b == '\0') return (enum record_cause)cause;
    }
    return RECORD_NO_CAUSE_KNOWN;
}

static int same_line(const struct record *a, const struct record *b)
{
    const struct record_line *one = &a->actor[0].at[0], *other = &b->actor[0].at[0];
    return one->line == other->line && strcmp(one->file, other->file) == 0;
}

/* Kinds that say what was done wrong where nothing is known of values. */
static int tells_by_kind(const struct record *r)
{
    return r->cause == RECORD_NO_CAUSE_KNOWN &&
           (r->kind == RECORD_NEVER_WRITTEN || r->kind == RECORD_DEPENDS_ON_OUTPUT ||
            r->kind == RECORD_RUNS_DIFFER || r->kind == RECORD_WRONG_WORKSPACE);
}

int record_names_cause(const struct record *r)
{
    return (r->origin == RECORD_DEVICE && r->actor[0].at[0].line > 0) || tells_by_kind(r);
}

/* Whether the record is of an element that was not written, whatever shows that. */
static int is_unwritten(const struct record *r)
{
    return r->kind == RECORD_NEVER_WRITTEN || r->cause == RECORD_CAUSE_AS_BEFORE;
}

static int same_place(const struct record *a, const struct record *b)
{
    return a->memory.rank == b->memory.rank && strcmp(a->memory.buffer, b->memory.buffer) == 0 &&
           memcmp(a->memory.index, b->memory.index, (size_t)a->memory.rank * sizeof a->memory.index[0]) == 0;
}

int record_same_cause(const struct record *a, const struct record *b)
{
    if (a->kind == b->kind && a->origin == b->origin && a->origin != RECORD_DEVICE &&
        (a->kind == RECORD_WRONG_WORKSPACE || a->kind == RECORD_OWN_MEMORY ||
         (a->kind == RECORD_WROTE_REFUSED && a->message == RECORD_OUTPUT_UNASKED)))
        return a->message == b->message;
    if (a->kind == RECORD_CUDA_ERROR && b->kind == RECORD_CUDA_ERROR)
        return a->number[RECORD_N_FIRST] == b->number[RECORD_N_FIRST];
    if (is_unwritten(a) && is_unwritten(b) && same_place(a, b)) return 1;
    if (record_names_cause(a) != record_names_cause(b)) return 0;
    if (record_names_cause(a))
        return a->origin == b->origin && a->kind == b->kind &&
               (a->origin == RECORD_DEVICE ? same_line(a, b)
                                           : (a->message == RECORD_NEVER) == (b->message == RECORD_NEVER));
    return a->cause != RECORD_NO_CAUSE_KNOWN && a->cause == b->cause && a->guess == b->guess &&
           a->number[RECORD_N_NEIGHBOURS] == b->number[RECORD_N_NEIGHBOURS] &&
           strcmp(a->name[RECORD_NAME_AXIS], b->name[RECORD_NAME_AXIS]) == 0;
}
