/**
 * @file hunt.h
 * @brief Debugging exercises in the student's workspace: what is remembered of them, and what `check` says of one.
 */
#pragma once

#include "course/course.h"
#include "judging/judging.h"

enum { MOST_EXERCISES = 64, HUNT_LEVELS = 3, MOST_HUNT_HINTS = 2 };

/** @brief Where an exercise stands. */
enum hunt_state { HUNT_NEW, HUNT_OPEN, HUNT_FOUND, HUNT_GIVEN_UP, HUNT_STATES };

/** @brief What is remembered of an exercise. */
struct hunt_note {
    int level; /**< 1: wrong at once, 2: at few cases only, 3: only the software device is sure to see it */
    enum hunt_state state; /**< where it stands */
    long opened, closed;   /**< seconds since 1970; 0: not yet */
    int hints;             /**< how many were shown */
};

/** @brief Of all exercises of a lesson, by number. */
struct hunt_notes {
    struct hunt_note of[MOST_EXERCISES]; /**< [0] is unused */
};

/** @brief What is remembered of the lesson; nothing where there is no file. */
void hunt_notes_read(const struct lesson_folder *lesson, struct hunt_notes *notes);
/** @brief Writes it; complains if that fails. */
void hunt_notes_write(const struct lesson_folder *lesson, const struct hunt_notes *notes);
/** @brief What an exercise counts: three times its level, less its level for each hint; 0 unless it was found. */
int hunt_points(const struct hunt_note *note);
/** @brief "41 min": from its opening until it was closed, or until now. The caller's to free. */
char *hunt_time(const struct hunt_note *note);

/** @brief The exercise's file in the workspace, beside the lesson's own kernel; @p ending ".cu" or ".txt". */
char *hunt_path(const struct lesson_folder *lesson, int number, const char *ending);
/** @brief The number of the exercise that the file @p kernel is; 0 if it is none. */
int hunt_exercise_of(const struct lesson_folder *lesson, const char *kernel);

/** @brief What is wrong with a case, by its values, and without what that comes of. The caller's to free. */
char *hunt_symptom(const struct result_row *row);
/** @brief Prints what a check of an exercise came to, by values. */
void hunt_print_verdict(const struct judgement *judgement, enum device device);
/** @brief Notes that an exercise's file passes a whole check, and says so. */
void hunt_note_found(const struct lesson_folder *lesson, int number);
