/**
 * @file hint.c
 * @brief warpwise hint: what the page's folded hints say, one at a time, and no more than was asked for.
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
#include "page.h"
#include "progress.h"

/* The number of this hint among those of its region, from 1, and how many those are. */
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

/* The next unseen hint of @p region, or of any if that is NULL; hints->count if there is none. */
static size_t next_unseen(const struct hints *hints, const struct progress *progress, const char *region)
{
    for (size_t i = 0; i < hints->count && i < MOST_HINTS; i++) {
        if (progress->hint_shown[i]) continue;
        if (!region || strcmp(hints->items[i].region, region) == 0) return i;
    }
    return hints->count;
}

/* Hints name a region ("softmax_kernel") or what several of them have in common ("softmax"). */
static int is_about(const char *region, const char *name)
{
    size_t length = strlen(region);
    return *region && strncmp(region, name, length) == 0 && (name[length] == '\0' || name[length] == '_');
}

/* About the part of the case that failed last: its regions begin with its name, "scores_kernel". */
static size_t about_failure(const struct hints *hints, const struct progress *progress)
{
    size_t found = hints->count;
    char *part = format_string("%.*s", (int)strcspn(progress->failed[0], "/"), progress->failed[0]);
    for (size_t i = 0; i < hints->count && found == hints->count; i++) {
        const char *region = hints->items[i].region;
        if (strncmp(region, part, strlen(part)) == 0) found = next_unseen(hints, progress, region);
    }
    free(part);
    return found;
}

/* About the first region that the compiler or a finding named: innermost call first, as the report does. */
static size_t about_place(const struct hints *hints, const struct progress *progress)
{
    size_t found = hints->count;
    for (size_t p = 0; p < progress->place.count && found == hints->count; p++) {
        for (size_t i = 0; i < hints->count && found == hints->count; i++) {
            if (is_about(hints->items[i].region, progress->place.region[p]))
                found = next_unseen(hints, progress, hints->items[i].region);
        }
    }
    return found;
}

