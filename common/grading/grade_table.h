/**
 * @file grade_table.h
 * @brief CSV files that an instructor gives: the first line names the columns, which may be in any order.
 */
#pragma once

#include <stddef.h>

enum { GRADE_COLUMNS = 64, GRADE_NOBODY = -1 };

struct grade_row_of_table {
    size_t line; /**< in the file, from 1 */
    int student; /**< number of the book's student whom it names, or ::GRADE_NOBODY */
    char *cell[GRADE_COLUMNS];
};

/** @brief A table; free it with grade_table_free(). */
struct grade_table {
    size_t columns, count;
    char *column[GRADE_COLUMNS];
    struct grade_row_of_table *row;
};

/** @brief Parses @p text, the contents of the file @p name.
 *  @return EXIT_PASS, or EXIT_TROUBLE after a
 *         complaint */
int grade_table_read(const char *name, const char *text, struct grade_table *table);
int grade_table_has(const struct grade_table *table, const char *column);
/** @brief The cell of @p row in @p column, "" if there is no such column. */
const char *grade_table_cell(const struct grade_table *table, size_t row, const char *column);
/** @brief EXIT_PASS if all of @p columns (ended by NULL) are there, else EXIT_TROUBLE after a complaint. */
int grade_table_needs(const char *name, const struct grade_table *table, const char *const *columns);
void grade_table_free(struct grade_table *table);
