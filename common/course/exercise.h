/**
 * @file exercise.h
 * @brief Debugging exercises: solutions with one mistake each. In the course's own tree they are the mutants with a line
 *        `hunt: NUMBER`; a tree that was handed out has the kernels, and where their mistakes are.
 */
#pragma once

#include "base/text.h"
#include "course.h"

enum {
    EXERCISE_POINTS = 4, /**< of an exercise that is found without a hint; each hint takes one */
    EXERCISE_HINTS = 3,  /**< at most */
    MOST_CHANGED = 40    /**< lines that a mend may change, old and new ones; the largest of ours changes 8 */
};

/** @brief One exercise. Strings are the program's. */
struct exercise {
    int number;      /**< the one its mutant gives it, so that it stays when others come or go */
    char *cases;     /**< names of cases that fail, separated by commas */
    int device_only; /**< 1: values may be right; only the software device is sure to see the mistake */
    char *why;       /**< the answer in words; NULL in a tree that was handed out */
    char *lines;     /**< in a tree that was handed out: as exercise_lines() says; else NULL */
    char *path;      /**< of the mutant, or of the kernel that was handed out */
};

/** @brief The lesson's exercises by number, @p count of them; none in a tree without any. */
struct exercise *exercises_of(const struct lesson_folder *lesson, size_t *count);

/** @brief 1 if the lesson has an exercise of this number, which is then in @p exercise. */
int exercise_find(const struct lesson_folder *lesson, int number, struct exercise *exercise);

/**
 * @brief The kernel with its mistake, below a line that says which exercise it is. A line that the mistake changes loses its
 *        comments: they would tell of it.
 * @return EXIT_PASS, or EXIT_TROUBLE after a complaint.
 */
int exercise_kernel(const struct lesson_folder *lesson, const struct exercise *exercise, struct text *kernel);

/** @brief What the mistake is: the lines of the exercise as "-", the solution's as "+". EXIT_PASS or EXIT_TROUBLE. */
int exercise_answer(const struct lesson_folder *lesson, const struct exercise *exercise, struct text *answer);

/** @brief Where the mistake is, in lines of the kernel: "91-93 120+", where something is missing after line 120. NULL if nobody
 *         here knows; else the caller's to free. */
char *exercise_lines(const struct lesson_folder *lesson, const struct exercise *exercise);

/**
 * @brief NULL if @p content is the exercise's own file, mended: its first line stands, and no more than MOST_CHANGED lines differ.
 *        So neither another exercise of the lesson nor the solution is taken for it. Else a sentence, the caller's to free.
 */
char *exercise_refuses(const struct lesson_folder *lesson, const struct exercise *exercise,
                       const char *content);

/** @brief What a find counts after so many hints, EXERCISE_HINTS at most. */
int exercise_points(int hints);

/** @brief The exercise as a file to hand out: cases and lines in its head, then the kernel. EXIT_PASS or EXIT_TROUBLE. */
int exercise_file(const struct lesson_folder *lesson, const struct exercise *exercise, struct text *file);

/** @brief The folder of a lesson's exercises in a tree that was handed out. */
char *exercise_folder(const struct lesson_folder *lesson);
