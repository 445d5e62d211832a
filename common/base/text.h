/**
 * @file text.h
 * @brief Strings that grow, files as a whole, and how far apart two words are. Memory is taken as needed and goes with the
 *        program; running out of it ends the program with one sentence.
 */
#pragma once

#include <stddef.h>

/** @brief A string that grows. Zero-initialise; @c data is NULL until something is appended. */
struct text {
    char *data;
    size_t length;
    size_t capacity;
};

void text_append(struct text *text, const char *data, size_t length);
/** @brief Appends a string with the characters that mean something in HTML and XML written out. */
void text_add_escaped(struct text *text, const char *characters, size_t length);
/** @brief Appends a string of JSON, which may stand in a `<script>`: nothing in it ends the element. Bytes that are no UTF-8 are
 *         the browser's to replace. */
void text_add_json(struct text *text, const char *string);
void text_print(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_free(struct text *text);

void *must_allocate(size_t bytes);
char *copy_string(const char *string);
char *format_string(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** @brief The whole file in @p content; 0, or errno. */
int read_file(const char *path, struct text *content);
/** @brief Writes @p content beside @p path and renames it into place; 0, or errno. */
int write_file(const char *path, const char *content, size_t length);
/** @brief Creates @p path and the folders above it; 0, or errno. */
int make_folders(const char *path);
/** @brief Removes @p path, a folder with all that is in it. Never follows a link. */
void remove_tree(const char *path);
int is_folder(const char *path);
/** @brief Full path of @p program if it can be executed (looked up on PATH unless it has a slash), or NULL.
 */
char *find_program(const char *program);

/** @brief Letters to insert, delete, replace or swap to turn @p a into @p b. */
int edit_distance(const char *a, const char *b);
/** @brief The one of @p names (ended by NULL) nearest to @p word, or NULL if none is near. */
const char *nearest_name(const char *word, const char *const *names);

/** @brief The first word of @p list, cut off at @p separator, copied; moves @p list on. NULL at the end. */
char *next_word(const char **list, char separator);
