/**
 * @file lanes.c
 * @brief The lanes of the running warp: how one hands over to the next, and what the running one may do: wait, end the
 *        block, leave a finding.
 *
 * Lanes hand over to each other directly; the scheduler (schedule.c) runs again when no lane of the warp is
 * ready. A fiber that finished its thread takes the next fresh lane, so that a kernel in which nobody waits
 * runs on one fiber.
 */
#include "lanes.h"
#include "fiber.h"
#include "finding.h"
#include "frames.h"
#include "image.h"
#include "machine.h"
#include "settings.h"
#include "share.h"
#include "shadow.h"
#include "sizes.h"
#include "worker.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- fibers ------------------------------------------------------------------------------------------- */

static void fiber_main(void);

static void prepare(struct fiber *fiber)
{
    fiber->context = simt_fiber_prepare((void *)simt_fiber_top(fiber), fiber_main);
}

/* What is below a stack, so that a full stack is a fault. Each costs two mappings, of which Linux gives a process 65,530:
 * a large cooperative grid does without, or nothing else in the process could have memory any more. */
static void set_guard(char *guard)
{
    enum { GUARDS = 16 * MAX_THREADS };
    static atomic_uint guards;
    if (atomic_fetch_add(&guards, 1) < GUARDS) mprotect(guard, GUARD_BYTES, PROT_NONE);
}

static struct fiber *take_fiber(struct worker *w)
{
    struct fiber *fiber = w->fibers.free;
    if (fiber != NULL) {
        w->fibers.free = fiber->next_free;
        return fiber;
    }
    char *guard = (char *)w->local.stacks + w->fibers.count * (STACK_BYTES + GUARD_BYTES);
    set_guard(guard);
    fiber = &w->fibers.fiber[w->fibers.count];
    fiber->stack = guard + GUARD_BYTES;
    fiber->colour = w->fibers.count % 24;
    w->fibers.count++;
    prepare(fiber);
    return fiber;
}

static void give_fiber(struct worker *w, struct fiber *fiber)
{
    fiber->next_free = w->fibers.free;
    w->fibers.free = fiber;
}

void simt_lanes_drop(struct worker *w)
{
    for (unsigned i = 0; i < w->threads; i++) {
        struct thread *t = &w->thread[i];
        const struct warp *warp = &w->warp_of[i / WARP_LANES];
        if (warp->fresh >> i % WARP_LANES & 1 || t->fiber == NULL) continue;
        prepare(t->fiber);
        give_fiber(w, t->fiber);
        t->fiber = NULL;
    }
}

/* ---- lanes -------------------------------------------------------------------------------------------- */

/* The next ready lane of the running warp in SIMT_ORDER, or -1. */
static int next_lane(const struct worker *w)
{
    const unsigned ready = w->warp->ready;
    if (ready == 0) return -1;
    if (simt_settings.order == ORDER_FORWARD) return __builtin_ctz(ready);
    if (simt_settings.order == ORDER_REVERSE) return 31 - __builtin_clz(ready);
    for (int i = 0;; i++)
        if (ready >> w->schedule.lane_order[i] & 1) return w->schedule.lane_order[i];
}

static void set_local(struct worker *w, const struct thread *t)
{
    w->local.base = t->stack;
    w->local.bytes = t->watched ? 0 : STACK_BYTES;
    w->local.open = t->open;
    w->local.open_bytes = t->watched ? 0 : t->open_bytes;
}

/* Makes a lane the running one; a fresh one begins here. */
static void enter_lane(struct worker *w, unsigned lane)
{
    struct warp *warp = w->warp;
    struct thread *t = &w->thread[(unsigned)(warp - w->warp_of) * WARP_LANES + lane];
    if (warp->fresh >> lane & 1) {
        t->identity.block = simt_block_index;
        t->fiber = NULL;
        t->wait = WAIT_NONE;
        t->spins = t->pauses = t->changes = t->turns = t->grid_arrived = 0;
        t->grids_waited = t->met = t->acquired = t->saw_flag = t->saw_acquired = false;
        t->flag_fence.tick = 0;
        t->lock = t->unlocked = t->hold.address = 0;
        t->copies.count = 0;
        t->copy_group = 0;
        t->polled = 0;
        t->fenced = t->watched = false;
        t->spans.count = 0;
        t->copies_begun = t->bulk_group = 0;
        t->cycles = 0;
    }
    warp->ready &= ~(1u << lane);
    w->current = t;
    w->thread_index = (unsigned)(t - w->thread);
    if (t->fiber != NULL) set_local(w, t);
    simt_tls_self = &t->identity;
    simt_thread_index = t->identity.thread;
}

