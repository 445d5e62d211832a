/**
 * @file named_barrier.c
 * @brief The sixteen named barriers, at which a part of the block may wait: PTX's bar.sync and bar.arrive with a number of threads.
 *
 * A warp arrives as a whole, when no lane of it can go on (simt_resolve_named). When the barrier opens, what
 * each arriving warp did until then, and what it knew of other warps, happens before what the warps do next
 * that waited: struct warp's clock_of_warp has a tick for each other warp.
 */
#include "named_barrier.h"
#include "lanes.h"
#include "machine.h"
#include "sizes.h"
#include "trace.h"
#include "vector_clocks.h"
#include "worker.h"

#include <stdbool.h>
#include <string.h>

/* ---- arriving ----------------------------------------------------------------------------------------- */

static unsigned expected_of(const struct worker *w, unsigned threads)
{
    return threads != 0 ? threads : w->warps * WARP_LANES;
}

static void check(struct worker *w, const struct simt_site *site, unsigned id, unsigned threads, unsigned how)
{
    const struct warp *warp = w->warp;
    const unsigned expected = expected_of(w, threads);
    if (id >= NAMED_BARRIERS)
        simt_stop(site, RECORD_UNSUPPORTED, RECORD_SAYS_BARRIER_NUMBER,
                  SIMT_SAYS(.name = {site->what}, .number = {id}));
    if (threads % WARP_LANES != 0)
        simt_stop(site, RECORD_UNSUPPORTED, RECORD_SAYS_BARRIER_THREADS,
                  SIMT_SAYS(.name = {site->what}, .number = {threads}));
    if (w->named.barrier[id].arrived != 0 && w->named.barrier[id].expected != expected)
        simt_stop(site, RECORD_DIVERGENT_BARRIER, RECORD_SAYS_BARRIER_OTHER_THREADS,
                  SIMT_SAYS(.name = {site->what}, .number = {id, expected, w->named.barrier[id].expected}));
    if (warp->at_named == 0) return;
    const struct thread *first =
        &w->thread[(unsigned)(warp - w->warp_of) * WARP_LANES + (unsigned)__builtin_ctz(warp->at_named)];
    const bool aligned = first->aligned || (how & SIMT_BARRIER_ALIGNED) != 0;
    if (first->named_id != id || first->named_wait != ((how & SIMT_BARRIER_WAIT) != 0) ||
        (aligned && first->site != site))
        simt_stop(site, RECORD_DIVERGENT_BARRIER, RECORD_SAYS_BARRIER_LANES, SIMT_SAYS(.name = {site->what}));
}

void simt_named_barrier(const struct simt_site *site, unsigned id, unsigned threads, unsigned how,
                        const void *pc)
{
    struct worker *w = simt_tls_worker;
    struct thread *t = w->current;
    check(w, site, id, threads, how);
    t->wait = WAIT_NAMED;
    t->site = site;
    t->pc = pc;
    t->mask = 0;
    t->named_id = id;
    t->named_threads = expected_of(w, threads);
    t->named_wait = (how & SIMT_BARRIER_WAIT) != 0;
    t->aligned = (how & SIMT_BARRIER_ALIGNED) != 0;
    w->warp->at_named |= 1u << w->thread_index % WARP_LANES;
    w->named.used = true;
    simt_suspend(w);
}

/* ---- opening ------------------------------------------------------------------------------------------ */

static void release_warp(struct worker *w, struct warp *warp)
{
    for (unsigned rest = warp->at_named; rest != 0; rest &= rest - 1)
        w->thread[(unsigned)(warp - w->warp_of) * WARP_LANES + (unsigned)__builtin_ctz(rest)].wait =
            WAIT_NONE;
    warp->ready |= warp->at_named;
    warp->at_named = 0;
    warp->arrived = false;
}

static void join_warps(uint32_t *clock_of_warp, const uint32_t *more)
{
    for (unsigned i = 0; i < MAX_WARPS; i++)
        if (more[i] > clock_of_warp[i]) clock_of_warp[i] = more[i];
}

