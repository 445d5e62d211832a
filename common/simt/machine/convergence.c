/**
 * @file convergence.c
 * @brief Where threads wait for each other: warp operations, __syncwarp, __syncthreads; and endless waits.
 *
 * A thread that comes to such a convergence point is suspended. Which lanes have converged is decided only
 * when no lane of the warp can go on (simt_resolve_warp), and whether the block has only when no warp can
 * (simt_resolve_block). So the result does not depend on the order in which threads ran.
 */
#include "convergence.h"
#include "blocks.h"
#include "bulk_copies.h"
#include "cluster_barrier.h"
#include "cluster_schedule.h"
#include "dependent_launch.h"
#include "fences.h"
#include "finding.h"
#include "happens_before.h"
#include "lanes.h"
#include "lines.h"
#include "machine.h"
#include "mbarrier.h"
#include "named_barrier.h"
#include "products.h"
#include "settings.h"
#include "shadow.h"
#include "sizes.h"
#include "trace.h"
#include "vector_clocks.h"
#include "worker.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static unsigned lane_of(const struct worker *w)
{
    return w->thread_index % WARP_LANES;
}

static struct thread *lane_thread(struct worker *w, const struct warp *warp, unsigned lane)
{
    return &w->thread[(unsigned)(warp - w->warp_of) * WARP_LANES + lane];
}

static void make_ready(struct worker *w, struct warp *warp, unsigned lanes)
{
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1)
        lane_thread(w, warp, (unsigned)__builtin_ctz(rest))->wait = WAIT_NONE;
    warp->ready |= lanes;
}

/* ---- arriving ----------------------------------------------------------------------------------------- */

/* Device code only: host code has no warp or block. */
static struct worker *running(const struct simt_site *site)
{
    if (simt_tls_worker == NULL)
        simt_die("%s was called by host code at %s:%d.", site->what, site->file, site->line);
    return simt_tls_worker;
}

static void wait_here(struct worker *w, enum wait wait, const struct simt_site *site, unsigned *waiting)
{
    w->current->wait = wait;
    w->current->site = site;
    *waiting |= 1u << lane_of(w);
    simt_suspend(w);
}

static void check_own_lane(struct worker *w, const struct simt_site *site, unsigned mask)
{
    if (mask >> lane_of(w) & 1) return;
    const struct finding f =
        simt_finding_says(RECORD_DEADLOCK, RECORD_SAYS_LANE_NOT_NAMED, RECORD_ADVICE_MASK_NAMES,
                          SIMT_SAYS(.name = {site->what}, .number = {mask, lane_of(w)}),
                          simt_actor_at(w, w->thread_index, site));
    simt_finding_add(&w->result->findings, &f);
    simt_abandon(w, 719);
}

void simt_warp_gather(const struct simt_site *site, unsigned mask, simt_warp_function function, void *context,
                      void *operand, void *result)
{
    simt_warp_collective(site, mask, 0, function, context, operand, result);
}

void simt_warp_collective(const struct simt_site *site, unsigned mask, unsigned operation,
                          simt_warp_function function, void *context, void *operand, void *result)
{
    struct worker *w = running(site);
    struct thread *t = w->current;
    check_own_lane(w, site, mask);
    t->mask = mask;
    t->operation = operation;
    t->function = function;
    t->argument = context;
    t->operand = operand;
    t->result = result;
    wait_here(w, WAIT_GATHER, site, &w->warp->gathering);
}

void simt_warp_barrier(const struct simt_site *site, unsigned mask)
{
    struct worker *w = running(site);
    check_own_lane(w, site, mask);
    w->current->mask = mask;
    wait_here(w, WAIT_WARP, site, &w->warp->at_barrier);
}

unsigned simt_active_mask(void)
{
    static const struct simt_site site = {"host", 0, "__activemask", NULL};
    struct worker *w = running(&site);
    w->current->pc = __builtin_return_address(0);
    wait_here(w, WAIT_ACTIVE, &site, &w->warp->asking);
    return w->thread[w->thread_index].mask;
}

static int meet_block(const struct simt_site *site, enum simt_vote vote, int predicate, bool aligned)
{
    struct worker *w = running(site);
    w->current->vote = vote;
    w->current->predicate = predicate;
    w->current->aligned = aligned;
    wait_here(w, WAIT_BLOCK, site, &w->warp->at_block_barrier);
    return w->thread[w->thread_index].predicate;
}

