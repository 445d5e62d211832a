/**
 * @file fences.c
 * @brief Fences and atomics: they divide a block into phases, so that inter_block.c knows what came before them and what after.
 *
 * A write that was fenced before an atomic, and read by a later block after an atomic of its own and a fence (or a barrier), is
 * not a race (inter_block.c). flags.c has what the same orders within a block.
 */
#include "fences.h"
#include "finding.h"
#include "flags.h"
#include "happens_before.h"
#include "machine.h"
#include "tools.h"
#include "vector_clocks.h"
#include "worker.h"

#include <stdbool.h>

void simt_new_phase(struct worker *w)
{
    w->time.phase++;
    w->shadow.touch_tick = ++*w->time.clock;
    /* every read mark is void: the next read is checked again and listed in the new phase */
    w->shadow.block_mark = simt_read_mark_pair(++*w->time.clock);
    for (unsigned i = 0; i < w->warps; i++) w->warp_of[i].read_mark = ++*w->time.clock;
    if (w->warp != NULL) w->shadow.warp_mark = simt_read_mark_pair(w->warp->read_mark);
}

/* A relaxed arrival at the cluster's barrier releases only what the thread did before this fence. */
static void fence_cluster(struct worker *w)
{
    w->current->cluster_fence = w->time.tick;
    if (w->cluster != NULL) simt_new_tick(w, w->warp);
}

/* What the running thread knows of each thread of the block now, where ticks alone do not say it. */
static uint32_t keep_clock(struct worker *w)
{
    if (!w->clocks.open && !w->named.used) return 0;
    simt_clocks_open(w);
    const struct vector_clock *own = simt_clock_complete(w), *block = w->clocks.block;
    struct vector *kept = &w->result->fence_clocks;
    const uint32_t first = (uint32_t)kept->count;
    for (unsigned i = 0; i < w->threads; i++) {
        uint32_t *tick = simt_vector_grow(kept, sizeof *tick);
        *tick = own->ordered[i] > block->ordered[i] ? own->ordered[i] : block->ordered[i];
    }
    return 1 + first;
}

/* The fence as other blocks see it. */
static void fence_grid(struct worker *w)
{
    const struct warp *warp = w->warp;
    struct thread *t = w->current;
    t->acquired |= t->met;
    simt_new_phase(w);
    w->grid.fences++;
    t->fence = (struct fence){.start = w->time.block_start,
                              .phase = w->time.phase,
                              .known = warp->partial ? warp->tick - 1 : warp->known,
                              .barrier = w->time.last_barrier,
                              .tick = w->time.tick,
                              .clock = keep_clock(w),
                              .thread = (uint16_t)w->thread_index};
    fence_cluster(w);
}

void simt_block_fence(void)
{
    if (simt_tls_worker != NULL) simt_flag_fence(simt_tls_worker);
}

void simt_cluster_fence(void)
{
    if (simt_tls_worker == NULL) return;
    fence_cluster(simt_tls_worker);
    simt_flag_fence(simt_tls_worker);
}

void simt_fence(void)
{
    if (simt_tls_worker == NULL) return;
    fence_grid(simt_tls_worker);
    simt_flag_fence(simt_tls_worker);
}

/*
 * A fence releases what its own thread did; an atomic of another thread makes use of it if a barrier is
 * between the fence and the atomic.
 */
static void release_fenced(struct worker *w)
{
    struct result *result = w->result;
    unsigned left = 0;
    for (unsigned i = 0; i < w->threads; i++) {
        struct fence *fence = &w->thread[i].fence;
        if (fence->phase == 0 || fence->start != w->time.block_start) continue;
        if (!simt_happens_before(w, (struct epoch){w, i, fence->tick}, EDGE_SYNCHRONISED)) {
            left++;
            continue;
        }
        fence->turn = w->grid.turn;
        *(struct fence *)simt_vector_grow(&result->releases, sizeof *fence) = *fence;
        fence->phase = 0;
    }
    w->grid.fences = left;
}

void simt_note_atomic(struct worker *w, unsigned how)
{
    struct thread *t = w->current;
    if (!(how & SIMT_ONLY_STORES)) t->met = w->grid.met = true;
    if (how & SIMT_ACQUIRE) t->acquired = true;
    if (how & SIMT_RELEASE) fence_grid(w);
    w->grid.updates = !(how & (SIMT_ONLY_LOADS | SIMT_ONLY_STORES));
    if (w->grid.fences != 0 && how & SIMT_ONLY_STORES) release_fenced(w);
}

void simt_note_update(struct worker *w, bool changed)
{
    if (w->grid.updates && changed && w->grid.fences != 0) release_fenced(w);
    w->grid.updates = false;
}

static void note_lock(struct worker *w, uint32_t id)
{
    enum { MOST = 64 }; /* sums by compare-and-swap look like locks, too */
    struct vector *locks = &w->result->locks;
    if (locks->count >= MOST) return;
    *(struct lock *)simt_vector_grow(locks, sizeof(struct lock)) =
        (struct lock){w->time.tick, id, (uint16_t)w->thread_index};
}

void simt_lock_taken(struct worker *w, uintptr_t address, uint64_t before)
{
    if (w->current->unlocked == address) return; /* by a swap back */
    w->current->lock = address;
    note_lock(w, (uint32_t)((address + before * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u >> 32) | 1u);
}

void simt_lock_written(struct worker *w, uintptr_t address)
{
    struct thread *t = w->current;
    t->unlocked = 0;
    if (t->lock != address) return;
    t->unlocked = address;
    t->lock = 0;
    note_lock(w, 0);
}

void simt_note_volatile(struct worker *w, const void *address, int access)
{
    const unsigned how = access == SIMT_WRITE ? SIMT_ONLY_STORES : SIMT_ONLY_LOADS;
    if (access == SIMT_WRITE) {
        simt_lock_written(w, (uintptr_t)address);
        simt_flag_write(w, (uintptr_t)address, how);
    } else
        simt_flag_read(w, (uintptr_t)address, how);
    if (simt_is_global(w, address)) simt_note_atomic(w, how);
}

/* Whether one of the lanes has read atomically what other blocks may have written. */
static bool any_met(const struct worker *w, const struct thread *first, unsigned lanes)
{
    bool any = false;
    for (unsigned rest = w->grid.met ? lanes : 0; rest != 0; rest &= rest - 1)
        any |= first[__builtin_ctz(rest)].met || first[__builtin_ctz(rest)].acquired;
    return any;
}

void simt_acquired_share(struct worker *w, const struct warp *warp, unsigned lanes)
{
    struct thread *first = &w->thread[(size_t)(warp - w->warp_of) * WARP_LANES];
    if (!any_met(w, first, lanes)) return;
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) first[__builtin_ctz(rest)].acquired = true;
}

void simt_met_share(struct worker *w, const struct warp *warp, unsigned lanes)
{
    struct thread *first = &w->thread[(size_t)(warp - w->warp_of) * WARP_LANES];
    if (!any_met(w, first, lanes)) return;
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) first[__builtin_ctz(rest)].met = true;
}
