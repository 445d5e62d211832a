/**
 * @file options.h
 * @brief The command line of the checker.
 */
#pragma once

#include <stdio.h>

#include "checker/verdict/check.h"

/** @brief Reads the command line; 0, or -1 after printing one sentence on stderr. */
int options_read(struct options *options, int argc, char **argv);

/** @brief Prints how to call the checker. */
void options_usage(FILE *file);

/** @brief The lesson called @p name ("01_naive_attention", "01" or "1"), or NULL. */
const struct lesson *options_lesson(const char *name);

/** @brief The seed to use: the public one, with the bytes of the secret file mixed in. 0 or -1. */
int options_seed(const struct options *options, uint64_t *seed);

/** @brief 1 if the user asked for @p item: by its full name, or by its name without the part. */
int options_choose(const struct options *options, const struct lesson_case *item);
