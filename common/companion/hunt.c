/**
 * @file hunt.c
 * @brief warpwise hunt: a solution with one mistake in it, and what can be seen of that. Whatever mends it counts; the
 *        checker decides.
 *
 * An exercise's level follows from the cases that its mutant names: the software device alone sees it (3), a case of group
 * basic does (1), or other cases do (2). tests/hunt_level.cmake holds it to what the device says of the exercise.
 */
#include "hunt.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/layout.h"
#include "base/terminal.h"
#include "base/text.h"
#include "catalogue.h"
#include "companion.h"
#include "course/command.h"
#include "progress.h"

/** @brief A lesson's exercises, and what is remembered of them. */
struct hunt {
    const struct lesson_folder *lesson;
    struct catalogue catalogue;
    struct exercise *exercises;
    size_t count;
    struct hunt_notes notes;
};

static const char *const level_words[HUNT_LEVELS + 1] = {
    "", "shows in a basic case", "shows in other cases alone",
    "shows on the software device alone, or in another order"};

/* ---- which there are -------------------------------------------------------------------------------------------- */

static int level_of(const struct hunt *hunt, const struct exercise *exercise)
{
    const char *rest = exercise->cases;
    int level = exercise->device_only ? 3 : 2;
    for (char *word; level == 2 && (word = next_word(&rest, ',')) != NULL; free(word)) {
        const char *name = word + strspn(word, " ");
        for (size_t i = 0; i < hunt->catalogue.count; i++) {
            const struct known_case *item = &hunt->catalogue.cases[i];
            if (strcmp(item->name, name) == 0 && strcmp(item->group, "basic") == 0) level = 1;
        }
    }
    return level;
}

static int hunt_read(const struct lesson_folder *lesson, struct hunt *hunt)
{
    *hunt = (struct hunt){.lesson = lesson};
    hunt->exercises = exercises_of(lesson, &hunt->count);
    if (!hunt->count) return complain("lesson %s has no exercises in this tree.", lesson->number);
    hunt_notes_read(lesson, &hunt->notes);
    return catalogue_read(lesson, &hunt->catalogue);
}

static const struct exercise *exercise_numbered(const struct hunt *hunt, const char *word)
{
    for (size_t i = 0; i < hunt->count; i++)
        if (hunt->exercises[i].number == atoi(word)) return &hunt->exercises[i];
    complain("lesson %s has exercises %d to %d, not %s.", hunt->lesson->number, hunt->exercises[0].number,
             hunt->exercises[hunt->count - 1].number, word);
    return NULL;
}

/* The one that is open, else the first that was never opened; NULL if there is none. */
static const struct exercise *next_exercise(const struct hunt *hunt)
{
    const enum hunt_state wanted[] = {HUNT_OPEN, HUNT_NEW};
    for (size_t pass = 0; pass < sizeof wanted / sizeof wanted[0]; pass++)
        for (size_t i = 0; i < hunt->count; i++)
            if (hunt->notes.of[hunt->exercises[i].number].state == wanted[pass]) return &hunt->exercises[i];
    return NULL;
}

/* ---- hints ------------------------------------------------------------------------------------------------ */

/** @brief What can be said of where an exercise's mistake is, from wide to narrow; each says more than the one before. */
struct hunt_hints {
    char *text[EXERCISE_HINTS];
    int count;
};

/** @brief Lines of a kernel file. */
struct span {
    int first, last;
};

/* The definition that a line is in: it begins with the last line above, or this one, that begins with a letter and is no head of a
 * template, and its head ends where a brace or a semicolon is. @p head: where that is in the text. */
static struct span definition_of(const char *kernel, int line, const char **head)
{
    struct span found = {1, 1};
    int number = 1;
    *head = kernel;
    for (const char *at = kernel; *at && number <= line; at += *at == '\n', number++) {
        const int starts = isalpha((unsigned char)*at) || *at == '_' || strncmp(at, "#define ", 8) == 0;
        if (starts && strncmp(at, "template", 8) != 0) *head = at, found.first = number;
        at += strcspn(at, "\n");
    }
    found.last = found.first;
    for (const char *at = *head; *at && *at != '{' && *at != ';'; at++) found.last += *at == '\n';
    return found;
}

