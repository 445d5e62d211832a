/**
 * @file diagnose.h
 * @brief What the pattern of wrong elements says about the mistake.
 */
#ifndef WARPWISE_CHECKER_DIAGNOSE_H
#define WARPWISE_CHECKER_DIAGNOSE_H

#include "compare.h"

/** @brief Writes one sentence on the wrong elements of @p buffer into @p text; empty if nothing stands out. */
enum pattern diagnose_item(const struct judged *judged, int buffer, char *text, size_t size);

/** @brief 1 if @p buffer, of which elements are wrong, holds nothing but zeros. */
int diagnose_all_zero(const struct judged *judged, int buffer);

/** @brief Once all cases are judged: where most failing cases of a part say "all zero", so does each that holds nothing else. */
void diagnose_zeros_of_parts(struct check *check);

/** @brief Writes what to say of errors that are @p times what is allowed, and nothing worse. */
void diagnose_rounding(double times, char *text, size_t size);

/** @brief Writes what the failing cases of a part have in common and no, or hardly a, passing one has; empty if nothing. */
void diagnose_part(const struct check *check, int part, char *text, size_t size);

#endif
