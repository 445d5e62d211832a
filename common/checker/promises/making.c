/**
 * @file making.c
 * @brief What the code of the table's rows has in common: a lesson's description, and cases that are copies of one.
 */
#include "making.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- descriptions ----------------------------------------------------------------------------------------- */

const struct described *described_next(const struct lesson *lesson, int part, enum described_kind kind,
                                       const struct described *line)
{
    int of = -1;
    for (const struct described *at = lesson->described; at->kind != DESCRIBED_END; at++) {
        of += at->kind == DESCRIBED_PART;
        if (at->kind == kind && (line == NULL || at > line) && (of < 0 || of == part)) return at;
    }
    return NULL;
}

const struct described *described_extent(const struct lesson *lesson, int part, const char *name)
{
    const struct described *line = NULL;
    while ((line = described_next(lesson, part, DESCRIBED_EXTENT, line)) != NULL)
        if (strcmp(line->name, name) == 0) return line;
    return NULL;
}

const struct described *described_about(const struct lesson *lesson, int part, enum described_kind kind,
                                        const char *row)
{
    const size_t whole = strcspn(row, ".");
    const struct described *line = NULL, *found = NULL;
    while ((line = described_next(lesson, part, kind, line)) != NULL)
        if (strcmp(line->name, row) == 0 ||
            (strlen(line->name) == whole && memcmp(line->name, row, whole) == 0))
            found = line; /* the part's own line comes after those of all parts */
    return found;
}

static int matches_one(const char *pattern, const char *end, const char *name)
{
    if (pattern == end) return *name == '\0';
    if (*pattern == '*')
        return matches_one(pattern + 1, end, name) || (*name != '\0' && matches_one(pattern, end, name + 1));
    return *name != '\0' && (*pattern == '?' || *pattern == *name) && matches_one(pattern + 1, end, name + 1);
}

int making_matches(const char *patterns, const char *name)
{
    for (const char *at = patterns; *at != '\0';) {
        const char *end = at + strcspn(at, " ");
        if (matches_one(at, end, name)) return 1;
        at = end + strspn(end, " ");
    }
    return 0;
}

int making_workspace(const struct lesson *lesson, const struct lesson_case *item)
{
    struct lesson_buffer buffer[WIRE_BUFFERS] = {{0}};
    const int count = lesson->buffers(item, buffer);
    for (int b = 0; b < count; b++)
        if (buffer[b].role == WIRE_WORKSPACE) return b;
    return -1;
}

size_t making_most_workspace(const struct lesson *lesson, const struct lesson_case *item)
{
    struct lesson_buffer buffer[WIRE_BUFFERS] = {{0}};
    const int workspace = making_workspace(lesson, item);
    lesson->buffers(item, buffer);
    return workspace >= 0 ? lesson_bytes(&buffer[workspace]) : 0;
}

/* ---- making cases ----------------------------------------------------------------------------------------- */

static struct lesson_case *case_called(struct making *m, const char *name)
{
    for (int i = 0; i < m->count; i++)
        if (strcmp(m->cases[i].name, name) == 0) return &m->cases[i];
    return NULL;
}

/* "name" or "part/name", with the part of @p m where there is none. */
static void full_name(const struct making *m, const char *name, char full[LESSON_NAME])
{
    const char *part = m->lesson->part[m->part].name;
    snprintf(full, LESSON_NAME, "%.*s/%s", (int)(LESSON_NAME / 2 - 2), part, name);
}

struct lesson_case *making_add(struct making *m, const struct lesson_case *like, const char *name)
{
    char full[LESSON_NAME];
    full_name(m, name, full);
    struct lesson_case *item = case_called(m, full);
    if (item != NULL) item->shows |= UINT64_C(1) << m->row;
    if (item != NULL || m->count >= m->capacity) return NULL;
    item = &m->cases[m->count++];
    *item = *like;
    memcpy(item->name, full, sizeof full);
    item->group = GROUP_EDGES;
    item->beside = 0;
    item->shows = UINT64_C(1) << m->row;
    item->weight = 1;
    item->flags |= CASE_ONE_CALL; /* that two calls agree, other cases show */
    return item;
}

/* The case that lesson.def names, or @p other. */
static const struct lesson_case *told_or(const struct making *m, const struct lesson_case *other)
{
    const struct described *line = described_about(m->lesson, m->part, DESCRIBED_LIKE, m->row_name);
    if (line == NULL) return other;
    for (int i = 0; i < m->count; i++) {
        const char *slash = strchr(m->cases[i].name, '/');
        if (m->cases[i].part == m->part && strcmp(slash + 1, line->words) == 0) return &m->cases[i];
    }
    fprintf(stderr, "checker: lesson %02d has no case %s, of which others are to be made\n",
            m->lesson->number, line->words);
    exit(2);
}

const struct lesson_case *making_like(const struct making *m)
{
    return told_or(m, m->simplest);
}

const struct lesson_case *making_like_sound(const struct making *m)
{
    return told_or(m, m->sound != NULL ? m->sound : m->simplest);
}

struct lesson_case *making_add_sound(struct making *m, const char *name)
{
    char own[LESSON_NAME];
    const struct lesson_case *like = making_like_sound(m);
    snprintf(own, sizeof own, "%s%s", name,
             like == m->sound ? strchr(like->name, '/') + sizeof MAKING_SOUND : "");
    return making_add(m, like, own);
}

struct lesson_case *making_refuse(struct making *m, const char *name, enum kernel_status expected)
{
    char own[LESSON_NAME];
    const struct lesson_case *like = m->sound != NULL ? m->sound : m->simplest;
    snprintf(own, sizeof own, "%s%s", name,
             m->sound != NULL ? strchr(like->name, '/') + sizeof MAKING_SOUND : "");
    struct lesson_case *item = making_add(m, like, own);
    if (item == NULL) return NULL;
    item->group = GROUP_BAD_INPUT;
    item->expected = expected;
    item->untouched = 0;
    item->flags &= ~(unsigned)(CASE_UNIT_SCALE | CASE_ONE_CALL);
    return item;
}

struct lesson_case making_least(const struct making *m, const struct lesson_case *like, int rows)
{
    static const char *const few[] = {"batch", "heads", "kv_heads", "q_len", "kv_len"};
    struct lesson_case least = *like;
    for (size_t i = 0; i < sizeof few / sizeof few[0]; i++) {
        const struct described *line = described_extent(m->lesson, m->part, few[i]);
        const int most = i < 3 ? 1 : rows;
        if (line != NULL && least.extent[line->at] > most)
            least.value[line->at] = least.extent[line->at] = most;
    }
    if (m->lesson->settle != NULL) m->lesson->settle(&least);
    return least;
}

int making_is_ordinary(const struct lesson_case *item)
{
    return item->expected == KERNEL_OK && item->repeat == 1 && item->devices == ON_ANY &&
           item->parts.total == 0 && !(item->flags & (CASE_LAUNCH_ONLY | CASE_ASK_ONLY));
}

int making_random(const struct lesson *lesson, const struct lesson_case *cases, int count,
                  struct lesson_case *item, int index, struct rng *rng)
{
    const struct lesson_case made = *item;
    for (int i = 0; i < count; i++) {
        if (cases[i].part != item->part || cases[i].repeat < 2 || cases[i].property >= MADE_PLACES ||
            cases[i].expected != KERNEL_OK)
            continue;
        *item = cases[i];
        item->seed = made.seed;
        item->devices = made.devices;
        lesson->vary(item, index, rng);
        item->flags &= ~(unsigned)(CASE_SAME_BITS | CASE_TWO_STREAMS);
        return 1;
    }
    return 0;
}
