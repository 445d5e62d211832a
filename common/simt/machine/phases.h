/**
 * @file phases.h
 * @brief The phases of a block: its fences and atomics.
 */
#ifndef WARPWISE_SIMT_PHASES_H
#define WARPWISE_SIMT_PHASES_H

#include "sizes.h"
#include "worker.h"

#include <stdbool.h>
#include <stdint.h>

/** @brief The last tick of another lane of this warp that the running lane is ordered after. */
static inline uint32_t simt_known_of(const struct worker *w, unsigned lane)
{
    const struct warp *warp = w->warp;
    if (!warp->partial) return warp->known;
    const uint32_t clock = warp->clock[w->thread_index % WARP_LANES][lane];
    return clock > warp->known ? clock : warp->known;
}

/** @brief Whether what @p thread did at @p tick is ordered before what the running thread does now. */
static inline bool simt_is_ordered(const struct worker *w, uint32_t tick, unsigned thread)
{
    if (tick < w->last_barrier || thread == w->thread_index) return true;
    if (thread / WARP_LANES != w->thread_index / WARP_LANES)
        return tick <= w->warp->heard[thread / WARP_LANES]; /* by a barrier of named.c */
    return tick <= simt_known_of(w, thread % WARP_LANES);
}

void simt_new_phase(struct worker *w);
/** @brief Whether other blocks may see what is there. */
static inline bool simt_is_global(const struct worker *w, const void *address)
{
    const enum place place = simt_place_of(w, (uintptr_t)address);
    return place == PLACE_ARENA || place == PLACE_DATA;
}

/** @brief The running thread is at an atomic operation on global memory: it acquires, and releases what
 *         was fenced by itself, or by others before a barrier that it has passed. */
void simt_note_atomic(struct worker *w);
/** @brief A flag may be read and set through a volatile as well. */
void simt_note_volatile(struct worker *w, const void *address, int access);

#endif
