/**
 * @file altered.h
 * @brief Inputs that a kernel takes for other numbers: found by the oracle, in any lesson.
 */
#pragma once

#include "compare.h"

/** @brief 1 if the oracle, given inputs in which some kind of number is another one, gives every one of the @p kept wrong elements of
 *         @p buffer: then @p record says which. With @p of_specials those that are infinite or NaN, else others. */
int altered_explain(const struct judged *judged, int buffer, const struct wrong *wrong, size_t kept,
                    int of_specials, struct record *record);