/* The context to go on with after this one has nothing to do. */
static void *next_context(struct worker *w)
{
    const int lane = next_lane(w);
    if (lane < 0) return w->schedule.context;
    enter_lane(w, (unsigned)lane);
    struct thread *t = w->current;
    if (!(w->warp->fresh >> lane & 1)) return t->context;
    w->warp->fresh &= ~(1u << lane);
    t->fiber = take_fiber(w);
    t->stack = (uintptr_t)t->fiber->stack;
    simt_frames_begin(t);
    set_local(w, t);
    return t->fiber->context;
}

void simt_lanes_run(struct worker *w)
{
    simt_fiber_switch(&w->schedule.context, next_context(w));
}

void simt_suspend(struct worker *w)
{
    struct thread *t = w->current;
    simt_settle_race(w);
    t->spins = 0;
    simt_fiber_switch(&t->context, next_context(w));
}

static void fiber_main(void)
{
    struct worker *w = simt_tls_worker;
    for (;;) {
        struct thread *t = w->current;
        struct fiber *fiber = t->fiber;
        t->parameters.count = 0;
        /* what an earlier thread has left there is none of this one's: that would be memory without traffic */
        if (w->local.deepest > 0) simt_fiber_spoil(simt_frames_lowest(w, fiber));
        w->launch->entry(w->launch->args);
        simt_settle_race(w);
        t->fiber = NULL;
        w->warp->exited |= 1u << w->thread_index % WARP_LANES;
        const int lane = next_lane(w);
        if (lane >= 0 && w->warp->fresh >> lane & 1) {
            enter_lane(w, (unsigned)lane);
            w->warp->fresh &= ~(1u << lane);
            w->current->fiber = fiber;
            w->current->stack = (uintptr_t)fiber->stack;
            simt_frames_begin(w->current);
            set_local(w, w->current);
            continue;
        }
        give_fiber(w, fiber);
        simt_fiber_switch(&fiber->context, next_context(w));
    }
}

void simt_abandon(struct worker *w, int error)
{
    void *nowhere;
    simt_settle_race(w);
    w->abandoned = true;
    w->result->error = error;
    simt_fiber_switch(&nowhere, w->schedule.context);
    abort(); /* an abandoned thread never runs again */
}

/* A lock another thread holds is only released if that one gets to run. */
void simt_spin(struct worker *w, const void *pc)
{
    enum { SPINS = 4096, PAUSES = 4000, SHARED = 8 };
    struct thread *t = w->current;
    if (++t->spins < SPINS) return;
    if (simt_share_gives_up()) simt_abandon(w, 0);
    if (t->changes != w->grid.changes) t->pauses = 0;
    t->changes = w->grid.changes;
    /* nothing changes, and all had their turns: soon that is enough */
    t->pauses += 1 + SHARED * w->grid.sharing;
    if (t->pauses >= PAUSES) {
        struct finding f = simt_finding_says(RECORD_DEADLOCK, RECORD_SAYS_SPINS, RECORD_ADVICE_LATER_BLOCK,
                                             NULL, simt_actor(w, pc, SIMT_ATOMIC));
        simt_found(w, &f);
        simt_abandon(w, simt_error_of(RECORD_DEADLOCK));
    }
    w->schedule.spun = true;
    w->warp->spinning |= 1u << w->thread_index % WARP_LANES;
    simt_suspend(w);
}

/* Warps that take their work by an atomic, each the next piece: in the usual order the first warp would take all. */
void simt_take_turns(struct worker *w)
{
    enum { TURNS = 32 };
    if (!simt_settings.turned || w->current->turns == TURNS) return;
    w->current->turns++;
    w->warp->spinning |= 1u << w->thread_index % WARP_LANES;
    simt_suspend(w);
}

/*
 * Two threads that write the same value do not change the result: that is a finding only with
 * SIMT_REPORT=all.
 */
void simt_settle_race(struct worker *w)
{
    struct pending_race *d = &w->pending_race;
    if (!d->open) return;
    d->open = false;
    if (d->finding.actor[1].access == SIMT_WRITE && memcmp(d->before, d->address, d->finding.bytes) == 0) {
        if (!simt_settings.all) return;
        d->finding.kind = RECORD_SAME_VALUE_RACE;
    }
    simt_found(w, &d->finding);
}

void simt_found(struct worker *w, struct finding *finding)
{
    if (finding->place == PLACE_DYNAMIC && w->dynamic_name != NULL) {
        finding->dynamic_name = w->dynamic_name;
        finding->element_bytes = w->dynamic_element_bytes;
    }
    simt_finding_add(&w->result->findings, finding);
}
