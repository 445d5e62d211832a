/**
 * @file mistakes.h
 * @brief Tables of well-known mistakes: what a family of lessons guesses, in the order in which the diagnosis tries them.
 *
 * A mistake has a number, of the family's own enumeration, and where it concerns a tile or a step, sizes that it is tried
 * with: a guess is a number and a size. A family has one computation, slow and plain, that takes a struct mistake and does
 * this one thing wrong. Numbers stay what they are: a new mistake comes at the end of its enumeration, and anywhere in a table.
 */
#ifndef WARPWISE_CHECKER_MISTAKES_H
#define WARPWISE_CHECKER_MISTAKES_H

#include "lesson.h"

/** @brief What is done wrong; all 0: nothing is. */
struct mistake {
    int number;
    int size, other; /**< of a tile or a step; a second size where there are two */
};

enum { MISTAKE_SIZES = 9 };

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

#endif
