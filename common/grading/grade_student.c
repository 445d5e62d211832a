/**
 * @file grade_student.c
 * @brief The report for a student (report.md), and the log in which an instructor looks up answers to
 *        questions (log.txt).
 */
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/text.h"
#include "course/device.h"
#include "grade.h"

enum { CASES_TOLD = 6, LOG_TOLD = 4000 };

/* ---- report.md ----------------------------------------------------------------------------------------- */

static void put_table(const struct grade_book *book, const struct grade_sheet *sheet, struct text *out)
{
    text_print(out, "| lesson | state | points | of |\n|---|---|---:|---:|\n");
    for (size_t i = 0; i < book->lesson_count; i++) {
        const struct grade_score *score = &sheet->scores[i];
        int graded = score->decided;
        text_print(out, "| %s | ", book->lessons[i].name);
        put_markdown(out, state_name(score->state));
        if (graded) text_print(out, " | %.2f", score->points);
        text_print(out, "%s | %.2f |\n", graded ? "" : " | –", score->points_max);
    }
    if (sheet->graded) {
        text_print(out, "| **together** | | **%.2f** | **%.2f** |\n", sheet->points, sheet->points_max);
    }
    text_print(out, "\n");
}

static void put_groups(const struct grade_score *score, struct text *out)
{
    text_print(out, "| what | points | of | cases | |\n|---|---:|---:|---:|---|\n");
    for (size_t i = 0; i < score->group_count; i++) {
        const struct grade_group *group = &score->group[i];
        text_print(out, "| %s | %.2f | %.2f | ", grade_group_title(group->name), group->points,
                   group->points_max);
        if (group->kind == GRADE_CASES)
            text_print(out, "%zu of %zu", group->cases - group->failed, group->cases);
        text_print(out, " | ");
        if (group->withheld > 0) text_print(out, "%.2f points withheld: ", group->withheld);
        if (group->note.length) put_markdown(out, group->note.data);
        text_print(out, " |\n");
    }
    text_print(out, "\n");
}

enum { LINES_TOLD = 5 };

/* What the software device found, its first lines. */
static void put_finding(const struct grade_row *row, struct text *out)
{
    struct text lines = {0};
    const char *rest = row->found;
    int told = 0;
    for (char *line; told < LINES_TOLD && (line = next_word(&rest, '\n')) != NULL; free(line), told++)
        if (*line) text_print(&lines, "%s\n", line);
    if (lines.length) put_markdown_block(out, lines.data);
    text_free(&lines);
}

/* The commands use the public seed: other numbers of the same kind, with which the same mistake nearly
 * always shows. Returns how many there are. */
static size_t put_failures(const struct grade_lesson *lesson, const struct grade_result *result,
                           struct text *out)
{
    size_t failed = 0;
    for (size_t i = 0; i < result->row_count; i++) {
        const struct grade_row *row = &result->rows[i];
        if (row->state == STATE_PASS || row->state == STATE_NOT_STARTED) continue;
        if (failed++ >= CASES_TOLD) continue;
        text_print(out, "- **");
        put_markdown(out, state_name(row->state));
        text_print(out, "** `%s`: ", row->test_case);
        put_markdown(out, row->headline);
        text_print(out, "%s%s\n", row->finding ? ": " : "", record_kind_name(row->finding));
        put_finding(row, out);
        if (*row->pattern) {
            text_print(out, "  - looks like: ");
            put_markdown(out, row->pattern);
            text_print(out, "\n");
        }
        text_print(out, "  - again: `build/bin/warpwise check %s --case %s --device %s`\n", lesson->number,
                   row->test_case, device_name(result->device));
    }
    if (failed > CASES_TOLD) text_print(out, "- and %zu more\n", failed - CASES_TOLD);
    if (failed) text_print(out, "\n");
    return failed;
}

/* How the points that were earned were changed. */
static void put_adjusted(const struct grade_score *score, struct text *out)
{
    if (!score->adjusted.length) return;
    text_print(out, "**%.2f points**", score->points);
    if (score->points != score->earned) text_print(out, ", %.2f earned", score->earned);
    text_print(out, ": ");
    put_markdown(out, score->adjusted.data);
    text_print(out, "\n\n");
}

