/**
 * @file grade_book.c
 * @brief What is known about a class, and the lines by which the journal keeps it.
 *
 * A result is one line; the fields of a row or a measure are consecutive, beginning with its case. To find a
 * result, all results are searched in order: a class has a few thousand.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "course/device.h"
#include "grade.h"
#include "journal.h"

/* ---- lists that grow ----------------------------------------------------------------------------------- */

/* @p items with room for one more; the array is full whenever the count is a power of two. */
static void *grown(void *items, size_t count, size_t size)
{
    if (count & (count - 1)) return items;
    char *more = must_allocate((2 * count + 1) * size);
    if (count) memcpy(more, items, count * size);
    free(items);
    return more;
}

struct grade_row *grade_add_row(struct grade_result *result)
{
    result->rows = grown(result->rows, result->row_count, sizeof *result->rows);
    struct grade_row *row = &result->rows[result->row_count++];
    *row = (struct grade_row){.guess = -1};
    return row;
}

struct grade_measure *grade_add_measure(struct grade_result *result)
{
    result->measures = grown(result->measures, result->measure_count, sizeof *result->measures);
    struct grade_measure *measure = &result->measures[result->measure_count++];
    *measure = (struct grade_measure){
        .sectors = NAN, .min_bytes = NAN, .time_us = NAN, .before_us = NAN, .after_us = NAN};
    return measure;
}

const struct grade_measure *grade_measure_of(const struct grade_result *result, const char *test_case)
{
    for (size_t i = 0; i < result->measure_count; i++) {
        if (strcmp(result->measures[i].test_case, test_case) == 0) return &result->measures[i];
    }
    return NULL;
}

/* ---- results ------------------------------------------------------------------------------------------- */

/* A field of a line, and where it lies in its struct. Numbers that are NaN and texts that are empty are not written. */
struct field {
    const char *name;
    enum { TEXT, NUMBER, COUNT, STATE, FINDING, CAUSE } kind;
    size_t at;
};

#define AT(type, member) offsetof(struct grade_##type, member)
static const struct field of_result[] = {{"student", TEXT, AT(result, student)},
                                         {"lesson", TEXT, AT(result, lesson)},
                                         {"key", TEXT, AT(result, key)},
                                         {"state", STATE, AT(result, state)},
                                         {"sentence", TEXT, AT(result, sentence)},
                                         {"file", TEXT, AT(result, file)},
                                         {"sha256", TEXT, AT(result, sha256)},
                                         {"notes", TEXT, AT(result, notes)},
                                         {"model", TEXT, AT(result, model)},
                                         {"driver", TEXT, AT(result, driver)},
                                         {"at", TEXT, AT(result, at)},
                                         {"seconds", NUMBER, AT(result, seconds)},
                                         {"log", TEXT, AT(result, log)}};
static const struct field of_row[] = {{"row.case", TEXT, AT(row, test_case)},
                                      {"row.part", TEXT, AT(row, part)},
                                      {"row.group", TEXT, AT(row, group)},
                                      {"row.state", STATE, AT(row, state)},
                                      {"row.shape", TEXT, AT(row, shape)},
                                      {"row.finding", FINDING, AT(row, finding)},
                                      {"row.cause", CAUSE, AT(row, cause)},
                                      {"row.guess", COUNT, AT(row, guess)},
                                      {"row.found", TEXT, AT(row, found)},
                                      {"row.headline", TEXT, AT(row, headline)},
                                      {"row.pattern", TEXT, AT(row, pattern)},
                                      {"row.points", NUMBER, AT(row, points)},
                                      {"row.points_max", NUMBER, AT(row, points_max)},
                                      {"row.seconds", NUMBER, AT(row, seconds)}};
static const struct field of_measure[] = {{"measure.case", TEXT, AT(measure, test_case)},
                                          {"measure.state", STATE, AT(measure, state)},
                                          {"measure.refused", TEXT, AT(measure, refused)},
                                          {"measure.sectors", NUMBER, AT(measure, sectors)},
                                          {"measure.min_bytes", NUMBER, AT(measure, min_bytes)},
                                          {"measure.time_us", NUMBER, AT(measure, time_us)},
                                          {"measure.before_us", NUMBER, AT(measure, before_us)},
                                          {"measure.after_us", NUMBER, AT(measure, after_us)}};
static const struct field of_lesson[] = {{"lesson.title", TEXT, AT(lesson, title)},
                                         {"lesson.clean", NUMBER, AT(lesson, clean_points)},
                                         {"lesson.speed", NUMBER, AT(lesson, speed_points)},
                                         {"lesson.speed_none", NUMBER, AT(lesson, speed_none)},
                                         {"lesson.speed_full", NUMBER, AT(lesson, speed_full)}};
enum {
    RESULT_FIELDS = sizeof of_result / sizeof of_result[0],
    ROW_FIELDS = sizeof of_row / sizeof of_row[0],
    MEASURE_FIELDS = sizeof of_measure / sizeof of_measure[0],
    LESSON_FIELDS = sizeof of_lesson / sizeof of_lesson[0]
};

