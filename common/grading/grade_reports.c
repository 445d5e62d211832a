/**
 * @file grade_reports.c
 * @brief The reports on a class, and grades.csv.
 *
 * All are generated from the book alone, in the book's own order: the same verdicts give the same bytes,
 * however they came about. A file is written beside its place and renamed into it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/terminal.h"
#include "base/text.h"
#include "course/device.h"
#include "grade.h"
#include "grade_adjust.h"

/* ---- sheets -------------------------------------------------------------------------------------------- */

static void make_sheet(const struct grade_book *book, const struct grade_rules *rules, int number,
                       struct grade_sheet *sheet)
{
    const char *student = book->students[number];
    *sheet = (struct grade_sheet){.student = student,
                                  .shown = escape_visible(student, ESCAPE_ONE_LINE),
                                  .folder = escape_folder_name(student),
                                  .graded = 1,
                                  .scores = must_allocate(book->lesson_count * sizeof *sheet->scores)};
    for (size_t i = 0; i < book->lesson_count; i++) {
        struct grade_score *score = &sheet->scores[i];
        grade_score(book, student, &book->lessons[i], score);
        score->earned = score->points;
        for (int device = 0; device < DEVICE_COUNT; device++) {
            const struct grade_result *result =
                grade_book_find(book, student, book->lessons[i].name, (enum device)device);
            if (result != NULL && book->devices[device]) sheet->seconds += result->seconds;
        }
    }
    grade_adjust(book, rules, number, sheet);
    for (size_t i = 0; i < book->lesson_count; i++) {
        const struct grade_score *score = &sheet->scores[i];
        sheet->points += score->points;
        sheet->earned += score->earned;
        sheet->points_max += score->points_max;
        sheet->withheld += score->withheld;
        sheet->graded = sheet->graded && score->decided;
    }
    sheet->points += sheet->by_hand;
}

static void free_sheet(const struct grade_book *book, struct grade_sheet *sheet)
{
    for (size_t i = 0; i < book->lesson_count; i++) grade_score_free(&sheet->scores[i]);
    text_free(&sheet->adjusted);
    free(sheet->scores);
    free(sheet->shown);
    free(sheet->folder);
}

int grade_sheets_make(const struct grade_book *book, struct grade_sheet **sheets)
{
    struct grade_rules rules;
    if (grade_rules_make(book, &rules) != EXIT_PASS) return EXIT_TROUBLE;
    *sheets = must_allocate((book->student_count + 1) * sizeof **sheets);
    for (size_t i = 0; i < book->student_count; i++) make_sheet(book, &rules, (int)i, &(*sheets)[i]);
    grade_rules_free(&rules);
    return EXIT_PASS;
}

void grade_sheets_free(const struct grade_book *book, struct grade_sheet *sheets)
{
    for (size_t i = 0; i < book->student_count; i++) free_sheet(book, &sheets[i]);
    free(sheets);
}

/* ---- grades.csv ---------------------------------------------------------------------------------------- */

/* Why lessons were not run: the same sentences as in report.md and summary.html, so that nobody takes the points of a
 * file with a wrong name for those of a wrong kernel. */
static void put_reasons(const struct grade_book *book, const struct grade_sheet *sheet, struct text *out)
{
    struct text reasons = {0};
    for (size_t i = 0; i < book->lesson_count; i++) {
        const char *reason = grade_reason(&sheet->scores[i]);
        if (reason != NULL)
            text_print(&reasons, "%s%s: %s", reasons.length ? "; " : "", book->lessons[i].number, reason);
    }
    put_csv(out, reasons.length ? reasons.data : "");
    text_free(&reasons);
}