static void print_head(const char *head, struct span definition, struct text *out)
{
    for (int number = definition.first; number <= definition.last; number++, head += *head == '\n') {
        const int length = (int)strcspn(head, "\n");
        if (*head != '{') text_print(out, "%s    %4d  %.*s", out->length ? "\n" : "", number, length, head);
        head += length;
    }
}

/* What the mistake's lines say: the definitions that they are in, and the lines themselves. */
static void hints_of_lines(const char *kernel, const char *lines, struct hunt_hints *hints)
{
    struct text where = {0}, which = {0};
    int narrower = 0, shown = 0;
    for (char *word; (word = next_word(&lines, ' ')) != NULL; free(word)) {
        char *rest;
        const char *head;
        struct span wrong = {.first = (int)strtol(word, &rest, 10)};
        wrong.last = *rest == '-' ? atoi(rest + 1) : 0;
        const struct span definition = definition_of(kernel, wrong.first, &head);
        if (definition.first != shown) print_head(head, definition, &where);
        shown = definition.first;
        narrower = narrower || wrong.first > definition.last || definition.first != definition.last;
        text_print(&which, which.length ? ", and " : "in the file as it was given, ");
        if (!wrong.last)
            text_print(&which, "something is missing between lines %d and %d", wrong.first, wrong.first + 1);
        else if (wrong.last > wrong.first)
            text_print(&which, "lines %d to %d are wrong", wrong.first, wrong.last);
        else
            text_print(&which, "line %d is wrong", wrong.first);
    }
    hints->text[hints->count++] = format_string("the mistake is in what begins with\n%s", where.data);
    if (narrower) hints->text[hints->count++] = which.data;
    text_free(&where);
}

static struct hunt_hints hints_of(const struct hunt *hunt, const struct exercise *exercise)
{
    struct hunt_hints hints = {0};
    struct text kernel = {0};
    char *lines = exercise_lines(hunt->lesson, exercise);
    if (lines != NULL && exercise_kernel(hunt->lesson, exercise, &kernel) == EXIT_PASS)
        hints_of_lines(kernel.data, lines, &hints);
    if (exercise->why != NULL) hints.text[hints.count++] = exercise->why;
    text_free(&kernel);
    free(lines);
    return hints;
}

static int give_hint(struct hunt *hunt, const struct exercise *exercise)
{
    struct hunt_note *note = &hunt->notes.of[exercise->number];
    if (note->state != HUNT_OPEN) return complain("exercise %d is not open.", exercise->number);
    const struct hunt_hints hints = hints_of(hunt, exercise);
    if (note->hints >= hints.count)
        return complain("there is no further hint for exercise %d.", exercise->number);
    printf("hint %d of %d: ", note->hints + 1, hints.count);
    layout_paragraph(hints.text[note->hints++], 0, 0);
    hunt_notes_write(hunt->lesson, &hunt->notes);
    return EXIT_PASS;
}

/* ---- opening one ------------------------------------------------------------------------------------------ */

/* Writes the kernel into the workspace, unless the student has something there. */
static int put_kernel(const struct hunt *hunt, const struct exercise *exercise)
{
    struct text content = {0};
    char *kernel = hunt_path(hunt->lesson, exercise->number);
    char *folder = format_string("%.*s", (int)(strrchr(kernel, '/') - kernel), kernel);
    int code = EXIT_PASS;
    if (access(kernel, F_OK) == 0) {
        printf("%s is there and stays as it is; to begin again, remove it\n", course_short_path(kernel));
    } else if ((code = exercise_kernel(hunt->lesson, exercise, &content)) == EXIT_PASS) {
        int error = make_folders(folder);
        if (!error) error = write_file(kernel, content.data, content.length);
        if (error) code = complain("%s cannot be written: %s.", course_short_path(kernel), strerror(error));
    }
    text_free(&content);
    free(folder);
    free(kernel);
    return code;
}

static int open_exercise(struct hunt *hunt, const struct exercise *exercise)
{
    struct hunt_note *note = &hunt->notes.of[exercise->number];
    if (put_kernel(hunt, exercise) != EXIT_PASS) return EXIT_TROUBLE;
    if (note->state != HUNT_NEW) return EXIT_PASS;
    *note = (struct hunt_note){.state = HUNT_OPEN, .opened = (long)time(NULL)};
    hunt_notes_write(hunt->lesson, &hunt->notes);
    return EXIT_PASS;
}

