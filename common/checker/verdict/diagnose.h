/**
 * @file diagnose.h
 * @brief What the pattern of wrong elements says about the mistake.
 */
#ifndef WARPWISE_CHECKER_DIAGNOSE_H
#define WARPWISE_CHECKER_DIAGNOSE_H

#include "compare.h"

/** @brief Writes one sentence on the wrong elements of @p buffer into @p text; empty if nothing stands out. */
enum pattern diagnose_item(const struct judged *judged, int buffer, char *text, size_t size);

/** @brief Writes what to say of errors that are @p times what is allowed, and nothing worse. */
void diagnose_rounding(double times, char *text, size_t size);

/** @brief Writes what the failing cases of a part have in common and no, or hardly a, passing one has; empty if nothing. */
void diagnose_part(const struct check *check, int part, char *text, size_t size);

#endif
