/**
 * @file profile.c
 * @brief warpwise profile: the few counters that matter for a lesson, kernel by kernel, and what they mean.
 *
 * On the software device they are exact; on a GPU Nsight Compute measures them. If both are available they
 * are printed side by side, and where they agree, the cheaper one can be trusted next time.
 */
#include "profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/layout.h"
#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "build/build.h"
#include "catalogue.h"
#include "companion.h"
#include "contracts/kernel_status.h"
#include "course/command.h"
#include "course/course.h"
#include "course/described.h"
#include "course/device.h"
#include "progress.h"
#include "protocol/status_file.h"
#include "trace/draw.h"
#include "traced.h"

enum { CALLS = 2, PROFILE_SECONDS = 600, TITLE_WIDTH = 26, NUMBER_WIDTH = 15 };

/* One line of the printout: a metric, or a ratio of two. */
struct line_of_table {
    const char *title, *meaning;
    size_t metric, divisor; /* divisor: profile_metric_count for none */
};

static size_t metric_called(const char *title)
{
    size_t i = 0;
    while (i < profile_metric_count && strcmp(profile_metrics[i].title, title) != 0) i++;
    return i;
}

double profile_value(const struct profiled_kernel *kernel, const char *title)
{
    const size_t metric = metric_called(title);
    return metric < profile_metric_count ? kernel->value[metric] : NAN;
}

static struct line_of_table line_called(const char *title)
{
    size_t metric = metric_called(title);
    if (metric < profile_metric_count)
        return (struct line_of_table){title, profile_metrics[metric].meaning, metric, profile_metric_count};
    return (struct line_of_table){
        title, "4: neighbouring lanes read neighbouring floats; 32: every lane its own sector",
        metric_called("load sectors"), metric_called("load requests")};
}

/* The lines for @p lesson; returns how many. A lesson that names none gets all lines. */
static size_t choose_lines(const struct described_lesson *lesson, int all,
                           struct line_of_table lines[MOST_METRICS])
{
    size_t count = 0;
    for (size_t i = 0; !all && i < LESSON_METRICS && lesson->metrics[i] != NULL; i++)
        lines[count++] = line_called(lesson->metrics[i]);
    if (count) return count;
    for (size_t i = 0; i < profile_metric_count; i++) lines[count++] = line_called(profile_metrics[i].title);
    lines[count++] = line_called("sectors per request");
    return count;
}

/* ---- measuring ------------------------------------------------------------------------------------------------ */

/* The runner and its saved case as words of a command; EXIT_PASS, or an exit code after a message. */
static int prepare(const struct profile_request *request, enum device device, struct argument_list *arguments)
{
    struct build build;
    build_runner(request->lesson, request->kernel, device, BUILD_FULL, &build);
    if (build.state == BUILD_BROKEN) fputs(build.errors.data, stderr);
    if (build.state != BUILD_READY) return build.state == BUILD_BROKEN ? EXIT_FAIL : EXIT_TROUBLE;
    char *saved = runner_save_case(request->lesson, request->test_case, device);
    if (saved == NULL) return EXIT_TROUBLE;
    argument_add(arguments, build.runner);
    argument_add(arguments, "--case-file");
    argument_add(arguments, saved);
    return EXIT_PASS;
}

/* Runs a command whose runner leaves the kernel's status in a file. The status decides what there is to show: nothing of a call that
 * was refused, and of a kernel that is not all written the counters of what is. */
static int run_profiled(const struct argument_list *arguments, const char *counters, struct process_end *end,
                        struct profile *profile)
{
    struct text status = {0};
    char *path = format_string("%s/status.%ld", course_binary_dir(), (long)getpid());
    char *variable = format_string(STATUS_FILE "=%s", path);
    const char *environment[] = {variable, counters, NULL};
    process_run(&(struct process){.arguments = arguments->items,
                                  .environment = environment,
                                  .seconds = PROFILE_SECONDS},
                end);
    show_progress(NULL);
    *profile = (struct profile){.count = 0};
    /* nothing of a runner that did not come so far */
    const int known = read_file(path, &status) == 0 && status.length > 0;
    const enum kernel_status returned = known ? (enum kernel_status)atoi(status.data) : KERNEL_OK;
    profile->partial = returned == KERNEL_NOT_STARTED;
    unlink(path);
    free(variable);
    free(path);
    text_free(&status);
    if (returned == KERNEL_OK || profile->partial) return EXIT_PASS;
    complain("the kernel returned %s; check it first.", kernel_status_name(returned));
    return EXIT_FAIL;
}

