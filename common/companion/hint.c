/**
 * @file hint.c
 * @brief warpwise hint: shows the page's folded hints, one at a time, and never more than was asked for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "base/terminal.h"
#include "base/text.h"
#include "companion.h"
#include "course/command.h"
#include "course/course.h"
#include "hint_choice.h"

/* The number of this hint among those of its region, from 1, and how many the region has. */
static size_t grade_of(const struct hints *hints, size_t index, size_t *grades)
{
    size_t grade = 0;
    *grades = 0;
    for (size_t i = 0; i < hints->count; i++) {
        if (strcmp(hints->items[i].region, hints->items[index].region) != 0) continue;
        (*grades)++;
        if (i <= index) grade++;
    }
    return grade;
}

static int list_hints(const struct situation *now)
{
    const struct lesson_folder *lesson = now->lesson;
    const struct hints *hints = &now->hints;
    printf("You have seen all %zu hints of lesson %s:\n", hints->count, lesson->number);
    for (size_t i = 0; i < hints->count; i++) {
        char *line = format_string("%s: %s", hints->items[i].region, hints->items[i].question);
        printf("  %2zu  ", i + 1);
        layout_paragraph(line, 6, 6);
        free(line);
    }
    printf("again: %s hint %s K\n", program_name(), lesson->number);
    printf("the solution: %s diff %s%s\n", program_name(), lesson->number,
           *now->progress.passed ? "" : " --spoil");
    return EXIT_PASS;
}

/* The hints of each region that the failing part, or all of the lesson, consists of. */
static void list_regions(const struct situation *now)
{
    size_t of_region[MOST_HINTS], count = hints_of_failed_part(now, of_region);
    for (size_t i = 0; i < count; i++) {
        const struct hint *hint = &now->hints.items[of_region[i]];
        size_t grades, grade = grade_of(&now->hints, of_region[i], &grades), first = of_region[i] + 2 - grade;
        char *line = format_string("%s: %s", hint->region, hint->question);
        printf("  %3zu-%-3zu ", first, first + grades - 1);
        layout_paragraph(line, 10, 10);
        free(line);
    }
}

/* Not for the first hint of all: it would look like a choice where there was none. */
static int list_choices(const struct situation *now)
{
    const struct progress *progress = &now->progress;
    const char *number = now->lesson->number;
    if (progress->failed_count)
        printf("Nothing in the last failure points to one hint.\n");
    else
        printf("All is written, and no failure is remembered: %s check %s\n", program_name(), number);
    for (size_t i = 0; i < now->row_count; i++) {
        if (!hint_row_may_fit(now, i)) continue;
        char *line = format_string("the page, of %s: %s", now->rows[i].fails, now->rows[i].look_at);
        layout_paragraph(line, 0, 4);
        free(line);
    }
    list_regions(now);
    printf("one of them: %s hint %s REGION\n", program_name(), number);
    return EXIT_PASS;
}

/* The hint that a number or the name of a region means; complains and returns hints->count if there is
 * none. */
static size_t choose(const struct situation *now, const char *word)
{
    const struct lesson_folder *lesson = now->lesson;
    const struct hints *hints = &now->hints;
    const char *names[MOST_HINTS + 1] = {0};
    char *end;
    long number = strtol(word, &end, 10);
    if (*end == '\0') {
        if (number >= 1 && (size_t)number <= hints->count) return (size_t)number - 1;
        complain("lesson %s has hints 1 to %zu, not %s.", lesson->number, hints->count, word);
        return hints->count;
    }
    for (size_t i = 0; i < hints->count && i < MOST_HINTS; i++) {
        names[i] = hints->items[i].region;
        if (!hint_is_about(names[i], word)) continue;
        size_t unseen = hint_unseen(now, names[i]), last = i;
        while (last + 1 < hints->count && strcmp(hints->items[last + 1].region, names[i]) == 0) last++;
        return unseen < hints->count ? unseen : last;
    }
    const char *near = nearest_name(word, names);
    complain(near != NULL
                 ? "lesson %s has no hint about \"%s\". Did you mean %s?"
                 : "lesson %s has no hint about \"%s\"; hint takes a number or the name of a region.",
             lesson->number, word, near);
    return hints->count;
}

static void show_hint(const struct lesson_folder *lesson, const struct hints *hints, size_t index)
{
    const struct hint *hint = &hints->items[index];
    size_t grades, grade = grade_of(hints, index, &grades);
    printf("%shint %zu of %zu%s", colour_on(COLOUR_BOLD), index + 1, hints->count, colour_off());
    if (*hint->region) printf("   %s, %zu of %zu", hint->region, grade, grades);
    printf("\n\n");
    layout_paragraph(hint->question, 0, 0);
    printf("\n");
    layout_paragraph(hint->answer, 0, 0);
    char *more = grade < grades
                     ? format_string("more: %s hint %s %s", program_name(), lesson->number, hint->region)
                     : format_string("next: %s watch %s", program_name(), lesson->number);
    printf("\n");
    layout_paragraph(more, 0, 6);
    free(more);
}

static int run_hint(const struct command_line *line)
{
    struct situation now;
    const struct lesson_folder *lesson = lesson_or_next(line->operand);
    if (lesson == NULL) return EXIT_TROUBLE;
    situation_read(lesson, &now);
    if (now.hints.count == 0) {
        char *page = page_path(lesson);
        complain("%s has no hints.", course_short_path(page));
        free(page);
        return EXIT_TROUBLE;
    }
    const char *which = line->operand_count > 1 ? line->operands[1] : NULL;
    if (which == NULL && hint_unseen(&now, NULL) == now.hints.count) return list_hints(&now);
    size_t index = which != NULL ? choose(&now, which) : hint_choose(&now);
    if (index == now.hints.count) return which != NULL ? EXIT_TROUBLE : list_choices(&now);
    show_hint(lesson, &now.hints, index);
    if (index < MOST_HINTS && !now.progress.hint_shown[index]) {
        now.progress.hint_shown[index] = 1;
        progress_write(lesson, &now.progress);
    }
    return EXIT_PASS;
}

static const struct option_description hint_options[] = {{0}};

const struct command hint_command = {
    .name = "hint",
    .operand = "[NN]",
    .second = "[K]",
    .summary = "one more hint, from the page; K: its number, or a region of the file",
    .details =
        "Without K, the next one you have not seen: about the function that the compiler or the last\n"
        "failure names, what its pattern says, what the page says of the case that failed, the part\n"
        "that failed, or what is to be written next. Where none of these helps, the regions to choose\n"
        "from are listed.\n"
        "Hints about one region become plainer from one to the next. Without NN, the lesson that is\n"
        "next. Which ones were shown is remembered outside the tree.\n"
        "Exit 0, or 2 if there is no such hint.",
    .options = hint_options,
    .run = run_hint,
};
