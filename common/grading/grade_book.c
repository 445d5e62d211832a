/**
 * @file grade_book.c
 * @brief What is known about a class, and the lines by which the journal keeps it.
 *
 * A result is one line; the fields of a row or a measure are consecutive, beginning with its case. To find a
 * result, all results are searched in order: a class has a few thousand.
 */
#include <math.h>
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

static void put(struct text *line, const char *name, const char *value)
{
    if (value && *value) record_put(line, name, value);
}

void grade_result_line(const struct grade_result *result, struct text *line)
{
    record_put(line, "kind", "result");
    record_put(line, "student", result->student);
    record_put(line, "lesson", result->lesson);
    record_put(line, "device", device_name(result->device));
    record_put(line, "graded", result->graded ? "1" : "0");
    put(line, "key", result->key);
    put(line, "state", state_name(result->state));
    put(line, "elsewhere", result->elsewhere ? "1" : "");
    put(line, "sentence", result->sentence);
    put(line, "file", result->file);
    put(line, "sha256", result->sha256);
    put(line, "notes", result->notes);
    put(line, "model", result->model);
    put(line, "driver", result->driver);
    put(line, "at", result->at);
    record_put_number(line, "seconds", result->seconds);
    for (size_t i = 0; i < result->row_count; i++) {
        const struct grade_row *row = &result->rows[i];
        record_put(line, "row.case", row->test_case);
        put(line, "row.part", row->part);
        put(line, "row.group", row->group);
        put(line, "row.state", state_name(row->state));
        put(line, "row.shape", row->shape);
        put(line, "row.finding", record_kind_name(row->finding));
        put(line, "row.cause", record_cause_name(row->cause));
        record_put_number(line, "row.guess", row->guess);
        put(line, "row.found", row->found);
        put(line, "row.headline", row->headline);
        put(line, "row.pattern", row->pattern);
        record_put_number(line, "row.points", row->points);
        record_put_number(line, "row.points_max", row->points_max);
        record_put_number(line, "row.seconds", row->seconds);
    }
    for (size_t i = 0; i < result->measure_count; i++) {
        const struct grade_measure *measure = &result->measures[i];
        record_put(line, "measure.case", measure->test_case);
        put(line, "measure.state", state_name(measure->state));
        put(line, "measure.refused", measure->refused);
        record_put_number(line, "measure.sectors", measure->sectors);
        record_put_number(line, "measure.min_bytes", measure->min_bytes);
        record_put_number(line, "measure.time_us", measure->time_us);
        record_put_number(line, "measure.before_us", measure->before_us);
        record_put_number(line, "measure.after_us", measure->after_us);
    }
    put(line, "log", result->log);
}

struct text_field {
    const char *name;
    char **to;
};

struct number_field {
    const char *name;
    double *to;
};

static void take(const struct text_field *texts, size_t text_count, const struct number_field *numbers,
                 size_t number_count, const char *name, const char *value)
{
    for (size_t i = 0; i < text_count; i++) {
        if (strcmp(texts[i].name, name) != 0) continue;
        free(*texts[i].to);
        *texts[i].to = copy_string(value);
    }
    for (size_t i = 0; i < number_count; i++) {
        if (strcmp(numbers[i].name, name) == 0) *numbers[i].to = record_number(value);
    }
}

static void take_row(struct grade_result *result, const char *name, const char *value)
{
    struct grade_row *row =
        strcmp(name, "case") == 0 ? grade_add_row(result) : &result->rows[result->row_count - 1];
    const struct text_field texts[] = {{"case", &row->test_case}, {"part", &row->part},
                                       {"group", &row->group},    {"shape", &row->shape},
                                       {"found", &row->found},    {"headline", &row->headline},
                                       {"pattern", &row->pattern}};
    const struct number_field numbers[] = {
        {"points", &row->points}, {"points_max", &row->points_max}, {"seconds", &row->seconds}};
    take(texts, sizeof texts / sizeof texts[0], numbers, 3, name, value);
    if (strcmp(name, "state") == 0) row->state = state_of(value);
    if (strcmp(name, "finding") == 0) row->finding = record_kind_of(value);
    if (strcmp(name, "cause") == 0) row->cause = record_cause_of(value);
    if (strcmp(name, "guess") == 0) row->guess = (int)record_number(value);
}

static void take_measure(struct grade_result *result, const char *name, const char *value)
{
    struct grade_measure *measure =
        strcmp(name, "case") == 0 ? grade_add_measure(result) : &result->measures[result->measure_count - 1];
    const struct text_field texts[] = {{"case", &measure->test_case}, {"refused", &measure->refused}};
    const struct number_field numbers[] = {{"sectors", &measure->sectors},
                                           {"min_bytes", &measure->min_bytes},
                                           {"time_us", &measure->time_us},
                                           {"before_us", &measure->before_us},
                                           {"after_us", &measure->after_us}};
    take(texts, 2, numbers, sizeof numbers / sizeof numbers[0], name, value);
    if (strcmp(name, "state") == 0) measure->state = state_of(value);
}

