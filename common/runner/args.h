/**
 * @file args.h
 * @brief The structs that an entry point is given are the caller's: whether one has changed when it returns.
 */
#pragma once

#include <stddef.h>

/** @brief Remembers @p bytes at @p args, which may be NULL, until args_returned(). Returns @p args, for a call. */
void *args_given(const void *args, size_t bytes);

/** @brief The call has returned: compares what it was given. */
void args_returned(void);

/** @brief 1 if something given has changed since the last time that this was asked. */
int args_changed(void);
