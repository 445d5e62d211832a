/**
 * @file bench.c
 * @brief warpwise bench: how fast is this kernel, and what is that a share of?
 */
#include <stdlib.h>
#include <string.h>

#include "course.h"

/* The solution of the lesson before, for the ratio; measured in the same run or not at all. */
static void measure_lesson_before(const struct lesson_folder *lesson, enum device device,
                                  struct judgement *before)
{
    size_t count;
    const struct lesson_folder *lessons = course_lessons(&count);
    *before = (struct judgement){0};
    if (lesson == lessons || device != DEVICE_GPU) return;
    char *solution = course_kernel_path(lesson - 1, 1);
    struct text content = {0};
    if (read_file(solution, &content) == 0) {
        struct judgement_request request = {
            .lesson = lesson - 1, .kernel = solution, .device = device, .bench = 1};
        judge(&request, before);
    }
    text_free(&content);
    free(solution);
}

enum { MOST_PEERS = 64 }; /* the checker takes no more */

/* What `ceilings` measured as NAME_us@CASE becomes the peer "NAME" of that case; returns how many there are. */
static size_t add_measured_peers(struct argument_list *arguments)
{
    const struct device_facts *facts = device_measure();
    size_t peers = 0;
    for (size_t i = 0; i < facts->count && peers < MOST_PEERS; i++) {
        const char *name = facts->name[i], *at = strstr(name, "_us@");
        if (!at) continue;
        char *label = format_string("%.*s", (int)(at - name), name);
        for (char *c = label; *c; c++)
            if (*c == '_') *c = ' ';
        argument_add(arguments, "--peer");
        argument_add(arguments, format_string("%s:%s=%s", label, at + 4, facts->value[i]));
        free(label);
        peers++;
    }
    return peers;
}

/* Hands the times of others to the checker, which sets its own beside them: first what this GPU's libraries
 * take, then the lesson before. */
static void add_peers(const struct lesson_folder *lesson, enum device device, const struct results *before,
                      struct argument_list *arguments)
{
    size_t peers = device == DEVICE_GPU ? add_measured_peers(arguments) : 0;
    for (size_t i = 0; i < before->count && peers < MOST_PEERS; i++) {
        const struct result_row *row = &before->rows[i];
        if (!(row->median_us > 0)) continue;
        argument_add(arguments, "--peer");
        argument_add(arguments, format_string("the solution of lesson %s:%s=%g", lesson[-1].number,
                                              row->test_case, row->median_us));
        peers++;
    }
}

static void pass_on_options(const struct command_line *line, struct argument_list *arguments)
{
    static const char *const passed_on[] = {"--case", "--seed", "--ctest"};
    for (size_t i = 0; i < line->count; i++) {
        for (size_t j = 0; j < sizeof passed_on / sizeof passed_on[0]; j++) {
            if (strcmp(line->name[i], passed_on[j]) != 0) continue;
            argument_add(arguments, passed_on[j]);
            if (*line->value[i]) argument_add(arguments, line->value[i]);
        }
    }
}

static int bench_on(const struct command_line *line, const struct lesson_folder *lesson, const char *kernel,
                    enum device device)
{
    struct judgement before, bench;
    struct judgement_request request = {
        .lesson = lesson, .kernel = kernel, .device = device, .bench = 1, .echo = 1};
    const char *csv = option_value(line, "--csv");
    request.verbose = option_value(line, "--verbose") != NULL;
    pass_on_options(line, &request.checker_arguments);
    measure_lesson_before(lesson, device, &before);
    add_peers(lesson, device, &before.results, &request.checker_arguments);
    judge(&request, &bench);
    if (bench.results.count) {
        printf("\n");
        print_device_heading(device);
        print_table_head(device);
        print_lesson_rows(lesson, device, NULL, &bench, &before.results);
        print_table_foot(device);
        print_shapes(&bench.results);
    }
    if (csv && bench.results.header) {
        struct text file = {0};
        text_print(&file, "%s\n%s", bench.results.header, bench.results.lines.data);
        int error = write_file(csv, file.data, file.length);
        if (error) return complain("%s cannot be written: %s.", csv, strerror(error));
    }
    return bench.exit_code;
}

static int run_bench(const struct command_line *line)
{
    struct device_choice choice;
    if (!line->operand) return complain("which lesson? For example: warpwise bench 01");
    const struct lesson_folder *lesson = course_find_lesson(line->operand);
    const char *given = option_value(line, "--kernel");
    if (!lesson || device_choose(option_value(line, "--device"), &choice) != EXIT_PASS) return EXIT_TROUBLE;
    char *kernel =
        given ? copy_string(given) : course_kernel_path(lesson, option_value(line, "--solution") != NULL);
    if (build_kernel_file_usable(kernel) != EXIT_PASS) return EXIT_TROUBLE;
    /* One device: times where there are any to be had, counters elsewhere. */
    int gpu = choice.wanted[DEVICE_GPU] && device_probe(DEVICE_GPU)->usable;
    int simt = choice.wanted[DEVICE_SIMT] && device_probe(DEVICE_SIMT)->usable;
    if (gpu) return bench_on(line, lesson, kernel, DEVICE_GPU);
    if (simt) return bench_on(line, lesson, kernel, DEVICE_SIMT);
    enum device asked = choice.wanted[DEVICE_GPU] ? DEVICE_GPU : DEVICE_SIMT;
    printf("%s %s   NO_DEVICE   %s: %s\n", lesson->number, lesson->topic, device_name(asked),
           device_probe(asked)->reason);
    return EXIT_SKIPPED;
}

static const struct option_description options[] = {
    {"--device", "gpu|simt", "where to run; without it, on the GPU if there is one", 0},
    {"--case", "NAME", "only this case; may be given more than once", 1},
    {"--kernel", "FILE.cu", "measure this file as the lesson's kernel", 0},
    {"--solution", NULL, "measure the course's own solution", 0},
    {"--seed", "S", "other inputs", 0},
    {"--csv", "FILE", "also write every case as a row of FILE", 0},
    {"--ctest", NULL, "also print measurements in the form that ctest collects", 0},
    {"--verbose", NULL, "say which runner was used", 0},
    {0},
};

const struct command bench_command = {
    .name = "bench",
    .operand = "NN",
    .summary = "how fast is my kernel, and what share of this device's limits is that?",
    .details = "Only results that are right are timed. On a GPU the limits are measured in the same run; on\n"
               "simt there are exact counters in place of times.",
    .options = options,
    .run = run_bench,
};
