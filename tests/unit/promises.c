/**
 * @file promises.c
 * @brief Counts the cells of the table of promises that nothing fills: a promise that a part of a lesson makes and no case
 *        shows. There must be none. What descriptions say of promises must be about rows and cases that there are.
 */
#include <stdio.h>
#include <string.h>

#include "checker/promises/promises.h"
#include "checker/verdict/check.h"

static int failures;

static void fail(const struct lesson *lesson, const char *where, const char *what, const char *why)
{
    printf("FAIL %02d: %s: %s: %s\n", lesson->number, where, what, why);
    failures++;
}

/* A name of a row, of a kind of rows, or of one extent of a row. */
static int is_row(const char *name)
{
    const size_t length = strcspn(name, " ");
    for (const struct promise *row = promise_table; row->name != NULL; row++) {
        const size_t kind = strcspn(row->name, "."), whole = strlen(row->name);
        if ((length == whole || length == kind) && strncmp(row->name, name, length) == 0) return 1;
    }
    return 0;
}

static void hold_lines(const struct lesson *lesson)
{
    for (const struct described *line = lesson->described; line->kind != DESCRIBED_END; line++) {
        const int of_promise =
            line->kind == DESCRIBED_SHOWN || line->kind == DESCRIBED_NOT_HELD || line->kind == DESCRIBED_LIKE;
        if (of_promise && !is_row(line->name))
            fail(lesson, "lesson.def", line->name, "there is no such promise");
        if (line->kind == DESCRIBED_NOT_HELD && line->words[0] == '\0')
            fail(lesson, "lesson.def", line->name, "no reason");
    }
}

int main(int argc, char **argv)
{
    static struct lesson_case cases[CHECK_CASES];
    const int verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
    int cells = 0, made = 0, shown = 0, not_held = 0;
    for (const struct lesson *const *at = lesson_table; *at != NULL; at++) {
        const int count = promises_cases(*at, cases, CHECK_CASES);
        hold_lines(*at);
        for (int row = 0; promise_table[row].name != NULL; row++)
            for (int part = 0; part < (*at)->part_count; part++, cells++) {
                const struct cell cell = promises_cell(*at, cases, count, row, part);
                made += cell.state == CELL_MADE;
                shown += cell.state == CELL_SHOWN;
                not_held += cell.state == CELL_NOT_HELD;
                if (cell.state == CELL_EMPTY)
                    fail(*at, (*at)->part[part].name, promise_table[row].name,
                         "an empty cell: no case shows it, and lesson.def has neither SHOWN nor NOT_HELD");
            }
        for (int i = 0; verbose && i < count; i++)
            if (cases[i].shows != 0) printf("%s%s\n", cases[i].name, cases[i].repeat > 1 ? " *" : "");
    }
    printf("%d cells: %d filled by cases that the table makes, %d by a lesson's own, %d with a reason, %d "
           "empty or wrong\n",
           cells, made, shown, not_held, failures);
    return failures > 0;
}
