/**
 * @file layout.h
 * @brief Text that fits the terminal: its columns, its letters, bars.
 */
#pragma once

#include "text.h"

/** @brief Columns of the terminal on stdout; $COLUMNS, or 80, where it is none. At least 20. */
int layout_width(void);
/** @brief Lines of the terminal on stdout; a large number where it is none. */
int layout_height(void);
/** @brief 1 if the locale of the environment shows UTF-8. */
int layout_is_utf8(void);
/** @brief @p utf8 as this locale can show it: unchanged, or in ASCII ("≤" as "<="). The caller's to free. */
char *layout_shown(const char *utf8);
/** @brief Appends @p utf8 to @p out, broken between words to fit @p width, every line after @p indent blanks.
 *         The first line goes on after @p used columns. Lines that begin with four blanks stay as they are. */
void layout_wrap(struct text *out, const char *utf8, int used, int indent, int width);
/** @brief The same for one line that already is in the terminal's letters, control codes included. */
void layout_wrap_words(struct text *out, const char *line, int used, int indent, int width);
/** @brief Prints a paragraph that way on stdout, with a line end after it. */
void layout_paragraph(const char *utf8, int used, int indent);
/** @brief A bar of @p width cells, filled to @p share (0 to 1; at least one cell if more than 0). */
char *layout_bar(double share, int width);
/** @brief Columns that @p utf8 takes, control codes left out. */
int layout_columns(const char *utf8);