int simt_block_barrier(const struct simt_site *site, enum simt_vote vote, int predicate)
{
    return meet_block(site, vote, predicate, true);
}

void simt_block_barrier_unaligned(const struct simt_site *site)
{
    (void)meet_block(site, SIMT_VOTE_NONE, 0, false);
}

int simt_grid_is_cooperative(void)
{
    return simt_tls_worker != NULL && simt_tls_worker->launch->cooperative;
}

static struct worker *running_cooperatively(const struct simt_site *site)
{
    struct worker *w = running(site);
    if (!simt_grid_is_cooperative())
        simt_stop(site, RECORD_UNSUPPORTED, RECORD_SAYS_NOT_COOPERATIVE, SIMT_SAYS(.name = {site->what}));
    return w;
}

void simt_grid_arrive(const struct simt_site *site)
{
    struct worker *w = running_cooperatively(site);
    simt_new_tick(w, w->warp);
    simt_new_phase(w); /* what is touched from here on is listed anew */
    w->current->grid_arrived = w->time.tick;
}

void simt_grid_barrier(const struct simt_site *site)
{
    (void)running_cooperatively(site);
    (void)simt_block_barrier(site, SIMT_VOTE_GRID, 0);
}

/* ---- convergence of a warp ---------------------------------------------------------------------------- */

/* The lanes among `waiting` that wait at the same convergence point as thread t. */
static unsigned converged_lanes(struct worker *w, const struct warp *warp, unsigned waiting,
                                const struct thread *t)
{
    unsigned lanes = 0;
    for (unsigned rest = waiting; rest != 0; rest &= rest - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(rest);
        const struct thread *other = lane_thread(w, warp, lane);
        bool same = t->wait == WAIT_ACTIVE ? other->pc == t->pc : other->mask == t->mask;
        if (t->wait == WAIT_GATHER)
            same = same && other->function == t->function && other->operation == t->operation &&
                   (t->operation != 0 || other->site == t->site);
        if (same) lanes |= 1u << lane;
    }
    return lanes;
}

static void run_gather(struct worker *w, const struct warp *warp, unsigned lanes, const struct thread *t)
{
    void *operand[WARP_LANES] = {0}, *result[WARP_LANES] = {0};
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(rest);
        operand[lane] = lane_thread(w, warp, lane)->operand;
        result[lane] = lane_thread(w, warp, lane)->result;
    }
    struct worker *watch = simt_tls_watch;
    simt_tls_watch = NULL; /* it works for all lanes: its accesses are not checked */
    t->function(operand, result, lanes, t->argument);
    simt_tls_watch = watch;
    simt_met_share(w, warp, lanes);
    simt_trace_meet(w, warp, t->site, simt_trace_gathered(t->site), lanes);
}

static void found_exited(struct worker *w, const struct warp *warp, const struct thread *t)
{
    const struct finding f =
        simt_finding_says(RECORD_DEADLOCK, RECORD_SAYS_LANES_ENDED, RECORD_ADVICE_MASK_COMES,
                          SIMT_SAYS(.name = {t->site->what}, .number = {t->mask, t->mask & warp->exited}),
                          simt_actor_at(w, (unsigned)(t - w->thread), t->site));
    simt_finding_add(&w->result->findings, &f);
    w->abandoned = true;
    w->result->error = simt_error_of(RECORD_DEADLOCK);
}

static void resolve_gathers(struct worker *w, struct warp *warp)
{
    unsigned unsettled = warp->gathering;
    while (unsettled != 0 && !w->abandoned) {
        const struct thread *t = lane_thread(w, warp, (unsigned)__builtin_ctz(unsettled));
        const unsigned lanes = converged_lanes(w, warp, unsettled, t);
        unsettled &= ~lanes;
        if (t->mask & warp->exited) {
            found_exited(w, warp, t);
        } else if (lanes == (t->mask & warp->lanes)) {
            run_gather(w, warp, lanes, t);
            warp->gathering &= ~lanes;
            make_ready(w, warp, lanes);
        }
    }
}

/*
 * After a barrier of @p lanes each of them knows everything that any of them knew, and all that they did so
 * far. A lane that the mask names and that has ended takes part; one that the mask does not name is not
 * ordered, whether it has ended or not.
 */
