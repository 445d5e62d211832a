/**
 * @file flags.c
 * @brief What threads of a block know of each other by flags: a vector clock for each, joined at atomics and fences.
 */
#include "flags.h"
#include "machine.h"
#include "sizes.h"
#include "tools.h"
#include "vector_clocks.h"
#include "worker.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { SLOTS = 2 * FLAGS };

/* Ticks of earlier blocks order nothing in this one, so no clock is cleared when a block begins. */
static struct flag *slot_of(const struct worker *w, uintptr_t address)
{
    size_t at = (uint32_t)(address >> 1) * 2654435769u % SLOTS;
    while (w->flags.at[at].begun == w->time.block_start && w->flags.at[at].address != address) {
        if (w->flags.count >= FLAGS) break; /* some share a clock from here on: a race may be missed */
        at = (at + 1) % SLOTS;
    }
    return &w->flags.at[at];
}

/* The flag at this address that somebody has released, or NULL. */
static struct flag *known(const struct worker *w, uintptr_t address)
{
    if (w->flags.count == 0) return NULL;
    struct flag *f = slot_of(w, address);
    return f->begun == w->time.block_start ? f : NULL;
}

static struct vector_clock *clock_of(const struct worker *w, const struct flag *f)
{
    return &w->flags.clock[f - w->flags.at];
}

static void make_room(struct worker *w)
{
    if (w->flags.at != NULL) return;
    w->flags.at = simt_reserve(SLOTS * sizeof *w->flags.at, "flags");
    w->flags.clock = simt_reserve(SLOTS * sizeof *w->flags.clock, "the flags' clocks");
    w->flags.seen = simt_reserve(MAX_THREADS * sizeof *w->flags.seen, "clocks of flags that threads saw");
}

static void acquire(struct worker *w, const struct vector_clock *clock, bool acquired)
{
    simt_clock_acquire(w, w->thread_index, clock);
    w->current->acquired |= acquired;
}

void simt_flag_read(struct worker *w, uintptr_t address, unsigned how)
{
    struct thread *t = w->current;
    const struct flag *f = known(w, address);
    if (f == NULL) return;
    if (how & SIMT_ACQUIRE) {
        acquire(w, clock_of(w, f), f->acquired);
        return;
    }
    struct vector_clock *seen = &w->flags.seen[w->thread_index];
    if (!t->saw_flag) simt_clock_clear(w, seen);
    simt_clock_join(w, seen, clock_of(w, f));
    t->saw_flag = true;
    t->saw_acquired |= f->acquired;
}

/* What the thread did before its fence, and what it knew then. */
static void release_fenced(struct worker *w, struct vector_clock *to)
{
    struct thread *t = w->current;
    struct vector_clock *own = &w->clocks.of[w->thread_index];
    const size_t first = w->thread_index / WARP_LANES * WARP_LANES;
    const uint32_t later = own->ordered[w->thread_index];
    own->ordered[w->thread_index] = t->flag_fence.tick;
    simt_clock_join(w, to, own);
    if (later > t->flag_fence.tick) own->ordered[w->thread_index] = later;
    for (size_t i = first; i < first + WARP_LANES; i++)
        if (t->flag_fence.known > to->ordered[i]) to->ordered[i] = t->flag_fence.known;
}

/* Whether the running thread writes to a lock that it took and did not acquire. The fence that releases the lock comes after what it
 * did under the lock, and does not count. */
static bool holds_unacquired(const struct worker *w, uintptr_t address, unsigned how)
{
    const struct hold *h = &w->current->hold;
    return h->address == address && h->fences <= (how & SIMT_RELEASE ? 0 : 1) &&
           w->time.last_barrier < h->tick;
}

void simt_flag_taken(struct worker *w, uintptr_t address)
{
    simt_new_tick(w, w->warp);
    w->current->hold = (struct hold){.address = address,
                                     .before = w->flags.atomic.before,
                                     .tick = w->time.tick,
                                     .fences = w->flags.atomic.acquires ? 2 : 0};
}

void simt_flag_written(struct worker *w, const void *address, size_t bytes)
{
    const struct hold *h = &w->flags.handover.hold;
    uint64_t now = 0;
    if (w->flags.handover.flag == NULL || h->address != (uintptr_t)address) return;
    memcpy(&now, address, bytes < sizeof now ? bytes : sizeof now);
    if (now == h->before) {
        uint32_t *known = &clock_of(w, w->flags.handover.flag)->ordered[w->flags.handover.thread];
        *known = w->flags.handover.known >= h->tick ? w->flags.handover.known : h->tick - 1;
    }
    w->flags.handover.flag = NULL;
}

void simt_flag_write(struct worker *w, uintptr_t address, unsigned how)
{
    struct thread *t = w->current;
    const bool unacquired = holds_unacquired(w, address, how);
    const struct hold hold = t->hold;
    if (t->hold.address == address) t->hold.address = 0;
    w->flags.handover.flag = NULL;
    const bool releases = (how & SIMT_RELEASE) != 0 || t->flag_fence.tick != 0;
    struct flag *f = known(w, address);
    if (f != NULL && how & SIMT_ONLY_STORES) { /* what others released by it is not seen by who reads this */
        simt_clock_clear(w, clock_of(w, f));
        f->acquired = false;
    }
    if (!releases) return;
    make_room(w);
    simt_clocks_open(w);
    if (f == NULL) {
        f = slot_of(w, address);
        *f = (struct flag){.address = address, .begun = w->time.block_start};
        simt_clock_clear(w, clock_of(w, f));
        w->flags.count++;
    }
    f->acquired |= t->acquired;
    if (unacquired) {
        w->flags.handover.flag = f;
        w->flags.handover.hold = hold;
        w->flags.handover.thread = w->thread_index;
        w->flags.handover.known = clock_of(w, f)->ordered[w->thread_index];
    }
    if (how & SIMT_RELEASE)
        simt_clock_release(w, w, clock_of(w, f));
    else
        release_fenced(w, clock_of(w, f));
}

void simt_flag_fence(struct worker *w)
{
    struct thread *t = w->current;
    if (t->saw_flag) acquire(w, &w->flags.seen[w->thread_index], t->saw_acquired);
    t->saw_flag = t->saw_acquired = false;
    if (w->warp->partial || w->named.used) simt_clocks_open(w);
    if (w->clocks.open) simt_clock_complete(w);
    t->flag_fence.tick = w->time.tick;
    t->flag_fence.known = w->warp->known;
    t->hold.fences++;
    simt_new_tick(w, w->warp);
}

void simt_flags_begin(struct worker *w)
{
    w->flags.count = 0;
    w->flags.handover.flag = NULL;
}

void simt_flags_forget(struct worker *w)
{
    if (w->flags.at != NULL) simt_forget(w->flags.at, SLOTS * sizeof *w->flags.at);
}
