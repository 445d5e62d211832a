/**
 * @file grade_adjust.c
 * @brief Late days, points set by hand and comments, applied to a student's scores.
 *
 * A lesson's points are: the points earned; minus the late penalty, in percent of those; then changed by the
 * rows of the overrides, in their order. Reports show each step with the result.
 */
#include "grade_adjust.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/terminal.h"
#include "base/text.h"
#include "course/course.h"

/* ---- names --------------------------------------------------------------------------------------------- */

static int is_lesson(const struct grade_lesson *lesson, const char *word)
{
    char *end;
    long number = strtol(word, &end, 10);
    if (*word && !*end) return number == atol(lesson->number);
    return strcmp(word, lesson->name) == 0 ||
           (strlen(lesson->name) > 3 && strcmp(word, lesson->name + 3) == 0);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* Reads "", "95", "+5", "-10": the number of points, and whether they are added to those there are. 0, or
 * -1. */
static int read_points(const char *cell, double *points, int *added)
{
    char *end;
    *points = NAN;
    *added = *cell == '+' || *cell == '-';
    if (!*cell) return 0;
    *points = strtod(cell, &end);
    return !*end && isfinite(*points) ? 0 : -1;
}

static int read_percent(const char *cell, double usual, double *percent)
{
    char *end;
    *percent = usual;
    if (!*cell) return 0;
    *percent = strtod(cell, &end);
    end += *end == '%';
    return !*end && *percent >= 0 && *percent <= 100 ? 0 : -1;
}

static int check_overrides(const struct grade_table *table)
{
    static const char *const needed[] = {"student", "points", "comment", NULL};
    double points;
    int added;
    if (table->columns && grade_table_needs("--overrides", table, needed) != EXIT_PASS) return EXIT_TROUBLE;
    for (size_t i = 0; i < table->count; i++) {
        const char *cell = grade_table_cell(table, i, "points");
        int set = read_points(cell, &points, &added) == 0;
        if (set && !isnan(points) && !added && !*grade_table_cell(table, i, "lesson"))
            return complain("--overrides:%zu sets points, but of which lesson? Without one, only +5 and -10 "
                            "have a meaning.",
                            table->row[i].line);
        if (!set)
            return complain("--overrides:%zu: \"%s\" is no number of points: 95, +5, -10, or nothing for a "
                            "comment alone.",
                            table->row[i].line, cell);
    }
    return EXIT_PASS;
}

static int check_deadlines(const struct grade_table *table)
{
    static const char *const needed[] = {"lesson", "deadline", "penalty_percent", NULL};
    if (table->columns && grade_table_needs("--deadlines", table, needed) != EXIT_PASS) return EXIT_TROUBLE;
    for (size_t i = 0; i < table->count; i++) {
        long long seconds;
        double percent;
        size_t line = table->row[i].line;
        const char *deadline = grade_table_cell(table, i, "deadline");
        if (grade_read_time(deadline, 1, &seconds) != 0)
            return complain(
                "--deadlines:%zu: \"%s\" is no date or time: 2026-10-05, 2026-10-05T23:59:00+02:00.", line,
                deadline);
        if (read_percent(grade_table_cell(table, i, "penalty_percent"), 0, &percent) != 0 ||
            read_percent(grade_table_cell(table, i, "most_percent"), 100, &percent) != 0)
            return complain("--deadlines:%zu: a penalty is a number of percent from 0 to 100.", line);
    }
    return EXIT_PASS;
}

static int check_times(const struct grade_rules *rules)
{
    const struct grade_table *table = &rules->times;
    const char *const needed[] = {rules->student_column, rules->time_column, NULL};
    if (table->columns && grade_table_needs("--times", table, needed) != EXIT_PASS) return EXIT_TROUBLE;
    for (size_t i = 0; i < table->count; i++) {
        long long seconds;
        const char *time = grade_table_cell(table, i, rules->time_column);
        /* an empty time: nothing was handed in */
        if (*time && grade_read_time(time, 0, &seconds) != 0)
            return complain(
                "--times:%zu: \"%s\" is no time: 2026-10-05T23:59:00+02:00, 2026-10-05 23:59:30 -0800.",
                table->row[i].line, time);
    }
    return EXIT_PASS;
}

static const char *setting_or(const struct grade_book *book, enum grade_setting which, const char *usual)
{
    const char *value = book->setting[which];
    return value != NULL && *value ? value : usual;
}

int grade_rules_make(const struct grade_book *book, struct grade_rules *rules)
{
    char *end;
    const char *days = setting_or(book, GRADE_LATE_DAYS, "0");
    *rules = (struct grade_rules){.time_column = setting_or(book, GRADE_TIME_COLUMN, "time"),
                                  .student_column = setting_or(book, GRADE_STUDENT_COLUMN, "student"),
                                  .late_days = strtol(days, &end, 10)};
    if (*end || rules->late_days < 0 || rules->late_days > 1000)
        return complain("--late-days takes a number of days, not \"%s\".", days);
    int code = grade_table_read("--overrides", setting_or(book, GRADE_OVERRIDES, ""), &rules->overrides);
    if (code == EXIT_PASS)
        code = grade_table_read("--deadlines", setting_or(book, GRADE_DEADLINES, ""), &rules->deadlines);
    if (code == EXIT_PASS)
        code = grade_table_read("--times", setting_or(book, GRADE_TIMES, ""), &rules->times);
    if (code == EXIT_PASS) code = check_overrides(&rules->overrides);
    if (code == EXIT_PASS) code = check_deadlines(&rules->deadlines);
    if (code == EXIT_PASS) code = check_times(rules);
    if (code == EXIT_PASS) code = grade_names_resolve(book, "--overrides", "student", &rules->overrides);
    if (code == EXIT_PASS) code = grade_names_resolve(book, "--deadlines", "student", &rules->deadlines);
    return code == EXIT_PASS ? grade_names_resolve(book, "--times", rules->student_column, &rules->times)
                             : code;
}

void grade_rules_free(struct grade_rules *rules)
{
    grade_table_free(&rules->overrides);
    grade_table_free(&rules->deadlines);
    grade_table_free(&rules->times);
}

/* ---- do they fit the class? ---------------------------------------------------------------------------- */

static int fits_lesson(const struct grade_book *book, const char *name, const struct grade_table *table,
                       size_t row)
{
    const char *word = grade_table_cell(table, row, "lesson");
    for (size_t i = 0; i < book->lesson_count; i++)
        if (is_lesson(&book->lessons[i], word)) return EXIT_PASS;
    if (!*word || course_find_lesson(word) != NULL)
        return EXIT_PASS; /* a lesson that is not graded this time */
    return complain("%s:%zu is about that lesson.", name, table->row[row].line);
}

static int fits_student(const struct grade_book *book, const char *name, const struct grade_table *table,
                        size_t row)
{
    if (table->row[row].student != GRADE_NOBODY) return EXIT_PASS;
    struct text said = {0};
    grade_names_absent(book, grade_table_cell(table, row, "student"), &said);
    complain("%s:%zu: %s", name, table->row[row].line, said.data);
    text_free(&said);
    return EXIT_TROUBLE;
}

/* Of a table of times it is an error only that it names nobody at all, which is a wrong column. Systems that collect
 * submissions export everybody they know, also of other groups and who has left: that is told, by
 * grade_times_absent(), and does not keep a class from being graded. */
static int fits_times(const struct grade_book *book, const struct grade_rules *rules)
{
    const struct grade_table *table = &rules->times;
    for (size_t i = 0; i < table->count; i++)
        if (table->row[i].student != GRADE_NOBODY) return EXIT_PASS;
    if (table->count == 0 || *book->shard) return EXIT_PASS;
    struct text said = {0};
    grade_names_absent(book, grade_table_cell(table, 0, rules->student_column), &said);
    complain(
        "--times: no row names a student of this class by \"%s\"; is that the column of the folders' names "
        "(--student-column)? --times:%zu: %s",
        rules->student_column, table->row[0].line, said.data);
    text_free(&said);
    return EXIT_TROUBLE;
}

int grade_rules_fit(const struct grade_book *book, const struct grade_rules *rules)
{
    const struct {
        const char *name;
        const struct grade_table *table;
    } tables[] = {{"--overrides", &rules->overrides}, {"--deadlines", &rules->deadlines}};
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        const struct grade_table *table = tables[t].table;
        for (size_t i = 0; i < table->count; i++) {
            int all_here = !*book->shard;
            int named = t == 0 || *grade_table_cell(table, i, "student") != '\0';
            if (fits_lesson(book, tables[t].name, table, i) != EXIT_PASS) return EXIT_TROUBLE;
            if (all_here && named && fits_student(book, tables[t].name, table, i) != EXIT_PASS)
                return EXIT_TROUBLE;
        }
    }
    return fits_times(book, rules);
}

