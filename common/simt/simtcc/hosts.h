/**
 * @file hosts.h
 * @brief Which braces hold the body of a function that is the host's alone.
 */
#pragma once

#include "rewriter.h"

/** @brief 1 if the brace at token @p brace opens a class, in which functions may be defined. */
int is_class_body(const struct tokens *tokens, size_t brace);
/** @brief 1 if it opens the body of a function that is not inside another function and that no word marks
 *         as device code. */
int is_host_function_body(const struct tokens *tokens, size_t brace);
