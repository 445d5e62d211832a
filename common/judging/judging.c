/**
 * @file judging.c
 * @brief One kernel file on one device: built, then handed to the checker, whose word is taken for everything
 *        that concerns right and wrong.
 */
#include "judging.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "build/build.h"
#include "build/submission.h"
#include "course/course.h"
#include "course/device.h"
#include "results.h"
#include "sandbox/sandbox.h"

/* The one row of a submission that did not come so far as to be run. */
static void report_submission(const struct judgement_request *request, const struct submission *submission,
                              struct judgement *judgement)
{
    static const int codes[] = {[SUBMISSION_NOT_STARTED] = EXIT_SKIPPED,
                                [SUBMISSION_REFUSED] = EXIT_FAIL,
                                [SUBMISSION_BUILD_ERROR] = EXIT_FAIL,
                                [SUBMISSION_TIMEOUT] = EXIT_FAIL,
                                [SUBMISSION_TROUBLE] = EXIT_TROUBLE};
    judgement->exit_code = codes[submission->state];
    judgement->state = state_of(submission_state_name(submission->state));
    text_print(&judgement->report, "%s %s on %s   %s%s%s   %s\n", request->lesson->number,
               request->lesson->topic, device_name(request->device),
               colour_on(state_colour(judgement->state)), state_name(judgement->state), colour_off(),
               submission->sentence);
    if (submission->state == SUBMISSION_BUILD_ERROR || request->verbose)
        text_append(&judgement->report, submission->log.data, submission->log.length);
    if (request->echo) fputs(judgement->report.data, stdout);
    results_without_run(&judgement->results, request->lesson->number, device_name(request->device),
                        judgement->state, submission->sentence);
}

static void report_build_error(const struct judgement_request *request, const struct build *build,
                               struct judgement *judgement)
{
    judgement->exit_code = EXIT_FAIL;
    judgement->state = STATE_BUILD_ERROR;
    text_print(&judgement->report, "%s %s   %sBUILD_ERROR%s   %s for %s does not compile\n%s",
               request->lesson->number, request->lesson->topic, colour_on(COLOUR_RED), colour_off(),
               course_short_path(request->kernel), device_name(request->device), build->errors.data);
    if (request->verbose) text_print(&judgement->report, "%s", build->log.data);
    if (request->echo) fputs(judgement->report.data, stdout);
    results_without_run(&judgement->results, request->lesson->number, device_name(request->device),
                        judgement->state, "does not compile");
}

/* Of what is known about the GPU, the checker is given the rates and costs. */
static int is_limit(const char *name)
{
    const char *unit = strrchr(name, '_');
    return unit != NULL &&
           (strcmp(unit, "_gbps") == 0 || strcmp(unit, "_tflops") == 0 || strcmp(unit, "_us") == 0);
}

static void add_limits(struct argument_list *arguments)
{
    const struct device_facts *facts = device_measure();
    for (size_t i = 0; i < facts->count; i++) {
        if (!is_limit(facts->name[i])) continue;
        argument_add(arguments, "--limit");
        argument_add(arguments, format_string("%s=%s", facts->name[i], facts->value[i]));
    }
}

/* The checker's rows are a file in memory, by a name that the checker can open: whatever ends this program, none is
 * left behind. */
static char *rows_open(int *file)
{
    *file = memfd_create("rows", MFD_CLOEXEC);
    return format_string("/proc/%ld/fd/%d", (long)getpid(), *file);
}

/** How far the checker is, which it writes into a file in memory: the inputs it has judged, and all of them. */
struct progress {
    const struct judgement_request *request;
    int file;
};

static void show_how_far(void *context)
{
    struct progress *progress = context;
    const struct judgement_request *request = progress->request;
    uint32_t far[2] = {0, 0};
    if (pread(progress->file, far, sizeof far, 0) != (ssize_t)sizeof far || far[1] == 0) return;
    show_progress("%s on %s: %s, %u of %u %s done …", request->lesson->name, device_name(request->device),
                  request->bench ? "measuring" : "checking", far[0], far[1],
                  request->bench ? "cases" : "inputs");
}