int profile_on_simt(const struct profile_request *request, struct profile *profile)
{
    struct argument_list arguments = {0};
    struct process_end end;
    struct text content = {0};
    int code = prepare(request, DEVICE_SIMT, &arguments);
    if (code != EXIT_PASS) return code;
    char *path = format_string("%s/counters.%ld.csv", course_binary_dir(), (long)getpid());
    char *counters = format_string("SIMT_COUNTERS=%s", path);
    show_progress("counting on simt ...");
    code = run_profiled(&arguments, counters, &end, profile);
    if (code == EXIT_PASS &&
        (read_file(path, &content) != 0 || profile_read_simt(content.data, CALLS, profile) <= 0))
        code = profile->partial ? EXIT_SKIPPED
                                : complain("the software device counted nothing: %.*s",
                                           (int)strcspn(end.output.data, "\n"), end.output.data);
    unlink(path);
    free(counters);
    free(path);
    text_free(&content);
    text_free(&end.output);
    return code;
}

static int read_ncu(const char *content, const char *from, struct profile *profile)
{
    int launches = profile_read_ncu(content, CALLS, profile);
    if (launches > 0) return EXIT_PASS;
    const char *error = strstr(content, "==ERROR==");
    if (error != NULL)
        return complain("%s: %.*s%s", from, (int)strcspn(error, "\n"), error,
                        strstr(error, "ERR_NVGPUCTRPERM") != NULL
                            ? " (reading counters needs permission on this machine: "
                              "NVIDIA's page on ERR_NVGPUCTRPERM says how to give it)"
                            : "");
    return complain("%s has no profile in it: ncu --csv --page raw writes one.", from);
}

static int profile_on_gpu(const struct profile_request *request, const char *ncu, struct profile *profile)
{
    struct argument_list arguments = {0};
    struct process_end end;
    char *metrics = profile_metric_list();
    argument_add(&arguments, ncu);
    argument_add_words(&arguments, "--csv --page raw --print-units base --clock-control none --metrics");
    argument_add(&arguments, metrics);
    int code = prepare(request, DEVICE_GPU, &arguments);
    if (code != EXIT_PASS) return code;
    show_progress("profiling with ncu ...");
    code = run_profiled(&arguments, NULL, &end, profile);
    if (code == EXIT_PASS && profile->partial && strstr(end.output.data, "\"ID\"") == NULL)
        code = EXIT_SKIPPED;
    if (code == EXIT_PASS) code = read_ncu(end.output.data, "ncu", profile);
    text_free(&end.output);
    free(metrics);
    return code;
}

static int profile_from_file(const char *path, struct profile *profile)
{
    struct text content = {0};
    int error = read_file(path, &content);
    if (error) return complain("%s cannot be read: %s.", path, strerror(error));
    int code = read_ncu(content.data, path, profile);
    text_free(&content);
    return code;
}

/* ---- telling -------------------------------------------------------------------------------------------------- */

static double line_value(const struct line_of_table *line, const struct profiled_kernel *kernel)
{
    if (kernel == NULL) return NAN;
    double value = kernel->value[line->metric];
    return line->divisor < profile_metric_count ? value / kernel->value[line->divisor] : value;
}

static void format_value(const struct line_of_table *line, double value, char text[32])
{
    int is_time = strcmp(line->title, "time") == 0;
    if (!isfinite(value)) {
        snprintf(text, 32, "-");
    } else if (is_time) {
        snprintf(text, 32, value < 1e6 ? "%.2f us" : "%.3f ms", value < 1e6 ? value / 1e3 : value / 1e6);
    } else if (line->divisor < profile_metric_count || strchr(line->title, '%') != NULL) {
        snprintf(text, 32, "%.1f", value);
    } else {
        grouped_number(text, value);
    }
}

static const struct profiled_kernel *find_kernel(const struct profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->count; i++)
        if (strcmp(profile->kernels[i].name, name) == 0) return &profile->kernels[i];
    return NULL;
}

static void print_kernel(const char *name, const struct profile *const *columns, const char *const *titles,
                         size_t column_count, const struct line_of_table *lines, size_t count)
{
    const struct profiled_kernel *kernels[DEVICE_COUNT];
    int launches = 0;
    for (size_t i = 0; i < column_count; i++) {
        kernels[i] = find_kernel(columns[i], name);
        if (kernels[i] != NULL) launches = kernels[i]->launches;
    }
    int narrow = layout_width() < TITLE_WIDTH + 2 + (int)column_count * NUMBER_WIDTH;
    int title_width = narrow ? TITLE_WIDTH - 4 : TITLE_WIDTH, number_width = narrow ? 14 : NUMBER_WIDTH;
    printf("\n%s%s%s", colour_on(COLOUR_BOLD), name, colour_off());
    if (launches > 1) printf(", %d launches", launches);
    printf("\n");
    if (!narrow || column_count == 1) {
        printf("  %-*s", title_width, "");
        for (size_t i = 0; i < column_count; i++) printf("%*s", number_width, titles[i]);
        printf("\n");
    }
    for (size_t l = 0; l < count; l++) {
        int known = 0;
        for (size_t i = 0; i < column_count; i++)
            known = known || isfinite(line_value(&lines[l], kernels[i]));
        if (!known) continue;
        printf("  %-*s", title_width, lines[l].title);
        for (size_t i = 0; i < column_count; i++) {
            char text[32];
            format_value(&lines[l], line_value(&lines[l], kernels[i]), text);
            if (narrow && column_count > 1) { /* one under the other */
                printf("\n    %s%*s", titles[i], number_width, text);
            } else {
                printf("%*s", number_width, text);
            }
        }
        printf("\n");
    }
}

