/**
 * @file fences.h
 * @brief The phases of a block: its fences and atomics.
 */
#pragma once

#include "sizes.h"
#include "worker.h"

#include <stdbool.h>
#include <stdint.h>

/** @brief The last tick of another lane of this warp that the running lane is ordered after. */
static inline uint32_t simt_lane_known(const struct worker *w, unsigned lane)
{
    const struct warp *warp = w->warp;
    if (!warp->partial) return warp->known;
    const uint32_t clock = warp->clock[w->thread_index % WARP_LANES][lane];
    return clock > warp->known ? clock : warp->known;
}

/** @brief Whether what @p actor, a thread or the copies of an mbarrier (vector_clocks.h), did at @p tick is ordered before what the
 *         running thread does now. */
static inline bool simt_is_ordered(const struct worker *w, uint32_t tick, unsigned actor)
{
    if (actor < MAX_THREADS) {
        if (tick < w->last_barrier || actor == w->thread_index) return true;
        if (actor / WARP_LANES != w->thread_index / WARP_LANES) {
            if (tick <= w->warp->clock_of_warp[actor / WARP_LANES])
                return true; /* by a barrier of named_barrier.c */
        } else if (tick <= simt_lane_known(w, actor % WARP_LANES)) {
            return true;
        }
    }
    if (actor >= FOREIGN) return simt_knows_foreign(w, actor, tick);
    return w->clocks &&
           (tick <= w->clock_of[w->thread_index].ordered[actor] || tick <= w->block_clock->ordered[actor] ||
            (w->cluster != NULL && simt_clock_knows(w, w->rank, actor, tick)));
}

/** @brief Whether a fence.proxy.async is between what @p thread did at @p tick and what the running thread does now. */
static inline bool simt_is_fenced(const struct worker *w, uint32_t tick, unsigned thread)
{
    if (thread >= FOREIGN) return simt_knows_foreign_fence(w, thread, tick);
    const uint32_t *fenced = w->clock_of[w->thread_index].fenced[FENCED_SHARED];
    const uint32_t *block = w->block_clock->fenced[FENCED_SHARED];
    return tick <= fenced[thread] || tick <= block[thread] || tick < fenced[COLUMN_ALL] ||
           tick < block[COLUMN_ALL] ||
           (w->cluster != NULL && simt_clock_knows_fence(w, w->rank, thread, tick));
}

/** @brief The same of global memory, and of a thread of the same block. */
static inline bool simt_is_fenced_global(const struct worker *w, uint32_t tick, unsigned thread)
{
    if (!w->clocks) return false;
    const uint32_t *fenced = w->clock_of[w->thread_index].fenced[FENCED_GLOBAL];
    const uint32_t *block = w->block_clock->fenced[FENCED_GLOBAL];
    return tick <= fenced[thread] || tick <= block[thread] || tick < fenced[COLUMN_ALL] ||
           tick < block[COLUMN_ALL] ||
           (w->cluster != NULL && simt_clock_knows_global_fence(w, w->rank, thread, tick));
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
