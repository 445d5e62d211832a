/**
 * @file experts_cases.h
 * @brief Lesson 21's parts, and what its oracle computes.
 */
#pragma once

#include "lesson.h"
#include "protocol/experts_items.h"

/** @brief The parts of lesson 21, in the order of lesson.def. */
enum experts_part { EXPERTS_ROUTE, EXPERTS_GROUP, EXPERTS_PRODUCT, EXPERTS_LAYER };

/** @brief lesson_case.extent[@p at] as a size. */
static inline size_t experts_extent(const struct lesson_case *item, enum experts_value at)
{
    return (size_t)item->extent[at];
}

/** @brief How elements of the matrices of @p item are stored. */
enum storage experts_storage(const struct lesson_case *item);

/** @brief Rows of weights of one expert in a product. */
size_t experts_lines(const struct lesson_case *item);

/** @brief The expert that has row @p row by @p offsets, -1 if none has. */
int experts_owner(const float *offsets, int experts, size_t row);

/** @brief lesson.units, .unit_elems, .expect of all parts. */
size_t experts_units(const struct lesson_case *item);
size_t experts_unit_elems(const struct lesson_case *item);
void experts_expect(const struct lesson_case *item, const float *const *data, size_t unit,
                    struct lesson_expectation *e);

/** @brief lesson.guess and .terms of all parts. */
int experts_guess(const struct lesson_case *item, const float *const *data, int index, int buffer, size_t at,
                  struct lesson_guess *guess);
int experts_terms(const struct lesson_case *item, const float *const *data, int buffer, size_t at,
                  size_t from, size_t to, struct lesson_terms *terms);