static void print_meanings(const struct profile *const *columns, size_t column_count,
                           const struct line_of_table *lines, size_t count)
{
    printf("\nwhat they mean\n");
    for (size_t l = 0; l < count; l++) {
        int known = 0;
        for (size_t i = 0; i < column_count; i++)
            for (size_t k = 0; k < columns[i]->count; k++)
                known = known || isfinite(line_value(&lines[l], &columns[i]->kernels[k]));
        if (!known) continue;
        printf("  %-*s", TITLE_WIDTH, lines[l].title);
        layout_paragraph(lines[l].meaning, TITLE_WIDTH + 2, layout_width() >= 70 ? TITLE_WIDTH + 2 : 4);
    }
}

/* Columns that differ are the interesting ones: says how to read them. */
static void print_columns(const struct profile *simt, const struct profile *gpu,
                          const struct line_of_table *lines, size_t count)
{
    const struct profile *columns[DEVICE_COUNT];
    const char *titles[DEVICE_COUNT];
    size_t column_count = 0;
    if (simt->count) {
        columns[column_count] = simt;
        titles[column_count++] = "simt";
    }
    if (gpu->count) {
        columns[column_count] = gpu;
        titles[column_count++] = "gpu";
    }
    for (size_t i = 0; i < column_count; i++) {
        for (size_t k = 0; k < columns[i]->count; k++) {
            const char *name = columns[i]->kernels[k].name;
            if (i > 0 && find_kernel(columns[0], name) != NULL) continue; /* printed already */
            print_kernel(name, columns, titles, column_count, lines, count);
        }
    }
    print_meanings(columns, column_count, lines, count);
    if (column_count == 2)
        layout_paragraph(
            "\nsimt counts exactly what the C++ compiler's code asks for. Where the columns differ, nvcc has "
            "merged or left out loads, or hardware counted other traffic too: docs/counters.md",
            0, 0);
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

/* Fills the columns that it can; says why where it cannot. One column is enough. */
static int measure(const struct command_line *line, const struct profile_request *request,
                   const struct device_choice *choice, struct profile *simt, struct profile *gpu)
{
    const char *from = option_value(line, "--from");
    char *ncu = find_program("ncu");
    int code = EXIT_PASS;
    if (choice->wanted[DEVICE_SIMT] && device_probe(DEVICE_SIMT)->usable)
        code = profile_on_simt(request, simt);
    if (code != EXIT_PASS) return code;
    if (from != NULL) return profile_from_file(from, gpu);
    if (!choice->wanted[DEVICE_GPU]) return EXIT_PASS;
    const struct device_facts *facts = device_probe(DEVICE_GPU);
    if (facts->usable && ncu != NULL) {
        code = profile_on_gpu(request, ncu, gpu);
    } else {
        int asked = option_value(line, "--device") != NULL;
        char *why = format_string("no column for the gpu: %s",
                                  facts->usable ? "ncu (Nsight Compute) is not on the PATH" : facts->reason);
        if (asked || facts->usable) layout_paragraph(why, 0, 2); /* who has no GPU knows */
        free(why);
        code = simt->count ? EXIT_PASS : EXIT_SKIPPED;
    }
    free(ncu);
    return code;
}

/* The same, and where nothing of the shown part is written, of another part that is begun; @p request gets its case. */
static int measure_what_is_written(const struct command_line *line, const struct catalogue *catalogue,
                                   const struct known_case **test_case, struct profile_request *request,
                                   const struct device_choice *choice, struct profile *simt,
                                   struct profile *gpu)
{
    const enum device device = choice->wanted[DEVICE_SIMT] ? DEVICE_SIMT : DEVICE_GPU;
    const struct known_case *const shown = *test_case;
    int code = measure(line, request, choice, simt, gpu);
    for (size_t i = 0;
         code == EXIT_SKIPPED && option_value(line, "--case") == NULL && option_value(line, "--from") == NULL;
         i++) {
        *test_case = catalogue_other(catalogue, shown, device, i);
        if (*test_case == NULL) break;
        request->test_case = (*test_case)->name;
        code = measure(line, request, choice, simt, gpu);
    }
    return code;
}

/* A picture of the sectors, by a trace: EXIT_PASS, or an exit code after a message. */
static int draw_sectors(const struct command_line *line, const struct profile_request *request)
{
    struct traced traced = {0};
    const char *to = option_value(line, "-o");
    if (to == NULL) to = "sectors.svg";
    int code = traced_run(request->lesson, request->kernel, request->test_case, "some", &traced);
    if (code != EXIT_PASS) return code;
    char *title =
        format_string("%s %s, case %s", request->lesson->number, request->lesson->topic, request->test_case);
    const struct trace_shown shown = {
        .kernel = request->kernel, .trace = &traced.trace, .first = traced.first, .count = traced.count};
    const int drawn = trace_draw_sectors(title, &shown, to);
    if (drawn < 0) code = EXIT_TROUBLE;
    if (drawn >= 0)
        printf("\n%s\n", drawn ? format_string("picture: %s, %d requests with their sectors", to, drawn)
                               : "no picture: no lane asks for global memory by itself here");
    free(title);
    trace_free(&traced.trace);
    text_free(&traced.bytes);
    return code;
}

static int run_profile(const struct command_line *line)
{
    static struct profile simt, gpu;
    struct device_choice choice;
    struct catalogue catalogue;
    struct line_of_table lines[MOST_METRICS];
    const char *given = option_value(line, "--kernel"), *case_name = option_value(line, "--case");
    const struct lesson_folder *lesson = lesson_or_next(line->operand);
    if (lesson == NULL || device_choose(option_value(line, "--device"), &choice) != EXIT_PASS)
        return EXIT_TROUBLE;
    if (catalogue_read(lesson, &catalogue) != EXIT_PASS) return EXIT_TROUBLE;
    const struct described_lesson *described = course_described(lesson->topic);
    enum device device = choice.wanted[DEVICE_SIMT] ? DEVICE_SIMT : DEVICE_GPU;
    const struct known_case *test_case =
        catalogue_case(&catalogue, lesson, case_name != NULL ? case_name : described->shown_by, device);
    char *kernel = given != NULL ? copy_string(given)
                                 : course_kernel_path(lesson, option_value(line, "--solution") != NULL);
    if (test_case == NULL || build_kernel_file_usable(kernel) != EXIT_PASS) return EXIT_TROUBLE;
    struct profile_request request = {lesson, kernel, test_case->name};
    int code = measure_what_is_written(line, &catalogue, &test_case, &request, &choice, &simt, &gpu);
    if (code == EXIT_SKIPPED && (simt.partial || gpu.partial))
        printf("NOT_STARTED   there is nothing to profile yet; the solution: --solution\n");
    if (code != EXIT_PASS) return code;
    printf("%s%s %s%s, case %s: ", colour_on(COLOUR_BOLD), lesson->number, lesson->topic, colour_off(),
           test_case->name);
    layout_paragraph(test_case->shape, (int)(strlen(lesson->topic) + strlen(test_case->name)) + 12, 2);
    if (simt.partial || gpu.partial)
        layout_paragraph("Not all of it is written yet: these are the kernels that are.", 0, 2);
    size_t count = choose_lines(described, option_value(line, "--all") != NULL, lines);
    print_columns(&simt, &gpu, lines, count);
    if (option_value(line, "--draw") != NULL) code = draw_sectors(line, &request);
    free(kernel);
    return code;
}

static const struct option_description profile_options[] = {
    {"--case", "NAME", "this case; without it, the one that shows what the lesson is about", 0},
    {"--device", "gpu|simt|both", "where to count; without it, wherever it can be", 0},
    {"--from", "FILE.csv", "the gpu column from a profile made elsewhere by ncu --csv --page raw", 0},
    {"--kernel", "FILE.cu", "this file instead of the lesson's", 0},
    {"--solution", NULL, "the course's own solution", 0},
    {"--all", NULL, "every counter, not only the lesson's", 0},
    {"--draw", NULL, "a picture (SVG) too: what lanes ask for, line by line, and the sectors that move", 0},
    {"-o", "FILE.svg", "the picture; without it, sectors.svg", 0},
    {0},
};

const struct command profile_command = {
    .name = "profile",
    .operand = "[NN]",
    .summary = "the counters that matter, kernel by kernel, and what they mean",
    .details =
        "On simt exact counters; on a GPU with Nsight Compute (ncu) what hardware counts, caches too.\n"
        "Where both are to be had, side by side. Nothing is judged.\n"
        "Exit 0, 1 if the kernel does not build or run, 77 not started or nothing to count with.",
    .options = profile_options,
    .run = run_profile,
};
