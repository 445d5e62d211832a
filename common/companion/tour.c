/**
 * @file tour.c
 * @brief warpwise tour: every solution, checked and measured on every device that is here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/leftovers.h"
#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "catalogue.h"
#include "companion.h"
#include "course/command.h"
#include "course/course.h"
#include "course/device.h"
#include "figures.h"
#include "judging/judging.h"
#include "judging/results.h"
#include "judging/together.h"
#include "progress.h"
#include "table.h"

enum { MOST_REPORT_LINES = 30, MOST_VISITS = 2 * 99 };

#define ANSWERS "tour_answers_"

/** @brief One lesson on one device: its check, and what was measured. */
struct visit {
    const struct lesson_folder *lesson;
    enum device device;
};

struct tour {
    struct results measured; /* rows of all benches so far, for speed ratios and for --csv */
    int own;                 /* 1: of the kernels under lessons/ */
    int details;             /* 1: every measured case is shown, not one per lesson */
    int all;                 /* 1: every case is measured, because they are shown or written to a file */
    int seconds;             /* 1: how long each check and each bench took is shown */
    int record;              /* 1: each lesson's figures go into docs/results/DEVICE.csv */
    int recorded[DEVICE_COUNT];
    int checked, passed, trouble, waiting;
    struct visit visits[MOST_VISITS];
    struct judgement judgements[MOST_VISITS][2]; /* the check, and the bench */
    size_t count, done;
    /* folder for the oracle's answers in a check, which the bench of the same kernel reuses; NULL: they
     * are not kept */
    const char *answers;
};

static int has_solution(const struct lesson_folder *lesson)
{
    char *path = course_kernel_path(lesson, 1);
    int found = access(path, F_OK) == 0;
    free(path);
    return found;
}

/* A student's tree has no solutions: there the tour shows the kernels under lessons/. */
static int has_solutions(void)
{
    size_t count;
    const struct lesson_folder *lessons = course_lessons(&count);
    int found = 0;
    for (size_t i = 0; i < count; i++) found = found || has_solution(&lessons[i]);
    return found;
}

static void print_start_of_report(const char *report)
{
    int lines = 0;
    for (const char *end; *report == ' ' && (end = strchr(report, '\n')) != NULL; report = end + 1)
        continue; /* what a bench has measured comes first */
    for (char *line; lines < MOST_REPORT_LINES && (line = next_word(&report, '\n')) != NULL; free(line)) {
        if (*line) printf("     %s\n", line);
        lines++;
    }
}

/* Keeps the rows, so that later lessons can be compared with this one. */
static void keep_rows(struct tour *tour, const struct results *bench)
{
    struct results *kept = &tour->measured;
    struct result_row *rows = must_allocate((kept->count + bench->count) * sizeof *rows);
    if (kept->count) memcpy(rows, kept->rows, kept->count * sizeof *rows);
    if (bench->count) memcpy(rows + kept->count, bench->rows, bench->count * sizeof *rows);
    free(kept->rows);
    kept->rows = rows;
    kept->count += bench->count;
    if (kept->header == NULL && bench->header != NULL) kept->header = copy_string(bench->header);
    if (bench->lines.length) text_append(&kept->lines, bench->lines.data, bench->lines.length);
}

/* Measures only the case that the lesson's one line shows, the one with the most work, as in
 * print_lesson_line(). */
static void measure_largest(const struct visit *visit, struct argument_list *arguments)
{
    struct catalogue catalogue;
    if (catalogue_read(visit->lesson, &catalogue) != EXIT_PASS) return;
    const struct known_case *largest = catalogue_largest(&catalogue, visit->device);
    if (largest == NULL) return;
    argument_add(arguments, "--case");
    argument_add(arguments, largest->name);
}

/* Leaves the large sizes out of the check: those that are measured are judged then, and the oracle takes
 * longest for them. */
static void leave_out_speed(struct argument_list *arguments)
{
    static const char *const groups[] = {"basic", "edges", "numerics", "bad_input", "properties"};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        argument_add(arguments, "--group");
        argument_add(arguments, groups[i]);
    }
}

static void judge_visit(const struct tour *tour, const struct visit *visit, int bench,
                        struct judgement *judgement)
{
    char *kernel = course_kernel_path(visit->lesson, !tour->own);
    struct judgement_request request = {
        .lesson = visit->lesson, .kernel = kernel, .device = visit->device, .bench = bench};
    if (tour->answers != NULL && visit->device == DEVICE_GPU) {
        argument_add(&request.checker_arguments, "--remember");
        argument_add(&request.checker_arguments, tour->answers);
    }
    if (!bench && visit->device == DEVICE_GPU) leave_out_speed(&request.checker_arguments);
    if (bench && !tour->all && visit->device == DEVICE_GPU)
        measure_largest(visit, &request.checker_arguments);
    judge(&request, judgement);
    free(request.checker_arguments.items);
    free(kernel);
}

