/**
 * @file grade_junit.c
 * @brief junit.xml, in the form that test reporters agree on: one suite per lesson, one test per group of
 *        cases.
 *
 * Inside a suite: properties, then tests, then system-out. A test holds at most one of failure, error,
 * skipped.
 */
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/text.h"
#include "course/device.h"
#include "grade.h"

static void put_attribute(struct text *out, const char *name, const char *value)
{
    text_print(out, " %s=\"", name);
    put_xml(out, value);
    text_print(out, "\"");
}

static void put_property(struct text *out, const char *name, const char *value)
{
    text_print(out, "      <property");
    put_attribute(out, "name", name);
    put_attribute(out, "value", value);
    text_print(out, "/>\n");
}

static void put_number_property(struct text *out, const char *name, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.2f", value);
    put_property(out, name, text);
}

static void put_properties(const struct grade_book *book, const struct grade_score *score, struct text *out)
{
    const struct grade_result *result = score->result;
    text_print(out, "    <properties>\n");
    put_property(out, "state", state_name(score->state));
    put_number_property(out, "points", score->points);
    put_number_property(out, "points_max", score->points_max);
    put_number_property(out, "points_withheld", score->withheld);
    if (score->adjusted.length) {
        put_number_property(out, "points_earned", score->earned);
        put_property(out, "adjusted", score->adjusted.data);
    }
    put_property(out, "version", book->version);
    put_property(out, "isolation", book->isolation);
    if (result != NULL) {
        put_property(out, "device", device_name(result->device));
        put_property(out, "device_model", result->model);
        put_property(out, "driver", result->driver);
        put_property(out, "file", result->file);
        put_property(out, "file_sha256", result->sha256);
        put_property(out, "graded_at", result->at);
    }
    text_print(out, "    </properties>\n");
}

static void put_failure(const struct grade_score *score, const struct grade_group *group, struct text *out)
{
    const struct grade_result *result = score->result;
    char message[80];
    snprintf(message, sizeof message, "%zu of %zu failed, %.2f of %.2f points", group->failed, group->cases,
             group->points, group->points_max);
    text_print(out, "      <failure");
    put_attribute(out, "message", message);
    put_attribute(out, "type", state_name(score->state));
    text_print(out, ">");
    if (group->note.length) {
        put_xml(out, group->note.data);
        text_print(out, "\n");
    }
    if (group->kind == GRADE_CASES) put_xml(out, result->sentence);
    for (size_t i = 0; i < result->row_count && group->kind == GRADE_CASES; i++) {
        const struct grade_row *row = &result->rows[i];
        if (strcmp(row->group, group->name) != 0 || row->state == STATE_PASS) continue;
        struct text line = {0};
        text_print(&line, "\n%s %s: ", state_name(row->state), row->test_case);
        grade_put_row(row, &line);
        put_xml(out, line.data);
        text_free(&line);
    }
    text_print(out, "</failure>\n");
}

static void put_test(const struct grade_lesson *lesson, const struct grade_score *score,
                     const struct grade_group *group, double seconds, struct text *out)
{
    text_print(out, "    <testcase");
    put_attribute(out, "name", grade_group_title(group->name));
    put_attribute(out, "classname", lesson->name);
    text_print(out, " time=\"%.3f\">\n", seconds);
    if (group->withheld > 0) {
        text_print(out, "      <skipped");
        put_attribute(out, "message", group->note.length ? group->note.data : "points are withheld");
        text_print(out, "/>\n");
    } else if (group->failed > 0) {
        put_failure(score, group, out);
    }
    text_print(out, "    </testcase>\n");
}

static void put_ungraded(const struct grade_lesson *lesson, const struct grade_score *score, struct text *out)
{
    text_print(out, "    <testcase name=\"graded\"");
    put_attribute(out, "classname", lesson->name);
    text_print(out, " time=\"0.000\">\n      <error");
    put_attribute(out, "message", score->result != NULL ? score->result->sentence : "it was not graded");
    text_print(out, " type=\"%s\"/>\n    </testcase>\n", state_name(STATE_NOT_GRADED));
}

static void put_suite(const struct grade_book *book, const struct grade_lesson *lesson,
                      const struct grade_score *score, struct text *out)
{
    size_t failures = 0, skipped = 0, tests = score->group_count;
    int graded = score->state != STATE_NOT_GRADED;
    for (size_t i = 0; i < score->group_count; i++) {
        skipped += score->group[i].withheld > 0;
        failures += !(score->group[i].withheld > 0) && score->group[i].failed > 0;
    }
    double seconds = graded ? score->result->seconds : 0;
    text_print(out, "  <testsuite");
    put_attribute(out, "name", lesson->name);
    text_print(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%d\" skipped=\"%zu\" time=\"%.3f\">\n",
               score->decided ? tests : 1, failures, !score->decided, skipped, seconds);
    put_properties(book, score, out);
    /* only the first test has a time: that of the whole lesson */
    for (size_t i = 0; i < score->group_count; i++)
        put_test(lesson, score, &score->group[i], i == 0 ? seconds : 0, out);
    if (!score->decided) put_ungraded(lesson, score, out);
    if (score->result != NULL && *score->result->log) {
        text_print(out, "    <system-out>");
        put_xml(out, score->result->log);
        text_print(out, "</system-out>\n");
    }
    text_print(out, "  </testsuite>\n");
}

void grade_junit(const struct grade_book *book, const struct grade_sheet *sheet, struct text *out)
{
    text_print(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    put_attribute(out, "name", sheet->shown);
    text_print(out, ">\n");
    for (size_t i = 0; i < book->lesson_count; i++)
        put_suite(book, &book->lessons[i], &sheet->scores[i], out);
    text_print(out, "</testsuites>\n");
}
