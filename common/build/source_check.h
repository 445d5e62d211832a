/**
 * @file source_check.h
 * @brief What a stranger's kernel file may say: which headers it includes, which directives and words it
 * uses.
 *
 * This is the first of three nets, and the one whose refusals read best. The second looks at what the
 * preprocessor made of the file, the third at the object (object_check.h).
 */
#ifndef WARPWISE_COURSE_SOURCE_CHECK_H
#define WARPWISE_COURSE_SOURCE_CHECK_H

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

/**
 * @brief Checks what came out of the preprocessor: every file it opened, and in the lines that come from @p
 * main_file        every word, after all macros.
 * @param folders  paths under which the files lie that may be opened, ended by NULL
 */
int source_check_preprocessed(const char *text, const char *main_file, const char *name,
                              const char *const *folders, struct text *sentence);

/** @brief The first line of @p text with the word @p word in it, or 0. */
int source_line_of(const char *text, const char *word);

/** @brief Blanks out the comments in @p text. */
void source_blank_comments(char *text);

/** @brief 1 if inline assembly occurs in @p text. */
int source_has_assembly(const char *text);

/** @brief 1 if a kernel file of @p lesson may include @p header by this name. */
int source_header_allowed(const char *header, const struct lesson_folder *lesson);

#endif
