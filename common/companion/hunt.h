/**
 * @file hunt.h
 * @brief Debugging exercises in the student's workspace: what is remembered of them, and what a check that
 *        passes makes of one.
 */
#pragma once

#include "course/course.h"
#include "course/exercise.h"

enum { MOST_EXERCISES = 64, HUNT_LEVELS = 3 };

/** @brief Where an exercise stands. */
enum hunt_state { HUNT_NEW, HUNT_OPEN, HUNT_FOUND, HUNT_GIVEN_UP, HUNT_STATES };

/** @brief What is remembered of an exercise. */
struct hunt_note {
    enum hunt_state state;
    long opened, closed; /**< seconds since 1970; 0: not yet */
    int hints;           /**< how many were shown */
};

/** @brief Of all exercises of a lesson, by number. */
struct hunt_notes {
    struct hunt_note of[MOST_EXERCISES]; /**< [0] is unused */
};

/** @brief What is remembered of the lesson; nothing where there is no file. */
void hunt_notes_read(const struct lesson_folder *lesson, struct hunt_notes *notes);
/** @brief Writes it; complains if that fails. */
void hunt_notes_write(const struct lesson_folder *lesson, const struct hunt_notes *notes);
/** @brief What an exercise counts; 0 unless it was found. */
int hunt_points(const struct hunt_note *note);
/** @brief "41 min": since its opening until it was closed, or until now, whatever was done in between. The caller's to free. */
char *hunt_time(const struct hunt_note *note);

/** @brief The exercise's file in the workspace, beside the lesson's own kernel. */
char *hunt_path(const struct lesson_folder *lesson, int number);
/** @brief The number of the exercise that the file @p kernel is; 0 if it is none. */
int hunt_exercise_of(const struct lesson_folder *lesson, const char *kernel);
/** @brief Says whether the exercise, whose file has passed a whole check, is found, and remembers it. */
void hunt_note_passed(const struct lesson_folder *lesson, int number);
