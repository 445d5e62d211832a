/*
 * Writes the pages of the site that are tables of kept CSV files, so that no page of numbers has to be kept.
 *
 *     write_pages TREE OUT
 *
 * TREE is the top folder. OUT/measured.md has every lesson's numbers of docs/results/nvidia_h200.csv and simt.csv, a section each.
 * For each docs/results/tables/NAME.csv there is OUT/NAME.md, with a section for each value of the first column, wherever its rows
 * stand; a column that is empty in a whole section is left out of it.
 */
#include <ctype.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/source_sum.h"
#include "records.h"
#include "tree.h"
#include "writing.h"

static double value_of(const struct records *records, const struct record *like, const char *metric)
{
    const struct record *record = find_record(records, like->lesson, like->kernel, like->case_name, metric);
    return record == NULL ? NAN : record->value;
}

/* A cell: the number, or nothing. */
static void add_cell(struct text *out, double value, double factor, const char *after)
{
    double scaled = value * factor;
    if (isnan(value))
        text_add(out, " |");
    else
        text_print(out,
                   scaled >= 9.995 || scaled == 0 ? " %.0f%s |"
                   : scaled >= 0.0995             ? " %.2f%s |"
                                                  : " %.3g%s |",
                   scaled, after);
}

static void add_time(struct text *out, double us)
{
    if (us >= 1000)
        text_print(out, us >= 9999.5 ? " %.1f ms |" : " %.2f ms |", us / 1000);
    else
        text_print(out, us >= 99.95 ? " %.0f µs |" : " %.1f µs |", us);
}

/* Is this a row of the lesson's tables? @p metric NULL: whatever was measured. */
static int belongs(const struct record *record, const char *lesson, const char *metric)
{
    return strcmp(record->lesson, lesson) == 0 && (metric == NULL || strcmp(record->metric, metric) == 0);
}

static int begins_run(const struct records *gpu, size_t at, const char *lesson, const char *metric)
{
    for (size_t i = 0; i < at; i++)
        if (belongs(&gpu->at[i], lesson, metric) && same_run(&gpu->at[i], &gpu->at[at])) return 0;
    return 1;
}

/* A table for each run; returns how many rows there are. */
static int add_runs(struct text *out, const struct records *gpu, const char *lesson, const char *metric,
                    const char *head,
                    void (*add_row)(struct text *, const struct records *, const struct record *))
{
    int rows = 0;
    for (size_t i = 0; i < gpu->count; i++) {
        const struct record *first = &gpu->at[i];
        if (!belongs(first, lesson, metric) || !begins_run(gpu, i, lesson, metric)) continue;
        text_print(out, "Measured by `%.*s`, %s:\n\n%s", (int)strcspn(first->command, ":"), first->command,
                   first->date, head);
        for (size_t j = i; j < gpu->count; j++) {
            if (!belongs(&gpu->at[j], lesson, metric) || !same_run(&gpu->at[j], first)) continue;
            add_row(out, gpu, &gpu->at[j]);
            rows++;
        }
        text_add(out, "\n");
    }
    return rows;
}

static void add_time_row(struct text *out, const struct records *gpu, const struct record *record)
{
    const char *slash = strchr(record->case_name, '/');
    double rate = value_of(gpu, record, "tflops");
    text_print(out, "| `%s` | %s |", record->kernel, slash == NULL ? record->case_name : slash + 1);
    add_time(out, record->value);
    if (isnan(rate))
        add_cell(out, value_of(gpu, record, "tops"), 1, " TOP/s");
    else
        add_cell(out, rate, 1, "");
    add_cell(out, value_of(gpu, record, "gb_per_s"), 1, "");
    add_cell(out, value_of(gpu, record, "share_of_copy"), 100, "%");
    text_add(out, "\n");
}

static void add_limit_row(struct text *out, const struct records *gpu, const struct record *record)
{
    (void)gpu;
    text_print(out, "| %s | %s | %g %s |\n", record->kernel, record->case_name, record->value,
               strcmp(record->unit, "1") == 0 ? "" : record->unit);
}

static int add_counters(struct text *out, const struct records *simt, const char *number)
{
    int rows = 0;
    for (size_t i = 0; i < simt->count; i++) {
        const struct record *record = &simt->at[i];
        if (strcmp(record->lesson, number) != 0 || strcmp(record->metric, "load_sectors") != 0) continue;
        if (rows++ == 0)
            text_add(out, "Exact counters of the software device:\n\n"
                          "| case | load sectors | store sectors | shared wavefronts, load and store | bank "
                          "conflicts |\n|---|---|---|---|---|\n");
        text_print(out, "| %s | %.0f |", record->case_name, record->value);
        text_print(out, " %.0f |", value_of(simt, record, "store_sectors"));
        text_print(out, " %.0f, %.0f |", value_of(simt, record, "shared_load_wavefronts"),
                   value_of(simt, record, "shared_store_wavefronts"));
        text_print(out, " %.0f |\n", value_of(simt, record, "bank_conflicts"));
    }
    if (rows > 0) text_add(out, "\n");
    return rows;
}

