/**
 * @file grade_unit.c
 * @brief One lesson of one student on one device: built, checked, and, where results are right, measured.
 *
 * If there can be no verdict through no fault of the student (no room on the disk, no compiler, a device that
 * is gone), the result is "not graded", with the reason; never a zero.
 *
 * On a GPU the course's solution is measured directly before and after the student's kernel. If these two
 * times differ by more than a tenth, the machine was not quiet, and the measurement is made again.
 */
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/process.h"
#include "base/sha256.h"
#include "base/terminal.h"
#include "base/text.h"
#include "build/build.h"
#include "build/submission.h"
#include "course/course.h"
#include "course/device.h"
#include "course/places.h"
#include "grade.h"
#include "judging/judging.h"
#include "judging/results.h"

enum {
    MEASURING_TRIES = 3,
    /* at least: what a busy machine may take over the smallest lesson, compiler and all */
    LESSON_SECONDS = 60,
    STUDENT_SECONDS = 600,
    CASE_SECONDS = 10,
    CASE_SECONDS_MOST = 60, /* the checker's own limit */
    MANY_TIMES = 10,
    /* random inputs per property on the software device: shapes repeat after 32; a student's own check has
     * more */
    RANDOM_INPUTS = 36
};

/* ---- what a verdict depends on ------------------------------------------------------------------------- */

static void add_text(struct sha256 *hash, const char *text)
{
    sha256_add(hash, text, strlen(text) + 1);
}

static void add_file(struct sha256 *hash, const char *path)
{
    struct text content = {0};
    int error = read_file(path, &content);
    sha256_add(hash, &error, sizeof error);
    sha256_add(hash, &content.length, sizeof content.length);
    sha256_add(hash, content.data, content.length);
    text_free(&content);
}

static void add_headers(struct sha256 *hash, const char *folder)
{
    glob_t found;
    char *pattern = format_string("%s/*.h", folder);
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) add_file(hash, found.gl_pathv[i]);
        globfree(&found);
    }
    free(pattern);
}

/* Checker, compiler driver, runner and headers: one sum for all units of a lesson on a device. */
static const char *tool_sum(const struct lesson_folder *lesson, enum device device)
{
    static struct {
        const struct lesson_folder *lesson;
        char digits[DEVICE_COUNT][65];
    } known[100];
    size_t slot = 0;
    while (slot < 99 && known[slot].lesson != NULL && known[slot].lesson != lesson) slot++;
    known[slot].lesson = lesson;
    char *digits = known[slot].digits[device];
    if (*digits) return digits;
    struct sha256 hash;
    char *paths[] = {
        format_string("%s/bin/checker", course_binary_dir()),
        format_string("%s/lib/librunner_%s_%s.a", course_binary_dir(), lesson->name, device_name(device)),
        format_string("%s/bin/simtcc", course_binary_dir()),
        format_string("%s/lib/libsimt.a", course_binary_dir())};
    char *contract = format_string("%s/lessons/%s", course_source_dir(), lesson->name);
    sha256_begin(&hash);
    add_text(&hash, places.version);
    for (size_t i = 0; i < (device == DEVICE_SIMT ? 4 : 2); i++) add_file(&hash, paths[i]);
    for (size_t i = 0; i < 4; i++) free(paths[i]);
    add_headers(&hash, contract);
    add_headers(&hash, in_source("common/contracts"));
    add_headers(&hash, in_source("common/decode"));
    sha256_end(&hash, digits);
    free(contract);
    return digits;
}

char *grade_unit_name(const struct grade_unit *unit)
{
    return unit->exercise ? format_string("%s/hunt/%02d", unit->lesson->name, unit->exercise)
                          : copy_string(unit->lesson->name);
}

int grade_exercise_of(const struct grade_result *result)
{
    const char *hunt = strstr(result->lesson, "/hunt/");
    return hunt != NULL ? atoi(hunt + strlen("/hunt/")) : 0;
}

