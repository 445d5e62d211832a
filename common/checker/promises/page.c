/**
 * @file page.c
 * @brief The table of promises as a page: which cases show what, lesson by lesson.
 */
#include <stdlib.h>
#include <string.h>

#include "making.h"
#include "promises.h"

enum { CASES = 2048 }; /* as many as any lesson has, and more */

/* One lesson's cell of the large table: of its parts' cells, how many cases there are, or why none. */
static void write_cell(FILE *page, const struct lesson *lesson, const struct lesson_case *cases, int count,
                       int row)
{
    int shown = 0, every = 0, empty = 0;
    for (int part = 0; part < lesson->part_count; part++) {
        const struct cell cell = promises_cell(lesson, cases, count, row, part);
        shown += cell.state == CELL_MADE || cell.state == CELL_SHOWN ? cell.cases : 0;
        every += cell.state == CELL_EVERY;
        empty += cell.state == CELL_EMPTY;
    }
    if (empty > 0)
        fputs(" **none** |", page);
    else if (every > 0)
        fputs(" all |", page);
    else if (shown > 0)
        fprintf(page, " %d |", shown);
    else
        fputs(" - |", page);
}

static void write_reason(FILE *page, const struct lesson *lesson, int part, const char *promise,
                         const char *reason, int first)
{
    if (first) fprintf(page, "\n## Lesson %02d\n\n", lesson->number);
    fprintf(page, "- `%s`, `%s`: %s\n", lesson->part[part].name, promise, reason);
}

/* Of one extent of a row. */
static int write_extents(FILE *page, const struct lesson *lesson, int written)
{
    for (int part = 0; part < lesson->part_count; part++)
        for (const struct described *line = NULL;
             (line = described_next(lesson, part, DESCRIBED_NOT_HELD, line)) != NULL;)
            if (strchr(line->name, ' ') != NULL)
                write_reason(page, lesson, part, line->name, line->words, written++ == 0);
    return written;
}

static void write_reasons(FILE *page, const struct lesson *lesson, const struct lesson_case *cases, int count)
{
    int written = write_extents(page, lesson, 0);
    for (int row = 0; promise_table[row].name != NULL; row++) {
        const char *last = NULL;
        for (int part = 0; part < lesson->part_count; part++) {
            const struct cell cell = promises_cell(lesson, cases, count, row, part);
            if (cell.state != CELL_NOT_HELD || (last != NULL && strcmp(last, cell.words) == 0)) continue;
            write_reason(page, lesson, part, promise_table[row].name, cell.words, written++ == 0);
            last = cell.words;
        }
    }
}

int promises_page(FILE *page)
{
    struct lesson_case *cases = calloc(CASES, sizeof *cases);
    if (cases == NULL) return -1;
    fputs(
        "# Promises\n\n"
        "Every sentence of a contract is a promise, and each is checked for every lesson that makes it: by "
        "cases that one piece\n"
        "of code makes for all lessons from their descriptions, by the lesson's own cases, or in every case "
        "(all). A number is how\n"
        "many cases show it; - says that the lesson does not make it, for the reason below.\n\n| promise | |",
        page);
    for (const struct lesson *const *at = lesson_table; *at != NULL; at++)
        fprintf(page, " %02d |", (*at)->number);
    fputs("\n|---|---|", page);
    for (const struct lesson *const *at = lesson_table; *at != NULL; at++) fputs("--:|", page);
    fputc('\n', page);
    for (int row = 0; promise_table[row].name != NULL; row++) {
        fprintf(page, "| `%s` | %s |", promise_table[row].name, promise_table[row].words);
        for (const struct lesson *const *at = lesson_table; *at != NULL; at++)
            write_cell(page, *at, cases, promises_cases(*at, cases, CASES), row);
        fputc('\n', page);
    }
    for (const struct lesson *const *at = lesson_table; *at != NULL; at++)
        write_reasons(page, *at, cases, promises_cases(*at, cases, CASES));
    free(cases);
    return 0;
}