/* A text that was not in the line is "" rather than NULL. */
static void fill(char **text)
{
    if (!*text) *text = copy_string("");
}

static void fill_texts(struct grade_result *result)
{
    char **const texts[] = {&result->student, &result->lesson, &result->key,   &result->sentence,
                            &result->file,    &result->sha256, &result->model, &result->driver,
                            &result->at,      &result->log,    &result->notes};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) fill(texts[i]);
    for (size_t i = 0; i < result->row_count; i++) {
        struct grade_row *row = &result->rows[i];
        char **const of_row[] = {&row->part,  &row->test_case, &row->group,  &row->shape,
                                 &row->found, &row->headline,  &row->pattern};
        for (size_t j = 0; j < sizeof of_row / sizeof of_row[0]; j++) fill(of_row[j]);
    }
    for (size_t i = 0; i < result->measure_count; i++) {
        fill(&result->measures[i].test_case);
        fill(&result->measures[i].refused);
    }
}

static int result_from(const struct journal_record *record, struct grade_result *result)
{
    *result = (struct grade_result){0};
    const struct text_field texts[] = {
        {"student", &result->student},   {"lesson", &result->lesson}, {"key", &result->key},
        {"sentence", &result->sentence}, {"file", &result->file},     {"sha256", &result->sha256},
        {"model", &result->model},       {"driver", &result->driver}, {"at", &result->at},
        {"log", &result->log},           {"notes", &result->notes}};
    const struct number_field numbers[] = {{"seconds", &result->seconds}};
    if (strcmp(record_value(record, "kind"), "result") != 0) return -1;
    result->device = strcmp(record_value(record, "device"), "gpu") == 0 ? DEVICE_GPU : DEVICE_SIMT;
    result->graded = strcmp(record_value(record, "graded"), "1") == 0;
    for (size_t i = 0; i < record->count; i++) {
        const char *name = record->name[i], *value = record->value[i];
        if (strncmp(name, "row.", 4) == 0 && (result->row_count || strcmp(name, "row.case") == 0)) {
            take_row(result, name + 4, value);
        } else if (strncmp(name, "measure.", 8) == 0 &&
                   (result->measure_count || strcmp(name, "measure.case") == 0)) {
            take_measure(result, name + 8, value);
        } else {
            take(texts, sizeof texts / sizeof texts[0], numbers, 1, name, value);
        }
        if (strcmp(name, "state") == 0) result->state = state_of(value);
        if (strcmp(name, "elsewhere") == 0) result->elsewhere = 1;
    }
    fill_texts(result);
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
        record_put(line, "lesson.title", lesson->title);
        record_put_number(line, "lesson.clean", lesson->clean_points);
        record_put_number(line, "lesson.speed", lesson->speed_points);
        record_put_number(line, "lesson.speed_none", lesson->speed_none);
        record_put_number(line, "lesson.speed_full", lesson->speed_full);
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
    if (!*name) {
        book->lessons = grown(book->lessons, book->lesson_count, sizeof *book->lessons);
        book->lessons[book->lesson_count++] = (struct grade_lesson){
            .name = copy_string(value), .number = format_string("%.2s", value), .title = copy_string("")};
        return;
    }
    if (book->lesson_count == 0) return;
    struct grade_lesson *lesson = &book->lessons[book->lesson_count - 1];
    if (strcmp(name, ".part") == 0 && lesson->part_count < GRADE_PARTS) {
        lesson->part[lesson->part_count++] = copy_string(value);
    } else if (strcmp(name, ".points") == 0 && lesson->part_count > 0) {
        lesson->part_points[lesson->part_count - 1] = record_number(value);
    }
    const struct text_field texts[] = {{".title", &lesson->title}};
    const struct number_field numbers[] = {{".clean", &lesson->clean_points},
                                           {".speed", &lesson->speed_points},
                                           {".speed_none", &lesson->speed_none},
                                           {".speed_full", &lesson->speed_full}};
    take(texts, 1, numbers, 4, name, value);
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
        } else if (strncmp(name, "lesson", 6) == 0) {
            take_lesson(book, name + 6, value);
        }
    }
    struct text line = {0};
    grade_class_line(book, &line);
    book->class_line = line.data;
}

void grade_book_put(struct grade_book *book, const struct grade_result *result)
{
    const struct grade_result *found = grade_book_find(book, result->student, result->lesson, result->device);
    if (found) {
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
