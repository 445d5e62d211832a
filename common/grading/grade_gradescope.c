/**
 * @file grade_gradescope.c
 * @brief results.json, as Gradescope's autograders write it: one test per lesson and group of cases.
 *
 * A student with a lesson that could not be graded gets a file without any score: Gradescope then reports a
 * failed autograder to the instructor; a file with a score would silently give a zero.
 */
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/terminal.h"
#include "base/text.h"
#include "grade.h"

enum { GRADESCOPE_CASES_TOLD = 8, GRADESCOPE_LOG_TOLD = 6000 };

/* ---- who sees what ------------------------------------------------------------------------------------- */

static const char *const moments[] = {"visible", "hidden", "after_due_date", "after_published", NULL};

static const char *moment_of(const char *word)
{
    for (size_t i = 0; moments[i] != NULL; i++)
        if (strcmp(moments[i], word) == 0) return moments[i];
    return NULL;
}

/* The last setting for @p group in "WHEN,GROUP=WHEN,…"; if @p group is NULL, the last one without a group. */
static const char *visibility_of(const struct grade_book *book, const char *group)
{
    const char *list = book->setting[GRADE_VISIBILITY], *found = "visible";
    for (char *word; list != NULL && (word = next_word(&list, ',')) != NULL; free(word)) {
        char *equals = strchr(word, '=');
        if (equals != NULL) *equals = '\0';
        const char *named = equals != NULL ? grade_group_of_title(word) : NULL;
        const char *moment = moment_of(equals != NULL ? equals + 1 : word);
        if (moment != NULL &&
            (equals == NULL || (group != NULL && named != NULL && strcmp(named, group) == 0)))
            found = moment;
    }
    return found;
}

int grade_visibility_check(const struct grade_book *book)
{
    const char *list = book->setting[GRADE_VISIBILITY];
    for (char *word; list != NULL && *list && (word = next_word(&list, ',')) != NULL; free(word)) {
        char *equals = strchr(word, '=');
        if (equals != NULL) *equals = '\0';
        if (equals != NULL && grade_group_of_title(word) == NULL)
            return complain(
                "--visibility: there is no group \"%s\". Groups: basic, edges, numerics, bad_input, "
                "properties, real_sizes, clean_of_findings, speed.",
                word);
        if (moment_of(equals != NULL ? equals + 1 : word) == NULL)
            return complain(
                "--visibility: \"%s\" is none of visible, hidden, after_due_date, after_published.",
                equals != NULL ? equals + 1 : word);
    }
    return EXIT_PASS;
}

/* ---- tests --------------------------------------------------------------------------------------------- */

/* The failed cases of a group, one per line, or why the lesson was not run. */
static void tell_group(const struct grade_score *score, const struct grade_group *group, int first,
                       struct text *out)
{
    const struct grade_result *result = score->result;
    size_t told = 0, failed = 0;
    if (group->note.length) text_print(out, "%s\n", group->note.data);
    if (group->withheld > 0) text_print(out, "%.2f points are withheld\n", group->withheld);
    if (group->kind != GRADE_CASES) return;
    if (*result->sentence) text_print(out, "%s: %s\n", state_name(result->state), result->sentence);
    for (size_t i = 0; i < result->row_count; i++) {
        const struct grade_row *row = &result->rows[i];
        if (strcmp(row->group, group->name) != 0 || row->state == STATE_PASS) continue;
        if (failed++ >= GRADESCOPE_CASES_TOLD) continue;
        text_print(out, "%s %s: ", state_name(row->state), row->test_case);
        grade_put_row(row, out);
        text_print(out, "\n");
        told++;
    }
    if (failed > told) text_print(out, "and %zu more\n", failed - told);
    if (first && result->row_count == 0 && *result->log)
        text_print(out, "%.*s\n", GRADESCOPE_LOG_TOLD, result->log);
}

