/**
 * @file hunt_notes.c
 * @brief What is remembered of debugging exercises: a small file beside them, to be handed in with them, with a line
 *        "NUMBER STATE OPENED CLOSED HINTS" for each that was opened.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/terminal.h"
#include "base/text.h"
#include "course/command.h"
#include "hunt.h"

static const char *const state_names[HUNT_STATES] = {"new", "open", "found", "given-up"};

static char *notes_file_of(const struct lesson_folder *lesson)
{
    return format_string("%s/lessons/%s/hunt/notes", course_source_dir(), lesson->name);
}

void hunt_notes_read(const struct lesson_folder *lesson, struct hunt_notes *notes)
{
    struct text content = {0};
    char *path = notes_file_of(lesson);
    *notes = (struct hunt_notes){0};
    const char *rest = read_file(path, &content) == 0 ? content.data : NULL;
    for (char *line; (line = next_word(&rest, '\n')) != NULL; free(line)) {
        struct hunt_note note = {0};
        char state[16];
        int number;
        int fields =
            sscanf(line, "%d %15s %ld %ld %d", &number, state, &note.opened, &note.closed, &note.hints);
        if (fields != 5 || number < 1 || number >= MOST_EXERCISES) continue;
        for (int i = 0; i < HUNT_STATES; i++)
            if (strcmp(state, state_names[i]) == 0) note.state = (enum hunt_state)i;
        if (note.hints < 0 || note.hints > EXERCISE_HINTS)
            note.hints = EXERCISE_HINTS; /* anybody can edit it */
        notes->of[number] = note;
    }
    text_free(&content);
    free(path);
}

void hunt_notes_write(const struct lesson_folder *lesson, const struct hunt_notes *notes)
{
    struct text content = {0};
    char *path = notes_file_of(lesson);
    for (int i = 1; i < MOST_EXERCISES; i++) {
        const struct hunt_note *note = &notes->of[i];
        if (note->state != HUNT_NEW)
            text_print(&content, "%d %s %ld %ld %d\n", i, state_names[note->state], note->opened,
                       note->closed, note->hints);
    }
    int error = write_file(path, content.data, content.length);
    if (error) complain("%s cannot be written (%s), so this is not remembered.", path, strerror(error));
    text_free(&content);
    free(path);
}

int hunt_points(const struct hunt_note *note)
{
    return note->state == HUNT_FOUND ? exercise_points(note->hints) : 0;
}

char *hunt_time(const struct hunt_note *note)
{
    const long seconds = (note->closed ? note->closed : (long)time(NULL)) - note->opened;
    if (seconds < 120) return format_string("%ld s", seconds);
    if (seconds < 120 * 60) return format_string("%ld min", seconds / 60);
    return seconds < 48 * 3600 ? format_string("%ld h", seconds / 3600)
                               : format_string("%ld days", seconds / (24 * 3600));
}

char *hunt_path(const struct lesson_folder *lesson, int number)
{
    return format_string("%s/lessons/%s/hunt/%02d.cu", course_source_dir(), lesson->name, number);
}

int hunt_exercise_of(const struct lesson_folder *lesson, const char *kernel)
{
    const char *slash = strrchr(kernel, '/');
    const int number = atoi(slash != NULL ? slash + 1 : kernel);
    if (number < 1 || number >= MOST_EXERCISES) return 0;
    char *own = hunt_path(lesson, number);
    char *a = realpath(own, NULL), *b = realpath(kernel, NULL);
    const int same = a != NULL && b != NULL && strcmp(a, b) == 0;
    free(own);
    free(a);
    free(b);
    return same ? number : 0;
}

void hunt_note_passed(const struct lesson_folder *lesson, int number)
{
    struct hunt_notes notes;
    struct exercise exercise;
    struct text content = {0};
    hunt_notes_read(lesson, &notes);
    struct hunt_note *note = &notes.of[number];
    char *path = hunt_path(lesson, number), *refusal = NULL;
    if (exercise_find(lesson, number, &exercise) && read_file(path, &content) == 0)
        refusal = exercise_refuses(lesson, &exercise, content.data);
    if (refusal != NULL) {
        printf("passes, and does not count: %s\n", refusal);
    } else if (note->state == HUNT_OPEN) {
        note->state = HUNT_FOUND;
        note->closed = (long)time(NULL);
        hunt_notes_write(lesson, &notes);
        char *taken = hunt_time(note);
        printf("%sfound%s: exercise %d, %s after it was opened, with %d hint%s: %d points\n",
               colour_on(COLOUR_GREEN), colour_off(), number, taken, note->hints, note->hints == 1 ? "" : "s",
               hunt_points(note));
        free(taken);
    } else {
        printf("exercise %d passes%s\n", number,
               note->state == HUNT_GIVEN_UP ? "; it was given up before" : "");
    }
    printf("next: %s hunt %s\n", program_name(), lesson->number);
    text_free(&content);
    free(refusal);
    free(path);
}
