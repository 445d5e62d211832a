/**
 * @file fences.c
 * @brief Fences and atomics: they divide a block into phases, so that inter_block.c knows what came before them and what after.
 *
 * A write that was fenced before an atomic, and read by a later block after an atomic of its own, is not a race
 * (inter_block.c).
 */
#include "fences.h"
#include "finding.h"
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

void simt_cluster_fence(void)
{
    if (simt_tls_worker != NULL) fence_cluster(simt_tls_worker);
}

void simt_fence(void)
{
    struct worker *w = simt_tls_worker;
    if (w == NULL) return;
    const struct warp *warp = w->warp;
    simt_new_phase(w);
    w->grid.fences++;
    w->current->fence = (struct fence){.start = w->time.block_start,
                                       .phase = w->time.phase,
                                       .known = warp->partial ? warp->tick - 1 : warp->known,
                                       .barrier = w->time.last_barrier,
                                       .tick = w->time.tick,
                                       .thread = (uint16_t)w->thread_index};
    fence_cluster(w);
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
        if (fence->barrier > result->released_tick) result->released_tick = fence->barrier;
        *(struct fence *)simt_vector_grow(&result->releases, sizeof *fence) = *fence;
        fence->phase = 0;
    }
    w->grid.fences = left;
}

void simt_note_atomic(struct worker *w)
{
    struct result *result = w->result;
    if (result->acquired_from == UINT32_MAX) {
        simt_new_phase(w);
        result->acquired_from = w->time.phase;
    }
    if (w->grid.fences != 0) release_fenced(w);
}

/* A flag may be read and set through a volatile as well; what was fenced before counts as released. */
void simt_note_volatile(struct worker *w, const void *address, int access)
{
    if (!simt_is_global(w, address)) return;
    if (access == SIMT_WRITE && w->grid.fences == 0) return;
    if (access == SIMT_READ && w->result->acquired_from != UINT32_MAX) return;
    simt_note_atomic(w);
}
