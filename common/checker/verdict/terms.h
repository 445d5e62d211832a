/**
 * @file terms.h
 * @brief Which terms of sums are missing, and which count several times: found from the wrong elements, whatever a kernel's tiles are.
 */
#pragma once

#include "compare.h"

/** @brief 1 if every one of the @p kept wrong elements of @p buffer is the sum of the same terms, each counted so many times, that are not
 *         the right ones: then @p record says which. */
int terms_explain(const struct judged *judged, int buffer, const struct wrong *wrong, size_t kept,
                  struct record *record);