static int is_empty(const char *path)
{
    struct stat status;
    return stat(path, &status) != 0 || status.st_size == 0;
}

int judgement_lacks_device(const struct judgement *judgement)
{
    return judgement->exit_code == EXIT_SKIPPED && judgement->state == STATE_NOTHING_RAN;
}

/* A pass needs rows that say so: an exit code alone could come from a checker that did nothing. */
static void conclude(const struct process_end *end, const char *rows, struct judgement *judgement)
{
    judgement->exit_code = EXIT_TROUBLE;
    judgement->state = STATE_NOTHING_RAN;
    if (process_interrupted() || end->given_up) return;
    if (end->start_error) {
        complain("the checker cannot be started (%s): run cmake --build %s", strerror(end->start_error),
                 course_binary_dir());
        return;
    }
    if (end->signal) {
        complain("the checker was ended by signal %d (%s); this says nothing about the kernel.", end->signal,
                 strsignal(end->signal));
        return;
    }
    if (end->exit_code == EXIT_TROUBLE) return; /* it has said why */
    if (is_empty(rows) || results_read(rows, &judgement->results) != EXIT_PASS) {
        complain("the checker ended with code %d and left no results.", end->exit_code);
        return;
    }
    judgement->state = results_state(&judgement->results);
    for (size_t i = 0; i < judgement->results.count; i++)
        judgement->device_finding |= judgement->results.rows[i].finding != RECORD_NO_KIND;
    judgement->exit_code = end->exit_code;
    int passed = judgement->state == STATE_PASS;
    int failed = state_is_failure(judgement->state) || judgement->state == STATE_IN_PROGRESS;
    int known = end->exit_code == EXIT_PASS || end->exit_code == EXIT_FAIL || end->exit_code == EXIT_SKIPPED;
    if (!known || passed != (end->exit_code == EXIT_PASS) || failed != (end->exit_code == EXIT_FAIL)) {
        judgement->exit_code = complain("the checker ended with code %d, but its results say %s.",
                                        end->exit_code, state_name(judgement->state));
    }
}

void judge_runner(const struct judgement_request *request, const char *runner, struct judgement *judgement)
{
    *judgement = (struct judgement){.exit_code = EXIT_TROUBLE, .state = STATE_NOTHING_RAN};
    struct argument_list arguments = {0};
    struct process_end end;
    int rows_file;
    char *rows = rows_open(&rows_file), *far;
    struct progress progress = {.request = request};
    far = rows_open(&progress.file);
    char *order = format_string("SIMT_ORDER=%s", request->order != NULL ? request->order : "");
    const char *environment[] = {request->order != NULL ? order : NULL, NULL};
    argument_add(&arguments, format_string("%s/bin/checker", course_binary_dir()));
    argument_add(&arguments, "--lesson");
    argument_add(&arguments, request->lesson->name);
    argument_add(&arguments, "--runner");
    argument_add(&arguments, runner);
    argument_add(&arguments, "--device");
    argument_add(&arguments, device_name(request->device));
    argument_add(&arguments, "--csv");
    argument_add(&arguments, rows);
    argument_add(&arguments, "--progress");
    argument_add(&arguments, far);
    if (request->again != NULL) {
        argument_add(&arguments, "--again");
        argument_add(&arguments, request->again);
    }
    if (request->submission != NULL) argument_add(&arguments, "--isolated");
    if (request->bench) argument_add(&arguments, "--bench");
    if (request->bench && request->device == DEVICE_GPU) add_limits(&arguments);
    for (size_t i = 0; i < request->checker_arguments.count; i++) {
        argument_add(&arguments, request->checker_arguments.items[i]);
    }
    struct process process = {.arguments = arguments.items,
                              .environment = environment,
                              .echo = request->echo,
                              .meanwhile = show_how_far,
                              .context = &progress};
    process_run(&process, &end);
    if (request->echo) show_progress(NULL);
    judgement->report = end.output;
    conclude(&end, rows, judgement);
    if (rows_file >= 0) close(rows_file);
    if (progress.file >= 0) close(progress.file);
    free(far);
    free(arguments.items);
    free(order);
    free(rows);
}

