/**
 * @file cluster_schedule.c
 * @brief Which block of a cluster runs: each has an OS thread, and one of them runs until all its threads wait.
 *
 * Which block runs next depends only on what the blocks do and on SIMT_ORDER, so results and reports are the
 * same on any number of workers. A block whose threads all wait hands over to the next one that has a thread
 * to run. If there is none, the asynchronous operations of all blocks complete (bulk_copies.c), then all
 * waits for mbarriers time out; if neither helps, the cluster is stuck.
 */
#include "cluster_schedule.h"
#include "blocks.h"
#include "bulk_copies.h"
#include "cluster.h"
#include "cluster_barrier.h"
#include "mbarrier.h"
#include "tools.h"
#include "vector_clocks.h"
#include "worker.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

/* ---- the next cluster --------------------------------------------------------------------------------- */

/*
 * Ticks of all blocks of the cluster are compared, and shadow cells keep those of earlier blocks: the
 * common clock goes on from the highest.
 */
static void set_clock(struct cluster *c)
{
    enum { LAST_TICK = 0xf0000000 };
    c->clock = 0;
    for (unsigned i = 0; i < c->size; i++)
        if (c->at[i]->time.own_clock > c->clock) c->clock = c->at[i]->time.own_clock;
    c->forget = c->clock > LAST_TICK;
    if (c->forget) c->clock = 0;
    for (unsigned i = 0; i < c->size; i++) c->at[i]->time.clock = &c->clock;
}

static void set_known(struct cluster *c)
{
    if (c->known[0][0] == NULL) {
        struct vector_clock *clocks =
            simt_reserve((size_t)PHASES_KEPT * MAX_CLUSTER * sizeof *clocks, "a cluster's clocks");
        for (unsigned e = 0; e < PHASES_KEPT; e++)
            for (unsigned rank = 0; rank < MAX_CLUSTER; rank++)
                c->known[e][rank] = &clocks[e * MAX_CLUSTER + rank];
    }
    if (c->forget)
        simt_forget(c->known[0][0], (size_t)PHASES_KEPT * MAX_CLUSTER * sizeof(struct vector_clock));
}

static void begin_next(struct cluster *c)
{
    c->taken = simt_take_cluster(c);
    c->running = 0;
    c->begun = 0;
    c->stopped = false;
    c->phase = 0;
    memset(c->joined, 0, sizeof c->joined);
    for (unsigned i = 0; i < c->size; i++) {
        c->at[i]->member.over = false;
        c->at[i]->member.grid_wait = NOT_AT_GRID_BARRIER;
    }
    for (c->grain = 1; c->size * c->at[0]->threads / c->grain > FOREIGN_ACTORS;) c->grain *= 2;
    if (!c->taken) return; /* each worker keeps its own clock */
    set_clock(c);
    set_known(c);
}

bool simt_cluster_take(struct worker *w)
{
    struct cluster *c = w->cluster;
    pthread_mutex_lock(&c->lock);
    const unsigned long number = c->number;
    if (++c->gathered < c->size) {
        while (c->number == number) pthread_cond_wait(&c->wake[w->member.position], &c->lock);
    } else {
        begin_next(c);
        c->gathered = 0;
        c->number++;
        for (unsigned i = 0; i < c->size; i++) pthread_cond_signal(&c->wake[i]);
    }
    const bool taken = c->taken;
    pthread_mutex_unlock(&c->lock);
    return taken;
}

/* ---- which block runs --------------------------------------------------------------------------------- */

static bool is_stopping(const struct worker *w)
{
    return w->cluster->stopped || simt_launch_stopped(w);
}

static bool has_ready(const struct worker *w)
{
    if (w->member.grid_wait == PAST_GRID_BARRIER) return true;
    for (unsigned i = 0; i < w->warps; i++)
        if ((w->warp_of[i].ready | w->warp_of[i].paused | w->warp_of[i].spinning) != 0) return true;
    return false;
}

/* The next position that can go on, the running one last; NOBODY: none can. */
static int next_ready(const struct worker *w)
{
    const struct cluster *c = w->cluster;
    for (unsigned i = 1; i <= c->size; i++) {
        const struct worker *next = c->at[(w->member.position + i) % c->size];
        if (!next->member.over && next->member.grid_wait != AT_GRID_BARRIER && has_ready(next))
            return (int)next->member.position;
    }
    return NOBODY;
}

/*
 * The next block that has not ended, even if all its threads wait: it must end, or find that it is stuck.
 */
static int next_waiting(const struct worker *w)
{
    const struct cluster *c = w->cluster;
    for (unsigned i = 1; i < c->size; i++) {
        const struct worker *next = c->at[(w->member.position + i) % c->size];
        if (!next->member.over && next->member.grid_wait != AT_GRID_BARRIER)
            return (int)next->member.position;
    }
    return NOBODY;
}

/* The caller holds the lock. With NOBODY, the first block to return from the grid's barrier may run. */
static void hand_over(struct cluster *c, int position)
{
    c->running = position;
    for (unsigned i = 0; i < c->size; i++)
        if (position == NOBODY || (int)i == position) pthread_cond_signal(&c->wake[i]);
}

static void wait_for_turn(struct worker *w)
{
    struct cluster *c = w->cluster;
    while (c->running != (int)w->member.position) pthread_cond_wait(&c->wake[w->member.position], &c->lock);
}