static void order_lanes(struct worker *w, struct warp *warp, unsigned lanes)
{
    if (lanes == warp->lanes) {
        warp->known = warp->tick;
    } else {
        if (!warp->partial) memset(warp->clock, 0, sizeof warp->clock);
        warp->partial = true;
        for (unsigned other = 0; other < WARP_LANES; other++) {
            uint32_t latest = lanes >> other & 1 ? warp->tick : 0;
            for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
                const uint32_t clock = warp->clock[__builtin_ctz(rest)][other];
                if (clock > latest) latest = clock;
            }
            for (unsigned rest = lanes; rest != 0; rest &= rest - 1)
                warp->clock[__builtin_ctz(rest)][other] = latest;
        }
    }
    if (w->clocks.open) simt_clocks_share(w, warp, lanes);
    simt_new_tick(w, warp);
}

static void resolve_barriers(struct worker *w, struct warp *warp)
{
    unsigned unsettled = warp->at_barrier;
    while (unsettled != 0) {
        const struct thread *t = lane_thread(w, warp, (unsigned)__builtin_ctz(unsettled));
        const unsigned lanes = converged_lanes(w, warp, unsettled, t);
        unsettled &= ~lanes;
        if (lanes != (t->mask & warp->lanes & ~warp->exited)) continue;
        order_lanes(w, warp, t->mask & warp->lanes);
        simt_trace_meet(w, warp, t->site, TRACE_SYNCWARP, lanes);
        if (!w->grid.launch_before_over) simt_grids_share(w, warp, lanes);
        simt_acquired_share(w, warp, lanes);
        warp->at_barrier &= ~lanes;
        make_ready(w, warp, lanes);
    }
}

static void resolve_active_masks(struct worker *w, struct warp *warp)
{
    while (warp->asking != 0) {
        const unsigned lanes = converged_lanes(w, warp, warp->asking,
                                               lane_thread(w, warp, (unsigned)__builtin_ctz(warp->asking)));
        for (unsigned rest = lanes; rest != 0; rest &= rest - 1)
            lane_thread(w, warp, (unsigned)__builtin_ctz(rest))->mask = lanes;
        warp->asking &= ~lanes;
        make_ready(w, warp, lanes);
    }
}

bool simt_resolve_warp(struct worker *w, struct warp *warp)
{
    warp->ready |= warp->paused;
    warp->paused = 0;
    resolve_gathers(w, warp);
    resolve_barriers(w, warp);
    simt_resolve_named(w, warp);
    simt_resolve_products(w, warp);
    if (warp->ready == 0) resolve_active_masks(w, warp);
    return warp->ready != 0;
}

/* ---- convergence of the block ------------------------------------------------------------------------- */

/** Places where threads wait, as far as there is room: the last two are for mbarriers. */
struct waits {
    struct record_wait *wait;
    uint32_t kept, places;
};
enum { PLACES_KEPT = RECORD_WAITS - 2 };

static bool same_wait(const struct thread *a, const struct thread *b)
{
    if (a->wait != b->wait || a->site != b->site) return false;
    if (a->mask != b->mask && a->wait != WAIT_BLOCK) return false;
    return a->wait != WAIT_NAMED || a->named_id == b->named_id;
}

/* Where @p t waits, with @p count threads in all. */
static struct record_wait place_of_wait(const struct worker *w, const struct thread *t, unsigned count)
{
    const bool has_mask = t->wait != WAIT_BLOCK && t->wait != WAIT_NAMED && t->wait != WAIT_MBARRIER &&
                          t->wait != WAIT_PRODUCTS && t->wait != WAIT_CLUSTER;
    const struct simt_extent id = t->identity.thread;
    struct record_wait wait = {.waiting = has_mask ? RECORD_WAIT_MASK : RECORD_WAIT_BARRIER,
                               .count = count,
                               .thread = {id.x, id.y, id.z},
                               .number = {has_mask ? t->mask : 0},
                               .at = simt_site_line(t->site)};
    record_copy_text(wait.name, sizeof wait.name, t->site->what);
    if (t->wait != WAIT_NAMED) return wait;
    wait.waiting = RECORD_WAIT_NAMED;
    wait.number[0] = t->named_id;
    wait.number[1] = w->named.barrier[t->named_id].arrived;
    wait.number[2] = t->named_threads;
    return wait;
}

