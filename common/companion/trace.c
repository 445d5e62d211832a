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
#include "traced.h"

enum { MOST_TRACES = 2, BLOCK_THREADS = 1024, NO_THREAD = -2 };

/* A path in a lesson's folder names the lesson, as everywhere. */
static int is_trace(const char *path)
{
    char begin[sizeof TRACE_MAGIC] = "";
    FILE *file = is_folder(path) ? NULL : fopen(path, "re");
    if (file == NULL) return 0;
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

/* "out:0,3" as "out[0,3]"; NULL if it is nothing of that kind. */
static char *element_name(const char *text)
{
    const char *colon = strchr(text, ':');
    const int is_one =
        colon != NULL && colon > text && colon[1 + strspn(colon + 1, "0123456789,")] == '\0' && colon[1];
    return is_one ? format_string("%.*s[%s]", (int)(colon - text), text, colon + 1) : NULL;
}

/* Whose variables are shown. */
static int read_thread(const char *text, int *thread)
{
    char *end;
    *thread = text == NULL ? TRACED_USUAL_THREAD : NO_THREAD;
    if (text == NULL || strcmp(text, "none") == 0) return EXIT_PASS;
    const long value = strtol(text, &end, 10);
    *thread = (int)value;
    if (end != text && !*end && value >= 0 && value < BLOCK_THREADS) return EXIT_PASS;
    return complain("--thread takes the number of a thread in its block, 0 to %d, or none; not \"%s\".",
                    BLOCK_THREADS - 1, text);
}

/* Kernel files of a lesson: the one that is asked for, and the one to compare it with. */
static int trace_lesson(const struct command_line *line, struct traced *sources, size_t *count, char **title)
{
    const char *blocks = option_value(line, "--block"), *test_case = option_value(line, "--case");
    const char *kernel = option_value(line, "--kernel"), *against = option_value(line, "--against");
    const char *element = option_value(line, "--element");
    const struct lesson_folder *lesson = course_find_lesson(line->operand);
    struct catalogue catalogue;
    int thread;
    if (lesson == NULL || read_thread(option_value(line, "--thread"), &thread) != EXIT_PASS)
        return EXIT_TROUBLE;
    if (blocks != NULL && strcmp(blocks, "all") != 0 && !is_index(blocks))
        return complain("--block takes the index of a block, X, X,Y or X,Y,Z, or all; not \"%s\".", blocks);
    if (element != NULL && element_name(element) == NULL)
        return complain("--element takes a buffer of the case and an index, such as out:0,0,3,1; not \"%s\".",
                        element);
    if (element != NULL) setenv("SIMT_TRACE_ELEMENT", element, 1);
    if (catalogue_read(lesson, &catalogue) != EXIT_PASS) return EXIT_TROUBLE;
    const struct known_case *item = catalogue_case(
        &catalogue, lesson, test_case != NULL ? test_case : course_described(lesson->topic)->shown_by,
        DEVICE_SIMT);
    if (item == NULL) return EXIT_TROUBLE;
    const char *kernels[MOST_TRACES] = {
        kernel != NULL ? kernel : course_kernel_path(lesson, option_value(line, "--solution") != NULL),
        against};
    *count = against != NULL ? 2 : 1;
    for (size_t i = 0; i < *count; i++) {
        const char *slash = strrchr(kernels[i], '/');
        sources[i].name = copy_string(slash != NULL ? slash + 1 : kernels[i]);
        sources[i].kernel = kernels[i];
        int code = traced_run(lesson, kernels[i], item->name, blocks != NULL ? blocks : "some", &sources[i]);
        for (size_t k = 0; code == EXIT_SKIPPED && i == 0 && test_case == NULL; k++) {
            const struct known_case *other = catalogue_other(&catalogue, item, DEVICE_SIMT, k);
            if (other == NULL) break;
            code = traced_run(lesson, kernels[i], other->name, blocks != NULL ? blocks : "some", &sources[i]);
            if (code == EXIT_PASS) item = other;
        }
        if (code == EXIT_SKIPPED) printf("no kernel was launched: is it written? the solution: --solution\n");
        if (code != EXIT_PASS) return code;
    }
    for (size_t i = 0; i < *count && thread != NO_THREAD; i++)
        traced_look_at_variables(lesson, kernels[i], item->name, blocks != NULL ? blocks : "some", thread,
                                 &sources[i]);
    *title = format_string("%s %s, case %s%s%s", lesson->number, lesson->topic, item->name,
                           element != NULL ? ", the last write of " : "",
                           element != NULL ? element_name(element) : "");
    for (size_t i = 0; i < *count; i++)
        sources[i].debug = format_string("%s debug %s%s --case %s", program_name(), lesson->number,
                                         i || kernel != NULL ? format_string(" --kernel %s", kernels[i])
                                         : option_value(line, "--solution") != NULL ? " --solution"
                                                                                    : "",
                                         item->name);
    return EXIT_PASS;
}

/* Traces that programs of simtcc have written. */
static int take_files(const struct command_line *line, struct traced *sources, size_t *count, char **title)
{
    *count = line->operand_count;
    if (*count > MOST_TRACES) return complain("a page compares two traces, not %zu.", *count);
    for (size_t i = 0; i < *count; i++) {
        const char *slash = strrchr(line->operands[i], '/');
        sources[i].name = copy_string(slash != NULL ? slash + 1 : line->operands[i]);
        int code = traced_read(line->operands[i], &sources[i]);
        if (code != EXIT_PASS) return code;
    }
    *title = *count == 1 ? copy_string(sources[0].name)
                         : format_string("%s and %s", sources[0].name, sources[1].name);
    return EXIT_PASS;
}

/* ---- telling ---------------------------------------------------------------------------------------------------- */

static void tell(const struct traced *source, const struct trace_shown *shown, const char *element)
{
    int is_written = element == NULL;
    for (size_t i = source->first; i < source->first + source->count; i++) {
        const struct trace_launch *launch = &source->trace.launches[i];
        uint64_t cut = 0;
        for (size_t k = 0; k < launch->block_count; k++) cut += launch->blocks[k].left_out;
        printf("  %s: %zu of %llu blocks", launch->kernel, launch->block_count,
               (unsigned long long)trace_blocks_of(launch));
        if (cut) printf(", the last %llu events of them left out", (unsigned long long)cut);
        if (launch->finding_count) printf(", %zu findings", launch->finding_count);
        if (launch->is_written) printf(", the last write of %s", element_name(element));
        printf("\n");
        is_written |= launch->is_written;
    }
    if (!is_written) printf("  no thread of these blocks stores to %s\n", element_name(element));
    if (shown->blocks_left_out) printf("  %zu blocks did not fit into the page\n", shown->blocks_left_out);
}

static int run_trace(const struct command_line *line)
{
    struct traced sources[MOST_TRACES] = {{0}};
    struct trace_shown shown[MOST_TRACES] = {{0}};
    struct text page = {0};
    size_t count = 0;
    char *title = NULL;
    const char *to = option_value(line, "-o");
    if (line->operand == NULL) return complain("which lesson? For example: %s trace 01", program_name());
    int code = is_trace(line->operand) ? take_files(line, sources, &count, &title)
                                       : trace_lesson(line, sources, &count, &title);
    if (code != EXIT_PASS) return code;
    for (size_t i = 0; i < count; i++)
        shown[i] = (struct trace_shown){.name = sources[i].name,
                                        .kernel = sources[i].kernel,
                                        .debug = sources[i].debug,
                                        .variables = &sources[i].variables,
                                        .no_variables = sources[i].no_variables,
                                        .trace = &sources[i].trace,
                                        .first = sources[i].first,
                                        .count = sources[i].count};
    trace_write_page(title, shown, count, &page);
    if (to == NULL) to = "trace.html";
    int error = write_file(to, page.data, page.length);
    if (error) return complain("%s cannot be written: %s.", to, strerror(error));
    printf("%s%s%s: %s, %.1f MB; open it in a browser\n", colour_on(COLOUR_BOLD), title, colour_off(), to,
           (double)page.length / 1e6);
    for (size_t i = 0; i < count; i++) {
        if (count > 1) printf("%s\n", sources[i].name);
        tell(&sources[i], &shown[i], option_value(line, "--element"));
        trace_free(&sources[i].trace);
        text_free(&sources[i].bytes);
        text_free(&sources[i].variables);
    }
    text_free(&page);
    return EXIT_PASS;
}

static const struct option_description trace_options[] = {
    {"--case", "NAME", "this case; without it, the one that shows what the lesson is about", 0},
    {"--kernel", "FILE.cu", "this file instead of the lesson's", 0},
    {"--solution", NULL, "the course's own solution", 0},
    {"--against", "FILE.cu", "compare with this file, in one page", 0},
    {"--block", "X,Y,Z", "this block, or all; without it, the first one and the first with a finding", 0},
    {"--thread", "N", "show the variables of this thread, or none; without it, 0, or the one of a finding",
     0},
    {"--element", "NAME:I,J", "begin where this element of a buffer gets its last value; check says which",
     0},
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
    .options = trace_options,
    .run = run_trace,
};
