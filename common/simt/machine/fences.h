/**
 * @file fences.h
 * @brief Fences and atomics, and the phases that they divide a block into.
 */
#pragma once

#include "sizes.h"
#include "worker.h"

#include <stdbool.h>
#include <stdint.h>

void simt_new_phase(struct worker *w);
/** @brief Whether other blocks may see what is there. */
static inline bool simt_is_global(const struct worker *w, const void *address)
{
    const enum place place = simt_place_of(w, (uintptr_t)address);
    return place == PLACE_ARENA || place == PLACE_DATA;
}

/**
 * @brief The running thread is at an atomic operation on global memory, of more than block scope. It releases what was
 *        fenced by itself, or by others before a barrier that it has passed; with SIMT_ACQUIRE it acquires, else a fence has to
 *        follow, or a barrier of the block. @p how: a set of enum simt_atomic_how.
 */
void simt_note_atomic(struct worker *w, unsigned how);
/**
 * @brief The atomic has been made, if it was one that reads and writes. One that leaves what was there releases nothing: whoever reads that
 *        value may as well have read what was there before (PTX ISA, "Observation order": a read observes the write whose value it takes).
 */
void simt_note_update(struct worker *w, bool changed);
/**
 * @brief The running thread's compare-and-swap of @p address, which held @p before, has succeeded: it may have taken a lock, until it
 *        writes there again (simt_lock_written). Of two blocks that take one lock either may be the first, whichever was here.
 */
void simt_lock_taken(struct worker *w, uintptr_t address, uint64_t before);
void simt_lock_written(struct worker *w, uintptr_t address);
/** @brief A flag may be read and set through a volatile as well. */
void simt_note_volatile(struct worker *w, const void *address, int access);
/** @brief Whether the running thread has acquired what earlier blocks released. */
static inline bool simt_has_acquired(const struct worker *w)
{
    return w->grid.acquired || w->current->acquired;
}
/** @brief A barrier of @p lanes of a warp: if one of them has acquired, all of them have. */
void simt_acquired_share(struct worker *w, const struct warp *warp, unsigned lanes);
/** @brief Values pass between @p lanes of a warp, as by a shuffle: what one has read atomically the others know, too, and acquire by
 *         a fence of their own. */
void simt_met_share(struct worker *w, const struct warp *warp, unsigned lanes);
