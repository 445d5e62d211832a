/**
 * @file diagnose.h
 * @brief What the pattern of wrong elements says about the mistake.
 */
#pragma once

#include "compare.h"

/** @brief Sets the cause in the record of @p verdict: what the wrong elements of @p buffer usually come of, or where they lie;
 *         none if nothing stands out. */
void diagnose_item(const struct judged *judged, int buffer, struct verdict *verdict);

/** @brief 1 if @p buffer, of which elements are wrong, holds nothing but zeros. */
int diagnose_all_zero(const struct judged *judged, int buffer);

/** @brief Once all cases are judged: of the guesses that fit a case, the one that fits the most of its part is told; and where
 *         most failing cases of a part say "all zero", so does each that holds nothing else. */
void diagnose_parts(struct check *check);

/** @brief Writes what the failing cases of a part have in common and no, or hardly a, passing one has; empty if nothing. */
void diagnose_part(const struct check *check, int part, char *text, size_t size);
