/**
 * @file bench.c
 * @brief warpwise bench: how fast is this kernel, and how close is it to the limits of the device?
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "build/build.h"
#include "catalogue.h"
#include "companion.h"
#include "course/command.h"
#include "course/course.h"
#include "course/device.h"
#include "figures.h"
#include "judging/judging.h"
#include "judging/results.h"
#include "page.h"
#include "rivals.h"
#include "table.h"

enum { MOST_CONTESTS = 6 };

/** @brief One run of the command: what it measures, and what it compares that with. */
struct bench {
    const struct command_line *line;
    const struct lesson_folder *lesson;
    const char *kernel, *name; /* the file to measure, and the name to show for it */
    enum device device;
    struct judgement before, solution, mine;
};

static void pass_on_cases(const struct command_line *line, struct argument_list *arguments)
{
    for (size_t i = 0; i < line->count; i++) {
        if (strcmp(line->name[i], "--case") != 0 && strcmp(line->name[i], "--seed") != 0) continue;
        argument_add(arguments, line->name[i]);
        argument_add(arguments, line->value[i]);
    }
}

/* --largest: the case that the command `tour` shows. */
static int pass_on_largest(const struct bench *bench, struct argument_list *arguments)
{
    struct catalogue catalogue;
    if (option_value(bench->line, "--largest") == NULL) return EXIT_PASS;
    if (catalogue_read(bench->lesson, &catalogue) != EXIT_PASS) return EXIT_TROUBLE;
    const struct known_case *largest = catalogue_largest(&catalogue, bench->device);
    if (largest == NULL)
        return complain("lesson %s measures nothing on %s.", bench->lesson->number,
                        device_name(bench->device));
    argument_add(arguments, "--case");
    argument_add(arguments, largest->name);
    return EXIT_PASS;
}

static int measures_case(const struct bench *bench, const struct known_case *known)
{
    const struct command_line *line = bench->line;
    int chosen = option_value(line, "--case") == NULL;
    for (size_t j = 0; j < line->count; j++)
        chosen |= strcmp(line->name[j], "--case") == 0 && catalogue_means(known, line->value[j]);
    return chosen && known->on[bench->device] && strcmp(known->group, "speed") == 0;
}

/* 1 if this run measures a problem of that shape. */
static int measures_shape(const struct bench *bench, const struct catalogue *own, const char *shape)
{
    for (size_t i = 0; i < own->count; i++)
        if (measures_case(bench, &own->cases[i]) && strcmp(own->cases[i].shape, shape) == 0) return 1;
    return 0;
}

/* The libraries at other lessons' cases take most of the time that the limits of a GPU do. */
static void choose_libraries(const struct bench *bench)
{
    struct catalogue own;
    if (bench->device != DEVICE_GPU || option_value(bench->line, "--record") != NULL ||
        catalogue_read(bench->lesson, &own) != EXIT_PASS)
        return;
    for (size_t i = 0; i < own.count; i++)
        if (measures_case(bench, &own.cases[i])) device_measure_peers_of(own.cases[i].name);
}

static int is_shared(const struct bench *bench, const struct catalogue *own, const struct known_case *known)
{
    return known->on[bench->device] && strcmp(known->group, "speed") == 0 &&
           measures_shape(bench, own, known->shape);
}

/* 1 if none that is shared, of the same part, has more to do, or none has less. */
static int is_first_or_last(const struct bench *bench, const struct catalogue *own,
                            const struct catalogue *other, const struct known_case *known)
{
    int more = 0, less = 0;
    for (size_t i = 0; i < other->count; i++) {
        const struct known_case *rival = &other->cases[i];
        if (strcmp(rival->part, known->part) != 0 || !is_shared(bench, own, rival)) continue;
        more |= rival->flop > known->flop || (rival->flop == known->flop && rival < known);
        less |= rival->flop < known->flop || (rival->flop == known->flop && rival < known);
    }
    return !more || !less;
}

