/**
 * @file together.h
 * @brief Several kernel files judged at once.
 */
#pragma once

#include "judging.h"

/** @brief How many checks this machine has cores and memory for; @p gpu: 1 if some are on a GPU. */
int judge_at_a_time(int gpu);

/**
 * @brief Calls @p work for 0 .. @p count - 1, each in a process of its own and @p at_a_time of them together. Each is to
 *        fill both judgements, of which the first may be followed by a second.
 * @param judgements  two for each call, as filled by @p work in its own process
 * @param done        called here when those of an index are there, in any order
 *
 * What a process says on stderr is shown when it ends. Stops when this program is interrupted.
 */
void judge_together(size_t count, int at_a_time,
                    void (*work)(void *context, size_t index, struct judgement pair[2]),
                    struct judgement (*judgements)[2], void (*done)(void *context, size_t index),
                    void *context);
