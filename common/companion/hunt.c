/**
 * @file hunt.c
 * @brief warpwise hunt: a solution with one mistake in it, and what can be seen of that. Whatever mends it counts; the
 *        checker decides.
 *
 * An exercise's level follows from the cases that its mutant names: the software device alone sees it (3), a case of group
 * basic does (1), or other cases do (2). tests/hunt_level.cmake holds it to what the device says of the exercise.
 */
#include "hunt.h"

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
#include "course/device.h"
#include "course/exercise.h"
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
    "", "wrong at once", "silent at usual sizes",
    "silent on a GPU: by order, or by the software device alone"};

/* ---- exercises -------------------------------------------------------------------------------------------- */

static int level_of(const struct hunt *hunt, const struct exercise *exercise)
{
    const char *rest = exercise->cases;
    int level = exercise->device_only ? 3 : 2;
    for (char *word; level == 2 && (word = next_word(&rest, ',')); free(word)) {
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

/* The one that is open, else the first that was never opened; of this level if it is not 0. NULL if there is none. */
static const struct exercise *next_exercise(const struct hunt *hunt, int level)
{
    const enum hunt_state wanted[] = {HUNT_OPEN, HUNT_NEW};
    for (size_t pass = 0; pass < sizeof wanted / sizeof wanted[0]; pass++) {
        for (size_t i = 0; i < hunt->count; i++) {
            const struct exercise *exercise = &hunt->exercises[i];
            if (hunt->notes.of[exercise->number].state == wanted[pass] &&
                (!level || level_of(hunt, exercise) == level))
                return exercise;
        }
    }
    return NULL;
}

/* ---- symptoms --------------------------------------------------------------------------------------------- */

char *hunt_symptom(const struct result_row *row)
{
    struct text out = {0};
    text_print(&out, "case %s: ", row->test_case);
    if (row->kind == RECORD_DEPENDS_ON_OUTPUT) { /* its headline asks for the cause */
        text_print(&out, "%s differs with what it held before the call", row->buffer);
    } else if (!row->finding) {
        text_print(&out, "%s", row->headline);
    } else if (*row->function && *row->buffer) {
        text_print(&out, "the software device stops at %s[%s] in %s, block (%s) thread (%s)", row->buffer,
                   row->index, row->function, row->block, row->thread);
    } else if (*row->function) {
        text_print(&out, "the software device stops in %s, block (%s) thread (%s)", row->function, row->block,
                   row->thread);
    } else {
        text_print(&out, "the software device stops in the code on the host");
    }
    return out.data;
}

void hunt_print_verdict(const struct judgement *judgement, enum device device)
{
    enum { MOST_SHOWN = 3 };
    size_t failed = 0;
    printf("%s%s%s on %s\n", colour_on(state_colour(judgement->state)), state_name(judgement->state),
           colour_off(), device_name(device));
    if (judgement->state == STATE_BUILD_ERROR) printf("%s", judgement->report.data);
    for (size_t i = 0; i < judgement->results.count; i++) {
        const struct result_row *row = &judgement->results.rows[i];
        if (!state_is_failure(row->state) || !*row->test_case || failed++ >= MOST_SHOWN) continue;
        char *symptom = hunt_symptom(row);
        layout_paragraph(symptom, 0, 2);
        free(symptom);
    }
    if (failed > MOST_SHOWN) printf("and %zu more cases\n", failed - MOST_SHOWN);
}

/* Runs the exercise's file at the first of its cases; the row that fails, or NULL after a complaint. */
static const struct result_row *run_exercise(const struct hunt *hunt, const struct exercise *exercise,
                                             struct judgement *judgement)
{
    char *kernel = hunt_path(hunt->lesson, exercise->number, ".cu");
    const char *rest = exercise->cases;
    const enum device device = device_probe(DEVICE_SIMT)->usable ? DEVICE_SIMT : DEVICE_GPU;
    struct judgement_request request = {.lesson = hunt->lesson,
                                        .kernel = kernel,
                                        .device = device,
                                        .again = format_string(" --kernel %s", course_short_path(kernel))};
    argument_add(&request.checker_arguments, "--case");
    argument_add(&request.checker_arguments, next_word(&rest, ','));
    judge(&request, judgement);
    for (size_t i = 0; i < judgement->results.count; i++)
        if (state_is_failure(judgement->results.rows[i].state) && *judgement->results.rows[i].test_case)
            return &judgement->results.rows[i];
    if (judgement->state == STATE_PASS)
        complain("%s passes this case on %s.", course_short_path(kernel), device_name(device));
    else
        complain("%s cannot be run on %s: %s.", course_short_path(kernel), device_name(device),
                 state_name(judgement->state));
    return NULL;
}

/* ---- opening one ------------------------------------------------------------------------------------------ */

/* Writes the kernel into the workspace, unless the student has something there. */
static int put_kernel(const struct hunt *hunt, const struct exercise *exercise)
{
    struct text content = {0};
    char *kernel = hunt_path(hunt->lesson, exercise->number, ".cu");
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
    struct judgement judgement;
    if (put_kernel(hunt, exercise) != EXIT_PASS) return EXIT_TROUBLE;
    const struct result_row *row = run_exercise(hunt, exercise, &judgement);
    if (!row) return EXIT_TROUBLE;
    char *symptom = hunt_symptom(row), *path = hunt_path(hunt->lesson, exercise->number, ".txt");
    struct text note = {0};
    text_print(&note, "%s\n%s\n", symptom, row->shape);
    int error = write_file(path, note.data, note.length);
    struct hunt_note *known = &hunt->notes.of[exercise->number];
    if (!error && known->state == HUNT_NEW) {
        *known = (struct hunt_note){
            .level = level_of(hunt, exercise), .state = HUNT_OPEN, .opened = (long)time(NULL)};
        hunt_notes_write(hunt->lesson, &hunt->notes);
    }
    int code =
        error ? complain("%s cannot be written: %s.", course_short_path(path), strerror(error)) : EXIT_PASS;
    text_free(&note);
    free(symptom);
    free(path);
    return code;
}

static void show_exercise(const struct hunt *hunt, const struct exercise *exercise)
{
    static const char *const stands[HUNT_STATES] = {"", "open for", "found in", "given up after"};
    const struct hunt_note *note = &hunt->notes.of[exercise->number];
    const char *number = hunt->lesson->number;
    char *kernel = hunt_path(hunt->lesson, exercise->number, ".cu");
    char *symptom_path = hunt_path(hunt->lesson, exercise->number, ".txt"), *taken = hunt_time(note);
    struct text symptom = {0};
    printf("%sexercise %d%s, level %d, %s %s, %d of %d hints\n", colour_on(COLOUR_BOLD), exercise->number,
           colour_off(), note->level, stands[note->state], taken, note->hints, MOST_HUNT_HINTS);
    const char *rest = read_file(symptom_path, &symptom) == 0 ? symptom.data : NULL;
    for (char *line; (line = next_word(&rest, '\n')); free(line)) {
        if (*line) {
            printf("  ");
            layout_paragraph(line, 2, 4);
        }
    }
    printf("  %-8s %s\n", "mend", course_short_path(kernel));
    printf("  %-8s %s check %s\n", "judge", program_name(), course_short_path(kernel));
    printf("  %-8s %s hunt %s %d --hint, or --give-up\n", "stuck?", program_name(), number, exercise->number);
    text_free(&symptom);
    free(taken);
    free(symptom_path);
    free(kernel);
}

/* ---- hints and answers --------------------------------------------------------------------------------------- */

/* First what the failure looks like, then all that `check` says of it. */
static int give_hint(struct hunt *hunt, const struct exercise *exercise)
{
    struct judgement judgement;
    struct hunt_note *note = &hunt->notes.of[exercise->number];
    if (note->state != HUNT_OPEN) return complain("exercise %d is not open.", exercise->number);
    const struct result_row *row = run_exercise(hunt, exercise, &judgement);
    if (!row) return EXIT_TROUBLE;
    if (note->hints < MOST_HUNT_HINTS) note->hints++;
    printf("hint %d of %d\n", note->hints, MOST_HUNT_HINTS);
    if (note->hints == MOST_HUNT_HINTS)
        printf("%s", row->text);
    else if (row->finding)
        printf("what the software device found: %s\n", record_kind_name((int)row->finding));
    else
        layout_paragraph(*row->pattern ? row->pattern : "the values point to no known mistake", 0, 0);
    hunt_notes_write(hunt->lesson, &hunt->notes);
    return EXIT_PASS;
}

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
    if (!exercise->why) {
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
    long seconds; /**< of those that were found */
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
        if (note->state == HUNT_FOUND) score.seconds += note->closed - note->opened;
    }
    return score;
}

static void print_score(const struct lesson_folder *lesson, size_t count, const struct score *score)
{
    printf("%s%s %-24s%s %2d of %zu found, %d open, %d given up; %d hints, %ld min, %d points\n",
           colour_on(COLOUR_BOLD), lesson->number, lesson->topic, colour_off(), score->found, count,
           score->opened, score->given_up, score->hints, (score->seconds + 30) / 60, score->points);
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
}

/* ---- the command ---------------------------------------------------------------------------------------------- */

/* An exercise shows all of the lesson's kernel but its mistake. */
static int may_see(const struct hunt *hunt, const struct command_line *line)
{
    struct progress progress;
    const char *number = hunt->lesson->number;
    progress_read(hunt->lesson, &progress);
    const struct score score = score_of(&hunt->notes);
    if (*progress.passed || option_value(line, "--spoil") || score.opened + score.found + score.given_up > 0)
        return EXIT_PASS;
    return complain(
        "an exercise is the finished kernel of lesson %s with one mistake, and the lesson has not "
        "passed yet. All the same: %s hunt %s --spoil",
        number, program_name(), number);
}

/* 1 if it was opened and its file has not been removed since. */
static int is_here(const struct hunt *hunt, const struct exercise *exercise)
{
    char *kernel = hunt_path(hunt->lesson, exercise->number, ".cu");
    int here = hunt->notes.of[exercise->number].state != HUNT_NEW && access(kernel, F_OK) == 0;
    free(kernel);
    return here;
}

static int run_hunt(const struct command_line *line)
{
    struct hunt hunt;
    const char *level = option_value(line, "--level");
    const char *which = line->operand_count > 1 ? line->operands[1] : NULL;
    if (!line->operand) return show_all();
    if (level && (strlen(level) != 1 || !strchr("123", *level)))
        return complain("--level takes 1, 2 or 3, not \"%s\".", level);
    const struct lesson_folder *lesson = course_find_lesson(line->operand);
    if (!lesson || hunt_read(lesson, &hunt) != EXIT_PASS) return EXIT_TROUBLE;
    const struct exercise *exercise =
        which ? exercise_numbered(&hunt, which) : next_exercise(&hunt, level ? atoi(level) : 0);
    if (!exercise && which) return EXIT_TROUBLE;
    if (option_value(line, "--hint") || option_value(line, "--give-up")) {
        if (!exercise) return complain("no exercise of lesson %s is open.", lesson->number);
        return option_value(line, "--hint") ? give_hint(&hunt, exercise) : give_up(&hunt, exercise);
    }
    show_lesson(&hunt);
    if (!exercise) return EXIT_PASS;
    if (!is_here(&hunt, exercise) &&
        (may_see(&hunt, line) != EXIT_PASS || open_exercise(&hunt, exercise) != EXIT_PASS))
        return EXIT_TROUBLE;
    show_exercise(&hunt, exercise);
    return EXIT_PASS;
}

static const struct option_description options[] = {
    {"--level", "1|2|3", "the next of this level: wrong at once, silent at usual sizes, silent on a GPU", 0},
    {"--hint", NULL, "what the failure looks like; once more: all that check says of it", 0},
    {"--give-up", NULL, "the answer, where this tree has it; the exercise counts nothing then", 0},
    {"--spoil", NULL, "also if the lesson has not passed yet", 0},
    {0},
};

const struct command hunt_command = {
    .name = "hunt",
    .operand = "[NN]",
    .second = "[K]",
    .summary = "find the mistake in a finished kernel: debugging exercises and their score",
    .details =
        "Puts exercise K of the lesson, or the next one, into lessons/NN_topic/hunt/ and says what can be\n"
        "seen of its mistake. check judges what you make of that file: whatever passes is right. An "
        "exercise\n"
        "counts three times its level, less its level for each hint. Without NN, the score.\n"
        "Exit 0, or 2 if there is no such exercise.",
    .options = options,
    .run = run_hunt,
};