/* A file of one's own that grading would refuse: right or wrong, it would have no points. */
static void tell_refusal(const struct judgement_request *request, const struct build *build,
                         struct judgement *judgement)
{
    if (build->sentence == NULL) return;
    if (judgement->exit_code == EXIT_PASS) judgement->exit_code = EXIT_FAIL;
    if (judgement->state == STATE_PASS) judgement->state = STATE_REFUSED;
    text_print(&judgement->report, "%s %s   %sREFUSED%s   grading would refuse this file: %s\n",
               request->lesson->number, request->lesson->topic, colour_on(COLOUR_RED), colour_off(),
               build->sentence);
    if (request->echo)
        printf("%s %s   %sREFUSED%s   grading would refuse this file: %s\n", request->lesson->number,
               request->lesson->topic, colour_on(COLOUR_RED), colour_off(), build->sentence);
}

static void judge_submission(const struct judgement_request *request, struct judgement *judgement)
{
    struct submission submission;
    if (request->echo) printf("isolation: %s\n", sandbox_describe(course_source_dir()));
    submission_build(request->submission, request->lesson, 0, request->device, &submission);
    show_progress(NULL);
    if (submission.state == SUBMISSION_READY && request->build_only) {
        judgement->exit_code = EXIT_PASS;
        judgement->state = STATE_PASS;
        printf("%s for %s builds\n", submission.found, device_name(request->device));
    } else if (submission.state == SUBMISSION_READY) {
        judge_runner(request, submission.runner, judgement);
        if (state_was_executed(judgement->state))
            record_run(request->lesson, request->device, judgement->state);
    } else {
        report_submission(request, &submission, judgement);
    }
    submission_free(&submission);
}

static void judge_file(const struct judgement_request *request, struct judgement *judgement)
{
    struct build build;
    show_progress("%s on %s: building …", request->lesson->name, device_name(request->device));
    const enum build_level level =
        request->level == BUILD_FULL && !request->bench ? BUILD_JUDGED : request->level;
    build_runner(request->lesson, request->kernel, request->device, level, &build);
    if (request->verbose && build.state == BUILD_READY) {
        printf("runner %s (%s)\n", build.runner, build.cached ? "built before" : "built now");
    }
    show_progress("%s on %s: %s …", request->lesson->name, device_name(request->device),
                  request->bench ? "measuring" : "checking");
    if (request->echo) show_progress(NULL);
    if (build.state == BUILD_BROKEN) {
        show_progress(NULL);
        report_build_error(request, &build, judgement);
    } else if (build.state == BUILD_READY && request->build_only) {
        judgement->exit_code = EXIT_PASS;
        judgement->state = STATE_PASS;
        printf("%s for %s builds\n", course_short_path(request->kernel), device_name(request->device));
    } else if (build.state == BUILD_READY) {
        judge_runner(request, build.runner, judgement);
        if (state_was_executed(judgement->state)) {
            record_run(request->lesson, request->device, judgement->state);
        }
        tell_refusal(request, &build, judgement);
    }
    show_progress(NULL);
    text_free(&build.log);
    text_free(&build.errors);
}

void judge(const struct judgement_request *request, struct judgement *judgement)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    *judgement = (struct judgement){.exit_code = EXIT_TROUBLE, .state = STATE_NOTHING_RAN};
    text_append(&judgement->report, "", 0);
    if (request->submission != NULL)
        judge_submission(request, judgement);
    else
        judge_file(request, judgement);
    clock_gettime(CLOCK_MONOTONIC, &end);
    judgement->seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
}
