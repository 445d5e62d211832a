/**
 * @file exercise.c
 * @brief Debugging exercises, from mutants (tests/mutants/README.md has their format) or as they were handed out.
 */
#include "exercise.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/line_diff.h"
#include "base/terminal.h"
#include "places.h"

static const char begin_old[] = "\n<<<<\n", begin_new[] = "====\n", end_new[] = ">>>>";

char *exercise_folder(const struct lesson_folder *lesson)
{
    return format_string("%s/tests/hunts/%s", course_source_dir(), lesson->name);
}

/* ---- which there are ------------------------------------------------------------------------------------ */

/* The rest of the line that begins with @p name in the head of a file: it ends before an empty line or a mutant's first block.
 * NULL if there is none. */
static char *field_of(const char *text, const char *name)
{
    const size_t name_length = strlen(name);
    for (const char *line = text; *line && *line != '\n' && strncmp(line, begin_old + 1, 5) != 0;) {
        const size_t length = strcspn(line, "\n");
        if (strncmp(line, name, name_length) == 0)
            return format_string("%.*s", (int)(length - name_length), line + name_length);
        line += length + (line[length] == '\n');
    }
    return NULL;
}

/* "simt softmax/square_64": only the software device is sure to see it. */
static void take_cases(struct exercise *exercise, char *cases)
{
    exercise->device_only = strncmp(cases, "simt ", 5) == 0;
    exercise->cases = copy_string(cases + (exercise->device_only ? 5 : 0));
    free(cases);
}

/* 1 if the file is an exercise, with @p exercise filled in. */
static int read_exercise(const char *path, struct exercise *exercise)
{
    struct text content = {0};
    if (read_file(path, &content) != 0) return 0;
    char *number = field_of(content.data, "hunt: "), *cases = field_of(content.data, "killed-by: ");
    int found = number != NULL && cases != NULL;
    if (found) {
        *exercise = (struct exercise){.number = atoi(number),
                                      .why = field_of(content.data, "why: "),
                                      .lines = field_of(content.data, "lines: "),
                                      .path = copy_string(path)};
        take_cases(exercise, cases);
    }
    free(number);
    text_free(&content);
    return found;
}

static int by_number(const void *a, const void *b)
{
    return ((const struct exercise *)a)->number - ((const struct exercise *)b)->number;
}

static struct exercise *read_folder(const char *folder, size_t *count)
{
    struct exercise *found = NULL;
    DIR *directory = opendir(folder);
    size_t room = 0;
    *count = 0;
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        if (*entry->d_name == '.') continue;
        if (*count == room) {
            struct exercise *more = must_allocate((2 * room + 16) * sizeof *more);
            if (room) memcpy(more, found, room * sizeof *more);
            free(found);
            found = more;
            room = 2 * room + 16;
        }
        char *path = format_string("%s/%s", folder, entry->d_name);
        *count += (size_t)read_exercise(path, &found[*count]);
        free(path);
    }
    if (directory != NULL) closedir(directory);
    if (*count) qsort(found, *count, sizeof *found, by_number);
    return found;
}

struct exercise *exercises_of(const struct lesson_folder *lesson, size_t *count)
{
    char *mutants = format_string("%s/tests/mutants/%s", course_source_dir(), lesson->name);
    char *handed_out = exercise_folder(lesson);
    struct exercise *found = read_folder(is_folder(mutants) ? mutants : handed_out, count);
    free(handed_out);
    free(mutants);
    return found;
}

int exercise_find(const struct lesson_folder *lesson, int number, struct exercise *exercise)
{
    size_t count;
    struct exercise *all = exercises_of(lesson, &count);
    int found = 0;
    for (size_t i = 0; i < count && !found; i++)
        if (all[i].number == number) *exercise = all[i], found = 1;
    free(all);
    return found;
}

/* ---- what they are -------------------------------------------------------------------------------------- */

/* 1 if the line of @p length bytes at @p line is one of those of @p text, which ends at @p end. */
static int has_line(const char *text, const char *end, const char *line, size_t length)
{
    for (const char *at = text; at < end; at += strcspn(at, "\n") + 1)
        if (strcspn(at, "\n") == length && memcmp(at, line, length) == 0) return 1;
    return 0;
}

/* Appends the new text of a block. A line that is none of the old text's loses its comment, with the blanks before it. */
static void append_new(struct text *out, const char *old, const char *old_end, const char *fresh,
                       const char *fresh_end)
{
    for (const char *line = fresh; line < fresh_end; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n"), kept = length;
        const char *comment = has_line(old, old_end, line, length) ? NULL : memmem(line, length, "//", 2);
        if (comment != NULL) {
            kept = (size_t)(comment - line);
            while (kept && line[kept - 1] == ' ') kept--;
            if (!kept) continue; /* nothing but the comment stood there */
        }
        text_append(out, line, kept);
        text_append(out, "\n", 1);
    }
}

static int does_not_fit(const struct exercise *exercise)
{
    return complain("%s does not fit its solution; ctest -R drift says more.",
                    course_short_path(exercise->path));
}