/* Of the lesson before, only problems that this lesson has too: on a GPU the largest and the smallest of each part, since all of
 * them would take as long as the lesson itself. Returns how many there are. */
static int pass_on_shared(const struct bench *bench, const struct lesson_folder *before,
                          struct argument_list *arguments)
{
    const int all = bench->device == DEVICE_SIMT || option_value(bench->line, "--case") != NULL;
    struct catalogue own, other;
    int shared = 0;
    if (catalogue_read(bench->lesson, &own) != EXIT_PASS || catalogue_read(before, &other) != EXIT_PASS)
        return 0;
    for (size_t i = 0; i < other.count; i++) {
        const struct known_case *known = &other.cases[i];
        if (!is_shared(bench, &own, known) || !(all || is_first_or_last(bench, &own, &other, known)))
            continue;
        argument_add(arguments, "--case");
        argument_add(arguments, known->name);
        shared++;
    }
    return shared;
}

/* The kernel of the lesson's solution, if there is one here; prints nothing. */
static void measure_solution(const struct bench *bench, const struct lesson_folder *lesson,
                             struct judgement *judgement)
{
    char *solution = course_kernel_path(lesson, 1);
    *judgement = (struct judgement){0};
    if (access(solution, R_OK) == 0) {
        struct judgement_request request = {
            .lesson = lesson, .kernel = solution, .device = bench->device, .bench = 1};
        if (lesson == bench->lesson) pass_on_cases(bench->line, &request.checker_arguments);
        if (lesson == bench->lesson || pass_on_shared(bench, lesson, &request.checker_arguments) > 0)
            judge(&request, judgement);
    }
    free(solution);
}

/* Measures the kernels to compare with, in the same run. On simt, CTest does not need them: counters are
 * exact, and every solution's counters have a test of their own. */
static void measure_others(struct bench *bench)
{
    size_t count;
    struct text source = {0};
    int untouched = read_file(bench->kernel, &source) == 0 && kernel_is_skeleton(source.data);
    int plain = bench->device == DEVICE_SIMT && option_value(bench->line, "--ctest") != NULL;
    text_free(&source);
    if (untouched || plain || option_value(bench->line, "--largest") != NULL) return;
    if (bench->lesson > course_lessons(&count)) measure_solution(bench, bench->lesson - 1, &bench->before);
    if (strcmp(bench->name, "solution") != 0) measure_solution(bench, bench->lesson, &bench->solution);
}

enum { MOST_PEERS = 64 }; /* the checker takes no more */

/* Takes what `device_limits` measured of libraries as times of kernels; returns how many there are. */
static size_t add_measured_peers(struct argument_list *arguments)
{
    const struct device_facts *facts = device_measure();
    size_t peers = 0;
    for (; peers < facts->peer_count && peers < MOST_PEERS; peers++) {
        const struct device_peer *peer = &facts->peer[peers];
        argument_add(arguments, "--peer");
        argument_add(arguments, format_string("%s:%s=%g", peer->library, peer->test_case, peer->us));
    }
    return peers;
}

/* Hands the times of other kernels to the checker, which prints them beside its own: first those of this
 * GPU's libraries, then the earlier lesson's. */
static void add_peers(const struct bench *bench, struct argument_list *arguments)
{
    const struct lesson_folder *lesson = bench->lesson;
    const struct results *before = &bench->before.results;
    if (bench->device != DEVICE_GPU) return;
    size_t peers = add_measured_peers(arguments);
    for (size_t i = 0; i < before->count && peers < MOST_PEERS; i++) {
        const struct result_row *row = &before->rows[i];
        if (!(row->median_us > 0)) continue;
        argument_add(arguments, "--peer");
        argument_add(arguments, format_string("the solution of lesson %s:%s=%g", lesson[-1].number,
                                              row->test_case, row->median_us));
        peers++;
    }
}