/* Each place where threads of @p w wait; @p own 0: it is another block than the one that is told of. */
static void add_places(struct waits *waits, const struct worker *w, bool own)
{
    const struct simt_extent grid = w->launch->grid;
    bool counted[MAX_THREADS] = {false};
    for (unsigned i = 0; i < w->threads; i++) {
        const struct thread *t = &w->thread[i];
        unsigned count = 0;
        if (t->wait == WAIT_NONE || counted[i]) continue;
        for (unsigned k = i; k < w->threads; k++) {
            if (!same_wait(t, &w->thread[k])) continue;
            counted[k] = true;
            count++;
        }
        waits->places++;
        if (waits->kept == PLACES_KEPT) continue;
        struct record_wait *wait = &waits->wait[waits->kept++];
        *wait = place_of_wait(w, t, count);
        wait->elsewhere = !own;
        wait->block[0] = (uint32_t)(w->block % grid.x);
        wait->block[1] = (uint32_t)(w->block / grid.x % grid.y);
        wait->block[2] = (uint32_t)(w->block / grid.x / grid.y);
    }
}

static bool has_waiting(const struct worker *w)
{
    for (unsigned i = 0; i < w->threads; i++)
        if (w->thread[i].wait != WAIT_NONE) return true;
    return false;
}

static struct thread *first_waiting(struct worker *w)
{
    struct thread *t = w->thread;
    while (t->wait == WAIT_NONE) t++;
    return t;
}

static void found_waits(struct worker *w, enum record_kind kind, enum record_message message,
                        enum record_advice advice)
{
    const struct cluster *c = w->cluster;
    struct waits waits = {calloc(RECORD_WAITS, sizeof(struct record_wait)), 0, 0};
    if (waits.wait == NULL) simt_die("out of host memory.");
    add_places(&waits, w, true);
    for (unsigned i = 0; c != NULL && i < c->size; i++)
        if (c->at[i] != w && !c->at[i]->member.over && has_waiting(c->at[i]))
            add_places(&waits, c->at[i], false);
    const struct thread *t = first_waiting(w);
    struct actor who = simt_actor_at(w, (unsigned)(t - w->thread), t->site);
    if (t->wait == WAIT_NAMED && t->pc != NULL) who.pc = simt_pack_pc(t->pc);
    if (t->wait == WAIT_MBARRIER)
        who = (struct actor){w->block, simt_pack_pc(t->pc), who.thread, SIMT_ATOMIC, NULL};
    struct finding f =
        simt_finding_says(kind, message, advice,
                          SIMT_SAYS(.wait = waits.wait, .waits = waits.kept, .places = waits.places), who);
    simt_mbarriers_describe(w, &f, waits.wait);
    simt_finding_add(&w->result->findings, &f);
}

/* A warp whose lanes did not all come to the barrier: some returned before. Whole warps may. */
static bool has_split_warp(const struct worker *w)
{
    for (unsigned i = 0; i < w->warps; i++)
        if (w->warp_of[i].at_block_barrier != 0 && w->warp_of[i].exited != 0) return true;
    return false;
}

static int vote_of_block(const struct worker *w, enum simt_vote vote)
{
    int count = 0, all = 1;
    for (unsigned i = 0; i < w->threads; i++) {
        if (w->thread[i].wait != WAIT_BLOCK) continue;
        count += w->thread[i].predicate != 0;
        all &= w->thread[i].predicate != 0;
    }
    return vote == SIMT_VOTE_COUNT ? count : vote == SIMT_VOTE_AND ? all : count != 0;
}

/* Where all barriers are such that threads may come to them at different places, it does not matter where they are. */
static bool same_site_everywhere(struct worker *w)
{
    const struct simt_site *site = first_waiting(w)->site;
    bool same = true, aligned = false;
    for (unsigned i = 0; i < w->threads; i++) {
        if (w->thread[i].wait != WAIT_BLOCK) continue;
        same &= w->thread[i].site == site;
        aligned |= w->thread[i].aligned;
    }
    return same || !aligned;
}

static void release_block(struct worker *w)
{
    const enum simt_vote vote = first_waiting(w)->vote;
    const struct simt_site *site = first_waiting(w)->site;
    uint32_t warps = 0;
    /* the grid's barrier has no vote */
    const int result = vote != SIMT_VOTE_NONE ? vote_of_block(w, vote) : 0;
    for (unsigned i = 0; i < w->warps; i++) {
        struct warp *warp = &w->warp_of[i];
        const unsigned lanes = warp->at_block_barrier;
        for (unsigned rest = vote != SIMT_VOTE_NONE ? lanes : 0; rest != 0; rest &= rest - 1)
            lane_thread(w, warp, (unsigned)__builtin_ctz(rest))->predicate = result;
        w->result->counters.barriers += lanes != 0;
        warps |= (uint32_t)(lanes != 0) << i;
        warp->at_block_barrier = 0;
        make_ready(w, warp, lanes);
    }
    simt_trace_barrier(w, site, warps);
    simt_order_block(w);
}

