/**
 * @file hosts.h
 * @brief Which braces hold the body of a function that is the host's alone.
 */
#pragma once

#include "rewriter.h"

/** @brief 1 if the brace at token @p brace opens a class, in which functions may be defined. */
int is_class_body(const struct tokens *tokens, size_t brace);
/** @brief 1 if it opens a function's body, outside of other functions, and nothing says that a device may run it. */
int is_host_function_body(const struct tokens *tokens, size_t brace);
