/**
 * @file watch.c
 * @brief warpwise watch: every save is built and checked, and the screen says what to look at first.
 *
 * A round goes from quick to thorough, so that the first answer comes within a second or two: the cases that
 * failed last, then the basic ones, then all. The first picture appears with the first failure; the thorough
 * check runs on in the background and adds the points. Saving the file again stops whatever is running.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "build/build.h"
#include "companion.h"
#include "course/command.h"
#include "course/course.h"
#include "course/device.h"
#include "judging/judging.h"
#include "judging/results.h"
#include "page.h"
#include "progress.h"
#include "screen.h"
#include "skeleton.h"
#include "watched.h"

enum { QUICK_CASES = 3 };

static const char keys_line[] = "saves are checked; h hint, r again, q quit";

struct watch {
    const struct lesson_folder *lesson;
    enum device device;
    struct watched file;
    int keys, quit;
    int reading;   /* a hint is on the screen: it stays there until the next save */
    char *picture; /* what is on the screen otherwise */
};

static double now_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void show_hint_of_watch(struct watch *watch);

/* Polled while something runs: is its result still wanted? */
static int is_over(void *context)
{
    struct watch *watch = context;
    struct watched peek = watch->file; /* the loop has to see the change, too */
    int key = screen_key();
    if (key == 'q') watch->quit = 1;
    if (key == 'h') show_hint_of_watch(watch);
    if (key == 'r') watch->reading = 0; /* this round's verdict is the one that is asked for */
    return watch->quit || watched_changed(&peek);
}

/* ---- the picture -------------------------------------------------------------------------------------------- */

static int is_of_part(const struct result_row *row, const char *part)
{
    return strcmp(row->part, part) == 0;
}

static int first_of_part(const struct results *results, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (is_of_part(&results->rows[i], results->rows[index].part)) return 0;
    return 1;
}

/* A report about the watched file, which is named by its last part alone: lines of a terminal are few. */
static void add_report(const struct watch *watch, const char *report, struct text *out)
{
    char *path = copy_string(course_short_path(watch->file.path)), *slash = strrchr(path, '/');
    if (slash != NULL) slash[1] = '\0';
    for (const char *at; slash != NULL && (at = strstr(report, path)) != NULL; report = at + strlen(path))
        text_append(out, report, (size_t)(at - report));
    text_print(out, "%s\n", report);
    free(path);
}

/* The first case that the report shows, then the progress of each part, without points, which a quick
 * round cannot know. */
static void describe_results(const struct watch *watch, const struct results *results, struct text *out)
{
    const struct result_row *first = results_shown(results, 1);
    if (first != NULL) add_report(watch, first->text, out);
    for (size_t i = 0; i < results->count; i++) {
        const struct result_row *row = &results->rows[i];
        int cases = 0, passed = 0;
        for (size_t k = 0; k < results->count; k++) {
            if (!is_of_part(&results->rows[k], row->part)) continue;
            cases++;
            passed += result_counts(&results->rows[k]);
        }
        if (first_of_part(results, i))
            text_print(out, "  %-11s %-11s %d of %d cases\n", row->part, state_name(row->part_state), passed,
                       cases);
    }
}

/* "scores, softmax PASS": the parts that pass. */
static void describe_success(const struct results *results, struct text *out)
{
    const char *before = "\n  ";
    for (size_t i = 0; i < results->count; i++) {
        if (results->rows[i].part_state != STATE_PASS || !first_of_part(results, i)) continue;
        text_print(out, "%s%s", before, results->rows[i].part);
        before = ", ";
    }
    text_print(out, " %s%s%s", colour_on(state_colour(STATE_PASS)), state_name(STATE_PASS), colour_off());
}

/* From the compiler's messages: the first error, with the line it shows. */
static void describe_build_error(const char *report, struct text *out)
{
    int errors = 0;
    const char *heading = strchr(report, '\n'), *rest = heading != NULL ? heading + 1 : NULL;
    for (char *line; (line = next_word(&rest, '\n')) != NULL; free(line)) {
        errors += strstr(line, "error:") != NULL || strstr(line, "undefined reference") != NULL;
        if (*line && errors <= 1) text_print(out, "%s\n", line);
    }
    if (errors > 1) text_print(out, "  and %d more, which may go away with the first\n", errors - 1);
}

