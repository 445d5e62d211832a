/**
 * @file record.c
 * @brief Names of kinds, and what of an untrusted record can be shown.
 */
#include "record.h"

#include <string.h>

#define RECORD_KIND_NAME(number, name) [number] = name,
static const char *const names[RECORD_KIND_COUNT] = {[RECORD_NO_KIND] = "", RECORD_KINDS(RECORD_KIND_NAME)};
#undef RECORD_KIND_NAME

const char *record_kind_name(int kind)
{
    return kind >= 0 && kind < RECORD_KIND_COUNT ? names[kind] : "";
}

enum record_kind record_kind_of(const char *name)
{
    for (int kind = RECORD_NO_KIND + 1; kind < RECORD_KIND_COUNT; kind++)
        if (strcmp(names[kind], name) == 0) return (enum record_kind)kind;
    return RECORD_NO_KIND;
}

/* ---- soundness ------------------------------------------------------------------------------------------- */

static int is_below(int value, int end)
{
    return value >= 0 && value < end;
}

static int is_plain(char c)
{
    return c >= ' ' && c <= '~';
}

void record_copy_text(char *to, size_t size, const char *text)
{
    size_t used = 0;
    for (; used + 1 < size && text[used] != '\0'; used++) to[used] = is_plain(text[used]) ? text[used] : '?';
    to[used] = '\0';
}

/* Ends within its @p size bytes, and holds nothing that a terminal would obey. */
static int is_text(const char *text, size_t size)
{
    const char *end = memchr(text, '\0', size);
    if (end == NULL) return 0;
    for (const char *c = text; c < end; c++)
        if (!is_plain(*c)) return 0;
    return 1;
}

static int is_line(const struct record_line *line)
{
    return is_text(line->file, sizeof line->file) && line->line >= 0;
}

static int is_actor(const struct record_actor *actor)
{
    int sound = is_below(actor->operation, RECORD_OPERATIONS) && is_text(actor->kernel, sizeof actor->kernel);
    for (int i = 0; i < RECORD_FRAMES; i++) sound = sound && is_line(&actor->at[i]);
    return sound;
}

static int is_memory(const struct record_memory *memory)
{
    return is_below(memory->space, RECORD_SPACES) && is_below(memory->state, RECORD_STATES) &&
           is_text(memory->buffer, sizeof memory->buffer) && is_below(memory->rank, RECORD_AXES + 1) &&
           is_below(memory->subscripts, 2) && is_below(memory->crossing, 2) && memory->device >= 0 &&
           is_line(&memory->made);
}

static int is_wait(const struct record_wait *wait)
{
    return is_below(wait->waiting, RECORD_WAITINGS) && is_below(wait->elsewhere, 2) &&
           is_below(wait->is_byte, 2) && is_text(wait->name, sizeof wait->name) && is_line(&wait->at);
}

int record_is_sound(const struct record *r)
{
    int sound = r->version == RECORD_VERSION && is_below(r->origin, RECORD_ORIGINS) &&
                r->kind > RECORD_NO_KIND && r->kind < RECORD_KIND_COUNT &&
                is_below(r->message, RECORD_MESSAGES) && is_below(r->advice, RECORD_ADVICES) &&
                is_below(r->certainty, RECORD_CERTAINTIES) && r->cause >= 0 && r->guess >= 0 &&
                is_text(r->kernel, sizeof r->kernel) && is_text(r->note, sizeof r->note) &&
                is_memory(&r->memory) && r->value.storage >= 0;
    for (int i = 0; i < 2; i++) sound = sound && is_actor(&r->actor[i]);
    for (int i = 0; i < RECORD_WAITS; i++) sound = sound && is_wait(&r->wait[i]);
    for (int i = 0; i < RECORD_NAMES; i++) sound = sound && is_text(r->name[i], sizeof r->name[i]);
    return sound;
}

/* ---- what tells the same ----------------------------------------------------------------------------------- */

int record_same_line(const struct record_line *a, const struct record_line *b)
{
    return a->line == b->line && a->address == b->address && strcmp(a->file, b->file) == 0;
}

int record_same_place(const struct record_actor *a, const struct record_actor *b)
{
    int same = (a->operation == RECORD_NO_OPERATION) == (b->operation == RECORD_NO_OPERATION);
    for (int i = 0; i < RECORD_FRAMES; i++) same = same && record_same_line(&a->at[i], &b->at[i]);
    return same;
}

int record_reads_the_same(const struct record *a, const struct record *b)
{
    if (a->kind != b->kind || a->message != b->message || a->memory.space != b->memory.space) return 0;
    if (strcmp(a->kernel, b->kernel) != 0) return 0;
    if (record_same_place(&a->actor[0], &b->actor[0]) && record_same_place(&a->actor[1], &b->actor[1]))
        return 1;
    return a->actor[1].operation != RECORD_NO_OPERATION && record_same_place(&a->actor[0], &b->actor[1]) &&
           record_same_place(&a->actor[1], &b->actor[0]);
}