static void acquire_clocks(struct worker *w, const struct warp *warp, const struct vector_clock *clock)
{
    const unsigned first = (unsigned)(warp - w->warp_of) * WARP_LANES;
    for (unsigned rest = warp->at_named; rest != 0; rest &= rest - 1)
        simt_clock_acquire(w, first + (unsigned)__builtin_ctz(rest), clock);
}

/* Whether a lane has acquired from another block, or will have behind this barrier. */
static bool has_acquired(const struct worker *w, const struct warp *warp)
{
    const struct thread *first = &w->thread[(size_t)(warp - w->warp_of) * WARP_LANES];
    bool any = false;
    for (unsigned lane = 0; w->grid.met && lane < WARP_LANES; lane++)
        any |= (warp->at_named >> lane & 1) && (first[lane].met || first[lane].acquired);
    return any;
}

static void set_acquired(struct worker *w, const struct warp *warp)
{
    struct thread *first = &w->thread[(size_t)(warp - w->warp_of) * WARP_LANES];
    for (unsigned lane = 0; lane < WARP_LANES; lane++) first[lane].acquired |= warp->at_named >> lane & 1;
}

static void open(struct worker *w, struct named_barrier *b)
{
    struct vector_clock *clock = &w->clocks.of[MAX_THREADS + (b - w->named.barrier)];
    for (unsigned i = 0; i < w->warps; i++) {
        if (!(b->waiting >> i & 1)) continue;
        join_warps(w->warp_of[i].clock_of_warp, b->clock_of_warp);
        if (w->clocks.open) acquire_clocks(w, &w->warp_of[i], clock);
        if (b->acquired) set_acquired(w, &w->warp_of[i]);
        release_warp(w, &w->warp_of[i]);
    }
    if (w->clocks.open) simt_clock_clear(w, clock);
    w->mbarriers.idle = 0;
    simt_trace_named(w, (unsigned)(b - w->named.barrier), b->waiting);
    *b = (struct named_barrier){.arrived = 0};
}

void simt_resolve_named(struct worker *w, struct warp *warp)
{
    const unsigned live = warp->lanes & ~warp->exited, index = (unsigned)(warp - w->warp_of);
    if (warp->at_named == 0 || warp->at_named != live || warp->arrived) return;
    const struct thread *t = &w->thread[index * WARP_LANES + (unsigned)__builtin_ctz(live)];
    struct named_barrier *b = &w->named.barrier[t->named_id];
    b->expected = t->named_threads;
    join_warps(b->clock_of_warp, warp->clock_of_warp);
    if (warp->tick > b->clock_of_warp[index]) b->clock_of_warp[index] = warp->tick;
    if (w->clocks.open) {
        simt_clocks_collect(w, warp, live, &w->clocks.of[MAX_THREADS + t->named_id]);
        if (t->named_wait) simt_clocks_share(w, warp, live);
    }
    if (t->named_wait) warp->known = warp->tick; /* its lanes synchronise with each other, too */
    b->acquired |= has_acquired(w, warp);
    simt_new_tick(w, warp);
    b->arrived += WARP_LANES;
    w->result->counters.barriers++;
    simt_trace_meet(w, warp, t->site, TRACE_NAMED_ARRIVE + t->named_id, live);
    if (t->named_wait) {
        warp->arrived = true;
        b->waiting |= 1u << index;
    } else {
        release_warp(w, warp);
    }
    if (b->arrived >= b->expected) open(w, b);
}

void simt_named_begin(struct worker *w)
{
    for (unsigned i = 0; i < w->warps; i++) {
        w->warp_of[i].at_named = 0;
        w->warp_of[i].arrived = false;
        if (w->named.used) memset(w->warp_of[i].clock_of_warp, 0, sizeof w->warp_of[i].clock_of_warp);
    }
    if (w->named.used) memset(w->named.barrier, 0, sizeof w->named.barrier);
    w->named.used = false;
}
