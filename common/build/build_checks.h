/**
 * @file build_checks.h
 * @brief What an untrusted kernel file is held to while it is built. Each returns NULL, or the sentence of a refusal, which
 *        the caller frees.
 */
#ifndef WARPWISE_BUILD_BUILD_CHECKS_H
#define WARPWISE_BUILD_BUILD_CHECKS_H

#include "base/process.h"
#include "build_recipe.h"

/** @brief What compilers may read: their own things, the headers that kernel files stand on, this one file. Neither
 *         solutions nor tests nor the oracle are among it. */
void checks_readable(const struct recipe *recipe, struct argument_list *list);

/** @brief The file as it was written. */
char *checks_text(const struct recipe *recipe, const char *source);
/** @brief The list of the files that the compiler opened, written by itself; @p inside is where it worked. */
char *checks_dependencies(const struct recipe *recipe, const char *list, const char *inside);
/** @brief What the preprocessor made of it (simt). */
char *checks_preprocessed(const struct recipe *recipe, const char *text);
/** @brief The object file at @p path. */
char *checks_object(const struct recipe *recipe, const char *source, const char *path);

#endif