/* Runs in a process of its own: the check, and on simt the counting, which other processes do not disturb. */
static void check_visit(void *context, size_t index, struct judgement pair[2])
{
    const struct tour *tour = context;
    const struct visit *visit = &tour->visits[index];
    judge_visit(tour, visit, 0, &pair[0]);
    if (visit->device == DEVICE_SIMT && pair[0].exit_code == EXIT_PASS) judge_visit(tour, visit, 1, &pair[1]);
}

static void show_seconds(const struct visit *visit, const char *what, const struct judgement *judgement)
{
    printf("%s %s on %s: %.1f s\n", what, visit->lesson->number, device_name(visit->device),
           judgement->seconds);
    fflush(stdout);
}

static void note_visit(void *context, size_t index)
{
    struct tour *tour = context;
    const struct visit *visit = &tour->visits[index];
    tour->done++;
    if (tour->seconds) show_seconds(visit, "check", &tour->judgements[index][0]);
    show_progress("%zu of %zu checks done …", tour->done, tour->count);
}

/* Starts those that take longest first: on a GPU, and late lessons. */
static void plan_visits(struct tour *tour, const struct device_choice *choice)
{
    size_t count;
    const struct lesson_folder *lessons = course_lessons(&count);
    for (int device = DEVICE_COUNT; device-- > 0;) {
        if (!choice->wanted[device] || !device_probe((enum device)device)->usable) continue;
        for (size_t i = count; i-- > 0 && tour->count < MOST_VISITS;)
            if (tour->own || has_solution(&lessons[i]))
                tour->visits[tour->count++] = (struct visit){&lessons[i], (enum device)device};
    }
}

/* What a visit measured goes into its device's file at once: a tour that is stopped keeps what it had. */
static void record_visit(struct tour *tour, const struct visit *visit, const struct results *results)
{
    if (results->count == 0) return;
    if (figures_record(visit->device, results, "warpwise tour") == EXIT_PASS)
        tour->recorded[visit->device] = 1;
    else
        tour->trouble++;
}

static void show_visit(struct tour *tour, size_t index)
{
    const struct visit *visit = &tour->visits[index];
    struct judgement *check = &tour->judgements[index][0], *bench = &tour->judgements[index][1];
    int passed = check->exit_code == EXIT_PASS, waiting = tour->own && check->exit_code == EXIT_SKIPPED;
    if (passed && visit->device == DEVICE_GPU)
        judge_visit(tour, visit, 1, bench); /* nothing runs beside it */
    if (process_interrupted()) return;
    if (tour->seconds && bench->seconds > 0) show_seconds(visit, "bench", bench);
    if (tour->details)
        print_lesson_rows(visit->lesson, visit->device, check, bench, &tour->measured);
    else
        print_lesson_line(visit->lesson, visit->device, check, bench, &tour->measured);
    if (!passed && !waiting) print_start_of_report(check->report.data);
    if (passed && bench->exit_code != EXIT_PASS) print_start_of_report(bench->report.data);
    fflush(stdout);
    keep_rows(tour, &bench->results);
    if (tour->record) record_visit(tour, visit, &bench->results);
    tour->checked += !waiting;
    tour->waiting += waiting;
    tour->passed += passed && bench->exit_code == EXIT_PASS;
    tour->trouble += check->exit_code == EXIT_TROUBLE || bench->exit_code == EXIT_TROUBLE;
}

static void show_device(struct tour *tour, enum device device)
{
    print_device_heading(device);
    if (tour->details)
        print_table_head(device);
    else
        print_line_head(device);
    for (size_t i = tour->count; i-- > 0 && !process_interrupted();)
        if (tour->visits[i].device == device) show_visit(tour, i);
    if (tour->recorded[device]) figures_say_recorded(device);
    if (!process_interrupted() && tour->details) print_table_foot(device);
    if (!process_interrupted() && !tour->details) print_line_foot(device);
    printf("\n");
}

/* The checker's rows, after lines that begin with '#' and say what they were measured on. */
static int write_tour_rows(const char *path, const struct tour *tour)
{
    struct text file = {0};
    char date[32];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    text_print(&file, "# date,%s\n", date);
    if (device_probe(DEVICE_GPU)->usable) {
        const struct device_facts *limits = device_measure();
        for (size_t i = 0; i < limits->count; i++) {
            text_print(&file, "# %s,%s\n", limits->name[i], limits->value[i]);
        }
    }
    text_print(&file, "%s\n%s", tour->measured.header != NULL ? tour->measured.header : "",
               tour->measured.lines.data != NULL ? tour->measured.lines.data : "");
    int error = write_file(path, file.data, file.length);
    text_free(&file);
    return error ? complain("%s cannot be written: %s.", path, strerror(error)) : EXIT_PASS;
}