/* ---- late ---------------------------------------------------------------------------------------------- */

/** A lesson that was handed in late. */
struct late {
    size_t row; /* of the deadlines */
    long long deadline;
    const char *deadline_text, *time_text;
    long days, free_days;
};

/* The deadline of a lesson: the student's own row if there is one, and the last row if there are several.
 * -1 if there is none. */
static int find_deadline(const struct grade_rules *rules, const struct grade_lesson *lesson, int student,
                         struct late *late)
{
    int own = -1;
    for (size_t i = 0; i < rules->deadlines.count; i++) {
        const char *whose = grade_table_cell(&rules->deadlines, i, "student");
        int rank = *whose ? 1 : 0;
        if (rank < own || !is_lesson(lesson, grade_table_cell(&rules->deadlines, i, "lesson"))) continue;
        if (rank && rules->deadlines.row[i].student != student) continue;
        own = rank;
        late->row = i;
        late->deadline_text = grade_table_cell(&rules->deadlines, i, "deadline");
        grade_read_time(late->deadline_text, 1, &late->deadline);
    }
    return own < 0 ? -1 : 0;
}

/* When the lesson was handed in: the latest time in the student's rows, of this lesson if rows name
 * lessons. */
static const char *find_time(const struct grade_rules *rules, const struct grade_lesson *lesson, int student,
                             long long *latest)
{
    const char *found = NULL;
    for (size_t i = 0; i < rules->times.count; i++) {
        long long seconds;
        const char *of = grade_table_cell(&rules->times, i, "lesson");
        const char *time = grade_table_cell(&rules->times, i, rules->time_column);
        if ((*of && !is_lesson(lesson, of)) || !*time) continue;
        if (rules->times.row[i].student != student) continue;
        if (grade_read_time(time, 0, &seconds) != 0 || (found != NULL && seconds <= *latest)) continue;
        *latest = seconds;
        found = time;
    }
    return found;
}