/* Replaces each old text in @p source by its new one. */
static int apply(const struct exercise *exercise, const char *mutant, struct text *source)
{
    for (const char *at = mutant; (at = strstr(at, begin_old)) != NULL;) {
        const char *old = at + strlen(begin_old), *middle = strstr(old, begin_new);
        const char *fresh = middle != NULL ? middle + strlen(begin_new) : NULL;
        const char *end = fresh != NULL ? strstr(fresh, end_new) : NULL;
        const size_t length = middle != NULL ? (size_t)(middle - old) : 0;
        const char *place = end != NULL ? memmem(source->data, source->length, old, length) : NULL;
        if (place == NULL) return does_not_fit(exercise);
        struct text changed = {0};
        text_append(&changed, source->data, (size_t)(place - source->data));
        append_new(&changed, old, middle, fresh, end);
        text_append(&changed, place + length, strlen(place + length));
        text_free(source);
        *source = changed;
        at = end;
    }
    return EXIT_PASS;
}

static int read_or_complain(const char *path, struct text *content)
{
    int error = read_file(path, content);
    return error ? complain("%s cannot be read: %s.", course_short_path(path), strerror(error)) : EXIT_PASS;
}

int exercise_kernel(const struct lesson_folder *lesson, const struct exercise *exercise, struct text *kernel)
{
    struct text content = {0};
    int code = read_or_complain(exercise->path, &content);
    if (code != EXIT_PASS) return code;
    if (exercise->why != NULL) {
        char *solution = course_kernel_path(lesson, 1);
        text_print(kernel,
                   "// Exercise %d of lesson %s: a mistake is in this file. This line stays as it is.\n",
                   exercise->number, lesson->number);
        code = read_or_complain(solution, kernel);
        if (code == EXIT_PASS) code = apply(exercise, content.data, kernel);
        free(solution);
    } else { /* handed out: an empty line is between its fields and the kernel */
        const char *begin = strstr(content.data, "\n\n");
        if (begin != NULL) text_append(kernel, begin + 2, strlen(begin + 2));
    }
    text_free(&content);
    return code;
}

int exercise_answer(const struct lesson_folder *lesson, const struct exercise *exercise, struct text *answer)
{
    struct text kernel = {0}, right = {0};
    char *solution = course_kernel_path(lesson, 1);
    int code = exercise_kernel(lesson, exercise, &kernel);
    if (code == EXIT_PASS) code = read_or_complain(solution, &right);
    if (code == EXIT_PASS)
        line_diff_from(kernel.data, strchr(kernel.data, '\n') + 1, right.data, right.data, answer);
    free(solution);
    text_free(&kernel);
    text_free(&right);
    return code;
}

/* Walks a difference: the numbers of its old lines that are not in the new text, and of those after which new ones stand. */
static void list_lines(const char *difference, struct text *out)
{
    int at = 0, removed = 0, added = 0;
    for (char *line; (line = next_word(&difference, '\n')) != NULL; free(line)) {
        if ((*line == ' ' || *line == '@' || !*line) && removed + added) {
            text_print(out, "%s%d", out->length ? " " : "", removed ? at - removed : at - 1);
            if (removed)
                text_print(out, "-%d", at - 1);
            else
                text_print(out, "+");
            removed = added = 0;
        }
        if (*line == '@') at = atoi(strchr(line, '-') + 1);
        removed += *line == '-';
        added += *line == '+';
        at += *line == ' ' || *line == '-';
    }
}

char *exercise_lines(const struct lesson_folder *lesson, const struct exercise *exercise)
{
    struct text answer = {0}, lines = {0};
    if (exercise->why == NULL) return exercise->lines != NULL ? copy_string(exercise->lines) : NULL;
    if (exercise_answer(lesson, exercise, &answer) == EXIT_PASS) list_lines(answer.data, &lines);
    text_free(&answer);
    return lines.data;
}

char *exercise_refuses(const struct lesson_folder *lesson, const struct exercise *exercise,
                       const char *content)
{
    struct text kernel = {0}, difference = {0};
    char *sentence = NULL;
    if (exercise_kernel(lesson, exercise, &kernel) != EXIT_PASS)
        return copy_string("the exercise cannot be made");
    const size_t first = strcspn(kernel.data, "\n") + 1;
    if (strncmp(kernel.data, content, first) != 0 ||
        line_diff(kernel.data, content, &difference) > MOST_CHANGED)
        sentence = format_string("it is not the file of exercise %d, mended: its first line must stay, and "
                                 "no more than %d lines may differ from what was given",
                                 exercise->number, MOST_CHANGED);
    text_free(&difference);
    text_free(&kernel);
    return sentence;
}

int exercise_points(int hints)
{
    return EXERCISE_POINTS - hints;
}

int exercise_file(const struct lesson_folder *lesson, const struct exercise *exercise, struct text *file)
{
    struct text kernel = {0};
    int code = exercise_kernel(lesson, exercise, &kernel);
    char *lines = code == EXIT_PASS ? exercise_lines(lesson, exercise) : NULL;
    if (lines != NULL)
        text_print(file, "hunt: %d\nkilled-by: %s%s\nlines: %s\n\n%s", exercise->number,
                   exercise->device_only ? "simt " : "", exercise->cases, lines, kernel.data);
    free(lines);
    text_free(&kernel);
    return code;
}
