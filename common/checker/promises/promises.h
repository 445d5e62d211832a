/**
 * @file promises.h
 * @brief The table of promises: what contracts say, a row each, and one piece of code for all lessons that makes the cases
 *        which show a breach.
 *
 * A lesson's description (lesson.def) tells what the code needs to know of a lesson: pointers, extents, options, and which
 * promise its contract does not make. A cell is a promise and a part of a lesson; an empty one is a hole in the checker, and
 * the test unit.promises wants none.
 */
#pragma once

#include <stdio.h>

#include "checker/cases/lesson.h"

/** @brief What a row's code works on: the cases of one part of a lesson. */
struct making {
    const struct lesson *lesson;
    int part;
    int row;              /**< of the table of promises */
    const char *row_name; /**< its name */
    struct lesson_case *cases;
    int count, capacity;
    const struct lesson_case *simplest; /**< a small case of the part that must succeed */
    const struct lesson_case *sound; /**< the one that its refusals are made of; NULL if the part has none */
};

/** @brief A row of the table. */
struct promise {
    const char *name;  /**< "workspace.larger": its kind, and what tells it from others of the kind */
    const char *words; /**< what a contract says */
    const char *every; /**< what shows it in every case, or NULL */
    /** cases of families that show it, where a part has them: names with * and ?, separated by blanks; or NULL */
    const char *shown;
    void (*make)(struct making *m); /**< appends the cases that show it; NULL: nothing does */
    /** 1 if a part makes the promise, by its description; NULL: every part does */
    int (*applies)(const struct lesson *lesson, const struct lesson_case *cases, int count, int part);
    const char *none; /**< why nothing shows it where it does not apply */
};

/** @brief The table; the last row has no name. */
extern const struct promise promise_table[];

/** @brief What fills a cell. */
enum cell_state { CELL_EMPTY, CELL_MADE, CELL_SHOWN, CELL_EVERY, CELL_NOT_HELD };

/** @brief A cell of the table of promises by parts. */
struct cell {
    enum cell_state state;
    int cases;         /**< CELL_MADE, CELL_SHOWN: how many cases show it */
    const char *words; /**< CELL_EVERY, CELL_NOT_HELD: what shows it, or why nothing does */
};

/** @brief All cases of @p lesson: its own, and those that the table makes. Returns how many there are. */
int promises_cases(const struct lesson *lesson, struct lesson_case *cases, int capacity);

/** @brief Gives item @p index of a case that the table made its numbers, or leaves it to the lesson. @p cases are all. */
void promises_vary(const struct lesson *lesson, const struct lesson_case *cases, int count,
                   struct lesson_case *item, int index, struct rng *rng);

/** @brief Gives input @p index of @p item, which the lesson has filled, the contents that the table wants there, if any; @p count: of @p buffers. */
void promises_fill(const struct lesson *lesson, const struct lesson_case *item,
                   const struct lesson_buffer *buffers, int count, int index, float *data);

/** @brief What fills the cell of row @p row and part @p part, among the lesson's @p count cases. */
struct cell promises_cell(const struct lesson *lesson, const struct lesson_case *cases, int count, int row,
                          int part);

/** @brief Writes the table as a page. Returns 0, or -1 if there was no memory. */
int promises_page(FILE *page);
