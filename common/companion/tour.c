/**
 * @file tour.c
 * @brief warpwise tour: every solution, checked and measured on every device that is here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "companion.h"
#include "course/command.h"
#include "course/course.h"
#include "course/device.h"
#include "figures.h"
#include "judging/judging.h"
#include "judging/results.h"
#include "table.h"

enum { MOST_REPORT_LINES = 30 };

struct tour {
    struct results measured; /* rows of all benches so far, for ratios and for --csv and --record */
    int own;                 /* 1: of the kernels under lessons/ */
    int checked, passed, trouble, waiting;
};

static int has_solution(const struct lesson_folder *lesson)
{
    char *path = course_kernel_path(lesson, 1);
    int found = access(path, F_OK) == 0;
    free(path);
    return found;
}

/* A student's tree has none: there the tour is of the kernels under lessons/. */
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
    for (char *line; lines < MOST_REPORT_LINES && (line = next_word(&report, '\n')); free(line)) {
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
    if (!kept->header && bench->header) kept->header = copy_string(bench->header);
    if (bench->lines.length) text_append(&kept->lines, bench->lines.data, bench->lines.length);
}

static void visit(struct tour *tour, const struct lesson_folder *lesson, enum device device)
{
    struct judgement check, bench = {0};
    char *solution = course_kernel_path(lesson, !tour->own);
    struct judgement_request request = {.lesson = lesson, .kernel = solution, .device = device};
    judge(&request, &check);
    int passed = check.exit_code == EXIT_PASS;
    int waiting = tour->own && check.exit_code == EXIT_SKIPPED;
    if (passed) { /* only what is right is worth measuring */
        request.bench = 1;
        judge(&request, &bench);
    }
    free(solution);
    if (process_interrupted()) return;
    print_lesson_rows(lesson, device, &check, &bench, &tour->measured);
    if (!passed && !waiting) print_start_of_report(check.report.data);
    if (passed && bench.exit_code != EXIT_PASS) print_start_of_report(bench.report.data);
    fflush(stdout);
    keep_rows(tour, &bench.results);
    tour->checked += !waiting;
    tour->waiting += waiting;
    tour->passed += passed && bench.exit_code == EXIT_PASS;
    tour->trouble += check.exit_code == EXIT_TROUBLE || bench.exit_code == EXIT_TROUBLE;
}

static void visit_all(struct tour *tour, enum device device)
{
    size_t count;
    const struct lesson_folder *lessons = course_lessons(&count);
    print_device_heading(device);
    print_table_head(device);
    for (size_t i = 0; i < count && !process_interrupted(); i++) {
        if (tour->own || has_solution(&lessons[i])) visit(tour, &lessons[i], device);
    }
    if (!process_interrupted()) print_table_foot(device);
    printf("\n");
}

/* The checker's rows, after what they were measured on as lines that begin with '#'. */
static int write_rows(const char *path, const struct tour *tour)
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
    text_print(&file, "%s\n%s", tour->measured.header ? tour->measured.header : "",
               tour->measured.lines.data ? tour->measured.lines.data : "");
    int error = write_file(path, file.data, file.length);
    text_free(&file);
    return error ? complain("%s cannot be written: %s.", path, strerror(error)) : EXIT_PASS;
}

/* Each device's rows go into its own file. */
static int record_all(const struct tour *tour)
{
    for (int device = 0; device < DEVICE_COUNT; device++) {
        struct results rows = {.rows = must_allocate((tour->measured.count + 1) * sizeof *rows.rows)};
        for (size_t i = 0; i < tour->measured.count; i++) {
            const struct result_row *row = &tour->measured.rows[i];
            int timed = row->median_us > 0;
            if (timed == (device == DEVICE_GPU)) rows.rows[rows.count++] = *row;
        }
        int code = rows.count ? figures_record((enum device)device, &rows, "warpwise tour") : EXIT_PASS;
        free(rows.rows);
        if (code != EXIT_PASS) return code;
    }
    return EXIT_PASS;
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

static int run_tour(const struct command_line *line)
{
    struct device_choice choice;
    struct tour tour = {0};
    struct timespec start, end;
    int devices = 0;
    const char *csv = option_value(line, "--csv");
    if (device_choose(option_value(line, "--device"), &choice) != EXIT_PASS) return EXIT_TROUBLE;
    clock_gettime(CLOCK_MONOTONIC, &start);
    tour.own = !has_solutions();
    for (int i = DEVICE_COUNT; i-- > 0 && !process_interrupted();) {
        enum device device = (enum device)i;
        if (!choice.wanted[i]) continue;
        if (device_probe(device)->usable) {
            visit_all(&tour, device);
            devices++;
        } else {
            printf("%s is not here: %s\n\n", device_name(device), device_probe(device)->reason);
        }
    }
    if (process_interrupted()) return complain("stopped; the tour is not complete.");
    if (devices == 0) return EXIT_SKIPPED;
    print_shapes(&tour.measured);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (csv && write_rows(csv, &tour) != EXIT_PASS) return EXIT_TROUBLE;
    if (option_value(line, "--record") && record_all(&tour) != EXIT_PASS) return EXIT_TROUBLE;
    printf("\n");
    return summarise(&tour, devices, (double)(end.tv_sec - start.tv_sec));
}

static const struct option_description options[] = {
    {"--device", "gpu|simt|both", "where to run; without it, on every device that is here", 0},
    {"--csv", "FILE", "also write the checker's rows, and on what they were measured, to FILE", 0},
    {"--record", NULL, "put every figure into docs/results/DEVICE.csv", 0},
    {0},
};

const struct command tour_command = {
    .name = "tour",
    .summary = "every solution, checked and measured on every device that is here",
    .details = "On a GPU: time, operations and bytes a second, and what share of this GPU's measured limits\n"
               "that is. On simt: exact counters, and the sectors that would have been enough.",
    .options = options,
    .run = run_tour,
};