/* Which kernel `bench` measured, and whether it is the one in the tree. */
static void add_source(struct text *out, const struct records *gpu, const char *tree,
                       const struct lesson_folder *lesson)
{
    const struct record *source = find_record(gpu, lesson->number, "solution", "", "source");
    if (source == NULL) return;
    text_print(out, "Of `%.*s`, %s", (int)strcspn(source->command, ":"), source->command, source->date);
    if (source->unit[0] != '\0') text_print(out, ", commit `%s`", source->unit);
    double now = source_sum(tree, lesson->folder);
    text_add(out, now == 0               ? ".\n\n" /* a handout */
                  : now == source->value ? ": measured with this kernel.\n\n"
                                         : ": the kernel has changed since.\n\n");
}

/* A section for the lesson, if anything of it was recorded. */
static void add_lesson(struct text *out, const struct records *gpu, const struct records *simt,
                       const char *tree, const struct lesson_folder *lesson)
{
    struct text tables = {0};
    int rows = add_runs(&tables, gpu, lesson->number, "time",
                        "| part or kernel | case | time | TFLOP/s | GB/s | of the copy rate |\n"
                        "|---|---|---|---|---|---|\n",
                        add_time_row);
    rows += add_counters(&tables, simt, lesson->number);
    if (rows > 0) {
        text_print(out,
                   "## %s\n\nThe lesson: [%s](../../lessons/%s/README.md). Why: "
                   "[notes](../../solutions/%s/NOTES.md).\n\n",
                   lesson->folder, lesson->title, lesson->folder, lesson->folder);
        add_source(out, gpu, tree, lesson);
        text_add(out, tables.data);
    }
    text_free(&tables);
}

/* Every chart of docs/results; each has its title in it. */
static void add_charts(struct text *out, const char *tree)
{
    char pattern[2048];
    glob_t charts;
    snprintf(pattern, sizeof pattern, "%s/docs/results/*.svg", tree);
    if (glob(pattern, 0, NULL, &charts) != 0) fail("%s: nothing there", pattern);
    for (size_t i = 0; i < charts.gl_pathc; i++)
        text_print(out, "![](%s)\n\n", strrchr(charts.gl_pathv[i], '/') + 1);
    globfree(&charts);
}

static int write_measured_page(const struct records *gpu, const struct records *simt, const char *tree,
                               const char *out_folder)
{
    static struct lesson_folder lessons[LESSONS_MAX];
    int count = find_lessons(tree, lessons);
    struct text out = {0};
    char path[2048];
    text_print(&out,
               "# Every measured number\n\nMeasured on an %s. This page is written from [the files of "
               "results](README.md), which say how and when.\n\n",
               gpu->count > 0 ? gpu->at[0].device : "unknown device");
    add_charts(&out, tree);
    for (int i = 0; i < count; i++) add_lesson(&out, gpu, simt, tree, &lessons[i]);
    text_add(&out, "## Limits of the device\n\n");
    add_runs(&out, gpu, "limits", NULL, "| | case | |\n|---|---|---|\n", add_limit_row);
    snprintf(path, sizeof path, "%s/measured.md", out_folder);
    int status = write_if_changed(path, out.data);
    text_free(&out);
    return status;
}

/* ---- a table of its own ------------------------------------------------------------------------------------------- */

enum { COLUMNS_MAX = 16, ROWS_MAX = 20000 };

/* A CSV file, cut up. The first row has the names of the columns. */
struct table {
    char *content;
    char *cells[ROWS_MAX][COLUMNS_MAX];
    int rows, columns;
};

static void read_table(struct table *table, const char *path)
{
    table->content = read_whole(path);
    if (table->content == NULL) fail("%s: cannot be read", path);
    table->rows = 0;
    for (char *line = table->content, *next; *line != '\0'; line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        line[length] = '\0';
        if (table->rows == ROWS_MAX) fail("%s: more than %d rows", path, ROWS_MAX);
        int columns = cut_line(line, table->cells[table->rows], COLUMNS_MAX);
        if (table->rows == 0) table->columns = columns;
        if (columns != table->columns || columns > COLUMNS_MAX)
            fail("%s:%d: %d columns, not %d", path, table->rows + 1, columns, table->columns);
        table->rows++;
    }
}