static bool waits_for_products(const struct worker *w)
{
    for (unsigned i = 0; i < w->warps; i++)
        if (w->warp_of[i].at_products != 0) return true;
    return false;
}

static void found_stuck(struct worker *w)
{
    if (waits_for_products(w))
        found_waits(w, RECORD_DIVERGENT_BARRIER, RECORD_SAYS_WAIT_PRODUCT, RECORD_ADVICE_WARPGROUP_TOGETHER);
    else
        found_waits(w, RECORD_DEADLOCK, RECORD_SAYS_WAIT_FOR_EVER, RECORD_ADVICE_GPU_HANGS);
    w->abandoned = true;
    w->result->error = simt_error_of(RECORD_DEADLOCK);
}

static bool waits_for_mbarrier(const struct worker *w)
{
    for (unsigned i = 0; !w->member.over && i < w->threads; i++)
        if (w->thread[i].wait == WAIT_MBARRIER) return true;
    return false;
}

/*
 * One block reports for a cluster that is stuck: the first that waits for an mbarrier, whose state says
 * most, or else the first that waits at all.
 */
static void found_stuck_cluster(struct worker *w)
{
    const struct cluster *c = w->cluster;
    unsigned first = 0;
    while (first < c->size && !waits_for_mbarrier(c->at[first])) first++;
    for (first %= c->size; c->at[first]->member.over || !has_waiting(c->at[first]);) first++;
    found_stuck(c->at[first]);
    simt_cluster_schedule_stop(w);
    w->abandoned = true;
}

/*
 * Threads wait for something outside of their block, or for an asynchronous operation: true if some may go
 * on now.
 */
static bool waits_for_cluster(struct worker *w)
{
    if (w->cluster == NULL) {
        if (simt_cluster_resolve(w) || simt_bulk_progress(w) || simt_mbarriers_time_out(w)) return true;
        found_stuck(w);
        return false;
    }
    const enum cluster_state state = simt_cluster_schedule_wait(w);
    if (state == CLUSTER_STUCK) found_stuck_cluster(w);
    if (state == CLUSTER_STOPPED) w->abandoned = true;
    return state == CLUSTER_GOES_ON;
}

static bool wait_for_grid(struct worker *w)
{
    if (simt_cluster_schedule_leave(w) == CLUSTER_STUCK) {
        found_stuck_cluster(w);
        return false;
    }
    const bool met = simt_blocks_grid_barrier(w, first_waiting(w)->site);
    simt_cluster_schedule_return(w);
    if (!met) w->abandoned = true;
    return met;
}

/* What hardware does then is not defined: it may hang, or go on with what a part of the block did. Nothing that comes after says much. */
static void found_divergent(struct worker *w)
{
    const bool same = same_site_everywhere(w);
    enum record_advice advice = same ? RECORD_ADVICE_ALL_THREADS : RECORD_ADVICE_SAME_BARRIER;
    for (unsigned i = 0; i < w->threads; i++) /* no __syncthreads mends grid.sync() */
        if (w->thread[i].wait == WAIT_BLOCK && w->thread[i].vote == SIMT_VOTE_GRID)
            advice = RECORD_ADVICE_GRID_BARRIER;
    found_waits(w, RECORD_DIVERGENT_BARRIER, same ? RECORD_SAYS_WAIT_SPLIT_WARP : RECORD_SAYS_WAIT_DIFFERENT,
                advice);
    w->abandoned = true;
    w->result->error = simt_error_of(RECORD_DEADLOCK);
}

/* No warp can go on. Returns false if the block is over, or stuck. */
bool simt_resolve_block(struct worker *w)
{
    bool waiting = false, all_at_barrier = true;
    for (unsigned i = 0; i < w->warps; i++) {
        const struct warp *warp = &w->warp_of[i];
        const unsigned live = warp->lanes & ~warp->exited;
        waiting |= live != 0;
        all_at_barrier &= warp->at_block_barrier == live;
    }
    if (!waiting) return false;
    if (!all_at_barrier) return waits_for_cluster(w);
    if (!same_site_everywhere(w) || has_split_warp(w)) {
        found_divergent(w);
        return false;
    }
    if (first_waiting(w)->vote == SIMT_VOTE_GRID && !wait_for_grid(w)) return false;
    release_block(w);
    return true;
}
