/**
 * @file grade_table.c
 * @brief Tables that an instructor writes or exports from elsewhere: CSV files whose first line names the columns.
 *
 * Spreadsheets write a mark before the first byte, line ends of two characters and quotes around cells with
 * commas, quotes or line ends; all of that is read. A row with fewer or more cells than the first line is
 * reported with its line number.
 */
#include "grade_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "base/text.h"
#include "judging/results.h"

/* The length of the record at @p at: up to a line end outside of quotes. */
static size_t record_length(const char *at)
{
    int quoted = 0;
    size_t length = 0;
    for (; at[length] && (quoted || at[length] != '\n'); length++) quoted ^= at[length] == '"';
    return length;
}

static size_t lines_in(const char *at, size_t length)
{
    size_t lines = 1;
    for (size_t i = 0; i < length; i++) lines += at[i] == '\n';
    return lines;
}

/* A cell without the blanks around it. */
static char *trimmed(char *cell)
{
    size_t begin = strspn(cell, " \t\r"), end = strlen(cell);
    while (end > begin && strchr(" \t\r", cell[end - 1]) != NULL) end--;
    char *copy = format_string("%.*s", (int)(end - begin), cell + begin);
    free(cell);
    return copy;
}

static struct grade_row_of_table *next_row(struct grade_table *table)
{
    if ((table->count & (table->count - 1)) == 0) {
        struct grade_row_of_table *more = must_allocate((2 * table->count + 1) * sizeof *more);
        if (table->count) memcpy(more, table->row, table->count * sizeof *more);
        free(table->row);
        table->row = more;
    }
    struct grade_row_of_table *row = &table->row[table->count++];
    *row = (struct grade_row_of_table){.student = GRADE_NOBODY};
    return row;
}

/* Splits one record into cells; returns how many there were, including those that do not fit. */
static size_t read_cells(const char *record, char *cell[GRADE_COLUMNS])
{
    size_t count = 0;
    for (const char *rest = record; rest != NULL; count++) {
        char *next = trimmed(csv_field(&rest));
        if (count < GRADE_COLUMNS) cell[count] = next;
        if (count >= GRADE_COLUMNS) free(next);
    }
    return count;
}

static int read_row(const char *name, const char *record, size_t line, struct grade_table *table)
{
    if (record[strspn(record, " \t\r")] == '\0') return EXIT_PASS;
    if (table->columns == 0) {
        table->columns = read_cells(record, table->column);
        if (table->columns <= GRADE_COLUMNS) return EXIT_PASS;
        return complain("%s has %zu columns; %d are the most.", name, table->columns, GRADE_COLUMNS);
    }
    struct grade_row_of_table *row = next_row(table);
    row->line = line;
    size_t count = read_cells(record, row->cell);
    if (count == table->columns) return EXIT_PASS;
    return complain("%s:%zu has %zu cells, its first line %zu. A cell with a comma stands in double quotes.",
                    name, line, count, table->columns);
}

int grade_table_read(const char *name, const char *text, struct grade_table *table)
{
    int code = EXIT_PASS;
    size_t line = 1;
    *table = (struct grade_table){0};
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) text += 3;
    while (*text && code == EXIT_PASS) {
        size_t length = record_length(text);
        char *record = format_string("%.*s", (int)length, text);
        code = read_row(name, record, line, table);
        free(record);
        line += lines_in(text, length);
        text += length + (text[length] == '\n');
    }
    return code;
}

int grade_table_has(const struct grade_table *table, const char *column)
{
    for (size_t i = 0; i < table->columns; i++)
        if (strcmp(table->column[i], column) == 0) return 1;
    return 0;
}

const char *grade_table_cell(const struct grade_table *table, size_t row, const char *column)
{
    for (size_t i = 0; i < table->columns; i++)
        if (strcmp(table->column[i], column) == 0) return table->row[row].cell[i];
    return "";
}

int grade_table_needs(const char *name, const struct grade_table *table, const char *const *columns)
{
    for (; *columns != NULL; columns++) {
        if (grade_table_has(table, *columns)) continue;
        struct text there = {0};
        for (size_t i = 0; i < table->columns; i++)
            text_print(&there, "%s\"%s\"", i ? ", " : "", table->column[i]);
        complain("%s has no column \"%s\"; its first line names %s.", name, *columns,
                 there.length ? there.data : "none");
        text_free(&there);
        return EXIT_TROUBLE;
    }
    return EXIT_PASS;
}

void grade_table_free(struct grade_table *table)
{
    for (size_t i = 0; i < table->columns && i < GRADE_COLUMNS; i++) free(table->column[i]);
    for (size_t i = 0; i < table->count; i++)
        for (size_t j = 0; j < GRADE_COLUMNS; j++) free(table->row[i].cell[j]);
    free(table->row);
    *table = (struct grade_table){0};
}
