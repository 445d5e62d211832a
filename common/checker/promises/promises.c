/**
 * @file promises.c
 * @brief Goes through the table of promises: makes the cases of a lesson, and tells what fills a cell.
 */
#include "promises.h"

#include <stdlib.h>
#include <string.h>

#include "checker/cases/case_table.h"
#include "making.h"

/* ---- making cases ----------------------------------------------------------------------------------------- */

static int is_simple(const struct lesson_case *item)
{
    const unsigned odd = CASE_TWO_STREAMS | CASE_SMALL_DEVICE | CASE_LAUNCH_ONLY;
    return item->expected == KERNEL_OK && item->repeat == 1 && item->weight > 0 && item->devices == ON_ANY &&
           item->group == GROUP_BASIC && !(item->flags & odd) && item->misaligned_buffer < 0;
}

static const struct promise *row_called(const char *name)
{
    const struct promise *row = promise_table;
    while (strcmp(row->name, name) != 0) row++;
    return row;
}

/* The first simple case; one that has extents of 1 is too simple, where there is another. */
static const struct lesson_case *simplest_of(const struct making *m)
{
    const char *const ones = row_called("extent.one")->shown;
    const struct lesson_case *found = NULL;
    int too_simple = 1;
    for (int i = 0; i < m->count && too_simple; i++) {
        if (m->cases[i].part != m->part || !is_simple(&m->cases[i])) continue;
        too_simple = making_matches(ones, strchr(m->cases[i].name, '/') + 1);
        if (found == NULL || !too_simple) found = &m->cases[i];
    }
    return found;
}

static int is_sound(const struct lesson_case *item, int part)
{
    return item->part == part && item->shows == 0 &&
           making_matches(MAKING_SOUND "*", strchr(item->name, '/') + 1);
}

static int told_otherwise(const struct making *m)
{
    const char *row = promise_table[m->row].name;
    return described_about(m->lesson, m->part, DESCRIBED_SHOWN, row) != NULL ||
           described_about(m->lesson, m->part, DESCRIBED_NOT_HELD, row) != NULL;
}

static void make_rows(struct making *m)
{
    for (m->row = 0; promise_table[m->row].name != NULL; m->row++) {
        m->row_name = promise_table[m->row].name;
        if (promise_table[m->row].make != NULL && !told_otherwise(m)) promise_table[m->row].make(m);
    }
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
    const unsigned once = item->property >= MADE_PLACES ? item->flags & CASE_ONE_CALL : 0;
    switch (item->property) {
    case MADE_PLACES:
        case_table_place(item, index, buffer, lesson->buffers(item, buffer));
        break;
    case MADE_FAULTS:
        vary_faults(lesson, cases, count, item, index, rng);
        break;
    case MADE_IDLE:
        vary_idle(lesson, cases, count, item, index);
        break;
    case MADE_RATIOS:
        vary_ratio(lesson, item, index);
        break;
    case MADE_SHARED:
        vary_shared(lesson, item, index);
        break;
    case MADE_SCORES:
        vary_scores(lesson, item, index);
        break;
    case MADE_SPECIAL:
        vary_special(lesson, cases, count, item, index, rng);
        break;
    case MADE_PATHS:
        vary_path(lesson, cases, count, item, index);
        break;
    case MADE_DEVICES:
        vary_device(lesson, cases, count, item, index);
        break;
    case MADE_STATE:
        vary_state(lesson, cases, count, item, index, rng);
        break;
    case MADE_REFUSED:
        vary_refused(cases, count, item, index);
        break;
    default:
        lesson->vary(item, index, rng);
        break;
    }
    item->flags |= once; /* whatever the case that it was made of does */
}

void promises_fill(const struct lesson *lesson, const struct lesson_case *item,
                   const struct lesson_buffer *buffers, int count, int index, float *data)
{
    if (item->scores != 0) scores_fill(lesson, item, buffers, index, data);
    if (item->special != 0) special_fill(item, buffers, count, index, data);
}

/* ---- cells ------------------------------------------------------------------------------------------------ */

/* Whether an extent of the case, of those that lesson.def names, is in this range; where it names none, a name has to do. */
static int has_extent(const struct lesson *lesson, const struct lesson_case *item, int64_t least,
                      int64_t most)
{
    const struct described *line = described_next(lesson, item->part, DESCRIBED_EXTENT, NULL);
    if (line == NULL) return 1;
    for (; line != NULL; line = described_next(lesson, item->part, DESCRIBED_EXTENT, line))
        if (item->value[line->at] >= least && item->value[line->at] <= most) return 1;
    return 0;
}

/* What a case must be to show a row, whatever it is called: only refusals show that something is refused. */
static int can_show(const struct lesson *lesson, const struct promise *promise,
                    const struct lesson_case *item)
{
    enum { MOST_BLOCKS_Y = 65535 };
    const int of_refusals =
        making_matches("pointer.null pointer.misaligned extent.small extent.overflow scalar.odd "
                       "scalar.options workspace.refused refusal.* chip.refused",
                       promise->name);
    if ((item->expected != KERNEL_OK) != of_refusals) return 0;
    if (strcmp(promise->name, "extent.one") == 0) return item->repeat > 1 || has_extent(lesson, item, 1, 1);
    if (strcmp(promise->name, "extent.grid") == 0)
        return has_extent(lesson, item, MOST_BLOCKS_Y + 1, INT64_MAX);
    return 1;
}

/* How many of the part's cases are called as @p patterns say, and can show the row. */
static int called(const struct lesson *lesson, const struct lesson_case *cases, int count,
                  const struct promise *promise, int part, const char *patterns)
{
    int found = 0;
    for (int i = 0; i < count; i++)
        found += cases[i].part == part && making_matches(patterns, strchr(cases[i].name, '/') + 1) &&
                 can_show(lesson, promise, &cases[i]);
    return found;
}

struct cell promises_cell(const struct lesson *lesson, const struct lesson_case *cases, int count, int row,
                          int part)
{
    const struct promise *promise = &promise_table[row];
    const struct described *not_held = described_about(lesson, part, DESCRIBED_NOT_HELD, promise->name),
                           *shown = described_about(lesson, part, DESCRIBED_SHOWN, promise->name);
    if (not_held != NULL) return (struct cell){CELL_NOT_HELD, 0, not_held->words};
    struct cell cell = {.state = CELL_SHOWN, .cases = 0};
    if (shown != NULL || promise->shown != NULL)
        cell.cases =
            called(lesson, cases, count, promise, part, shown != NULL ? shown->words : promise->shown);
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
