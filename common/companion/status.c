/**
 * @file status.c
 * @brief warpwise alone, and warpwise next: where you are and what to do now. Nothing is built or run for it:
 *        what is known comes from the last checks, and from whether files have changed since.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <string.h>

#include "base/layout.h"
#include "base/terminal.h"
#include "base/text.h"
#include "companion.h"
#include "course/command.h"
#include "course/course.h"
#include "course/device.h"
#include "judging/results.h"
#include "page.h"
#include "progress.h"
#include "skeleton.h"

enum { BAR_WIDTH = 40, FULL_LINE = 64 };

/* Without any device this is all there is to say. A GPU counts only in a build without simt. */
static int no_device(void)
{
    return !device_probe(DEVICE_SIMT)->usable && !device_probe(DEVICE_GPU)->usable;
}

static void print_overview(const struct lesson_folder *lessons, size_t count)
{
    struct standing standing;
    size_t passed = 0;
    double points = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        standing_of(&lessons[i], &standing);
        passed += standing.state == STATE_PASS;
        points += standing.points;
        most += standing.points_max > 0 ? standing.points_max : 100;
    }
    int width = layout_width() - 4 < BAR_WIDTH ? layout_width() - 4 : BAR_WIDTH;
    char *bar = layout_bar(most > 0 ? points / most : 0, width);
    printf("%s%zu of %zu lessons pass, %.0f of %.0f points%s\n%s%s%s\n\n", colour_on(COLOUR_BOLD), passed,
           count, points, most, colour_off(), colour_on(COLOUR_GREEN), bar, colour_off());
    free(bar);
}

static void print_lesson(const struct lesson_folder *lesson, int is_next)
{
    struct standing standing;
    standing_of(lesson, &standing);
    const enum state state = no_device() ? STATE_NO_DEVICE : standing.state;
    char points[32] = "", note[64] = "";
    int wide = layout_width() >= FULL_LINE;
    if (standing.checked && standing.state != STATE_NOT_STARTED)
        snprintf(points, sizeof points, "%.0f/%.0f", standing.points, standing.points_max);
    if (wide && standing.checked && *points)
        snprintf(note, sizeof note, "  %-4s%s", device_name(standing.device),
                 standing.edited ? "  edited since" : "");
    if (wide && standing.edited && !standing.checked) snprintf(note, sizeof note, "  begun, not checked yet");
    printf("%s %s %-*.*s %s%-11s%s%s%s%s\n", is_next ? ">" : " ", lesson->number, wide ? 21 : 13,
           wide ? 21 : 13, lesson->topic, colour_on(state_colour(state)), state_name(state), colour_off(),
           *points || *note ? " " : "", points, note);
}

/* Lessons without a kernel have no state here, but their numbers are not left out. */
static void print_between(const char *number, const char *next)
{
    for (int i = atoi(number) + 1; i < atoi(next); i++) {
        char *page = format_string("%s/lessons/%02d_python_interface/README.md", course_source_dir(), i);
        if (access(page, R_OK) == 0) printf("  %02d %-21s checked by pytest\n", i, "python_interface");
        free(page);
    }
}

/* Prints one command, and why to run it. */
static void print_what_to_do(const struct lesson_folder *lesson)
{
    struct standing standing;
    char *page = page_path(lesson);
    if (lesson == NULL) return;
    standing_of(lesson, &standing);
    int fresh = standing.state == STATE_NOT_STARTED && !standing.edited;
    int passed = standing.state == STATE_PASS;
    char *why =
        fresh    ? format_string("next: lesson %s. Read %s, then", lesson->number, course_short_path(page))
        : passed ? format_string("next: lesson %s passed, but its file has changed since", lesson->number)
                 : format_string("next: lesson %s, where you left it", lesson->number);
    layout_paragraph(why, 0, 2);
    printf("  %s%s watch %s%s\n", colour_on(COLOUR_BOLD), program_name(), lesson->number, colour_off());
    free(why);
    free(page);
}

static void print_end_of_course(void)
{
    layout_paragraph(
        "Every lesson passes. What to do with it: set your kernels beside the solutions and this "
        "device's limits",
        0, 0);
    printf("  %s%s bench 01%s\n", colour_on(COLOUR_BOLD), program_name(), colour_off());
}

static int run_status(const struct command_line *line)
{
    size_t count;
    const struct lesson_folder *lessons = course_lessons(&count), *next = standing_next(NULL);
    (void)line;
    if (count == 0) return complain("there are no lessons in %s/lessons.", course_source_dir());
    for (size_t i = 0; i < count; i++) skeleton_keep(&lessons[i]);
    print_overview(lessons, count);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) print_between(lessons[i - 1].number, lessons[i].number);
        print_lesson(&lessons[i], &lessons[i] == next);
    }
    printf("\n");
    if (next != NULL) {
        print_what_to_do(next);
    } else {
        print_end_of_course();
    }
    printf("\n%sall commands: %s help%s\n", colour_on(COLOUR_DIM), program_name(), colour_off());
    return EXIT_PASS;
}

/* ---- next --------------------------------------------------------------------------------------------------- */

static void print_field(const char *name, const char *value)
{
    printf("  %-6s ", name);
    layout_paragraph(value, 9, 9);
}

static int run_next(const struct command_line *line)
{
    struct standing standing;
    struct progress progress;
    const struct lesson_folder *next = standing_next(NULL);
    (void)line;
    if (next == NULL) {
        print_end_of_course();
        return EXIT_PASS;
    }
    skeleton_keep(next);
    standing_of(next, &standing);
    progress_read(next, &progress);
    char *kernel = course_kernel_path(next, 0), *page = page_path(next), *left = kernel_regions_left(kernel);
    char *first = kernel_next_region(next, kernel);
    char *goal = page_goal(next);
    printf("%s%s %s%s   %s%s%s%s\n", colour_on(COLOUR_BOLD), next->number, next->topic, colour_off(),
           colour_on(state_colour(standing.state)), state_name(standing.state), colour_off(),
           standing.edited ? standing.checked ? ", edited since" : ", begun" : "");
    if (goal != NULL) print_field("goal", goal);
    print_field("read", course_short_path(page));
    print_field("write", course_short_path(kernel));
    if (left != NULL) print_field("left", left);
    if (first != NULL) print_field("first", first);
    if (progress.failed_count && standing.state != STATE_NOT_STARTED)
        print_field("failed", progress.failed[0]);
    printf("  %-6s %s watch %s\n", "then", program_name(), next->number);
    printf("  %-6s %s hint %s\n", "stuck?", program_name(), next->number);
    free(goal);
    free(left);
    free(first);
    free(page);
    free(kernel);
    return EXIT_PASS;
}

static const struct option_description no_options[] = {{0}};

const struct command status_command = {
    .name = "status",
    .summary = "your progress, and what is next; the same as warpwise alone",
    .details =
        "A state is that of the last whole check. PASS, FAIL, BUILD_ERROR, CRASH, TIMEOUT; NOT_STARTED\n"
        "as long as every part of the file says TODO; NO_DEVICE where nothing can run. \"edited since\"\n"
        "means that the file has changed after that check. Nothing is built or run. Exit 0.",
    .options = no_options,
    .run = run_status,
};

const struct command next_command = {
    .name = "next",
    .summary = "the first lesson that does not pass yet: goal, files, what is left to write",
    .details = "Exit 0, also when every lesson passes.",
    .options = no_options,
    .run = run_next,
};
