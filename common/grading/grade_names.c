/**
 * @file grade_names.c
 * @brief Whom the tables of an instructor mean: a student is called as the folder is, or as grades.csv has it.
 *
 * A student chooses the folder's name, and may choose one that reads like somebody else's: "a\\x0ab" in four visible
 * characters, beside a folder whose name has a line end there. So a word that may be two students is refused; the
 * column "folder" of grades.csv, which is different for each and cannot be chosen, says who is meant.
 */
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/terminal.h"
#include "base/text.h"
#include "grade_adjust.h"

/** @brief One student's names in reports. */
struct called {
    char *shown, *folder;
};

static int complain_of_several(const struct grade_book *book, const struct called *called, const char *name,
                               const struct grade_row_of_table *row, const char *word)
{
    struct text folders = {0};
    char *shown = escape_visible(word, ESCAPE_ONE_LINE);
    for (size_t i = 0; i < book->student_count; i++) {
        if (strcmp(called[i].shown, word + (*word == '\'')) == 0 || strcmp(called[i].shown, word) == 0)
            text_print(&folders, "%s%s", folders.length ? ", " : "", called[i].folder);
    }
    complain("%s:%zu: \"%s\" may be any of several students whose names read alike. Name one as the column "
             "\"folder\" of grades.csv does: %s.",
             name, row->line, shown, folders.data);
    text_free(&folders);
    free(shown);
    return EXIT_TROUBLE;
}

static int resolve_row(const struct grade_book *book, const struct called *called, const char *name,
                       const char *word, struct grade_row_of_table *row)
{
    int several = 0;
    for (size_t i = 0; i < book->student_count; i++) {
        if (strcmp(called[i].folder, word) == 0) {
            row->student = (int)i;
            return EXIT_PASS;
        }
        /* grades.csv puts an apostrophe before what a spreadsheet would take for a formula */
        int same = strcmp(book->students[i], word) == 0 || strcmp(called[i].shown, word) == 0 ||
                   (*word == '\'' && strcmp(called[i].shown, word + 1) == 0);
        several |= same && row->student != GRADE_NOBODY;
        if (same) row->student = (int)i;
    }
    return several ? complain_of_several(book, called, name, row, word) : EXIT_PASS;
}

int grade_names_resolve(const struct grade_book *book, const char *name, const char *column,
                        struct grade_table *table)
{
    int code = EXIT_PASS;
    struct called *called = must_allocate((book->student_count + 1) * sizeof *called);
    for (size_t i = 0; i < book->student_count && table->count; i++) {
        called[i].shown = escape_visible(book->students[i], ESCAPE_ONE_LINE);
        called[i].folder = escape_folder_name(book->students[i]);
    }
    for (size_t i = 0; i < table->count && code == EXIT_PASS; i++)
        code = resolve_row(book, called, name, grade_table_cell(table, i, column), &table->row[i]);
    for (size_t i = 0; i < book->student_count && table->count; i++) {
        free(called[i].shown);
        free(called[i].folder);
    }
    free(called);
    return code;
}

void grade_names_absent(const struct grade_book *book, const char *word, struct text *out)
{
    const char **names = must_allocate((book->student_count + 1) * sizeof *names);
    for (size_t i = 0; i < book->student_count; i++) names[i] = book->students[i];
    names[book->student_count] = NULL;
    const char *near = nearest_name(word, names);
    char *shown = escape_visible(word, ESCAPE_ONE_LINE),
         *nearby = escape_visible(near != NULL ? near : "", ESCAPE_ONE_LINE);
    text_print(out, "there is no student \"%s\".%s%s%s", shown, near != NULL ? " Did you mean " : "", nearby,
               near != NULL ? "?" : "");
    free(shown);
    free(nearby);
    free(names);
}
