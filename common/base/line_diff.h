/**
 * @file line_diff.h
 * @brief Which lines of two texts are the same.
 */
#pragma once

#include "text.h"

/** @brief Appends the differences from @p old to @p new as a unified diff, without file names. Returns how
 *         many lines differ, 0 for none. */
size_t line_diff(const char *old_text, const char *new_text, struct text *out);
/** @brief The same from @p old_begin and @p new_begin on, the beginnings of lines within the texts; lines are numbered from the texts'
 *         beginning. */
size_t line_diff_from(const char *old_text, const char *old_begin, const char *new_text,
                      const char *new_begin, struct text *out);