/* Spends a student's free late days on the lessons with the earliest deadlines first. */
static void spend_free_days(struct late *late, size_t count, long days)
{
    for (size_t turn = 0; turn < count; turn++) {
        struct late *earliest = NULL;
        for (size_t i = 0; i < count; i++) {
            int waits = late[i].days > 0 && late[i].free_days < 0;
            if (waits && (earliest == NULL || late[i].deadline < earliest->deadline)) earliest = &late[i];
        }
        if (earliest == NULL) return;
        earliest->free_days = earliest->days < days ? earliest->days : days;
        days -= earliest->free_days;
    }
}

static void apply_late(const struct grade_rules *rules, const struct late *late, struct grade_score *score)
{
    double percent, most;
    long days = late->days - late->free_days;
    read_percent(grade_table_cell(&rules->deadlines, late->row, "penalty_percent"), 0, &percent);
    read_percent(grade_table_cell(&rules->deadlines, late->row, "most_percent"), 100, &most);
    double penalty = fmin(percent * (double)days, most);
    score->points -= score->points * penalty / 100;
    text_print(&score->adjusted, "handed in %s, %ld day%s after %s", late->time_text, late->days,
               late->days == 1 ? "" : "s", late->deadline_text);
    if (late->free_days > 0)
        text_print(&score->adjusted, ", %ld of them free late day%s", late->free_days,
                   late->free_days == 1 ? "" : "s");
    if (penalty > 0) text_print(&score->adjusted, ": %g%% of %.2f points off", penalty, score->earned);
}

static void adjust_late(const struct grade_book *book, const struct grade_rules *rules, int student,
                        struct grade_sheet *sheet)
{
    struct late *late = must_allocate((book->lesson_count + 1) * sizeof *late);
    for (size_t i = 0; i < book->lesson_count; i++) {
        const struct grade_lesson *lesson = &book->lessons[i];
        long long seconds = 0;
        late[i] = (struct late){.free_days = -1};
        if (sheet->scores[i].state == STATE_NOT_STARTED) continue; /* nothing came late */
        if (find_deadline(rules, lesson, student, &late[i]) != 0) continue;
        late[i].time_text = find_time(rules, lesson, student, &seconds);
        if (late[i].time_text != NULL) late[i].days = grade_days_between(late[i].deadline, seconds);
    }
    spend_free_days(late, book->lesson_count, rules->late_days);
    for (size_t i = 0; i < book->lesson_count; i++)
        if (late[i].days > 0) apply_late(rules, &late[i], &sheet->scores[i]);
    free(late);
}

