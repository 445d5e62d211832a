/**
 * @file writing.h
 * @brief What the programs under docs/ read and write: files as a whole.
 */
#pragma once

#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @brief Appends a string. */
void text_add(struct text *text, const char *string);

/** @brief 1 if @p string begins with @p with. */
int starts(const char *string, const char *with);

/** @brief 1 if @p string ends with @p with. */
int ends_with(const char *string, const char *with);

/**
 * @brief Reads a whole file.
 * @return its characters and a zero, to be freed by the caller; NULL if it cannot be read
 */
char *read_whole(const char *path);

/**
 * @brief Writes a file, unless it has this content already.
 * @return 0, or -1 if it cannot be written (a message is on stderr)
 */
int write_if_changed(const char *path, const char *content);

/** @brief Prints "program: message" to stderr and ends with status 1. */
__attribute__((format(printf, 1, 2), noreturn)) void fail(const char *format, ...);

#ifdef __cplusplus
}
#endif