static void show_exercise(const struct hunt *hunt, const struct exercise *exercise)
{
    const struct hunt_note *note = &hunt->notes.of[exercise->number];
    const struct hunt_hints hints = hints_of(hunt, exercise);
    const char *number = hunt->lesson->number;
    char *kernel = hunt_path(hunt->lesson, exercise->number), *taken = hunt_time(note);
    static const char *const stands[HUNT_STATES] = {"", "open for", "found after", "given up after"};
    printf("%sexercise %d%s, level %d, %s %s, %d of %d hints\n", colour_on(COLOUR_BOLD), exercise->number,
           colour_off(), level_of(hunt, exercise), stands[note->state], taken, note->hints, hints.count);
    printf("  %-8s %s%s\n", "fails", exercise->cases,
           exercise->device_only ? " (a GPU may give right values)" : "");
    printf("  %-8s %s\n", "mend", course_short_path(kernel));
    printf("  %-8s %s check %s\n", "judge", program_name(), course_short_path(kernel));
    if (note->state == HUNT_OPEN) {
        for (int i = 0; i < note->hints && i < hints.count; i++) {
            printf("  %-8s ", "hint");
            layout_paragraph(hints.text[i], 11, 11);
        }
        printf("  %-8s ", "stuck?");
        if (note->hints < hints.count)
            printf("%s hunt %s %d --hint, for a point, or --give-up\n", program_name(), number,
                   exercise->number);
        else
            printf("%s hunt %s %d --give-up\n", program_name(), number, exercise->number);
    }
    free(taken);
    free(kernel);
}

/* ---- the answer ----------------------------------------------------------------------------------------------- */

static int give_up(struct hunt *hunt, const struct exercise *exercise)
{
    struct text answer = {0};
    struct hunt_note *note = &hunt->notes.of[exercise->number];
    if (note->state == HUNT_NEW) return complain("exercise %d was never opened.", exercise->number);
    if (note->state == HUNT_OPEN) {
        note->state = HUNT_GIVEN_UP;
        note->closed = (long)time(NULL);
        hunt_notes_write(hunt->lesson, &hunt->notes);
    }
    if (exercise->why == NULL) {
        printf("exercise %d is given up; its answer is not in this tree: ask whoever handed it out\n",
               exercise->number);
        return EXIT_PASS;
    }
    if (exercise_answer(hunt->lesson, exercise, &answer) != EXIT_PASS) return EXIT_TROUBLE;
    layout_paragraph(exercise->why, 0, 0);
    printf("\n- the exercise, + the solution\n%s", answer.data);
    text_free(&answer);
    return EXIT_PASS;
}

/* ---- the score ------------------------------------------------------------------------------------------------ */

/** @brief What all exercises of a lesson came to. */
struct score {
    int opened, found, given_up, hints, points;
};

static struct score score_of(const struct hunt_notes *notes)
{
    struct score score = {0};
    for (int i = 1; i < MOST_EXERCISES; i++) {
        const struct hunt_note *note = &notes->of[i];
        score.opened += note->state == HUNT_OPEN;
        score.found += note->state == HUNT_FOUND;
        score.given_up += note->state == HUNT_GIVEN_UP;
        score.hints += note->hints;
        score.points += hunt_points(note);
    }
    return score;
}

static void print_score(const struct lesson_folder *lesson, size_t count, const struct score *score)
{
    printf("%s%s %-24s%s %2d of %zu found, %d open, %d given up; %d hint%s, %d points\n",
           colour_on(COLOUR_BOLD), lesson->number, lesson->topic, colour_off(), score->found, count,
           score->opened, score->given_up, score->hints, score->hints == 1 ? "" : "s", score->points);
}

static int show_all(void)
{
    size_t lesson_count, shown = 0;
    const struct lesson_folder *lessons = course_lessons(&lesson_count);
    for (size_t i = 0; i < lesson_count; i++) {
        struct hunt_notes notes;
        size_t count;
        free(exercises_of(&lessons[i], &count));
        if (!count) continue;
        hunt_notes_read(&lessons[i], &notes);
        struct score score = score_of(&notes);
        print_score(&lessons[i], count, &score);
        shown++;
    }
    if (!shown) return complain("there are no exercises in this tree.");
    printf("one of them: %s hunt NN\n", program_name());
    return EXIT_PASS;
}