/* ---- bars ----------------------------------------------------------------------------------------------- */

static void add_libraries(struct contest *contest)
{
    const struct device_facts *facts = device_measure();
    for (size_t i = 0; i < facts->peer_count && contest->count < MOST_RIVALS; i++)
        if (strcmp(facts->peer[i].test_case, contest->test_case) == 0)
            contest->rivals[contest->count++] = (struct rival){facts->peer[i].library, facts->peer[i].us};
}

static struct contest contest_of(const struct bench *bench, const struct result_row *row)
{
    struct contest contest = {.test_case = row->test_case, .shape = row->shape};
    contest_add(&contest, bench->name, row, &bench->mine.results, bench->device);
    contest_add(&contest, "solution", row, &bench->solution.results, bench->device);
    if (bench->before.results.count) {
        char *name = format_string("lesson %s", bench->lesson[-1].number); /* lives as long as the program */
        contest_add(&contest, name, row, &bench->before.results, bench->device);
    }
    if (bench->device == DEVICE_GPU) add_libraries(&contest);
    if (bench->device == DEVICE_SIMT) contest.minimum = row->min_bytes / SECTOR_BYTES;
    return contest;
}

/* The cases with most kernels to compare come first, and only a few are printed: all of them would fill
 * pages. */
static void print_contests(const struct bench *bench)
{
    const struct results *results = &bench->mine.results;
    int printed = 0, measured = 0;
    for (size_t rivals = MOST_RIVALS; rivals > 0; rivals--) {
        for (size_t i = 0; i < results->count; i++) {
            struct contest contest = contest_of(bench, &results->rows[i]);
            if (contest.count != rivals) continue;
            measured++;
            if (printed < MOST_CONTESTS) contest_print(&contest, bench->device);
            printed += printed < MOST_CONTESTS;
        }
    }
    if (measured > printed)
        printf("\nbars for %d of %d cases; another: %s bench %s --case NAME\n", printed, measured,
               program_name(), bench->lesson->number);
}

/* ---- files ---------------------------------------------------------------------------------------------- */

/* The checker's rows, each after the name of the kernel it belongs to. */
static void append_rows(const char *whose, const struct results *results, struct text *file)
{
    const char *rest = results->lines.data;
    if (!file->length && results->header != NULL) text_print(file, "whose,%s\n", results->header);
    for (char *line; (line = next_word(&rest, '\n')) != NULL; free(line))
        if (*line) text_print(file, "%s,%s\n", whose, line);
}

static int write_csv(const struct bench *bench, const char *path)
{
    struct text file = {0};
    append_rows(bench->name, &bench->mine.results, &file);
    append_rows("solution", &bench->solution.results, &file);
    append_rows("lesson before", &bench->before.results, &file);
    int error = file.data != NULL ? write_file(path, file.data, file.length) : 0;
    text_free(&file);
    return error ? complain("%s cannot be written: %s.", path, strerror(error)) : EXIT_PASS;
}

static void append_json(const struct bench *bench, const struct contest *contest, struct text *file)
{
    text_print(file, "    {\"case\": \"%s\", \"shape\": \"%s\", \"kernels\": [", contest->test_case,
               contest->shape);
    for (size_t i = 0; i < contest->count; i++)
        text_print(file, "%s{\"name\": \"%s\", \"%s\": %.9g}", i ? ", " : "", contest->rivals[i].name,
                   bench->device == DEVICE_GPU ? "us" : "sectors", contest->rivals[i].value);
    text_print(file, "]");
    if (contest->minimum > 0) text_print(file, ", \"least_sectors\": %.9g", contest->minimum);
    text_print(file, "}");
}