/* A cell's words, in which the "--" of an option stays: Doxygen would make a dash of it. */
static void add_words(struct text *out, const char *before, const char *cell, const char *after)
{
    int code = 0;
    text_add(out, before);
    for (; *cell != '\0'; cell++) {
        code ^= *cell == '`';
        if (!code && strncmp(cell, " --", 3) == 0)
            text_add(out, " \\");
        else
            text_append(out, cell, 1);
    }
    text_add(out, after);
}

/* The rows from begin to end, which share their first cell. */
static void add_section(struct text *out, const struct table *table, int begin, int end)
{
    int shown[COLUMNS_MAX] = {0};
    for (int row = begin; row < end; row++)
        for (int column = 1; column < table->columns; column++)
            shown[column] |= table->cells[row][column][0] != '\0';
    add_words(out, "## ", table->cells[begin][0], "\n\n");
    for (int row = begin - 2; row < end; row++) {
        text_add(out, "|");
        for (int column = 1; column < table->columns; column++)
            if (shown[column] && row == begin - 1)
                text_add(out, "---|");
            else if (shown[column])
                add_words(out, " ", table->cells[row < begin ? 0 : row][column], " |");
        text_add(out, "\n");
    }
    text_add(out, "\n");
}

/* Moves each row behind the last one before it that has the same first cell. */
static void gather_sections(struct table *table)
{
    for (int row = 2; row < table->rows; row++) {
        char *moved[COLUMNS_MAX];
        int before = row - 1;
        while (before > 0 && strcmp(table->cells[before][0], table->cells[row][0]) != 0) before--;
        if (before == 0 || before == row - 1) continue;
        memcpy(moved, table->cells[row], sizeof moved);
        memmove(table->cells[before + 2], table->cells[before + 1],
                (size_t)(row - before - 1) * sizeof moved);
        memcpy(table->cells[before + 1], moved, sizeof moved);
    }
}

static int column_of(const struct table *table, const char *name)
{
    for (int column = 0; column < table->columns; column++)
        if (strcmp(table->cells[0][column], name) == 0) return column;
    return -1;
}

/* A bar that is missed has its bound, where that comes from, and what was tried. */
static void check_bars(const struct table *table, const char *file)
{
    static const char *const needed[] = {"bound", "why", "tried", "measured by"};
    int verdict = column_of(table, "verdict");
    for (int row = 1; verdict >= 0 && row < table->rows; row++)
        for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
            int column = column_of(table, needed[i]);
            if (strstr(table->cells[row][verdict], "missed") == NULL) continue;
            if (column < 0 || table->cells[row][column][0] == '\0')
                fail("%s:%d: the bar is missed, and \"%s\" is empty", file, row + 1, needed[i]);
        }
}

static int write_table_page(const char *file, const char *out_folder)
{
    static struct table table;
    const char *slash = strrchr(file, '/');
    const char *name = slash == NULL ? file : slash + 1;
    int length = (int)strcspn(name, ".");
    struct text out = {0};
    read_table(&table, file);
    check_bars(&table, file);
    gather_sections(&table);
    text_print(&out, "# %c%.*s\n\nWritten from [docs/results/tables/%s](tables/%s).\n\n",
               toupper((unsigned char)name[0]), length - 1, name + 1, name, name);
    for (char *c = out.data; *c != '\n'; c++)
        if (*c == '_') *c = ' ';
    for (int begin = 1, end; begin < table.rows; begin = end) {
        for (end = begin; end < table.rows && strcmp(table.cells[end][0], table.cells[begin][0]) == 0;) end++;
        add_section(&out, &table, begin, end);
    }
    char path[2048];
    snprintf(path, sizeof path, "%s/%.*s.md", out_folder, length, name);
    int status = write_if_changed(path, out.data);
    text_free(&out);
    free(table.content);
    return status;
}

int main(int count, char **arguments)
{
    if (count != 3) fail("usage: write_pages TREE OUT");
    const char *tree = arguments[1], *out_folder = arguments[2];
    char path[2048];
    snprintf(path, sizeof path, "%s/docs/results/nvidia_h200.csv", tree);
    struct records gpu = read_records(path);
    snprintf(path, sizeof path, "%s/docs/results/simt.csv", tree);
    struct records simt = read_records(path);
    int status = write_measured_page(&gpu, &simt, tree, out_folder);
    glob_t tables;
    snprintf(path, sizeof path, "%s/docs/results/tables/*.csv", tree);
    if (glob(path, 0, NULL, &tables) != 0) fail("%s: nothing there", path);
    for (size_t i = 0; i < tables.gl_pathc; i++) status |= write_table_page(tables.gl_pathv[i], out_folder);
    globfree(&tables);
    free_records(&gpu);
    free_records(&simt);
    return status == 0 ? 0 : 1;
}