static void hand_over_and_wait(struct worker *w, int position)
{
    pthread_mutex_lock(&w->cluster->lock);
    hand_over(w->cluster, position);
    wait_for_turn(w);
    pthread_mutex_unlock(&w->cluster->lock);
}

/* ---- nobody can go on --------------------------------------------------------------------------------- */

/*
 * All blocks count as idle for the same number of rounds, since one may be waiting for what another does.
 */
static bool time_out(struct cluster *c)
{
    unsigned idle = c->at[0]->mbarriers.idle;
    bool any = false;
    for (unsigned i = 0; i < c->size; i++)
        if (c->at[i]->mbarriers.idle < idle) idle = c->at[i]->mbarriers.idle;
    for (unsigned i = 0; i < c->size; i++) {
        c->at[i]->mbarriers.idle = idle;
        if (!c->at[i]->member.over && c->at[i]->member.grid_wait == NOT_AT_GRID_BARRIER)
            any |= simt_mbarriers_time_out(c->at[i]);
        c->at[i]->mbarriers.idle = idle + 1;
    }
    return any;
}

static bool copies_progress(struct cluster *c)
{
    bool any = false;
    for (unsigned i = 0; i < c->size; i++)
        if (!c->at[i]->member.over) any |= simt_bulk_progress(c->at[i]);
    return any;
}

static bool progress(struct worker *w)
{
    return simt_cluster_resolve(w) || copies_progress(w->cluster) || time_out(w->cluster);
}

/* ---- handing over ------------------------------------------------------------------------------------- */

void simt_cluster_schedule_begin(struct worker *w)
{
    if (w->cluster == NULL) return;
    pthread_mutex_lock(&w->cluster->lock);
    wait_for_turn(w);
    pthread_mutex_unlock(&w->cluster->lock);
}

void simt_cluster_schedule_begun(struct worker *w)
{
    struct cluster *c = w->cluster;
    if (c == NULL) return;
    c->begun++;
    hand_over_and_wait(w, c->begun < c->size ? (int)w->member.position + 1 : 0);
}

void simt_cluster_schedule_end(struct worker *w)
{
    struct cluster *c = w->cluster;
    if (c == NULL) return;
    w->member.over = true;
    w->time.own_clock = c->clock;
    w->time.clock = &w->time.own_clock;
    const int ready = is_stopping(w) ? NOBODY : next_ready(w);
    pthread_mutex_lock(&c->lock);
    hand_over(c, ready != NOBODY ? ready : next_waiting(w));
    pthread_mutex_unlock(&c->lock);
}

void simt_cluster_schedule_yield(struct worker *w)
{
    if (w->cluster == NULL) {
        simt_bulk_progress(w); /* nobody is idle, and nothing may move but this */
        return;
    }
    copies_progress(w->cluster);
    const int next = is_stopping(w) ? NOBODY : next_ready(w);
    if (next != NOBODY && next != (int)w->member.position) hand_over_and_wait(w, next);
}

enum cluster_state simt_cluster_schedule_wait(struct worker *w)
{
    for (;;) {
        if (is_stopping(w)) return CLUSTER_STOPPED;
        const int next = next_ready(w);
        if (next == (int)w->member.position) return CLUSTER_GOES_ON;
        if (next != NOBODY) {
            hand_over_and_wait(w, next);
            return is_stopping(w) ? CLUSTER_STOPPED : CLUSTER_GOES_ON;
        }
        if (!progress(w)) return CLUSTER_STUCK;
    }
}

void simt_cluster_schedule_stop(struct worker *w)
{
    if (w->cluster != NULL) w->cluster->stopped = true;
}

enum cluster_state simt_cluster_schedule_leave(struct worker *w)
{
    struct cluster *c = w->cluster;
    if (c == NULL) return CLUSTER_GOES_ON;
    w->member.grid_wait = AT_GRID_BARRIER;
    int next;
    while ((next = next_ready(w)) == NOBODY && next_waiting(w) != NOBODY && !is_stopping(w))
        if (!progress(w)) {
            w->member.grid_wait = NOT_AT_GRID_BARRIER;
            return CLUSTER_STUCK;
        }
    pthread_mutex_lock(&c->lock);
    hand_over(c, next != NOBODY ? next : next_waiting(w));
    pthread_mutex_unlock(&c->lock);
    return CLUSTER_GOES_ON;
}

/*
 * The first block to return from a barrier of the grid knows that the others of its cluster can go on, too.
 */
void simt_cluster_schedule_return(struct worker *w)
{
    struct cluster *c = w->cluster;
    if (c == NULL) return;
    pthread_mutex_lock(&c->lock);
    while (c->running != NOBODY && c->running != (int)w->member.position)
        pthread_cond_wait(&c->wake[w->member.position], &c->lock);
    c->running = (int)w->member.position;
    if (w->member.grid_wait == AT_GRID_BARRIER) simt_clocks_grid_barrier(c);
    for (unsigned i = 0; w->member.grid_wait == AT_GRID_BARRIER && i < c->size; i++)
        if (c->at[i] != w && c->at[i]->member.grid_wait == AT_GRID_BARRIER)
            c->at[i]->member.grid_wait = PAST_GRID_BARRIER;
    w->member.grid_wait = NOT_AT_GRID_BARRIER;
    pthread_mutex_unlock(&c->lock);
}
