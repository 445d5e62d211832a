/**
 * @file frames.h
 * @brief Which parts of its own stack a thread's pointers may lead to.
 *
 * On its stack lie return addresses, its callers' registers, and what the compiler has put there for a while. A graded program comes
 * with a table, made from its machine code (build/machine_code.h): for each function the part of its frame in which the variables lie
 * whose addresses are taken. Each function reports its beginning and its end; in between its part is open. Without the table all of
 * the stack is.
 */
#pragma once

#include "worker.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** @brief Thread @p t, whose stack is known, is in no function yet. */
void simt_frames_begin(struct thread *t);

/** @brief Ends the launch: the running thread, in the function that was called at @p pc, is below its stack. Set before any runs. */
extern void (*simt_frames_full)(const void *pc);

/** @brief Whether these bytes of the stack of @p t lie in a part that is open. */
bool simt_frames_open(const struct thread *t, uintptr_t address, size_t bytes);

/** @brief Whether these bytes lie between @p low and the frame of the function that began last: it has passed them to a function of the
 *         device's headers, which reports nothing. */
bool simt_frames_passed(const struct thread *t, uintptr_t low, uintptr_t address, size_t bytes);

/** @brief How far functions write below the frames of those that report where they begin. */
size_t simt_frames_unreported(void);

/** @brief Down to where threads of @p w may have written on the stack of @p fiber. */
uintptr_t simt_frames_lowest(const struct worker *w, const struct fiber *fiber);