/* Neither times nor dates stand here: a class graded again is the same file. */
void grade_csv(const struct grade_book *book, const struct grade_sheet *sheets, struct text *out)
{
    text_print(out, "student,folder,points,points_max,withheld");
    for (size_t i = 0; i < book->lesson_count; i++) {
        const char *number = book->lessons[i].number;
        text_print(out, ",%s_state,%s_points,%s_max", number, number, number);
    }
    text_print(out, ",isolation,earned,adjustments,reasons\n");
    for (size_t s = 0; s < book->student_count; s++) {
        const struct grade_sheet *sheet = &sheets[s];
        put_csv(out, sheet->student);
        text_print(out, ",%s,", sheet->folder);
        if (sheet->graded) text_print(out, "%.2f", sheet->points);
        text_print(out, ",%.2f,%.2f", sheet->points_max, sheet->withheld);
        for (size_t i = 0; i < book->lesson_count; i++) {
            const struct grade_score *score = &sheet->scores[i];
            text_print(out, ",%s,", state_name(score->state));
            if (score->decided) text_print(out, "%.2f", score->points);
            text_print(out, ",%.2f", score->points_max);
        }
        struct text adjusted = {0};
        grade_put_adjustments(book, sheet, &adjusted);
        text_print(out, ",");
        put_csv(out, book->whole ? "whole" : book->isolation);
        text_print(out, ",%.2f,", sheet->earned);
        put_csv(out, adjusted.data != NULL ? adjusted.data : "");
        text_print(out, ",");
        put_reasons(book, sheet, out);
        text_print(out, "\n");
        text_free(&adjusted);
    }
}

/* ---- files --------------------------------------------------------------------------------------------- */

/* A file that already has these contents is left alone, and keeps its date. */
static int write_report(const char *folder, const char *name, struct text *content)
{
    struct text there = {0};
    char *path = format_string("%s/%s", folder, name);
    int error = read_file(path, &there);
    int same =
        !error && there.length == content->length && memcmp(there.data, content->data, content->length) == 0;
    error = same ? 0 : write_file(path, content->data, content->length);
    int code = error ? complain("%s cannot be written: %s.", path, strerror(error)) : EXIT_PASS;
    text_free(&there);
    text_free(content);
    free(path);
    return code;
}

static int write_sheet(const struct grade_book *book, const struct grade_sheet *sheet, const char *out)
{
    static const struct {
        const char *name;
        void (*make)(const struct grade_book *, const struct grade_sheet *, struct text *);
    } reports[] = {{"results.json", grade_gradescope},
                   {"junit.xml", grade_junit},
                   {"report.md", grade_student_report},
                   {"log.txt", grade_student_log}};
    char *folder = format_string("%s/students/%s", out, sheet->folder);
    int error = make_folders(folder), code = EXIT_PASS;
    if (error) code = complain("%s cannot be made: %s.", folder, strerror(error));
    for (size_t i = 0; i < sizeof reports / sizeof reports[0] && code == EXIT_PASS; i++) {
        struct text content = {0};
        reports[i].make(book, sheet, &content);
        code = write_report(folder, reports[i].name, &content);
    }
    free(folder);
    return code;
}

int grade_reports(const struct grade_book *book, const struct grade_sheet *sheets, const char *out)
{
    struct text csv = {0}, summary = {0}, canvas = {0}, moodle = {0}, hunts = {0};
    int code = EXIT_PASS;
    for (size_t i = 0; i < book->student_count && code == EXIT_PASS; i++)
        code = write_sheet(book, &sheets[i], out);
    grade_csv(book, sheets, &csv);
    grade_summary(book, sheets, &summary);
    grade_canvas(book, sheets, &canvas);
    grade_moodle(book, sheets, &moodle);
    grade_hunts(book, &hunts);
    if (code == EXIT_PASS && hunts.length) code = write_report(out, "hunts.csv", &hunts);
    if (code == EXIT_PASS) code = write_report(out, "canvas.csv", &canvas);
    if (code == EXIT_PASS) code = write_report(out, "moodle.csv", &moodle);
    if (code == EXIT_PASS) code = write_report(out, "summary.html", &summary);
    /* last, since it means that all other files are there */
    if (code == EXIT_PASS) code = write_report(out, "grades.csv", &csv);
    return code;
}
