/**
 * @file escape.h
 * @brief Text of unknown origin (names of folders, messages of compilers, output of kernels) made fit for a
 *        terminal, CSV, JSON, XML, HTML, Markdown and file names.
 *
 * Every function takes any bytes. They become valid UTF-8 first: what is not, and what cannot be seen
 * (control characters, marks that change the direction of writing), is written out as `\x1b` or `\u{202e}`,
 * so that two names that differ in such a byte still look different, and no terminal or browser acts on it.
 */
#pragma once

#include "text.h"

enum escape_lines {
    ESCAPE_ONE_LINE,  /**< line ends are written out as `\x0a` */
    ESCAPE_MANY_LINES /**< line ends stay; tabs become blanks */
};

/** @brief @p string as visible UTF-8. */
char *escape_visible(const char *string, enum escape_lines lines);
/** @brief @p name as the name of one folder: portable letters only, different for different names also where capital
 *         and small letters are the same, and no name that Windows keeps for a device. */
char *escape_folder_name(const char *name);

/** @brief Appends a field of CSV, quoted where it must be. What a spreadsheet would take for a formula gets
 *         an apostrophe in front, except for plain numbers. */
void put_csv(struct text *out, const char *string);
/** @brief Appends a JSON string with its quotes. */
void put_json(struct text *out, const char *string);
/** @brief Appends text for XML or HTML, inside an element or a quoted attribute; line ends stay. */
void put_xml(struct text *out, const char *string);
/** @brief Appends text for the middle of a Markdown line: nothing in it is taken for markup. */
void put_markdown(struct text *out, const char *string);
/** @brief Appends a Markdown block of preformatted text, with a fence that the text does not hold. */
void put_markdown_block(struct text *out, const char *string);
