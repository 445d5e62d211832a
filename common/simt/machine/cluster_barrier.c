/**
 * @file cluster_barrier.c
 * @brief barrier.cluster: threads arrive, go on, and wait later.
 *
 * A phase is over when every thread has arrived or ended. Nobody arrives in the next before it has waited for
 * this one, so there are two phases at most. Each has a vector clock: what the threads that arrived in it
 * knew. The blocks of a cluster share these clocks (struct cluster).
 */
#include "cluster_barrier.h"
#include "cluster.h"
#include "fences.h"
#include "lanes.h"
#include "machine.h"
#include "mbarrier.h"
#include "tools.h"
#include "vector_clocks.h"
#include "worker.h"

#include <string.h>

static struct vector_clock *clock_of_phase(const struct worker *w, uint32_t phase)
{
    return &w->cluster_barrier.clock[phase % 2];
}

static unsigned ended(const struct worker *w)
{
    unsigned count = 0;
    for (unsigned i = 0; i < w->warps; i++) count += (unsigned)__builtin_popcount(w->warp_of[i].exited);
    return count;
}

/* Threads that have ended after they arrived count once. */
static unsigned ended_without_arriving(const struct worker *w)
{
    unsigned count = ended(w);
    for (unsigned i = 0; i < w->threads; i++)
        if (w->warp_of[i / WARP_LANES].exited >> i % WARP_LANES & 1 && w->thread[i].cluster_arrived &&
            w->thread[i].cluster_phase == w->cluster_barrier.phase)
            count--;
    return count;
}

static bool is_complete(const struct worker *w)
{
    const struct cluster *c = w->cluster;
    if (c == NULL) return w->cluster_barrier.arrivals + ended_without_arriving(w) >= w->threads;
    for (unsigned i = 0; i < c->size; i++)
        if (c->at[i]->cluster_barrier.arrivals + ended_without_arriving(c->at[i]) < w->threads) return false;
    return true;
}

static void release_threads(struct worker *w)
{
    for (unsigned i = 0; i < w->threads; i++) {
        struct thread *t = &w->thread[i];
        if (t->wait != WAIT_CLUSTER) continue;
        t->wait = WAIT_NONE;
        w->warp_of[i / WARP_LANES].ready |= 1u << i % WARP_LANES;
    }
    w->cluster_barrier.phase++;
    w->cluster_barrier.arrivals = 0;
}

/*
 * The next phase begins with what all threads know that have waited for this one. inter_block.c orders
 * accesses to global memory by the phase they were made in.
 */
static void end_common_phase(struct cluster *c)
{
    const uint32_t cluster_phase = ++c->phase;
    c->phase_end[cluster_phase % PHASES_KEPT] = ++c->clock;
    for (unsigned i = 0; i < c->size; i++) {
        struct worker *w = c->at[i];
        simt_clock_join(w, c->known[(cluster_phase + 1) % PHASES_KEPT][w->member.rank],
                        c->known[cluster_phase % PHASES_KEPT][w->member.rank]);
        if (w->member.over) continue;
        simt_new_phase(w);
        *(uint32_t *)simt_vector_grow(&w->result->cluster_phases, sizeof(uint32_t)) = w->time.phase;
    }
}

static void end_phase(struct worker *w)
{
    struct cluster *c = w->cluster;
    if (c == NULL) {
        release_threads(w);
        simt_clock_clear(w, clock_of_phase(w, w->cluster_barrier.phase));
        return;
    }
    for (unsigned i = 0; i < c->size; i++) release_threads(c->at[i]);
    end_common_phase(c);
}

static struct worker *running(const struct simt_site *site)
{
    struct worker *w = simt_tls_worker;
    if (w == NULL)
        simt_stop(site, RECORD_UNSUPPORTED, RECORD_SAYS_HOST_CODE, SIMT_SAYS(.name = {site->what}));
    if (w->cluster == NULL && w->cluster_barrier.clock == NULL)
        w->cluster_barrier.clock = simt_reserve(2 * sizeof *w->cluster_barrier.clock, "a cluster's clocks");
    simt_clocks_open(w);
    return w;
}

void simt_cluster_arrive(const struct simt_site *site, int release)
{
    struct worker *w = running(site);
    struct thread *t = w->current;
    if (t->cluster_arrived)
        simt_stop(site, RECORD_DIVERGENT_BARRIER, RECORD_SAYS_CLUSTER_TWICE, SIMT_SAYS(.name = {site->what}));
    t->cluster_arrived = true;
    t->cluster_phase = w->cluster_barrier.phase;
    const bool publishes = !release && simt_mbarriers_publish_init(w, w->cluster_barrier.phase + 1);
    const bool fenced = t->cluster_fence != 0;
    if (w->cluster != NULL && (release || fenced))
        simt_clock_cluster_arrive(w, release ? w->time.tick : t->cluster_fence);
    else if (w->cluster == NULL && (release || fenced || publishes))
        simt_clock_release(w, w, clock_of_phase(w, w->cluster_barrier.phase));
    w->cluster_barrier.arrivals++;
    if (is_complete(w)) end_phase(w);
}

void simt_cluster_wait(const struct simt_site *site)
{
    struct worker *w = running(site);
    struct thread *t = w->current;
    if (!t->cluster_arrived)
        simt_stop(site, RECORD_DIVERGENT_BARRIER, RECORD_SAYS_CLUSTER_NOT_ARRIVED,
                  SIMT_SAYS(.name = {site->what}));
    if (t->cluster_phase == w->cluster_barrier.phase) {
        t->wait = WAIT_CLUSTER;
        t->site = site;
        t->mask = 0;
        simt_suspend(w);
    }
    t->cluster_arrived = false;
    if (w->cluster != NULL)
        simt_clock_cluster_wait(w, t->cluster_phase + 1);
    else
        simt_clock_acquire(w, w->thread_index, clock_of_phase(w, t->cluster_phase));
}

static bool any_waits(const struct worker *w)
{
    for (unsigned i = 0; i < w->threads; i++)
        if (w->thread[i].wait == WAIT_CLUSTER) return true;
    return false;
}

bool simt_cluster_resolve(struct worker *w)
{
    const struct cluster *c = w->cluster;
    bool waiting = c == NULL && any_waits(w);
    for (unsigned i = 0; c != NULL && i < c->size; i++)
        waiting |= !c->at[i]->member.over && any_waits(c->at[i]);
    if (!waiting || !is_complete(w)) return false;
    end_phase(w);
    return true;
}

void simt_cluster_begin(struct worker *w)
{
    w->cluster_barrier.phase = 0;
    w->cluster_barrier.arrivals = 0;
    for (unsigned i = 0; i < w->threads; i++) {
        w->thread[i].cluster_arrived = false;
        w->thread[i].cluster_fence = 0;
    }
    if (w->cluster_barrier.clock != NULL)
        memset(w->cluster_barrier.clock, 0, 2 * sizeof *w->cluster_barrier.clock);
}
