/**
 * @file trace.c
 * @brief warpwise trace: a page that shows what the warps of a block did, on the software device.
 */
#include <errno.h>
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
#include "course/command.h"
#include "course/course.h"
#include "course/described.h"
#include "course/device.h"
#include "profile.h"
#include "progress.h"
#include "trace/page.h"
#include "trace/read.h"

enum { TRACE_SECONDS = 600, MOST_TRACES = 2 };

/* A trace, the file it came from, and what the page calls it. */
struct source {
    char *name;
    const char *kernel; /* the file, if it is a lesson's */
    struct text bytes;
    struct trace trace;
    size_t first, count; /* launches to show */
};

/* ---- where traces come from ------------------------------------------------------------------------------------ */

static int read_trace(const char *path, struct source *source)
{
    int error = read_file(path, &source->bytes);
    if (error) return complain("%s cannot be read: %s.", path, strerror(error));
    if (trace_read((const unsigned char *)source->bytes.data, source->bytes.length, &source->trace) != 0)
        return complain("%s is no trace; SIMT_TRACE=FILE in front of a program built by simtcc writes one.",
                        path);
    source->count = source->trace.launch_count;
    return EXIT_PASS;
}

static size_t findings_of(const struct source *source, size_t first, size_t count)
{
    size_t findings = 0;
    for (size_t i = first; i < first + count; i++) findings += source->trace.launches[i].finding_count;
    return findings;
}

/* The runner calls a kernel file twice, the second time in another order of threads and blocks: one call is shown, the first
 * unless only the second one has a finding. */
static void choose_call(struct source *source)
{
    const struct trace *t = &source->trace;
    const size_t half = t->launch_count / 2;
    if (t->launch_count % 2 != 0) return;
    for (size_t i = 0; i < half; i++)
        if (strcmp(t->launches[i].kernel, t->launches[half + i].kernel) != 0) return;
    source->first = findings_of(source, 0, half) == 0 && findings_of(source, half, half) > 0 ? half : 0;
    source->count = half;
}

/* Builds @p kernel, runs @p test_case, and reads the trace. */
static int make_trace(const struct lesson_folder *lesson, const char *kernel, const char *test_case,
                      const char *blocks, struct source *source)
{
    struct build build;
    struct process_end end;
    if (build_kernel_file_usable(kernel) != EXIT_PASS) return EXIT_TROUBLE;
    build_runner(lesson, kernel, DEVICE_SIMT, BUILD_FULL, &build);
    if (build.state == BUILD_BROKEN) fputs(build.errors.data, stderr);
    if (build.state != BUILD_READY) return build.state == BUILD_BROKEN ? EXIT_FAIL : EXIT_TROUBLE;
    char *saved = runner_save_case(lesson, test_case, DEVICE_SIMT);
    if (!saved) return EXIT_TROUBLE;
    char *path = format_string("%s/trace.%ld", course_binary_dir(), (long)getpid());
    char *file = format_string("SIMT_TRACE=%s", path),
         *chosen = format_string("SIMT_TRACE_BLOCKS=%s", blocks);
    const char *arguments[] = {build.runner, "--case-file", saved, NULL};
    const char *environment[] = {file, chosen, "SIMT_REPORT=all", NULL};
    show_progress("tracing on simt ...");
    process_run(
        &(struct process){.arguments = arguments, .environment = environment, .seconds = TRACE_SECONDS},
        &end);
    show_progress(NULL);
    int code = EXIT_PASS;
    if (access(path, R_OK) != 0) {
        const int nothing = end.exit_code == EXIT_PASS && !end.timed_out;
        code = nothing ? EXIT_SKIPPED : EXIT_FAIL;
        printf("%s\n%s",
               nothing ? "no kernel was launched: is it written? the solution: --solution"
                       : "the case ended before the first launch was over:",
               nothing || !end.output.data ? "" : end.output.data);
    } else {
        code = read_trace(path, source);
    }
    unlink(path);
    if (code == EXIT_PASS) choose_call(source);
    free(path);
    free(file);
    free(chosen);
    text_free(&end.output);
    return code;
}

/* A path in a lesson's folder names the lesson, as everywhere. */
static int is_trace(const char *path)
{
    char begin[sizeof TRACE_MAGIC] = "";
    FILE *file = is_folder(path) ? NULL : fopen(path, "re");
    if (!file) return 0;
    const size_t got = fread(begin, 1, sizeof begin - 1, file);
    fclose(file);
    return got == sizeof begin - 1 && strcmp(begin, TRACE_MAGIC) == 0;
}

/* ---- what is asked for ------------------------------------------------------------------------------------------ */

static int is_index(const char *blocks)
{
    unsigned x, y, z;
    int end = 0;
    (void)sscanf(blocks, "%u%n,%u%n,%u%n", &x, &end, &y, &end, &z, &end);
    return end > 0 && blocks[end] == '\0' && blocks[0] >= '0' && blocks[0] <= '9';
}

