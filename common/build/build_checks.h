/**
 * @file build_checks.h
 * @brief The rules for an untrusted kernel file while it is built. Each function returns NULL, or the
 *        sentence of a refusal, which the caller frees.
 */
#pragma once

#include "base/process.h"
#include "build_recipe.h"
#include "machine_code.h"

/** @brief The files that compilers may read: their own, the headers that kernel files need, and this one
 *         file. Solutions, tests and the oracle are not among them. */
void checks_readable(const struct recipe *recipe, struct argument_list *list);

/** @brief Checks the file as it was written. */
char *checks_text(const struct recipe *recipe, const char *source);
/** @brief Checks the list of the files that the compiler opened, which the compiler wrote; @p inside is
 *         the folder it ran in. */
char *checks_dependencies(const struct recipe *recipe, const char *list, const char *inside);
/** @brief Checks the preprocessor's output (simt). */
char *checks_preprocessed(const struct recipe *recipe, const char *text);
/** @brief Checks, in the preprocessor's output @p text (simt), that no macro of the file has changed a header; @p plain is the output
 *         for @p plain_file, which has what source_includes_alone() left of the file. */
char *checks_headers(const struct recipe *recipe, const char *text, const char *plain,
                     const char *plain_file);
/** @brief Checks the machine code of the object file at @p path (simt on x86-64), whose @p disassembly was written by objdump; where it refuses, and
 *         @p section is not NULL, that and @p address say which instruction it was. Else @p frames is filled. */
char *checks_machine_code(const struct recipe *recipe, const char *path, const char *disassembly,
                          struct machine_code_frames *frames, struct machine_code_accesses *unproven,
                          char **section, unsigned long *address);
/** @brief Checks the object file at @p path; @p is_own as in struct object_rules. */
char *checks_object(const struct recipe *recipe, const char *source, const char *path, int is_own);
