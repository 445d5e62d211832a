/**
 * @file grade_hunts.c
 * @brief hunts.csv: the debugging exercises that students handed in, and what each counts.
 *
 * Whether an exercise is solved the checker says: the file passes all cases, the secret ones as well. Its level follows from
 * the exercise and from the groups of its cases, as in companion/hunt.c. Hints and minutes are what the student's own tree has
 * noted, which nobody can check.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/text.h"
#include "course/exercise.h"
#include "grade.h"

enum { MOST_HINTS = 2, ALONE = 3, LATER = 2, AT_ONCE = 1 };

/** @brief What the student's tree noted; -1 for what it did not. */
struct noted {
    int hints;
    long minutes;
};

static struct noted read_notes(const char *line)
{
    int number, level, hints;
    char state[16];
    long opened, closed;
    if (sscanf(line, "%d %d %15s %ld %ld %d", &number, &level, state, &opened, &closed, &hints) != 6)
        return (struct noted){-1, -1};
    if (hints < 0 || hints > MOST_HINTS) hints = MOST_HINTS;
    return (struct noted){hints, closed > opened && opened > 0 ? (closed - opened + 30) / 60 : -1};
}

/* 1 if a case of group basic fails with the mistake, 2 if others do, 3 if only the software device is sure to see it. */
static int level_of(const struct grade_result *result, const struct exercise *exercise)
{
    const char *rest = exercise->cases;
    int level = exercise->device_only ? ALONE : LATER;
    for (char *word; level == LATER && (word = next_word(&rest, ',')); free(word)) {
        const char *name = word + strspn(word, " ");
        for (size_t i = 0; i < result->row_count; i++)
            if (strcmp(result->rows[i].test_case, name) == 0 && strcmp(result->rows[i].group, "basic") == 0)
                level = AT_ONCE;
    }
    return level;
}

/* Three times the level, less the level for each hint; one that is not noted anywhere counts as solved without any. */
static int points_of(const struct grade_result *result, int level, const struct noted *noted)
{
    if (!result->graded || result->state != STATE_PASS) return 0;
    return level * (MOST_HINTS + 1 - (noted->hints > 0 ? noted->hints : 0));
}

static void put_exercise(const struct grade_result *result, const struct exercise *exercise, int *points,
                         struct text *out)
{
    const struct noted noted = read_notes(result->notes);
    const int level = level_of(result, exercise), count = points_of(result, level, &noted);
    put_csv(out, result->student);
    text_print(out, ",%.*s,%d,%d,%s,%d,", (int)strcspn(result->lesson, "/"), result->lesson, exercise->number,
               level, state_name(result->state), count);
    if (noted.hints >= 0) text_print(out, "%d", noted.hints);
    text_print(out, ",");
    if (noted.minutes >= 0) text_print(out, "%ld", noted.minutes);
    text_print(out, "\n");
    *points += count;
}

/* Those of one student in one lesson. */
static void put_lesson(const struct grade_book *book, const char *student, const struct lesson_folder *lesson,
                       int *points, struct text *out)
{
    size_t count;
    struct exercise *exercises = exercises_of(lesson, &count);
    for (size_t i = 0; i < count; i++) {
        const struct grade_unit unit = {.lesson = lesson, .exercise = exercises[i].number};
        char *name = grade_unit_name(&unit);
        const struct grade_result *result = grade_book_find(book, student, name, DEVICE_SIMT);
        if (result) put_exercise(result, &exercises[i], points, out);
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
    text_print(out, "student,lesson,exercise,level,state,points,hints_noted,minutes_noted\n");
    for (size_t s = 0; s < book->student_count; s++) {
        int points = 0;
        for (size_t i = 0; i < lesson_count; i++)
            put_lesson(book, book->students[s], &lessons[i], &points, out);
        put_csv(out, book->students[s]);
        text_print(out, ",all,,,,%d,,\n", points);
    }
}
