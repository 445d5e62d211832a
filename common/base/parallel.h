/**
 * @file parallel.h
 * @brief The checker's own work over the cores of this machine. What it gives never depends on how many there are.
 */
#pragma once

#include <stddef.h>

/**
 * @brief Calls @p work for 0 .. @p count - 1 in pieces, `work(context, first, last)` for first .. last - 1.
 * @param piece  items of a piece, >= 1; pieces run in any order and at the same time, the last may be shorter.
 *               Give one so much to do that a thread is worth its start: some 100 us.
 *
 * Returns when all are done. Where threads cannot be started the caller does all the work by itself.
 */
void parallel_for(size_t count, size_t piece, void (*work)(void *context, size_t first, size_t last),
                  void *context);

/** @brief At most so many threads from now on, 0 for one per core. For tests. */
void parallel_limit(int threads);

/**
 * @brief @p bytes of memory, to be given to free(); NULL if there is none.
 *
 * In large pages where the system has them: touching a gigabyte in small ones takes longer than filling it.
 */
void *parallel_memory(size_t bytes);
