/**
 * @file grade_hunts.c
 * @brief hunts.csv: the debugging exercises that students handed in, and what each counts.
 *
 * Whether an exercise is solved the checker says: the file is the exercise's own, mended, and passes all cases, the secret ones
 * as well. Hints are what the student's own tree has noted, which nobody can check.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/text.h"
#include "course/exercise.h"
#include "grade.h"

enum { NOTHING_NOTED = -1, GIVEN_UP = EXERCISE_POINTS };

/* How many hints the student's tree noted; NOTHING_NOTED, or GIVEN_UP. */
static int noted_hints(const char *line)
{
    int number, hints;
    char state[16];
    long opened, closed;
    if (sscanf(line, "%d %15s %ld %ld %d", &number, state, &opened, &closed, &hints) != 5)
        return NOTHING_NOTED;
    if (strcmp(state, "given-up") == 0) return GIVEN_UP;
    return hints < 0 || hints > EXERCISE_HINTS ? EXERCISE_HINTS : hints;
}

static void put_exercise(const struct grade_result *result, const struct exercise *exercise, int *points,
                         struct text *out)
{
    const int hints = noted_hints(result->notes);
    const int count =
        result->graded && result->state == STATE_PASS ? exercise_points(hints > 0 ? hints : 0) : 0;
    put_csv(out, result->student);
    text_print(out, ",%.*s,%d,%s,%d,", (int)strcspn(result->lesson, "/"), result->lesson, exercise->number,
               state_name(result->state), count);
    if (hints == GIVEN_UP)
        text_print(out, "given up");
    else if (hints != NOTHING_NOTED)
        text_print(out, "%d", hints);
    text_print(out, ",");
    put_csv(out, result->sentence);
    text_print(out, "\n");
    *points += count;
}

/* Those of one student in one lesson. */
static void put_hunts(const struct grade_book *book, const char *student, const struct lesson_folder *lesson,
                      int *points, struct text *out)
{
    size_t count;
    struct exercise *exercises = exercises_of(lesson, &count);
    for (size_t i = 0; i < count; i++) {
        const struct grade_unit unit = {.lesson = lesson, .exercise = exercises[i].number};
        char *name = grade_unit_name(&unit);
        const struct grade_result *result = grade_book_find(book, student, name, DEVICE_SIMT);
        if (result != NULL) put_exercise(result, &exercises[i], points, out);
        free(name);
    }
    free(exercises);
}

void grade_hunts(const struct grade_book *book, struct text *out)
{
    size_t lesson_count;
    int any = 0;
    const struct lesson_folder *lessons = course_lessons(&lesson_count);
    for (size_t i = 0; i < book->result_count; i++) any = any || grade_exercise_of(&book->results[i]);
    if (!any) return;
    text_print(out, "student,lesson,exercise,state,points,hints_noted,why\n");
    for (size_t s = 0; s < book->student_count; s++) {
        int points = 0;
        for (size_t i = 0; i < lesson_count; i++)
            put_hunts(book, book->students[s], &lessons[i], &points, out);
        put_csv(out, book->students[s]);
        text_print(out, ",all,,,%d,,\n", points);
    }
}