/* No part can be checked yet: prints what has to be written first. */
static void describe_beginning(const struct watch *watch, struct text *out)
{
    struct text source = {0};
    char *page = page_path(watch->lesson), *left = kernel_next_region(watch->lesson, watch->file.path);
    int skeleton = read_file(watch->file.path, &source) == 0 && kernel_is_skeleton(source.data);
    text_print(out,
               skeleton
                   ? "  nothing is written yet\n\n"
                   : "  no part can be checked yet: each has a function that returns KERNEL_NOT_STARTED\n\n");
    if (skeleton) text_print(out, "  read  %s\n", course_short_path(page));
    text_print(out, "  write %s\n", course_short_path(watch->file.path));
    if (left != NULL) text_print(out, "  first %s\n", left);
    text_free(&source);
    free(left);
    free(page);
}

static void describe_verdict(const struct watch *watch, const struct judgement *judgement, int whole,
                             struct text *out)
{
    double most, points = results_points(&judgement->results, &most);
    const enum state state = judgement->state;
    if (whole && most > 0) {
        text_print(out, "%s%s%s   %.1f of %.0f points\n", colour_on(state_colour(state)), state_name(state),
                   colour_off(), points, most);
    } else {
        text_print(out, "%s%s%s%s\n", colour_on(state_colour(state)), state_name(state), colour_off(),
                   state == STATE_BUILD_ERROR ? "   it does not compile"
                   : state_is_failure(state)  ? "   checking the rest ..."
                   : state == STATE_PASS      ? "   so far; checking the rest ..."
                                              : "");
    }
    if (state == STATE_BUILD_ERROR) {
        describe_build_error(judgement->report.data, out);
    } else if (state == STATE_NOT_STARTED) {
        describe_beginning(watch, out);
    } else {
        describe_results(watch, &judgement->results, out);
    }
    if (whole && state == STATE_IN_PROGRESS) {
        char *next = kernel_next_region(watch->lesson, watch->file.path);
        describe_success(&judgement->results, out);
        text_print(out, "; next: %s\n", next != NULL ? next : "a part that says NOT_STARTED");
        free(next);
    }
    if (whole && state == STATE_PASS) {
        const struct lesson_folder *next = standing_next(watch->lesson);
        text_print(out, "\n  measure it: %s predict %s, then bench %s; the solution: diff %s\n",
                   program_name(), watch->lesson->number, watch->lesson->number, watch->lesson->number);
        if (next != NULL) text_print(out, "  next: %s watch %s\n", program_name(), next->number);
    }
}

/* @p above is a line over the last verdict, or "". */
static void redraw(const struct watch *watch, const char *above)
{
    char *more = format_string("%s check %s", program_name(), watch->lesson->number);
    char *picture = format_string("%s%s", above, watch->picture);
    screen_show(picture, more);
    free(picture);
    free(more);
}

static void show(struct watch *watch, const struct judgement *judgement, int whole, double seconds)
{
    struct text out = {0};
    text_print(&out, "%s%s %s%s on %s, after %.1f s\n\n", colour_on(COLOUR_BOLD), watch->lesson->number,
               watch->lesson->topic, colour_off(), device_name(watch->device), seconds);
    describe_verdict(watch, judgement, whole, &out);
    if (watch->keys) text_print(&out, "\n%s%s%s", colour_on(COLOUR_DIM), keys_line, colour_off());
    free(watch->picture);
    watch->picture = out.data;
    if (!watch->reading) redraw(watch, "");
}

/* ---- a round ------------------------------------------------------------------------------------------------ */

/* 1 if there is a verdict, 0 if the round is over without one. */
static int judge_some(struct watch *watch, const struct argument_list *which, enum build_level level,
                      struct judgement *judgement)
{
    struct judgement_request request = {.lesson = watch->lesson,
                                        .kernel = watch->file.path,
                                        .device = watch->device,
                                        .level = level,
                                        .checker_arguments = *which};
    judge(&request, judgement);
    return !process_interrupted() && !is_over(watch) && judgement->exit_code != EXIT_TROUBLE;
}

/* The cases that failed last, then the basic ones; 1 if a failure has been shown, -1 to end the round. */
static int quick_rounds(struct watch *watch, double begin)
{
    struct progress progress;
    struct judgement judgement;
    struct argument_list failed = {0}, basic = {0};
    progress_read(watch->lesson, &progress);
    for (size_t i = 0; i < progress.failed_count && i < QUICK_CASES; i++) {
        argument_add(&failed, "--case");
        argument_add(&failed, progress.failed[i]);
    }
    argument_add(&basic, "--group");
    argument_add(&basic, "basic");
    for (int turn = failed.count ? 0 : 1; turn < 2; turn++) {
        if (!judge_some(watch, turn ? &basic : &failed, BUILD_QUICK, &judgement)) return -1;
        if (turn && judgement.state == STATE_PASS) show(watch, &judgement, 0, now_seconds() - begin);
        if (!state_is_failure(judgement.state)) continue;
        int broken = judgement.state == STATE_BUILD_ERROR;
        if (broken) progress_note_check(watch->lesson, watch->device, &judgement);
        if (!broken) progress_note_failures(watch->lesson, &judgement);
        show(watch, &judgement, 0, now_seconds() - begin);
        return broken ? -1 : 1;
    }
    return 0;
}

