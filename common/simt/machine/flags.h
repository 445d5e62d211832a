/**
 * @file flags.h
 * @brief Flags, tickets and locks between the threads of a block: what they order by atomics and fences.
 *
 * As in PTX's memory model: a thread that reads a flag atomically, and then executes a fence, comes after what another thread did
 * before its own fence, if an atomic write of that thread after this fence was what set the flag, or if only atomic
 * updates were between. An atomic that acquires or releases needs no fence. Between blocks: fences.h.
 */
#pragma once

#include "worker.h"

#include <stddef.h>
#include <stdint.h>

/** @brief The running thread has read a flag. @p how: a set of enum simt_atomic_how, with SIMT_ACQUIRE without a fence. */
void simt_flag_read(struct worker *w, uintptr_t address, unsigned how);
/** @brief It is about to write one. With SIMT_RELEASE what it did so far is released; without, what it did before its last fence. */
void simt_flag_write(struct worker *w, uintptr_t address, unsigned how);
/** @brief A fence of the block's scope or a wider one. */
void simt_flag_fence(struct worker *w);
/** @brief Its compare-and-swap has succeeded: it may have taken a lock, until it writes there again. */
void simt_flag_taken(struct worker *w, uintptr_t address);
/**
 * @brief An atomic other than a compare-and-swap was made. If it gave back a lock whose holder had no fence behind the
 *        compare-and-swap, it orders nothing that was done under the lock: it is chance that this holder was the first.
 */
void simt_flag_written(struct worker *w, const void *address, size_t bytes);
void simt_flags_begin(struct worker *w);  /**< a block */
void simt_flags_forget(struct worker *w); /**< ticks begin anew */