static int write_json(const struct bench *bench, const char *path)
{
    struct text file = {0};
    const struct results *results = &bench->mine.results;
    int written = 0;
    text_print(&file, "{\n  \"lesson\": \"%s\", \"device\": \"%s\", \"cases\": [\n", bench->lesson->name,
               figures_device(bench->device));
    for (size_t i = 0; i < results->count; i++) {
        struct contest contest = contest_of(bench, &results->rows[i]);
        if (contest.count == 0) continue;
        if (written++) text_print(&file, ",\n");
        append_json(bench, &contest, &file);
    }
    text_print(&file, "\n  ]\n}\n");
    int error = write_file(path, file.data, file.length);
    text_free(&file);
    return error ? complain("%s cannot be written: %s.", path, strerror(error)) : EXIT_PASS;
}

/* Only solutions are recorded, so that the recorded file does not depend on whose tree this is. */
static int record(const struct bench *bench)
{
    int own = strcmp(bench->name, "solution") != 0;
    const struct results *results = own ? &bench->solution.results : &bench->mine.results;
    char *command = format_string("warpwise bench %s --solution", bench->lesson->number);
    int code = results->count ? figures_record(bench->device, results, command)
                              : complain("no solution was measured, so nothing is recorded.");
    if (code == EXIT_PASS) figures_say_recorded(bench->device);
    free(command);
    return code;
}

/* ---- the command ---------------------------------------------------------------------------------------- */

static int write_files(const struct bench *bench)
{
    const char *csv = option_value(bench->line, "--csv"), *json = option_value(bench->line, "--json");
    int code = EXIT_PASS;
    if (csv != NULL && write_csv(bench, csv) != EXIT_PASS) code = EXIT_TROUBLE;
    if (json != NULL && write_json(bench, json) != EXIT_PASS) code = EXIT_TROUBLE;
    if (option_value(bench->line, "--record") != NULL && record(bench) != EXIT_PASS) code = EXIT_TROUBLE;
    return code;
}

static int bench_on(struct bench *bench)
{
    const struct command_line *line = bench->line;
    struct judgement_request request = {.lesson = bench->lesson,
                                        .kernel = bench->kernel,
                                        .device = bench->device,
                                        .bench = 1,
                                        .echo = 1,
                                        .verbose = option_value(line, "--verbose") != NULL};
    choose_libraries(bench);
    measure_others(bench);
    if (process_interrupted()) return EXIT_TROUBLE;
    add_peers(bench, &request.checker_arguments);
    pass_on_cases(line, &request.checker_arguments);
    if (pass_on_largest(bench, &request.checker_arguments) != EXIT_PASS) return EXIT_TROUBLE;
    if (option_value(line, "--ctest") != NULL) argument_add(&request.checker_arguments, "--ctest");
    if (option_value(line, "--phases") != NULL) argument_add(&request.checker_arguments, "--phases");
    judge(&request, &bench->mine);
    if (bench->mine.exit_code == EXIT_SKIPPED) {
        printf("begin: %s watch %s\n", program_name(), bench->lesson->number);
        return EXIT_SKIPPED;
    }
    if (bench->mine.results.count) {
        printf("\n");
        print_device_heading(bench->device);
        print_table_head(bench->device);
        print_lesson_rows(bench->lesson, bench->device, NULL, &bench->mine, &bench->before.results);
        print_table_foot(bench->device);
        print_shapes(&bench->mine.results);
        print_contests(bench);
    }
    if (bench->device == DEVICE_GPU && option_value(line, "--kernel") == NULL &&
        strcmp(bench->name, "yours") == 0)
        figures_remember_own(DEVICE_GPU, &bench->mine.results, "warpwise bench");
    int code = write_files(bench);
    if (code == EXIT_PASS && option_value(line, "--compare") != NULL && bench->device == DEVICE_SIMT)
        code = figures_compare(&bench->mine.results);
    return code == EXIT_PASS ? bench->mine.exit_code : code;
}

