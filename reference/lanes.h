/**
 * @file lanes.h
 * @brief Sums of several rows side by side, each in the order of a simple loop: additions need not wait for each other.
 */
#pragma once

#include <stddef.h>

enum { LANES = 4, ROWS = 2 * LANES };
/** @brief An element of LANES rows. */
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));

/** @brief Where ROWS rows of @p length floats begin; the last of the @p rows that there are stands in for those that are missing. */
static inline void lanes_rows(const float *matrix, size_t rows, size_t length, const float *row[ROWS])
{
    for (size_t r = 0; r < ROWS; r++) row[r] = matrix + (r < rows ? r : rows - 1) * length;
}

/** @brief Element @p i of each of the rows of half @p h. */
static inline void lanes_load(const float *const row[ROWS], int h, size_t i, lanes *w)
{
    const float *const *of = row + h * LANES;
    *w = (lanes){(double)of[0][i], (double)of[1][i], (double)of[2][i], (double)of[3][i]};
}