/* Returns how many commands there are in it. */
static size_t put_lesson(const struct grade_book *book, const struct grade_lesson *lesson,
                         const struct grade_score *score, struct text *out)
{
    const struct grade_result *result = score->result;
    text_print(out, "## %s: ", lesson->name);
    put_markdown(out, lesson->title);
    text_print(out, "\n\n");
    put_adjusted(score, out);
    if (score->state == STATE_NOT_GRADED && score->decided) return 0;
    if (score->state == STATE_NOT_GRADED) {
        text_print(out, "This lesson could not be graded, through no fault of yours. It will be.\n\n");
        return 0;
    }
    put_markdown(out, state_name(score->state));
    text_print(out, " on %s", device_name(result->device));
    if (*result->file) {
        text_print(out, ", file ");
        put_markdown(out, result->file);
    }
    if (*result->sha256) text_print(out, " (sha256 %.12s…)", result->sha256);
    text_print(out, "\n\n");
    if (*result->sentence) {
        put_markdown(out, result->sentence);
        text_print(out, "\n\n");
    }
    if (score->state != STATE_NOT_STARTED && grade_book_same(book, result))
        text_print(out,
                   "Others handed in the same file, byte for byte: it was judged once for all of them.\n\n");
    if (result->row_count == 0 && *result->log) {
        struct text log = {0};
        text_print(&log, "%.*s", LOG_TOLD, result->log);
        put_markdown_block(out, log.data);
        text_print(out, "\n");
        text_free(&log);
    }
    if (score->state == STATE_NOT_STARTED) return 0;
    put_groups(score, out);
    return put_failures(lesson, result, out);
}

void grade_student_report(const struct grade_book *book, const struct grade_sheet *sheet, struct text *out)
{
    size_t commands = 0;
    text_print(out, "# ");
    put_markdown(out, sheet->student);
    text_print(out, "\n\n");
    if (sheet->withheld > 0) {
        text_print(out, "%.2f points are withheld: neither given nor refused, see below.\n\n",
                   sheet->withheld);
    }
    put_table(book, sheet, out);
    if (sheet->adjusted.length) {
        text_print(out, "Among these points, for no lesson alone: ");
        put_markdown(out, sheet->adjusted.data);
        text_print(out, "\n\n");
    }
    for (size_t i = 0; i < book->lesson_count; i++)
        commands += put_lesson(book, &book->lessons[i], &sheet->scores[i], out);
    text_print(out, "Graded with inputs that are not public%s.\n",
               commands == 0 ? "" : "; the commands above use the public ones, which are of the same kind");
    if (!book->whole) {
        text_print(out, "\n");
        put_markdown(out, grade_isolation_note(book));
        text_print(out, "\n");
    }
}

/* ---- log.txt ------------------------------------------------------------------------------------------- */

static void put_visible(struct text *out, const char *label, const char *value)
{
    char *visible = escape_visible(value, ESCAPE_ONE_LINE);
    text_print(out, "%-14s %s\n", label, visible);
    free(visible);
}

static void put_result(const struct grade_book *book, const struct grade_result *result, struct text *out)
{
    size_t same = grade_book_same(book, result);
    text_print(out, "==== %s on %s ====\n", result->lesson, device_name(result->device));
    put_visible(out, "state", state_name(result->state));
    if (*result->sentence) put_visible(out, "because", result->sentence);
    put_visible(out, "file", result->file);
    put_visible(out, "sha256", result->sha256);
    if (same) text_print(out, "%-14s %zu others, byte for byte: judged once\n", "same file", same);
    put_visible(out, "device", result->model);
    put_visible(out, "driver", result->driver);
    put_visible(out, "at", result->at);
    text_print(out, "%-14s %.2f\n", "seconds", result->seconds);
    put_visible(out, "key", result->key);
    for (size_t i = 0; i < result->measure_count; i++) {
        const struct grade_measure *measure = &result->measures[i];
        text_print(out, "%-14s %s %s", "measured", measure->test_case, state_name(measure->state));
        if (measure->sectors > 0) text_print(out, ", %.0f sectors", measure->sectors);
        if (measure->time_us > 0) {
            text_print(out, ", %.2f us; the solution %.2f us before and %.2f us after", measure->time_us,
                       measure->before_us, measure->after_us);
        }
        text_print(out, "%s%s\n", *measure->refused ? ", refused: " : "", measure->refused);
    }
    char *log = escape_visible(result->log, ESCAPE_MANY_LINES);
    text_print(out, "%s%s\n", log, *log ? "" : "(nothing was said)");
    free(log);
}

void grade_student_log(const struct grade_book *book, const struct grade_sheet *sheet, struct text *out)
{
    put_visible(out, "student", sheet->student);
    put_visible(out, "seed sha256", book->seed);
    put_visible(out, "version", book->version);
    put_visible(out, "isolation", book->isolation);
    struct text adjusted = {0};
    grade_put_adjustments(book, sheet, &adjusted);
    if (adjusted.length) put_visible(out, "adjusted", adjusted.data);
    text_free(&adjusted);
    text_print(out, "\n");
    for (size_t i = 0; i < book->lesson_count; i++) {
        for (int device = 0; device < DEVICE_COUNT; device++) {
            const struct grade_result *result =
                grade_book_find(book, sheet->student, book->lessons[i].name, (enum device)device);
            if (result != NULL && book->devices[device]) put_result(book, result, out);
        }
    }
}