static void put_gradescope_test(const struct grade_book *book, const struct grade_lesson *lesson,
                                const struct grade_score *score, size_t index, struct text *out)
{
    const struct grade_group *group = &score->group[index];
    struct text told = {0}, name = {0};
    text_append(&told, "", 0);
    tell_group(score, group, index == 0, &told);
    text_print(&name, "%s: %s", lesson->name, grade_group_title(group->name));
    text_print(out, "    {\"number\": \"%d.%zu\", \"name\": ", atoi(lesson->number), index + 1);
    put_json(out, name.data);
    text_print(out, ", \"score\": %.2f, \"max_score\": %.2f, \"status\": \"%s\",\n", group->points,
               group->points_max, group->failed || group->withheld > 0 ? "failed" : "passed");
    text_print(out, "     \"output\": ");
    put_json(out, told.data);
    text_print(out, ", \"output_format\": \"text\", \"tags\": [\"%s\", \"%s\"], \"visibility\": \"%s\"}",
               lesson->number, group->name, visibility_of(book, group->name));
    text_free(&told);
    text_free(&name);
}

/* The instructor's changes, as a test of their own, so that the scores of tests add up to the total. */
static void put_change(const char *name, const char *number, double points, const char *words,
                       const char *visibility, struct text *out)
{
    text_print(out, "    {\"number\": ");
    put_json(out, number);
    text_print(out, ", \"name\": ");
    put_json(out, name);
    text_print(out, ", \"score\": %.2f, \"max_score\": 0.00,\n     \"output\": ", points);
    put_json(out, words);
    text_print(out, ", \"output_format\": \"text\", \"tags\": [\"adjusted\"], \"visibility\": \"%s\"}",
               visibility);
}

static void put_change_of(const struct grade_book *book, size_t index, const struct grade_score *score,
                          struct text *out)
{
    const struct grade_lesson *lesson = &book->lessons[index];
    char *number = format_string("%d.%zu", atoi(lesson->number), score->group_count + 1);
    char *name = format_string("%s: late, or changed by hand", lesson->name);
    put_change(name, number, score->points - score->earned, score->adjusted.data, visibility_of(book, NULL),
               out);
    free(number);
    free(name);
}

static void put_tests(const struct grade_book *book, const struct grade_sheet *sheet, struct text *out)
{
    int some = 0;
    text_print(out, "  \"score\": %.2f,\n  \"tests\": [", sheet->points);
    for (size_t i = 0; i < book->lesson_count; i++) {
        for (size_t group = 0; group < sheet->scores[i].group_count; group++) {
            text_print(out, some++ ? ",\n" : "\n");
            put_gradescope_test(book, &book->lessons[i], &sheet->scores[i], group, out);
        }
        if (!sheet->scores[i].adjusted.length) continue;
        text_print(out, some++ ? ",\n" : "\n");
        put_change_of(book, i, &sheet->scores[i], out);
    }
    if (sheet->adjusted.length) {
        text_print(out, some++ ? ",\n" : "\n");
        put_change("changed by hand", "0", sheet->by_hand, sheet->adjusted.data, visibility_of(book, NULL),
                   out);
    }
    text_print(out, "\n  ],\n");
}

void grade_gradescope(const struct grade_book *book, const struct grade_sheet *sheet, struct text *out)
{
    struct text told = {0};
    if (!sheet->graded) text_print(&told, "This submission could not be graded in full:\n");
    for (size_t i = 0; i < book->lesson_count; i++) {
        const struct grade_score *score = &sheet->scores[i];
        int graded = score->decided;
        text_print(&told, "%s: %s", book->lessons[i].name, state_name(score->state));
        if (graded) text_print(&told, ", %.2f of %.2f points", score->points, score->points_max);
        if (!graded && score->result != NULL) text_print(&told, " (%s)", score->result->sentence);
        if (score->withheld > 0) text_print(&told, ", %.2f withheld", score->withheld);
        if (score->adjusted.length) text_print(&told, " (%s)", score->adjusted.data);
        text_print(&told, "\n");
    }
    if (!book->whole) text_print(&told, "%s\n", grade_isolation_note(book));
    text_print(out, "{\n");
    if (sheet->graded) put_tests(book, sheet, out);
    text_print(out, "  \"execution_time\": %ld,\n  \"output\": ", (long)(sheet->seconds + 0.5));
    put_json(out, told.data != NULL ? told.data : "");
    text_print(out,
               ",\n  \"output_format\": \"text\",\n  \"visibility\": \"%s\",\n"
               "  \"stdout_visibility\": \"hidden\",\n  \"extra_data\": {\"student\": ",
               visibility_of(book, NULL));
    put_json(out, sheet->shown);
    text_print(out, ", \"version\": ");
    put_json(out, book->version);
    text_print(out, ", \"isolation\": ");
    put_json(out, book->isolation);
    text_print(out, "}\n}\n");
    text_free(&told);
}