/* How many words of @p pattern a hint says, too. Short ones say nothing; in its region's name one counts double. */
static int words_shared(const char *pattern, const struct hint *hint)
{
    int shared = 0;
    while (*pattern) {
        size_t length = strspn(pattern, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
        if (length >= 4) {
            char *word = format_string("%.*s", (int)length, pattern);
            shared += strcasestr(hint->question, word) || strcasestr(hint->answer, word);
            shared += strcasestr(hint->region, word) ? 2 : 0;
            free(word);
        }
        pattern += length ? length : 1;
    }
    return shared;
}

/* About what the pattern of the failure says: the unseen hint that says most of the same words, two at least. */
static size_t about_pattern(const struct hints *hints, const struct progress *progress)
{
    size_t found = hints->count;
    int most = 1;
    for (size_t i = 0; progress->place.pattern && i < hints->count && i < MOST_HINTS; i++) {
        int shared = words_shared(progress->place.pattern, &hints->items[i]);
        if (shared <= most) continue;
        size_t unseen = next_unseen(hints, progress, hints->items[i].region);
        if (unseen == hints->count) continue;
        most = shared;
        found =
            unseen; /* the plainest words may be in the last of a region's hints; they are shown in order */
    }
    return found;
}

/* About a region that still says TODO, in the order of the page: it may leave the file's first region for last. */
static size_t about_todo(const struct lesson_folder *lesson, const struct hints *hints,
                         const struct progress *progress)
{
    struct region regions[MAX_REGIONS];
    struct text source = {0};
    char *kernel = course_kernel_path(lesson, 0);
    size_t found = hints->count;
    size_t count = read_file(kernel, &source) == 0 ? kernel_regions(source.data, regions) : 0;
    for (size_t i = 0; i < hints->count && found == hints->count; i++) {
        for (size_t r = 0; r < count && found == hints->count; r++) {
            if (regions[r].todo && is_about(hints->items[i].region, regions[r].name))
                found = next_unseen(hints, progress, hints->items[i].region);
        }
    }
    text_free(&source);
    free(kernel);
    return found;
}

/* Where the student is: at the place that failed last, by its lines, its pattern or its part; else at what is to be
 * written next. */
static size_t most_useful(const struct lesson_folder *lesson, const struct hints *hints,
                          const struct progress *progress)
{
    size_t found = about_place(hints, progress);
    if (found == hints->count) found = about_pattern(hints, progress);
    if (found == hints->count && progress->failed_count) found = about_failure(hints, progress);
    if (found == hints->count) found = about_todo(lesson, hints, progress);
    return found < hints->count ? found : next_unseen(hints, progress, NULL);
}

static int list_hints(const struct lesson_folder *lesson, const struct hints *hints,
                      const struct progress *progress)
{
    printf("You have seen all %zu hints of lesson %s:\n", hints->count, lesson->number);
    for (size_t i = 0; i < hints->count; i++) {
        char *line = format_string("%s: %s", hints->items[i].region, hints->items[i].question);
        printf("  %2zu  ", i + 1);
        layout_paragraph(line, 6, 6);
        free(line);
    }
    printf("again: %s hint %s K\n", program_name(), lesson->number);
    printf("the solution: %s diff %s%s\n", program_name(), lesson->number,
           *progress->passed ? "" : " --spoil");
    return EXIT_PASS;
}

/* Which one is meant by a number or the name of a region; complains and returns hints->count if none is. */
static size_t choose(const struct lesson_folder *lesson, const struct hints *hints,
                     const struct progress *progress, const char *word)
{
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
        if (!is_about(names[i], word)) continue;
        size_t unseen = next_unseen(hints, progress, names[i]), last = i;
        while (last + 1 < hints->count && strcmp(hints->items[last + 1].region, names[i]) == 0) last++;
        return unseen < hints->count ? unseen : last;
    }
    const char *near = nearest_name(word, names);
    complain(near ? "lesson %s has no hint about \"%s\". Did you mean %s?"
                  : "lesson %s has no hint about \"%s\"; hint takes a number or the name of a region.",
             lesson->number, word, near);
    return hints->count;
}

static void show(const struct lesson_folder *lesson, const struct hints *hints, size_t index)
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
    struct hints hints;
    struct progress progress;
    const struct lesson_folder *lesson = lesson_or_next(line->operand);
    if (!lesson) return EXIT_TROUBLE;
    page_hints(lesson, &hints);
    if (hints.count == 0) {
        char *page = page_path(lesson);
        complain("%s has no hints.", course_short_path(page));
        free(page);
        return EXIT_TROUBLE;
    }
    progress_read(lesson, &progress);
    const char *which = line->operand_count > 1 ? line->operands[1] : NULL;
    size_t index = which ? choose(lesson, &hints, &progress, which) : most_useful(lesson, &hints, &progress);
    if (index == hints.count) return which ? EXIT_TROUBLE : list_hints(lesson, &hints, &progress);
    show(lesson, &hints, index);
    if (index < MOST_HINTS && !progress.hint_shown[index]) {
        progress.hint_shown[index] = 1;
        progress_write(lesson, &progress);
    }
    return EXIT_PASS;
}

static const struct option_description options[] = {{0}};

const struct command hint_command = {
    .name = "hint",
    .operand = "[NN]",
    .second = "[K]",
    .summary = "one more hint, from the page; K: its number, or a region of the file",
    .details = "Without K, the next one you have not seen: about the function that the compiler or the last\n"
               "failure names, what its pattern says, the part that failed, or what is left to write.\n"
               "Hints about one region become plainer from one to the next. Without NN, the lesson that is\n"
               "next. Which ones were shown is remembered outside the tree.\n"
               "Exit 0, or 2 if there is no such hint.",
    .options = options,
    .run = run_hint,
};