static void show_lesson(const struct hunt *hunt)
{
    static const char marks[HUNT_STATES] = {' ', '*', '+', '-'};
    struct score score = score_of(&hunt->notes);
    print_score(hunt->lesson, hunt->count, &score);
    for (int level = 1; level <= HUNT_LEVELS; level++) {
        printf("  level %d  ", level);
        for (size_t i = 0; i < hunt->count; i++) {
            const int number = hunt->exercises[i].number;
            if (level_of(hunt, &hunt->exercises[i]) == level)
                printf("%d%c ", number, marks[hunt->notes.of[number].state]);
        }
        printf("  %s\n", level_words[level]);
    }
    printf("  + found, * open, - given up\n");
    if (next_exercise(hunt) != NULL)
        printf("next: %s hunt %s %d\n", program_name(), hunt->lesson->number, next_exercise(hunt)->number);
}

/* ---- the command ---------------------------------------------------------------------------------------------- */

/* An exercise shows all of the lesson's kernel but its mistake. */
static int may_see(const struct hunt *hunt, const struct exercise *exercise, const struct command_line *line)
{
    struct progress progress;
    const char *number = hunt->lesson->number;
    progress_read(hunt->lesson, &progress);
    const struct score score = score_of(&hunt->notes);
    if (*progress.passed || option_value(line, "--spoil") != NULL ||
        score.opened + score.found + score.given_up > 0)
        return EXIT_PASS;
    return complain(
        "an exercise is the finished kernel of lesson %s with one mistake, and the lesson has not "
        "passed yet. All the same: %s hunt %s %d --spoil",
        number, program_name(), number, exercise->number);
}

/* 1 if it was opened and its file has not been removed since. */
static int is_here(const struct hunt *hunt, const struct exercise *exercise)
{
    char *kernel = hunt_path(hunt->lesson, exercise->number);
    int here = hunt->notes.of[exercise->number].state != HUNT_NEW && access(kernel, F_OK) == 0;
    free(kernel);
    return here;
}

static int run_hunt(const struct command_line *line)
{
    struct hunt hunt;
    const int hint = option_value(line, "--hint") != NULL, gives_up = option_value(line, "--give-up") != NULL;
    if (line->operand_count < 2 && (hint || gives_up))
        return complain("which exercise? For example: %s hunt 01 7 %s", program_name(),
                        hint ? "--hint" : "--give-up");
    if (line->operand == NULL) return show_all();
    const struct lesson_folder *lesson = course_find_lesson(line->operand);
    if (lesson == NULL || hunt_read(lesson, &hunt) != EXIT_PASS) return EXIT_TROUBLE;
    if (line->operand_count < 2) return show_lesson(&hunt), EXIT_PASS;
    const struct exercise *exercise = exercise_numbered(&hunt, line->operands[1]);
    if (exercise == NULL) return EXIT_TROUBLE;
    if (hint) return give_hint(&hunt, exercise);
    if (gives_up) return give_up(&hunt, exercise);
    if (!is_here(&hunt, exercise) &&
        (may_see(&hunt, exercise, line) != EXIT_PASS || open_exercise(&hunt, exercise) != EXIT_PASS))
        return EXIT_TROUBLE;
    show_exercise(&hunt, exercise);
    return EXIT_PASS;
}

static const struct option_description hunt_options[] = {
    {"--hint", NULL, "of exercise K: where its mistake is; once more: in which lines; once more: what it is",
     0},
    {"--give-up", NULL, "the answer, where this tree has it; the exercise counts nothing then", 0},
    {"--spoil", NULL, "also if the lesson has not passed yet", 0},
    {0},
};

const struct command hunt_command = {
    .name = "hunt",
    .operand = "[NN]",
    .second = "[K]",
    .summary = "find the mistake in a finished kernel: debugging exercises and their score",
    .details = "Puts exercise K of the lesson into lessons/NN_topic/hunt/. check judges what you make of "
               "that file:\n"
               "whatever mends it is right. A find counts 4 points, less one for each hint. Without K, the "
               "lesson's\n"
               "exercises; without NN, the score. Exit 0, or 2 if there is no such exercise.",
    .options = hunt_options,
    .run = run_hunt,
};