void grade_key(const struct grade_unit *unit, const struct grade_book *book, const char *fingerprint,
               char key[65])
{
    struct sha256 hash;
    sha256_begin(&hash);
    add_text(&hash, "unit 2");
    add_text(&hash, book->whole ? "whole isolation" : book->isolation);
    char *name = grade_unit_name(unit);
    add_text(&hash, name);
    free(name);
    add_text(&hash, device_name(unit->device));
    add_text(&hash, tool_sum(unit->lesson, unit->device));
    add_text(&hash, book->seed);
    add_text(&hash, book->speed ? "speed" : "");
    add_text(&hash, fingerprint);
    sha256_end(&hash, key);
}

/* ---- what came of it ------------------------------------------------------------------------------------------ */

static void settle(struct grade_result *result, int graded, enum state state, const char *sentence)
{
    result->graded = graded;
    result->state = graded ? state : STATE_NOT_GRADED;
    result->sentence = copy_string(sentence);
}

/* The checker's last message: if it could not do its part, that is the reason. */
static char *last_line(const char *report)
{
    char *last = copy_string("it says nothing");
    for (char *line; (line = next_word(&report, '\n')) != NULL;) {
        if (line[strspn(line, " ")] == '\0') {
            free(line);
            continue;
        }
        free(last);
        last = line;
    }
    return last;
}

static void keep_rows(const struct results *results, struct grade_result *result)
{
    for (size_t i = 0; i < results->count; i++) {
        const struct result_row *from = &results->rows[i];
        struct grade_row *row = grade_add_row(result);
        *row = (struct grade_row){.part = from->part,
                                  .test_case = from->test_case,
                                  .group = from->group,
                                  .shape = from->shape,
                                  .state = from->state,
                                  .finding = from->finding,
                                  .cause = from->cause,
                                  .guess = from->guess,
                                  .headline = from->headline,
                                  .pattern = from->pattern,
                                  .found = from->found,
                                  .seconds = from->host_seconds,
                                  .points = from->points,
                                  .points_max = from->points_max};
    }
}

/* A student's runner is untrusted; that of the course's own solution is not. */
static void add_arguments(const struct grade_plan *plan, int untrusted, struct judgement_request *request)
{
    request->submission = untrusted ? plan->submissions : NULL;
    argument_add(&request->checker_arguments, "--secret-seed-file");
    argument_add(&request->checker_arguments, plan->seed_file);
    if (request->device != DEVICE_SIMT) return;
    argument_add(&request->checker_arguments, "--most-inputs");
    argument_add(&request->checker_arguments, format_string("%d", RANDOM_INPUTS));
}

/* ---- time ---------------------------------------------------------------------------------------------- */

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

static struct timespec unit_start; /* one unit a process */

