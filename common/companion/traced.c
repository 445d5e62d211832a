/**
 * @file traced.c
 * @brief Runs a case of a kernel file on the software device and reads the trace that it leaves.
 */
#include "traced.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "base/terminal.h"
#include "build/build.h"
#include "course/command.h"
#include "course/places.h"
#include "profile.h"
#include "progress.h"

enum { TRACE_SECONDS = 600 };
enum { MOST_ACCESSES = 10000, LOOK_SECONDS = 20, MOST_WATCHED = 16 /* blocks */, VARIABLES_BYTES = 2 << 20 };

int traced_read(const char *path, struct traced *traced)
{
    int error = read_file(path, &traced->bytes);
    if (error) return complain("%s cannot be read: %s.", path, strerror(error));
    if (trace_read((const unsigned char *)traced->bytes.data, traced->bytes.length, &traced->trace) != 0)
        return complain("%s is no trace; SIMT_TRACE=FILE in front of a program built by simtcc writes one.",
                        path);
    traced->count = traced->trace.launch_count;
    return EXIT_PASS;
}

static size_t findings_of(const struct traced *traced, size_t first, size_t count)
{
    size_t findings = 0;
    for (size_t i = first; i < first + count; i++) findings += traced->trace.launches[i].finding_count;
    return findings;
}

/* The runner calls a kernel file twice, the second time in another order of threads and blocks: one call is shown, the first
 * unless only the second one has a finding. */
static void choose_call(struct traced *traced)
{
    const struct trace *t = &traced->trace;
    const size_t half = t->launch_count / 2;
    if (t->launch_count % 2 != 0) return;
    for (size_t i = 0; i < half; i++)
        if (strcmp(t->launches[i].kernel, t->launches[half + i].kernel) != 0) return;
    traced->first = findings_of(traced, 0, half) == 0 && findings_of(traced, half, half) > 0 ? half : 0;
    traced->count = half;
}

int traced_run(const struct lesson_folder *lesson, const char *kernel, const char *test_case,
               const char *blocks, struct traced *traced)
{
    struct build build;
    struct process_end end;
    if (build_kernel_file_usable(kernel) != EXIT_PASS) return EXIT_TROUBLE;
    build_runner(lesson, kernel, DEVICE_SIMT, BUILD_FULL, &build);
    if (build.state == BUILD_BROKEN) fputs(build.errors.data, stderr);
    if (build.state != BUILD_READY) return build.state == BUILD_BROKEN ? EXIT_FAIL : EXIT_TROUBLE;
    char *saved = runner_save_case(lesson, test_case, DEVICE_SIMT);
    if (saved == NULL) return EXIT_TROUBLE;
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
        if (!nothing)
            printf("the case ended before the first launch was over:\n%s",
                   end.output.data != NULL ? end.output.data : "");
    } else {
        code = traced_read(path, traced);
    }
    unlink(path);
    if (code == EXIT_PASS) choose_call(traced);
    free(path);
    free(file);
    free(chosen);
    text_free(&end.output);
    return code;
}

/* ---- variables ------------------------------------------------------------------------------------------------ */

/* The thread of a block whose variables are shown: the last writer of the chosen element, or a thread of the block's first finding, or
 * thread 0. */
static uint64_t usual_thread(const struct trace_launch *launch, uint64_t block)
{
    if (launch->is_written && launch->wrote.block == block) return launch->wrote.thread;
    for (size_t i = 0; i < launch->found_count; i++)
        if (launch->found[i].block == block) return launch->found[i].thread;
    return 0;
}

/* What SIMT_TRACE_WATCHED is to say: a thread of each block that is shown. */
static char *watched_threads(const struct traced *traced, int thread)
{
    struct text list = {0};
    size_t count = 0;
    for (size_t i = traced->first; i < traced->first + traced->count; i++) {
        const struct trace_launch *launch = &traced->trace.launches[i];
        for (size_t k = 0; k < launch->block_count && count < MOST_WATCHED; k++) {
            const uint64_t block = launch->blocks[k].index;
            text_print(&list, "%s%zu:%llu:%llu", count++ ? "," : "", i, (unsigned long long)block,
                       (unsigned long long)(thread != TRACED_USUAL_THREAD ? (uint64_t)thread
                                                                          : usual_thread(launch, block)));
        }
    }
    return list.data;
}

/* Runs @p runner under gdb; what values.py wrote is in @p path then. */
static void run_under_gdb(const char *gdb, const char *runner, const char *saved, const char *kernel,
                          const char *const environment[], const char *path)
{
    struct process_end end;
    const char *slash = strrchr(kernel, '/');
    char *word = format_string("warpwise-values %s %s %d %d %d", slash != NULL ? slash + 1 : kernel, path,
                               MOST_ACCESSES, LOOK_SECONDS, VARIABLES_BYTES);
    const char *arguments[] = {gdb,           "-nx",
                               "-q",          "-batch",
                               "-x",          in_source("common/companion/debugger.py"),
                               "-x",          in_source("common/companion/values.py"),
                               "-ex",         word,
                               "--args",      runner,
                               "--case-file", saved,
                               NULL};
    show_progress("looking at variables ...");
    process_run(
        &(struct process){.arguments = arguments, .environment = environment, .seconds = TRACE_SECONDS},
        &end);
    show_progress(NULL);
    text_free(&end.output);
    free(word);
}

void traced_look_at_variables(const struct lesson_folder *lesson, const char *kernel, const char *test_case,
                              const char *blocks, int thread, struct traced *traced)
{
    struct build build;
    char *gdb = find_program("gdb");
    traced->no_variables = "gdb, which looks at them, is not installed: apt install gdb";
    if (gdb == NULL) return;
    build_runner(lesson, kernel, DEVICE_SIMT, BUILD_DEBUG, &build);
    char *saved = build.state == BUILD_READY ? runner_save_case(lesson, test_case, DEVICE_SIMT) : NULL;
    traced->no_variables = "gdb could not look at them here";
    if (saved == NULL) return;
    char *path = format_string("%s/variables.%ld", course_binary_dir(), (long)getpid());
    char *watched = watched_threads(traced, thread);
    const char *environment[] = {"SIMT_TRACE=/dev/null", format_string("SIMT_TRACE_BLOCKS=%s", blocks),
                                 format_string("SIMT_TRACE_WATCHED=%s", watched != NULL ? watched : ""),
                                 "SIMT_REPORT=all", NULL};
    if (watched != NULL) run_under_gdb(gdb, build.runner, saved, kernel, environment, path);
    if (read_file(path, &traced->variables) == 0 && traced->variables.length <= 2 * VARIABLES_BYTES)
        traced->no_variables = NULL;
    else
        text_free(&traced->variables);
    unlink(path);
    free(watched);
    free(path);
    free(gdb);
}
