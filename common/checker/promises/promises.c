/**
 * @file promises.c
 * @brief Goes through the table of promises: makes the cases of a lesson, and tells what fills a cell.
 */
#include "promises.h"

#include <stdlib.h>
#include <string.h>

#include "checker/cases/case_table.h"
#include "making.h"

static const char SOUND[] = "sound_arguments"; /* the case that a part's refusals are made of is called so */

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

/* The line of this kind that is about the row, or about all rows of its kind: "workspace" stands for "workspace.larger". */
static const struct described *line_about(const struct lesson *lesson, int part, enum described_kind kind,
                                          const char *row)
{
    const size_t whole = strcspn(row, ".");
    const struct described *line = NULL, *found = NULL;
    while ((line = described_next(lesson, part, kind, line)) != NULL)
        if (strcmp(line->name, row) == 0 ||
            (strlen(line->name) == whole && strncmp(line->name, row, whole) == 0))
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

struct lesson_case *making_refuse(struct making *m, const char *name, enum kernel_status expected)
{
    char own[LESSON_NAME];
    const struct lesson_case *like = m->sound != NULL ? m->sound : m->simplest;
    snprintf(own, sizeof own, "%s%s", name, m->sound != NULL ? strchr(like->name, '/') + sizeof SOUND : "");
    struct lesson_case *item = making_add(m, like, own);
    if (item == NULL) return NULL;
    item->group = GROUP_BAD_INPUT;
    item->expected = expected;
    item->untouched = 0;
    item->flags &= ~(unsigned)(CASE_UNIT_SCALE | CASE_ONE_CALL);
    return item;
}

const struct lesson_case *making_like(const struct making *m)
{
    const struct described *line = line_about(m->lesson, m->part, DESCRIBED_LIKE, promise_table[m->row].name);
    if (line == NULL) return m->simplest;
    for (int i = 0; i < m->count; i++) {
        const char *slash = strchr(m->cases[i].name, '/');
        if (m->cases[i].part == m->part && strcmp(slash + 1, line->words) == 0) return &m->cases[i];
    }
    fprintf(stderr, "checker: lesson %02d has no case %s, of which others are to be made\n",
            m->lesson->number, line->words);
    exit(2);
}

static int is_simple(const struct lesson_case *item)
{
    const unsigned odd = CASE_TWO_STREAMS | CASE_SMALL_DEVICE | CASE_LAUNCH_ONLY;
    return item->expected == KERNEL_OK && item->repeat == 1 && item->weight > 0 && item->devices == ON_ANY &&
           item->group == GROUP_BASIC && !(item->flags & odd) && item->misaligned_buffer < 0;
}

static const struct lesson_case *simplest_of(const struct making *m)
{
    for (int i = 0; i < m->count; i++)
        if (m->cases[i].part == m->part && is_simple(&m->cases[i])) return &m->cases[i];
    return NULL;
}

static int is_sound(const struct lesson_case *item, int part)
{
    return item->part == part && item->shows == 0 &&
           strncmp(strchr(item->name, '/') + 1, SOUND, sizeof SOUND - 1) == 0;
}

static int told_otherwise(const struct making *m)
{
    const char *row = promise_table[m->row].name;
    return line_about(m->lesson, m->part, DESCRIBED_SHOWN, row) != NULL ||
           line_about(m->lesson, m->part, DESCRIBED_NOT_HELD, row) != NULL;
}

static void make_rows(struct making *m)
{
    for (m->row = 0; promise_table[m->row].name != NULL; m->row++)
        if (promise_table[m->row].make != NULL && !told_otherwise(m)) promise_table[m->row].make(m);
}

int promises_cases(const struct lesson *lesson, struct lesson_case *cases, int capacity)
{
    struct making m = {.lesson = lesson, .cases = cases, .capacity = capacity};
    m.count = lesson->cases(cases, capacity);
    const int own = m.count < capacity ? m.count : capacity;
    m.count = own;
    for (m.part = 0; m.part < lesson->part_count; m.part++) {
        int sounds = 0;
        m.simplest = simplest_of(&m);
        if (m.simplest == NULL) continue;
        for (int i = 0; i < own; i++) {
            if (!is_sound(&cases[i], m.part)) continue;
            cases[i].group = GROUP_EDGES; /* refusals are made of it, and it must not be refused */
            m.sound = &cases[i];
            make_rows(&m);
            sounds++;
        }
        m.sound = NULL;
        if (sounds == 0) make_rows(&m);
    }
    return m.count;
}

void promises_vary(const struct lesson *lesson, const struct lesson_case *cases, int count,
                   struct lesson_case *item, int index, struct rng *rng)
{
    struct lesson_buffer buffer[WIRE_BUFFERS] = {{0}};
    switch (item->property) {
    case MADE_PLACES:
        case_table_place(item, index, buffer, lesson->buffers(item, buffer));
        break;
    case MADE_FAULTS:
        vary_faults(lesson, cases, count, item, index, rng);
        break;
    case MADE_RATIOS:
        vary_ratio(lesson, item, index);
        break;
    case MADE_STATE:
        vary_state(lesson, cases, count, item, index, rng);
        break;
    default:
        lesson->vary(item, index, rng);
        break;
    }
}

/* ---- cells ------------------------------------------------------------------------------------------------ */

int promises_row(const char *name)
{
    int row = 0;
    while (strcmp(promise_table[row].name, name) != 0) row++;
    return row;
}

/* How many of the part's cases are called as @p patterns say. */
static int called(const struct lesson_case *cases, int count, int part, const char *patterns)
{
    int found = 0;
    for (int i = 0; i < count; i++)
        found += cases[i].part == part && making_matches(patterns, strchr(cases[i].name, '/') + 1);
    return found;
}

struct cell promises_cell(const struct lesson *lesson, const struct lesson_case *cases, int count, int row,
                          int part)
{
    const struct promise *promise = &promise_table[row];
    const struct described *not_held = line_about(lesson, part, DESCRIBED_NOT_HELD, promise->name),
                           *shown = line_about(lesson, part, DESCRIBED_SHOWN, promise->name);
    if (not_held != NULL) return (struct cell){CELL_NOT_HELD, 0, not_held->words};
    struct cell cell = {.state = CELL_SHOWN, .cases = 0};
    if (shown != NULL || promise->shown != NULL)
        cell.cases = called(cases, count, part, shown != NULL ? shown->words : promise->shown);
    if (cell.cases > 0) return cell;
    cell = (struct cell){.state = CELL_EMPTY};
    if (shown != NULL) return cell;
    if (promise->every != NULL) return (struct cell){CELL_EVERY, count, promise->every};
    for (int i = 0; i < count; i++) cell.cases += cases[i].part == part && (cases[i].shows >> row & 1);
    if (cell.cases > 0) cell.state = CELL_MADE;
    if (cell.cases == 0 && promise->applies != NULL && !promise->applies(lesson, cases, count, part))
        return (struct cell){CELL_NOT_HELD, 0, promise->none};
    return cell;
}
