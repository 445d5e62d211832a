/**
 * @file text.h
 * @brief Growing text, and the two ways a tool ends early. It exists beside base/text.h because the software
 *        device uses no other room, so that it can be taken out of this tree as it is.
 */
#pragma once

#include <stddef.h>

/** @brief A string that grows. Always ends with a zero byte once something was added; starts as {0}. */
struct text {
    char *data;
    size_t length, capacity;
};
void text_add(struct text *text, const char *bytes, size_t count);
void text_add_string(struct text *text, const char *string);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_drop(struct text *text);
/** @brief Reads a whole file; 0 if that fails. */
int text_read_file(struct text *text, const char *path);
int text_write_file(const struct text *text, const char *path);

/** @brief Room for one more element in an array of *count elements, doubled when full. */
void *array_grow(void *array, size_t *capacity, size_t count, size_t element_bytes);
/** @brief A new string as printf makes it. */
char *format_string(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** @brief Strings that belong to somebody else. Starts as {0}. */
struct string_list {
    const char **items;
    size_t count, capacity;
};
void list_add(struct string_list *list, const char *item);

/** @brief "simtcc: ..." on stderr, then exit code 2: the request or the machine is at fault. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
