/**
 * @file source_check.h
 * @brief What an untrusted kernel file may say: which headers it includes, which directives and words it
 * uses.
 *
 * This is the first of three checks, and the one with the clearest messages. The second checks the
 * preprocessor's output, the third the object file (object_check.h).
 */
#pragma once

#include "base/text.h"
#include "course/course.h"

/**
 * @brief Checks the file as it was written.
 * @param name      what to call it in @p sentence
 * @param lesson    whose contract it may include
 * @param sentence  receives "NAME:LINE: …" where it is refused
 * @return 1 if nothing is to be said against it, else 0
 */
int source_check_text(const char *text, const char *name, const struct lesson_folder *lesson,
                      struct text *sentence);

/** @brief Checks the preprocessor's output: in the lines that come from @p main_file every word, after all
 *         macros. */
int source_check_preprocessed(const char *text, const char *main_file, const char *name,
                              struct text *sentence);

/** @brief The #include lines of a file that passed source_check_text(), and nothing else, if a macro is defined or undefined before one
 *         of them; else NULL: then no macro can change a header. The caller frees it. */
char *source_includes_alone(const char *text);

/** @brief Checks that every header reads in @p text, the preprocessor's output for @p main_file, as in @p plain, the output for
 *         @p plain_file, which has the same #include lines and nothing else. */
int source_check_headers(const char *text, const char *main_file, const char *plain, const char *plain_file,
                         const char *name, struct text *sentence);

/** @brief Where a compiler may open files: lists of paths without symbolic links, each ended by NULL. */
struct source_places {
    const char *const *folders;  /**< no files but those at or below these */
    const char *const *trees;    /**< of what lies below these folders, */
    const char *const *of_trees; /**< only what lies at or below these */
};

/** @brief Checks every file that the compiler opened, from the list of dependencies that it wrote (-MD). */
int source_check_dependencies(const char *list, const char *main_file, const char *name,
                              const struct source_places *rules, struct text *sentence);

/** @brief The first line of @p text with the word @p word in it, or 0. */
int source_line_of(const char *text, const char *word);

/** @brief Blanks out the comments in @p text. */
void source_blank_comments(char *text);

/** @brief 1 if inline assembly occurs in @p text. */
int source_has_assembly(const char *text);

/** @brief 1 if a kernel file of @p lesson may include @p header by this name. */
int source_header_allowed(const char *header, const struct lesson_folder *lesson);
