/**
 * @file engine_guess.h
 * @brief Steps of a decoder: what would come out if a well-known mistake had been made.
 */
#ifndef WARPWISE_CHECKER_ENGINE_GUESS_H
#define WARPWISE_CHECKER_ENGINE_GUESS_H

#include "lesson.h"

/** @brief As lesson::guess, for logits of an item of protocol/engine_items.h. A decoder of some size is computed anew for
 *         each @p index, once for all elements. */
int engine_guess(const struct lesson_case *item, const float *const *data, int index, size_t at,
                 struct lesson_guess *guess);

#endif