static void put(struct text *line, const char *name, const char *value)
{
    if (value != NULL && *value) record_put(line, name, value);
}

static void put_fields(struct text *line, const struct field *fields, int count, const void *from)
{
    for (const struct field *field = fields; field < fields + count; field++) {
        const void *at = (const char *)from + field->at;
        if (field->kind == TEXT) put(line, field->name, *(char *const *)at);
        if (field->kind == NUMBER) record_put_number(line, field->name, *(const double *)at);
        if (field->kind == COUNT) record_put_number(line, field->name, *(const int *)at);
        if (field->kind == STATE) put(line, field->name, state_name(*(const enum state *)at));
        if (field->kind == FINDING) put(line, field->name, record_kind_name(*(const enum record_kind *)at));
        if (field->kind == CAUSE) put(line, field->name, record_cause_name(*(const enum record_cause *)at));
    }
}

void grade_result_line(const struct grade_result *result, struct text *line)
{
    record_put(line, "kind", "result");
    record_put(line, "student", result->student);
    record_put(line, "lesson", result->lesson);
    record_put(line, "device", device_name(result->device));
    record_put(line, "graded", result->graded ? "1" : "0");
    put(line, "elsewhere", result->elsewhere ? "1" : "");
    put_fields(line, of_result + 2, RESULT_FIELDS - 2, result);
    for (size_t i = 0; i < result->row_count; i++) {
        record_put(line, "row.case", result->rows[i].test_case);
        put_fields(line, of_row + 1, ROW_FIELDS - 1, &result->rows[i]);
    }
    for (size_t i = 0; i < result->measure_count; i++) {
        record_put(line, "measure.case", result->measures[i].test_case);
        put_fields(line, of_measure + 1, MEASURE_FIELDS - 1, &result->measures[i]);
    }
}

static void take_field(const struct field *fields, int count, void *into, const char *name, const char *value)
{
    for (const struct field *field = fields; field < fields + count; field++) {
        void *at = (char *)into + field->at;
        if (strcmp(field->name, name) != 0) continue;
        if (field->kind == TEXT) free(*(char **)at), *(char **)at = copy_string(value);
        if (field->kind == NUMBER) *(double *)at = record_number(value);
        if (field->kind == COUNT) *(int *)at = (int)record_number(value);
        if (field->kind == STATE) *(enum state *)at = state_of(value);
        if (field->kind == FINDING) *(enum record_kind *)at = record_kind_of(value);
        if (field->kind == CAUSE) *(enum record_cause *)at = record_cause_of(value);
    }
}

/* A text that was not in the line is "" rather than NULL. */
static void fill_texts(const struct field *fields, int count, void *in)
{
    for (const struct field *field = fields; field < fields + count; field++) {
        char **text = (char **)(void *)((char *)in + field->at);
        if (field->kind == TEXT && *text == NULL) *text = copy_string("");
    }
}

static int result_from(const struct journal_record *record, struct grade_result *result)
{
    *result = (struct grade_result){0};
    if (strcmp(record_value(record, "kind"), "result") != 0) return -1;
    result->device = strcmp(record_value(record, "device"), "gpu") == 0 ? DEVICE_GPU : DEVICE_SIMT;
    result->graded = strcmp(record_value(record, "graded"), "1") == 0;
    for (size_t i = 0; i < record->count; i++) {
        const char *name = record->name[i], *value = record->value[i];
        if (strcmp(name, "row.case") == 0) grade_add_row(result);
        if (strcmp(name, "measure.case") == 0) grade_add_measure(result);
        if (strcmp(name, "elsewhere") == 0) result->elsewhere = 1;
        take_field(of_result, RESULT_FIELDS, result, name, value);
        if (result->row_count)
            take_field(of_row, ROW_FIELDS, &result->rows[result->row_count - 1], name, value);
        if (result->measure_count)
            take_field(of_measure, MEASURE_FIELDS, &result->measures[result->measure_count - 1], name, value);
    }
    fill_texts(of_result, RESULT_FIELDS, result);
    for (size_t i = 0; i < result->row_count; i++) fill_texts(of_row, ROW_FIELDS, &result->rows[i]);
    for (size_t i = 0; i < result->measure_count; i++)
        fill_texts(of_measure, MEASURE_FIELDS, &result->measures[i]);
    return 0;
}

int grade_result_parse(const char *line, struct grade_result *result)
{
    struct journal_record record;
    if (record_parse(line, &record) != 0) return -1;
    int failed = result_from(&record, result);
    record_free(&record);
    return failed;
}

/* ---- the class ----------------------------------------------------------------------------------------- */

void grade_class_line(const struct grade_book *book, struct text *line)
{
    record_put(line, "kind", "class");
    record_put(line, "version", book->version);
    record_put(line, "seed", book->seed);
    record_put(line, "shard", book->shard);
    record_put(line, "isolation", book->isolation);
    record_put(line, "whole", book->whole ? "1" : "0");
    record_put(line, "speed", book->speed ? "1" : "0");
    for (int device = 0; device < DEVICE_COUNT; device++) {
        if (book->devices[device]) record_put(line, "device", device_name((enum device)device));
    }
    for (size_t i = 0; i < book->lesson_count; i++) {
        const struct grade_lesson *lesson = &book->lessons[i];
        record_put(line, "lesson", lesson->name);
        put_fields(line, of_lesson, LESSON_FIELDS, lesson);
        for (size_t part = 0; part < lesson->part_count; part++) {
            record_put(line, "lesson.part", lesson->part[part]);
            record_put_number(line, "lesson.points", lesson->part_points[part]);
        }
    }
    for (size_t i = 0; i < book->student_count; i++) record_put(line, "student", book->students[i]);
}

