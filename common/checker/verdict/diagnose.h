/**
 * @file diagnose.h
 * @brief What the pattern of wrong elements says about the cause.
 */
#pragma once

#include "compare.h"

/** @brief Sets the cause in the record of @p verdict: the usual cause of such wrong elements of @p buffer,
 *         or where they lie; none if nothing stands out. */
void diagnose_item(const struct judged *judged, int buffer, struct verdict *verdict);

/** @brief What a buffer that has wrong elements holds. */
enum diagnosed_zeros { DIAGNOSED_OTHER, DIAGNOSED_ZERO, DIAGNOSED_ZERO_BESIDE_LSE };

/** @brief Whether @p buffer, which has wrong elements, holds nothing but zeros, and whether the logsumexp beside it is right. */
enum diagnosed_zeros diagnose_all_zero(const struct judged *judged, int buffer);

/** @brief Call it when all cases are judged. Of the guesses that fit a case, it keeps the one that fits
 *         the most cases of the part. If most failing cases of a part say "all zero", each case that holds
 *         nothing else says so, too. */
void diagnose_parts(struct check *check);

/** @brief Writes what the failing cases of a part have in common and no passing one has, or hardly any; an
 *         empty text if there is nothing. */
void diagnose_part(const struct check *check, int part, char *text, size_t size);
