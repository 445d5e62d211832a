/**
 * @file engine_guess.h
 * @brief Steps of a decoder: what a kernel would compute with a well-known mistake in it.
 */
#pragma once

#include "lesson.h"

/** @brief As lesson::guess, for logits of an item of protocol/engine_items.h. Each @p index runs a decoder
 *         once, and keeps the results for all elements. */
int engine_guess(const struct lesson_case *item, const float *const *data, int index, size_t at,
                 struct lesson_guess *guess);