static double processor_seconds(int whose)
{
    struct rusage usage;
    if (getrusage(whose, &usage) != 0) return INFINITY;
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* What this unit has taken, without what other programs took from it: building is hardly ever more than processor time, and
 * a check on many cores is more of that than of the clock. */
static double unit_seconds_taken(void)
{
    return fmin(seconds_since(&unit_start),
                processor_seconds(RUSAGE_SELF) + processor_seconds(RUSAGE_CHILDREN));
}
static double unit_seconds; /* seconds that it may take; 0: no limit */

/* What all results of @p student took in lessons, except those of @p lesson; of all lessons if that is NULL. */
static double seconds_used(const struct grade_book *book, const char *student, const char *lesson)
{
    double sum = 0;
    for (size_t i = 0; i < book->result_count; i++) {
        const struct grade_result *result = &book->results[i];
        int counts =
            strcmp(result->student, student) == 0 && (lesson == NULL || strcmp(result->lesson, lesson) != 0);
        if (counts && !grade_exercise_of(result) && result->seconds > 0) sum += result->seconds;
    }
    return sum;
}

/* How long a student's unit may take: its lesson's time, or the rest of the student's time if that is
 * less. Unless the instructor has set limits, both are longer on a machine on which the solutions are
 * slow. */
static double seconds_allowed(const struct grade_plan *plan, const struct grade_unit *unit)
{
    const struct grade_book *book = plan->book;
    if (book == NULL || !*unit->student) return 0;
    double all = seconds_used(book, "", NULL), others = seconds_used(book, "", unit->lesson->name);
    double lesson = plan->lesson_seconds, student = plan->student_seconds;
    if (!(lesson > 0)) lesson = fmax(LESSON_SECONDS, MANY_TIMES * (all - others));
    if (unit->exercise) return lesson;
    if (!(student > 0)) student = fmax(STUDENT_SECONDS, MANY_TIMES * all);
    return fmin(lesson, student - seconds_used(book, unit->student, unit->lesson->name));
}

/* How long one case of a student may take: many times the solution's slowest one. A part is given up after two cases
 * that took longer (checker/verdict/session.c). 0 where nothing is known, or on a GPU. */
static double case_seconds(const struct grade_plan *plan, const struct grade_unit *unit)
{
    const struct grade_result *solution =
        plan->book != NULL ? grade_book_find(plan->book, "", unit->lesson->name, unit->device) : NULL;
    double slowest = 0;
    for (size_t i = 0; solution != NULL && i < solution->row_count; i++) {
        if (solution->rows[i].seconds > slowest) slowest = solution->rows[i].seconds;
    }
    if (unit->device != DEVICE_SIMT || !(slowest > 0)) return 0;
    return fmin(fmax(CASE_SECONDS, MANY_TIMES * slowest), CASE_SECONDS_MOST);
}

/* Cases that the checker does not reach in the remaining time are TIMEOUT. */
static void add_time_limit(const struct grade_plan *plan, const struct grade_unit *unit,
                           struct judgement_request *request)
{
    double seconds = case_seconds(plan, unit);
    if (!(unit_seconds > 0)) return;
    if (seconds > 0) {
        argument_add(&request->checker_arguments, "--time-limit");
        argument_add(&request->checker_arguments, format_string("%.1f", seconds));
    }
    argument_add(&request->checker_arguments, "--total-limit");
    argument_add(&request->checker_arguments,
                 format_string("%.0f", fmax(1.0, unit_seconds - unit_seconds_taken())));
}

/* ---- checking ------------------------------------------------------------------------------------------ */

static void check(const struct grade_plan *plan, const struct grade_unit *unit, const char *kernel,
                  const char *runner, struct grade_result *result, struct text *log)
{
    struct judgement judgement;
    struct judgement_request request = {.lesson = unit->lesson, .kernel = kernel, .device = unit->device};
    add_arguments(plan, *unit->student != '\0', &request);
    add_time_limit(plan, unit, &request);
    complaints_keep(1);
    judge_runner(&request, runner, &judgement);
    complaints_keep(0);
    text_append(log, judgement.report.data, judgement.report.length);
    int verdict = judgement.exit_code == EXIT_PASS || judgement.exit_code == EXIT_FAIL ||
                  judgement.state == STATE_NOT_STARTED;
    if (verdict) {
        settle(result, 1, judgement.state, "");
        keep_rows(&judgement.results, result);
        return;
    }
    char *last = last_line(judgement.report.data);
    char *reason = judgement.exit_code == EXIT_SKIPPED
                       ? format_string("the device is not there (any more): %s", last)
                   : *complaint_kept() ? copy_string(complaint_kept())
                                       : format_string("the check could not be made: %s", last);
    settle(result, 0, STATE_NOT_GRADED, reason);
    free(reason);
    free(last);
}

/* ---- measuring ----------------------------------------------------------------------------------------- */

/* Rows of the speed cases of @p runner, measured now. */
static void measure(const struct grade_plan *plan, const struct grade_unit *unit, const char *kernel,
                    const char *runner, int untrusted, struct judgement *bench)
{
    struct judgement_request request = {
        .lesson = unit->lesson, .kernel = kernel, .device = unit->device, .bench = 1};
    add_arguments(plan, untrusted, &request);
    if (untrusted) add_time_limit(plan, unit, &request);
    complaints_keep(1);
    judge_runner(&request, runner, bench);
    complaints_keep(0);
}

static const struct result_row *row_of_case(const struct results *results, const char *test_case)
{
    for (size_t i = 0; i < results->count; i++) {
        if (strcmp(results->rows[i].test_case, test_case) == 0) return &results->rows[i];
    }
    return NULL;
}

static double time_of(const struct judgement *bench, const char *test_case)
{
    const struct result_row *row = row_of_case(&bench->results, test_case);
    return row != NULL && row->state == STATE_PASS ? row->median_us : NAN;
}

static struct grade_measure *measure_called(struct grade_result *result, const char *test_case)
{
    struct grade_measure *found = (struct grade_measure *)grade_measure_of(result, test_case);
    if (found != NULL) return found;
    found = grade_add_measure(result);
    found->test_case = copy_string(test_case);
    return found;
}

/* Keeps a measurement; one that is steady is not replaced by a later one. */
static void note_measures(const struct judgement *bench, const struct judgement *before,
                          const struct judgement *after, struct grade_result *result)
{
    for (size_t i = 0; i < bench->results.count; i++) {
        const struct result_row *row = &bench->results.rows[i];
        if (strcmp(row->group, "speed") != 0) continue;
        struct grade_measure *measure = measure_called(result, row->test_case);
        if (grade_is_steady(measure)) continue;
        measure->state = row->state;
        measure->refused = copy_string(row->time_refused);
        measure->sectors = row->load_sectors + row->store_sectors;
        measure->min_bytes = row->min_bytes;
        measure->time_us = row->median_us;
        measure->before_us = before != NULL ? time_of(before, row->test_case) : NAN;
        measure->after_us = after != NULL ? time_of(after, row->test_case) : NAN;
    }
}

static int all_steady(const struct grade_result *result)
{
    for (size_t i = 0; i < result->measure_count; i++) {
        if (!grade_is_steady(&result->measures[i])) return 0;
    }
    return 1;
}

static int has_speed_case(const struct grade_result *result)
{
    for (size_t i = 0; i < result->row_count; i++) {
        const struct grade_row *row = &result->rows[i];
        if (strcmp(row->group, "speed") == 0 && row->state == STATE_PASS) return 1;
    }
    return 0;
}

static void measure_beside_solution(const struct grade_plan *plan, const struct grade_unit *unit,
                                    const char *kernel, const char *runner, struct grade_result *result)
{
    struct build solution;
    char *path = course_kernel_path(unit->lesson, 1);
    complaints_keep(1);
    build_runner(unit->lesson, path, unit->device, BUILD_FULL, &solution);
    complaints_keep(0);
    for (int i = 0; i < MEASURING_TRIES && solution.state == BUILD_READY && !process_interrupted(); i++) {
        struct judgement before, bench, after;
        measure(plan, unit, path, solution.runner, 0, &before);
        measure(plan, unit, kernel, runner, 1, &bench);
        measure(plan, unit, path, solution.runner, 0, &after);
        note_measures(&bench, &before, &after, result);
        if (all_steady(result)) break;
    }
    free(path);
}

static void measure_speed(const struct grade_plan *plan, const struct grade_unit *unit, const char *kernel,
                          const char *runner, struct grade_result *result)
{
    struct judgement bench;
    if (!plan->speed || unit->exercise || !result->graded || !has_speed_case(result)) return;
    if (unit->device == DEVICE_GPU && *unit->student) {
        measure_beside_solution(plan, unit, kernel, runner, result);
        return;
    }
    measure(plan, unit, kernel, runner, *unit->student != '\0', &bench);
    note_measures(&bench, NULL, NULL, result);
}

/* ---- one unit ------------------------------------------------------------------------------------------ */

static void grade_solution(const struct grade_plan *plan, const struct grade_unit *unit,
                           struct grade_result *result, struct text *log)
{
    struct build build;
    char *path = course_kernel_path(unit->lesson, 1);
    result->file = copy_string(course_short_path(path));
    complaints_keep(1);
    build_runner(unit->lesson, path, unit->device, BUILD_FULL, &build);
    complaints_keep(0);
    if (build.state == BUILD_READY) {
        check(plan, unit, path, build.runner, result, log);
        measure_speed(plan, unit, path, build.runner, result);
    } else if (build.state == BUILD_BROKEN) {
        text_append(log, build.errors.data, build.errors.length);
        settle(result, 1, STATE_BUILD_ERROR, "it does not compile");
    } else {
        settle(result, 0, STATE_NOT_GRADED, complaint_kept());
    }
    free(path);
}

/* The compiler sees a copy of the student's file; its messages must name the file as the student knows it. */
static void forget_folder(struct text *log, const char *kernel)
{
    const char *slash = kernel != NULL ? strrchr(kernel, '/') : NULL;
    struct text out = {0};
    if (slash == NULL || log->data == NULL) return;
    size_t length = (size_t)(slash + 1 - kernel);
    text_append(&out, "", 0);
    for (const char *at = log->data; *at;) {
        int here = strncmp(at, kernel, length) == 0;
        if (!here) text_append(&out, at, 1);
        at += here ? length : 1;
    }
    text_free(log);
    *log = out;
}

static void grade_submission(const struct grade_plan *plan, const struct grade_unit *unit,
                             struct grade_result *result, struct text *log)
{
    struct submission submission;
    char *folder = format_string("%s/%s", plan->submissions, unit->student);
    build_untrusted_at_most(unit_seconds);
    submission_build(folder, unit->lesson, unit->exercise, unit->device, &submission);
    free(folder);
    result->file = copy_string(submission.found != NULL ? submission.found : "");
    result->sha256 = copy_string(submission.sha256);
    if (submission.log.length) text_append(log, submission.log.data, submission.log.length);
    if (submission.state == SUBMISSION_READY) {
        check(plan, unit, submission.kernel, submission.runner, result, log);
        measure_speed(plan, unit, submission.kernel, submission.runner, result);
    } else if (submission.state == SUBMISSION_TROUBLE) {
        settle(result, 0, STATE_NOT_GRADED, submission.sentence);
    } else {
        settle(result, 1, state_of(submission_state_name(submission.state)), submission.sentence);
        result->elsewhere = submission.elsewhere;
    }
    forget_folder(log, submission.kernel);
    submission_free(&submission);
}

static const char *fact(const struct device_facts *facts, const char *name)
{
    for (size_t i = 0; i < facts->count; i++) {
        if (strcmp(facts->name[i], name) == 0) return facts->value[i];
    }
    return "";
}

void grade_unit_run(const struct grade_plan *plan, const struct grade_unit *unit, struct grade_result *result)
{
    struct text log = {0};
    char at[32];
    time_t now = time(NULL);
    const struct device_facts *facts = device_probe(unit->device);
    clock_gettime(CLOCK_MONOTONIC, &unit_start);
    unit_seconds = seconds_allowed(plan, unit);
    strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    text_append(&log, "", 0);
    *result =
        (struct grade_result){.student = copy_string(unit->student),
                              .lesson = grade_unit_name(unit),
                              .device = unit->device,
                              .key = copy_string(unit->key),
                              .model = copy_string(facts->model != NULL ? facts->model : "software device"),
                              .driver = copy_string(fact(facts, "driver")),
                              .at = copy_string(at)};
    if (unit_seconds < 0 || (*unit->student && plan->book != NULL && !(unit_seconds > 0))) {
        settle(result, 1, STATE_TIMEOUT,
               "the time that all lessons of a student together may take was used up by others");
    } else if (*unit->student) {
        grade_submission(plan, unit, result, &log);
    } else {
        grade_solution(plan, unit, result, &log);
    }
    result->seconds = seconds_since(&unit_start);
    result->log = log.data;
}
