/**
 * @file text.h
 * @brief Strings that grow, and files read whole: what the programs under docs/ share.
 */
#ifndef WARPWISE_DOCS_TEXT_H
#define WARPWISE_DOCS_TEXT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @brief A string that grows; begin with {0}. Memory that runs out ends the program. */
struct text {
    char *at;        /**< characters, always followed by a zero; NULL while nothing was added */
    size_t length;   /**< characters without the zero */
    size_t capacity; /**< bytes allocated */
};

/** @brief Appends @p length characters. */
void text_add_n(struct text *text, const char *characters, size_t length);

/** @brief Appends a string. */
void text_add(struct text *text, const char *string);

/** @brief Appends what printf would print. */
__attribute__((format(printf, 2, 3))) void text_print(struct text *text, const char *format, ...);

/** @brief Appends a string with the five characters that mean something in HTML and XML written out. */
void text_add_escaped(struct text *text, const char *characters, size_t length);

/** @brief Frees the characters and empties the string. */
void text_free(struct text *text);

/**
 * @brief Reads a whole file.
 * @return its characters and a zero, to be freed by the caller; NULL if it cannot be read
 */
char *read_file(const char *path);

/**
 * @brief Writes a file, unless it has this content already.
 * @return 0, or -1 if it cannot be written (a message is on stderr)
 */
int write_file(const char *path, const char *content);

/** @brief Prints "program: message" to stderr and ends with status 1. */
__attribute__((format(printf, 1, 2), noreturn)) void fail(const char *format, ...);

#ifdef __cplusplus
}
#endif
#endif