const char *grade_isolation_note(const struct grade_book *book)
{
    static char note[900];
    snprintf(note, sizeof note, "Graded without the whole isolation: %s", book->isolation);
    return book->whole ? "" : note;
}

static void take_lesson(struct grade_book *book, const char *name, const char *value)
{
    if (strcmp(name, "lesson") == 0) {
        book->lessons = grown(book->lessons, book->lesson_count, sizeof *book->lessons);
        book->lessons[book->lesson_count++] = (struct grade_lesson){
            .name = copy_string(value), .number = format_string("%.2s", value), .title = copy_string("")};
        return;
    }
    if (book->lesson_count == 0) return;
    struct grade_lesson *lesson = &book->lessons[book->lesson_count - 1];
    if (strcmp(name, "lesson.part") == 0 && lesson->part_count < GRADE_PARTS) {
        lesson->part[lesson->part_count++] = copy_string(value);
    } else if (strcmp(name, "lesson.points") == 0 && lesson->part_count > 0) {
        lesson->part_points[lesson->part_count - 1] = record_number(value);
    }
    take_field(of_lesson, LESSON_FIELDS, lesson, name, value);
}

static void read_class(struct grade_book *book, const struct journal_record *record)
{
    book->lesson_count = book->student_count = 0;
    book->lessons = NULL;
    book->students = NULL;
    memset(book->devices, 0, sizeof book->devices);
    book->seed = copy_string(record_value(record, "seed"));
    book->version = copy_string(record_value(record, "version"));
    book->shard = copy_string(record_value(record, "shard"));
    book->isolation = copy_string(record_value(record, "isolation"));
    book->whole = strcmp(record_value(record, "whole"), "1") == 0;
    book->speed = strcmp(record_value(record, "speed"), "1") == 0;
    for (size_t i = 0; i < record->count; i++) {
        const char *name = record->name[i], *value = record->value[i];
        if (strcmp(name, "device") == 0) {
            book->devices[strcmp(value, "gpu") == 0 ? DEVICE_GPU : DEVICE_SIMT] = 1;
        } else if (strcmp(name, "student") == 0) {
            book->students = grown(book->students, book->student_count, sizeof *book->students);
            book->students[book->student_count++] = copy_string(value);
        } else {
            take_lesson(book, name, value);
        }
    }
    struct text line = {0};
    grade_class_line(book, &line);
    book->class_line = line.data;
}

void grade_book_put(struct grade_book *book, const struct grade_result *result)
{
    const struct grade_result *found = grade_book_find(book, result->student, result->lesson, result->device);
    if (found != NULL) {
        book->results[found - book->results] = *result;
        return;
    }
    book->results = grown(book->results, book->result_count, sizeof *book->results);
    book->results[book->result_count++] = *result;
}

void grade_book_read(void *context, const struct journal_record *record)
{
    struct grade_book *book = context;
    struct grade_result result;
    if (strcmp(record_value(record, "kind"), "class") == 0) {
        read_class(book, record);
    } else if (strcmp(record_value(record, "kind"), "settings") == 0) {
        grade_settings_read(book, record);
    } else if (result_from(record, &result) == 0) {
        grade_book_put(book, &result);
    }
}

const struct grade_result *grade_book_find(const struct grade_book *book, const char *student,
                                           const char *lesson, enum device device)
{
    for (size_t i = 0; i < book->result_count; i++) {
        const struct grade_result *result = &book->results[i];
        if (result->device == device && strcmp(result->student, student) == 0 &&
            strcmp(result->lesson, lesson) == 0) {
            return result;
        }
    }
    return NULL;
}

const struct grade_result *grade_book_judged(const struct grade_book *book, const char *key)
{
    for (size_t i = 0; i < book->result_count; i++)
        if (book->results[i].graded && strcmp(book->results[i].key, key) == 0) return &book->results[i];
    return NULL;
}

size_t grade_book_same(const struct grade_book *book, const struct grade_result *result)
{
    size_t others = 0;
    if (!*result->sha256 || !*result->student) return 0;
    for (size_t i = 0; i < book->result_count; i++) {
        const struct grade_result *other = &book->results[i];
        others += other != result && other->device == result->device && *other->student &&
                  strcmp(other->sha256, result->sha256) == 0 && strcmp(other->lesson, result->lesson) == 0;
    }
    return others;
}

void grade_put_row(const struct grade_row *row, struct text *out)
{
    text_print(out, "%s", row->headline);
    if (row->finding) text_print(out, ": %s", record_kind_name(row->finding));
    if (*row->pattern) text_print(out, "; %s", row->pattern);
}
