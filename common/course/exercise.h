/**
 * @file exercise.h
 * @brief Debugging exercises: solutions with one mistake each. In the course's own tree they are the mutants with a line
 *        `hunt: NUMBER`; a tree that was handed out has the kernels alone.
 */
#pragma once

#include "base/text.h"
#include "course.h"

/** @brief One exercise. Strings are the program's. */
struct exercise {
    int number;      /**< the one its mutant gives it, so that it stays when others come or go */
    char *cases;     /**< names of cases that fail, separated by commas */
    int device_only; /**< 1: values may be right; only the software device is sure to see the mistake */
    char *why;       /**< the answer in words; NULL in a tree that was handed out */
    char *path;      /**< of the mutant, or of the kernel that was handed out */
};

/** @brief The lesson's exercises by number, @p count of them; none in a tree without any. */
struct exercise *exercises_of(const struct lesson_folder *lesson, size_t *count);

/**
 * @brief The kernel with its mistake. A line that the mistake changes loses its comments: they would tell of it.
 * @return EXIT_PASS, or EXIT_TROUBLE after a complaint.
 */
int exercise_kernel(const struct lesson_folder *lesson, const struct exercise *exercise, struct text *kernel);

/** @brief What the mistake is: the lines of the exercise as "-", the solution's as "+". EXIT_PASS or EXIT_TROUBLE. */
int exercise_answer(const struct lesson_folder *lesson, const struct exercise *exercise, struct text *answer);

/** @brief The exercise as a file to hand out: its cases in the first line, then the kernel. EXIT_PASS or EXIT_TROUBLE. */
int exercise_file(const struct lesson_folder *lesson, const struct exercise *exercise, struct text *file);

/** @brief The folder of a lesson's exercises in a tree that was handed out. */
char *exercise_folder(const struct lesson_folder *lesson);
