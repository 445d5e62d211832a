/**
 * @file mistakes.h
 * @brief Tables of well-known mistakes: what a family of lessons guesses, in the order in which the diagnosis tries them.
 *
 * A mistake has a number from the family's enumeration. If it concerns a tile or a step, its row lists the
 * sizes to try: a guess is a number and a size. Each family has one slow and plain computation, which takes a
 * struct mistake and does that one thing wrong. Numbers never change: a new mistake goes to the end of its
 * enumeration, and anywhere in a table.
 */
#pragma once

#include "lesson.h"

/** @brief What is done wrong; all 0: nothing is. */
struct mistake {
    int number;
    int size, other; /**< size of a tile or a step; a second size for mistakes with two */
};

enum { MISTAKE_SIZES = 11 };

/** @brief A row of a family's table: as many guesses as it has sizes, or one. */
struct mistake_row {
    int number;
    enum record_cause cause;
    unsigned where;      /**< a set of the family's own: what can have the mistake */
    const char *message; /**< a format: %d stands for the size, and %s behind it for the plural's s */
    int sizes[MISTAKE_SIZES], others[MISTAKE_SIZES];
};

/** @brief Guess @p index of the @p count rows at @p rows, in @p mistake, and in @p guess what is told of it; NULL past the last one.
 *         Takes the guesses of these rows off @p index, so that those of another table may follow. */
const struct mistake_row *mistake_at(const struct mistake_row *rows, size_t count, int *index,
                                     struct mistake *mistake, struct lesson_guess *guess);