static int summarise(const struct tour *tour, int devices, double seconds)
{
    int all = tour->passed == tour->checked;
    printf("%s%d of %d passed%s on %d device%s, in %.0f s\n", colour_on(all ? COLOUR_GREEN : COLOUR_RED),
           tour->passed, tour->checked, colour_off(), devices, devices == 1 ? "" : "s", seconds);
    if (tour->waiting)
        printf("%d not started yet; there are no solutions here, this tour was of your own kernels\n",
               tour->waiting);
    if (tour->checked == 0 && tour->waiting && !tour->trouble) return EXIT_PASS;
    if (tour->checked == 0) return complain("no lesson has a solution to check, so nothing was shown.");
    if (tour->trouble) return EXIT_TROUBLE;
    return all ? EXIT_PASS : EXIT_FAIL;
}

static void say_what_next_after_tour(const struct tour *tour)
{
    const struct lesson_folder *next = standing_next(NULL);
    if (!tour->details) printf("every case: %s tour --details\n", program_name());
    if (next != NULL) printf("begin:      %s watch %s\n", program_name(), next->number);
}

/* Keeps the oracle's answers in a folder until the tour is over. Without one the oracle computes them
 * twice. */
static int open_answers(struct tour *tour, char *path)
{
    if (!device_probe(DEVICE_GPU)->usable || mkdtemp(path) == NULL) return -1;
    leftovers_remove(course_binary_dir(), ANSWERS, "");
    tour->answers = path;
    return leftovers_hold(path);
}

static void close_answers(const struct tour *tour, int held)
{
    if (tour->answers != NULL) remove_tree(tour->answers);
    if (held >= 0) close(held);
}

static int run_tour(const struct command_line *line)
{
    static struct tour tour;
    struct device_choice choice;
    struct timespec start, end;
    int devices = 0;
    const char *csv = option_value(line, "--csv");
    if (device_choose(option_value(line, "--device"), &choice) != EXIT_PASS) return EXIT_TROUBLE;
    clock_gettime(CLOCK_MONOTONIC, &start);
    tour.own = !has_solutions();
    tour.details = option_value(line, "--details") != NULL;
    tour.record = option_value(line, "--record") != NULL;
    tour.seconds = option_value(line, "--seconds") != NULL;
    tour.all = tour.details || csv != NULL || tour.record;
    plan_visits(&tour, &choice);
    char *answers = format_string("%s/" ANSWERS "XXXXXX", course_binary_dir());
    int held = open_answers(&tour, answers);
    const int gpu = choice.wanted[DEVICE_GPU] && device_probe(DEVICE_GPU)->usable;
    if (csv == NULL && !tour.record) device_measure_peers_of(""); /* libraries are no part of the table */
    judge_together(tour.count, judge_at_a_time(gpu), check_visit, tour.judgements, note_visit, &tour);
    show_progress(NULL);
    for (int i = DEVICE_COUNT; i-- > 0 && !process_interrupted();) {
        enum device device = (enum device)i;
        if (!choice.wanted[i]) continue;
        if (device_probe(device)->usable) {
            show_device(&tour, device);
            devices++;
        } else {
            printf("%s is not here: %s\n\n", device_name(device), device_probe(device)->reason);
        }
    }
    close_answers(&tour, held);
    free(answers);
    if (process_interrupted()) return complain("stopped; the tour is not complete.");
    if (devices == 0) return EXIT_SKIPPED;
    if (tour.details) print_shapes(&tour.measured);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (csv != NULL && write_tour_rows(csv, &tour) != EXIT_PASS) return EXIT_TROUBLE;
    int code = summarise(&tour, devices, (double)(end.tv_sec - start.tv_sec));
    if (code == EXIT_PASS) say_what_next_after_tour(&tour);
    return code;
}

static const struct option_description tour_options[] = {
    {"--device", "gpu|simt|both", "where to run; without it, on every device that is here", 0},
    {"--details", NULL, "every measured case with its shape, not one per lesson", 0},
    {"--csv", "FILE", "also write the checker's rows, and on what they were measured, to FILE", 0},
    {"--record", NULL, "put every figure into docs/results/DEVICE.csv", 0},
    {"--seconds", NULL, "show how long each check and each bench took", 0},
    {0},
};

const struct command tour_command = {
    .name = "tour",
    .summary = "every solution, checked and measured on every device that is here",
    .details =
        "One line per lesson; --details has every case. Checks run side by side, times on a GPU are "
        "taken alone.\n"
        "On a GPU: time, operations and bytes per second, and what share of this GPU's measured limits\n"
        "that is; a large size that is not measured is not checked either. On simt: exact counters, and\n"
        "the sectors that would have been enough.",
    .options = tour_options,
    .run = run_tour,
};