static void run_round(struct watch *watch)
{
    struct judgement judgement;
    struct argument_list all = {0};
    double begin = now_seconds();
    watch->reading = 0;
    if (build_kernel_file_usable(watch->file.path) != EXIT_PASS) return;
    if (watch->picture != NULL && watch->keys)
        redraw(watch, "checking; what follows is of the save before\n\n");
    process_give_up_when(is_over, watch);
    int quick = quick_rounds(watch, begin);
    if (quick >= 0 && judge_some(watch, &all, BUILD_FULL, &judgement)) {
        progress_note_check(watch->lesson, watch->device, &judgement);
        show(watch, &judgement, 1, now_seconds() - begin);
    }
    process_give_up_when(NULL, NULL);
}

/* ---- the loop ----------------------------------------------------------------------------------------------- */

static void show_hint_of_watch(struct watch *watch)
{
    struct command_line line = {.operand = watch->lesson->number};
    watch->reading = 1;
    show_progress(NULL);
    screen_show("", "");
    hint_command.run(&line);
    printf("\n%s%s%s\n", colour_on(COLOUR_DIM),
           "h the next hint, r again, q quit; any other key: back to the report", colour_off());
    fflush(stdout);
}

/* 0 when it is to end. */
static int take_key(struct watch *watch, int key)
{
    if (key == 'h') {
        show_hint_of_watch(watch);
    } else if (key == 'r') {
        run_round(watch);
    } else if (watch->reading && watch->picture != NULL) {
        watch->reading = 0;
        redraw(watch, "");
    }
    return key != 'q' && !watch->quit;
}

static void watch_until_stopped(struct watch *watch)
{
    run_round(watch);
    int going = !watch->quit;
    while (going && !process_interrupted()) {
        if (screen_changed() && watch->picture != NULL && !watch->reading) redraw(watch, "");
        int key = screen_key();
        if (key) {
            going = take_key(watch, key);
        } else if (watched_changed(&watch->file)) {
            run_round(watch);
            going = !watch->quit;
        } else {
            watched_wait(&watch->file, watch->keys);
        }
    }
}

/* simt answers first, and finds what a GPU does not report */
static int choose_device(const struct command_line *line, enum device *device)
{
    struct device_choice choice;
    if (device_choose(option_value(line, "--device"), &choice) != EXIT_PASS) return EXIT_TROUBLE;
    *device = choice.wanted[DEVICE_SIMT] && device_probe(DEVICE_SIMT)->usable ? DEVICE_SIMT : DEVICE_GPU;
    if (choice.wanted[*device] && device_probe(*device)->usable) return EXIT_PASS;
    printf("NO_DEVICE   %s: %s\n", device_name(*device), device_probe(*device)->reason);
    return EXIT_SKIPPED;
}

static int run_watch(const struct command_line *line)
{
    struct watch watch = {.lesson = lesson_or_next(line->operand)};
    const char *way = getenv("WARPWISE_WATCH");
    if (watch.lesson == NULL) return EXIT_TROUBLE;
    int code = choose_device(line, &watch.device);
    if (code != EXIT_PASS) return code;
    char *kernel = course_kernel_path(watch.lesson, 0);
    if (access(kernel, R_OK) != 0) return build_kernel_file_usable(kernel);
    skeleton_keep(watch.lesson);
    watched_open(&watch.file, kernel, option_value(line, "--poll") != NULL ? "poll" : way);
    watch.keys = screen_open();
    printf("watching %s; %s\n", course_short_path(kernel), watch.keys ? keys_line : "^C ends");
    fflush(stdout);
    watch_until_stopped(&watch);
    screen_close();
    watched_close(&watch.file);
    free(kernel);
    return EXIT_PASS;
}

static const struct option_description watch_options[] = {
    {"--device", "gpu|simt", "where to run; without it, on simt", 0},
    {"--poll", NULL, "look at the file instead of waiting for the system to tell (also WARPWISE_WATCH=poll)",
     0},
    {0},
};

const struct command watch_command = {
    .name = "watch",
    .operand = "[NN]",
    .summary = "build and check on every save; without NN the lesson that is next",
    .details =
        "First the cases that failed last, then the basic ones, then all: an error of the compiler, the\n"
        "first wrong case or PASS so far is on the screen within seconds. Keys: h hint, r again, q quit.\n"
        "Exit 0 after q, by the signal after ^C; 77 where there is no device.",
    .options = watch_options,
    .run = run_watch,
};