/* ---- by hand ------------------------------------------------------------------------------------------- */

static void tell_comment(struct text *out, const char *comment)
{
    if (*comment) text_print(out, ": %s", comment);
}

static void override_lesson(const struct grade_table *table, size_t row, struct grade_score *score)
{
    double points;
    int added;
    struct text *out = &score->adjusted;
    const char *cell = grade_table_cell(table, row, "points"),
               *comment = grade_table_cell(table, row, "comment");
    read_points(cell, &points, &added);
    if (isnan(points) && !*comment) return;
    if (out->length) text_print(out, "; ");
    if (isnan(points)) {
        text_print(out, "comment");
    } else if (added) {
        score->points = fmax(0, score->points + points);
        text_print(out, "%+.2f points by hand", points);
    } else {
        text_print(out, "set by hand to %.2f points, %.2f before", points, score->points);
        score->points = fmax(0, points);
    }
    score->decided = score->decided || (!isnan(points) && !added);
    tell_comment(out, comment);
}

static void override_whole(const struct grade_table *table, size_t row, struct grade_sheet *sheet)
{
    double points;
    int added;
    const char *comment = grade_table_cell(table, row, "comment");
    read_points(grade_table_cell(table, row, "points"), &points, &added);
    if (isnan(points) && !*comment) return;
    if (sheet->adjusted.length) text_print(&sheet->adjusted, "; ");
    if (!isnan(points)) sheet->by_hand += points;
    if (isnan(points))
        text_print(&sheet->adjusted, "comment");
    else
        text_print(&sheet->adjusted, "%+.2f points by hand", points);
    tell_comment(&sheet->adjusted, comment);
}

static void adjust_by_hand(const struct grade_book *book, const struct grade_rules *rules, int student,
                           struct grade_sheet *sheet)
{
    const struct grade_table *table = &rules->overrides;
    for (size_t row = 0; row < table->count; row++) {
        const char *lesson = grade_table_cell(table, row, "lesson");
        if (table->row[row].student != student) continue;
        if (!*lesson) override_whole(table, row, sheet);
        for (size_t i = 0; i < book->lesson_count && *lesson; i++)
            if (is_lesson(&book->lessons[i], lesson)) override_lesson(table, row, &sheet->scores[i]);
    }
}

void grade_adjust(const struct grade_book *book, const struct grade_rules *rules, int student,
                  struct grade_sheet *sheet)
{
    if (rules->deadlines.count > 0 && rules->times.count > 0) adjust_late(book, rules, student, sheet);
    if (rules->overrides.count > 0) adjust_by_hand(book, rules, student, sheet);
}

void grade_put_adjustments(const struct grade_book *book, const struct grade_sheet *sheet, struct text *out)
{
    for (size_t i = 0; i < book->lesson_count; i++) {
        const struct text *adjusted = &sheet->scores[i].adjusted;
        if (!adjusted->length) continue;
        text_print(out, "%s%s: %s", out->length ? "; " : "", book->lessons[i].number, adjusted->data);
    }
    if (sheet->adjusted.length) text_print(out, "%s%s", out->length ? "; " : "", sheet->adjusted.data);
}

void grade_times_absent(const struct grade_book *book, struct text *out)
{
    struct grade_rules rules;
    text_append(out, "", 0);
    if (*book->shard || grade_rules_make(book, &rules) != EXIT_PASS) return;
    for (size_t i = 0; i < rules.times.count; i++) {
        int counts = *grade_table_cell(&rules.times, i, rules.time_column) != '\0';
        if (!counts || rules.times.row[i].student != GRADE_NOBODY) continue;
        text_print(out, "--times:%zu: ", rules.times.row[i].line);
        grade_names_absent(book, grade_table_cell(&rules.times, i, rules.student_column), out);
        text_print(out, " Its time counts for nobody.\n");
    }
    grade_rules_free(&rules);
}
