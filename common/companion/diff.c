/**
 * @file diff.c
 * @brief warpwise diff: my kernel beside the solution. Refuses before the kernel passes, unless the student
 *        insists.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/layout.h"
#include "base/line_diff.h"
#include "base/terminal.h"
#include "base/text.h"
#include "companion.h"
#include "course/command.h"
#include "course/course.h"
#include "progress.h"

static enum colour colour_of_line(const char *line)
{
    if (strncmp(line, "@@", 2) == 0) return COLOUR_DIM;
    if (strncmp(line, "---", 3) == 0 || strncmp(line, "+++", 3) == 0) return COLOUR_BOLD;
    return *line == '+' ? COLOUR_GREEN : *line == '-' ? COLOUR_RED : COLOUR_NONE;
}

static void print_coloured(const char *text)
{
    for (char *line; (line = next_word(&text, '\n')) != NULL; free(line)) {
        char *shown = layout_shown(line);
        enum colour colour = colour_of_line(line);
        if (text != NULL || *line) printf("%s%s%s\n", colour_on(colour), shown, colour ? colour_off() : "");
        free(shown);
    }
}

static int read_both(const char *mine, const char *solution, struct text *a, struct text *b)
{
    int error = read_file(mine, a);
    if (error) return complain("%s cannot be read: %s.", course_short_path(mine), strerror(error));
    error = read_file(solution, b);
    if (error) return complain("%s cannot be read: %s.", course_short_path(solution), strerror(error));
    return EXIT_PASS;
}

/* What stands below the comment at the head, which says who the file is for. */
static const char *below_head(const char *text)
{
    const char *head = strstr(text, "// [student: head]\n"),
               *end = head != NULL ? strstr(head, "// [/student]\n") : NULL;
    return end != NULL ? end + strlen("// [/student]\n") : text;
}

static int compare(const char *mine, const char *solution)
{
    struct text a = {0}, b = {0}, out = {0};
    if (read_both(mine, solution, &a, &b) != EXIT_PASS) return EXIT_TROUBLE;
    size_t changed = line_diff_from(a.data, below_head(a.data), b.data, below_head(b.data), &out);
    if (changed) {
        char *heading = format_string("--- %s\n+++ %s\n%s", course_short_path(mine),
                                      course_short_path(solution), out.data);
        print_coloured(heading);
        free(heading);
    } else {
        printf("your kernel is the solution, line for line\n");
    }
    text_free(&out);
    text_free(&a);
    text_free(&b);
    return EXIT_PASS;
}

static int run_diff(const struct command_line *line)
{
    struct progress progress;
    if (line->operand == NULL) return complain("which lesson? For example: %s diff 01", program_name());
    const struct lesson_folder *lesson = course_find_lesson(line->operand);
    if (lesson == NULL) return EXIT_TROUBLE;
    char *mine = course_kernel_path(lesson, 0), *solution = course_kernel_path(lesson, 1);
    int code = EXIT_TROUBLE;
    progress_read(lesson, &progress);
    if (access(solution, F_OK) != 0) {
        complain("there is no %s: this tree was handed out without solutions.", course_short_path(solution));
    } else if (!*progress.passed && option_value(line, "--spoil") == NULL) {
        complain(
            "lesson %s has not passed yet. First a hint: %s hint %s. The solution all the same: %s diff %s "
            "--spoil",
            lesson->number, program_name(), lesson->number, program_name(), lesson->number);
    } else {
        code = compare(mine, solution);
    }
    free(solution);
    free(mine);
    return code;
}

static const struct option_description diff_options[] = {
    {"--spoil", NULL, "also if the lesson has not passed yet", 0},
    {0},
};

const struct command diff_command = {
    .name = "diff",
    .operand = "NN",
    .summary = "my kernel against the solution, once it has passed",
    .details = "Lines marked - are yours, lines marked + the solution's. The comment at the head of the file "
               "is left out.\n"
               "Exit 0, or 2 if it has not passed yet or there is no solution here.",
    .options = diff_options,
    .run = run_diff,
};