/* Kernel files of a lesson: the one that is asked for, and the one to compare it with. */
static int trace_lesson(const struct command_line *line, struct source *sources, size_t *count, char **title)
{
    const char *blocks = option_value(line, "--block"), *test_case = option_value(line, "--case");
    const char *kernel = option_value(line, "--kernel"), *against = option_value(line, "--against");
    const struct lesson_folder *lesson = course_find_lesson(line->operand);
    if (!lesson) return EXIT_TROUBLE;
    if (blocks && strcmp(blocks, "all") != 0 && !is_index(blocks))
        return complain("--block takes the index of a block, X, X,Y or X,Y,Z, or all; not \"%s\".", blocks);
    if (!test_case) {
        struct catalogue catalogue;
        if (catalogue_read(lesson, &catalogue) != EXIT_PASS) return EXIT_TROUBLE;
        const struct known_case *known =
            catalogue_case(&catalogue, lesson, course_described(lesson->topic)->shown_by, DEVICE_SIMT);
        if (!known) return EXIT_TROUBLE;
        test_case = known->name;
    }
    const char *kernels[MOST_TRACES] = {
        kernel ? kernel : course_kernel_path(lesson, option_value(line, "--solution") != NULL), against};
    *count = against ? 2 : 1;
    *title = format_string("%s %s, case %s", lesson->number, lesson->topic, test_case);
    for (size_t i = 0; i < *count; i++) {
        const char *slash = strrchr(kernels[i], '/');
        sources[i].name = copy_string(slash ? slash + 1 : kernels[i]);
        sources[i].kernel = kernels[i];
        int code = make_trace(lesson, kernels[i], test_case, blocks ? blocks : "some", &sources[i]);
        if (code != EXIT_PASS) return code;
    }
    return EXIT_PASS;
}

/* Traces that programs of simtcc have written. */
static int take_files(const struct command_line *line, struct source *sources, size_t *count, char **title)
{
    *count = line->operand_count;
    if (*count > MOST_TRACES) return complain("a page compares two traces, not %zu.", *count);
    for (size_t i = 0; i < *count; i++) {
        const char *slash = strrchr(line->operands[i], '/');
        sources[i].name = copy_string(slash ? slash + 1 : line->operands[i]);
        int code = read_trace(line->operands[i], &sources[i]);
        if (code != EXIT_PASS) return code;
    }
    *title = *count == 1 ? copy_string(sources[0].name)
                         : format_string("%s and %s", sources[0].name, sources[1].name);
    return EXIT_PASS;
}

/* ---- telling ---------------------------------------------------------------------------------------------------- */

static void tell(const struct source *source, const struct trace_shown *shown)
{
    for (size_t i = source->first; i < source->first + source->count; i++) {
        const struct trace_launch *launch = &source->trace.launches[i];
        uint64_t cut = 0;
        for (size_t k = 0; k < launch->block_count; k++) cut += launch->blocks[k].left_out;
        printf("  %s: %zu of %llu blocks", launch->kernel, launch->block_count,
               (unsigned long long)trace_blocks_of(launch));
        if (cut) printf(", the last %llu events of them left out", (unsigned long long)cut);
        if (launch->finding_count) printf(", %zu findings", launch->finding_count);
        printf("\n");
    }
    if (shown->blocks_left_out) printf("  %zu blocks did not fit into the page\n", shown->blocks_left_out);
}

static int run_trace(const struct command_line *line)
{
    struct source sources[MOST_TRACES] = {{0}};
    struct trace_shown shown[MOST_TRACES] = {{0}};
    struct text page = {0};
    size_t count = 0;
    char *title = NULL;
    const char *to = option_value(line, "-o");
    if (!line->operand) return complain("which lesson? For example: %s trace 01", program_name());
    int code = is_trace(line->operand) ? take_files(line, sources, &count, &title)
                                       : trace_lesson(line, sources, &count, &title);
    if (code != EXIT_PASS) return code;
    for (size_t i = 0; i < count; i++)
        shown[i] = (struct trace_shown){.name = sources[i].name,
                                        .kernel = sources[i].kernel,
                                        .trace = &sources[i].trace,
                                        .first = sources[i].first,
                                        .count = sources[i].count};
    trace_write_page(title, shown, count, &page);
    if (!to) to = "trace.html";
    int error = write_file(to, page.data, page.length);
    if (error) return complain("%s cannot be written: %s.", to, strerror(error));
    printf("%s%s%s: %s, %.1f MB; open it in a browser\n", colour_on(COLOUR_BOLD), title, colour_off(), to,
           (double)page.length / 1e6);
    for (size_t i = 0; i < count; i++) {
        if (count > 1) printf("%s\n", sources[i].name);
        tell(&sources[i], &shown[i]);
        trace_free(&sources[i].trace);
        text_free(&sources[i].bytes);
    }
    text_free(&page);
    return EXIT_PASS;
}

static const struct option_description options[] = {
    {"--case", "NAME", "this case; without it, the one that shows what the lesson is about", 0},
    {"--kernel", "FILE.cu", "this file instead of the lesson's", 0},
    {"--solution", NULL, "the course's own solution", 0},
    {"--against", "FILE.cu", "compare with this file, in one page", 0},
    {"--block", "X,Y,Z", "this block, or all; without it, the first one and the first with a finding", 0},
    {"-o", "FILE.html", "the page; without it, trace.html", 0},
    {0},
};

const struct command trace_command = {
    .name = "trace",
    .operand = "NN",
    .many = 1,
    .summary = "see your kernel run: a page to step through, warp by warp and lane by lane",
    .details =
        "Runs one case on the software device and writes one file of HTML: the source with what each line "
        "costs,\n"
        "the warps of a block in time, addresses and sectors, banks and conflicts, shared memory, findings.\n"
        "Instead of NN, files that SIMT_TRACE=FILE made a program of simtcc write: one, or two to compare.\n"
        "Exit 0, 1 if the kernel does not build or run, 77 if nothing was launched.",
    .options = options,
    .run = run_trace,
};