/* A test counts as skipped only if the device is missing. */
static int compare_bench_with_expectation(const struct bench *bench, const char *expected, int code)
{
    const enum state state = bench->mine.state;
    if (code == EXIT_TROUBLE || judgement_lacks_device(&bench->mine)) return code;
    if (state_is_expected(state, state_of(expected))) return state == STATE_PASS ? code : EXIT_PASS;
    printf("expected %s, but this is %s\n", expected, state_name(state));
    return EXIT_FAIL;
}

static int run_bench(const struct command_line *line)
{
    struct device_choice choice;
    if (line->operand == NULL) return complain("which lesson? For example: warpwise bench 01");
    const struct lesson_folder *lesson = course_find_lesson(line->operand);
    const char *given = option_value(line, "--kernel");
    if (lesson == NULL || device_choose(option_value(line, "--device"), &choice) != EXIT_PASS ||
        companion_limit_ranks(line, lesson) != EXIT_PASS)
        return EXIT_TROUBLE;
    char *kernel = given != NULL ? copy_string(given)
                                 : course_kernel_path(lesson, option_value(line, "--solution") != NULL);
    if (build_kernel_file_usable(kernel) != EXIT_PASS) return EXIT_TROUBLE;
    /* One device: times if it has any, else counters. */
    int gpu = choice.wanted[DEVICE_GPU] && device_probe(DEVICE_GPU)->usable;
    int simt = choice.wanted[DEVICE_SIMT] && device_probe(DEVICE_SIMT)->usable;
    struct bench bench = {.line = line,
                          .lesson = lesson,
                          .kernel = kernel,
                          .name = given == NULL && option_value(line, "--solution") != NULL ? "solution"
                                                                                            : "yours",
                          .device = gpu ? DEVICE_GPU : DEVICE_SIMT};
    if (gpu || simt) {
        const char *expected = option_value(line, "--expect");
        int code = bench_on(&bench);
        return expected != NULL ? compare_bench_with_expectation(&bench, expected, code) : code;
    }
    enum device asked = choice.wanted[DEVICE_GPU] ? DEVICE_GPU : DEVICE_SIMT;
    printf("%s %s   NO_DEVICE   %s: %s\n", lesson->number, lesson->topic, device_name(asked),
           device_probe(asked)->reason);
    return EXIT_SKIPPED;
}

static const struct option_description bench_options[] = {
    {"--device", "gpu|simt", "where to run; without it, on the GPU if there is one", 0},
    {"--case", "NAME", "only this case; may be given more than once", 1},
    {"--largest", NULL,
     "only the case with most to do, which a tour shows; the lesson before is not measured", 0},
    {"--kernel", "FILE.cu", "measure this file as the lesson's kernel", 0},
    {"--solution", NULL, "measure the course's own solution", 0},
    {"--seed", "S", "other inputs", 0},
    {"--ranks", "N", "lesson 19: no more than N ranks, 1, 2, 4 or 8; cases with more take N", 0},
    {"--csv", "FILE", "also write every measured case of every kernel as a row of FILE", 0},
    {"--json", "FILE", "also write the bars' figures to FILE", 0},
    {"--record", NULL, "put the solution's figures into docs/results/DEVICE.csv", 0},
    {"--compare", NULL, "on simt: fail if a counter is not the recorded one (for tests)", 0},
    {"--ctest", NULL, "also print measurements in the form that ctest collects", 0},
    {"--expect", "STATE", "exit 0 if and only if the verdict is STATE (for tests)", 0},
    {"--phases", NULL, "show where the time goes", 0},
    {"--verbose", NULL, "say which runner was used", 0},
    {0},
};

const struct command bench_command = {
    .name = "bench",
    .operand = "NN",
    .summary = "how fast is my kernel, and what share of this device's limits is that?",
    .details =
        "Your kernel beside the solution, the lesson before at the same problem, and what this GPU's\n"
        "libraries take; a bar for each. Only results that are right are timed. On a GPU the limits are\n"
        "measured in the same run; on simt there are exact counters in place of times.",
    .options = bench_options,
    .run = run_bench,
};
