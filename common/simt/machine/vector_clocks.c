/**
 * @file vector_clocks.c
 * @brief Vector clocks of the threads of a block: joined at mbarriers, warp barriers and block barriers.
 */
#include "vector_clocks.h"
#include "cluster.h"
#include "machine.h"
#include "tools.h"
#include "worker.h"

#include <stdatomic.h>
#include <string.h>

static const struct unshared ALL_UNFENCED = {.unfenced = {UINT32_MAX, UINT32_MAX}};

/*
 * How many spaces any fence was for so far: few programs fence global memory, and the others need not pay
 * for it.
 */
static _Atomic unsigned spaces = FENCED_SHARED + 1;

static unsigned fenced_spaces(void)
{
    return atomic_load_explicit(&spaces, memory_order_relaxed);
}

/* Earlier blocks left old ticks there, which order nothing in this one; phases of another cluster's barrier would. */
static void forget_cluster_phases(struct worker *w)
{
    for (unsigned i = 0; w->clocks.has_phases && i < MAX_THREADS + NAMED_BARRIERS; i++)
        w->clocks.of[i].cluster_phase = 0;
    w->clocks.block->cluster_phase = 0;
    w->clocks.has_phases = false;
}

void simt_clocks_open(struct worker *w)
{
    if (w->clocks.open) return;
    if (w->clocks.of == NULL) {
        w->clocks.of =
            simt_reserve((MAX_THREADS + NAMED_BARRIERS) * sizeof *w->clocks.of, "the threads' clocks");
        w->clocks.scratch = simt_reserve(sizeof *w->clocks.scratch, "a clock");
        w->clocks.block = simt_reserve(sizeof *w->clocks.block, "the block's clock");
    }
    for (unsigned i = 0; i < w->warps; i++) w->warp_of[i].unshared = ALL_UNFENCED;
    w->shadow.block_mark = simt_read_mark_pair(++*w->time.clock); /* readers are kept by other rules now */
    forget_cluster_phases(w);
    w->clocks.open = true;
}

void simt_new_tick(struct worker *w, struct warp *warp)
{
    warp->tick = ++*w->time.clock;
    warp->read_mark = warp->tick;
    if (warp != w->warp) return;
    w->time.tick = warp->tick;
    w->shadow.warp_mark = simt_read_mark_pair(warp->read_mark);
}

/* ---- joining ------------------------------------------------------------------------------------------ */

static void join_range(uint32_t *to, const uint32_t *from, unsigned count)
{
    for (unsigned i = 0; i < count; i++) to[i] = from[i] > to[i] ? from[i] : to[i];
}

static void join(const struct worker *w, uint32_t *to, const uint32_t *from)
{
    join_range(to, from, w->threads);
    join_range(to + COLUMN_ASYNC, from + COLUMN_ASYNC, w->mbarriers.count);
    join_range(to + COLUMN_ALL, from + COLUMN_ALL, COLUMNS - COLUMN_ALL);
}

static void join_both(const struct worker *w, struct vector_clock *to, const struct vector_clock *from)
{
    join(w, to->ordered, from->ordered);
    for (unsigned i = 0; i < fenced_spaces(); i++) join(w, to->fenced[i], from->fenced[i]);
}

/* What @p clock, one of @p w's block, knows of the block of @p rank; made if there is nothing yet. */
static struct vector_clock *peer_of(struct worker *w, struct vector_clock *clock, unsigned rank)
{
    enum { TOGETHER = 256 };
    if (rank == w->member.rank) return clock;
    if (clock->peer[rank] == NULL) {
        if (w->clocks.pool_left == 0) {
            w->clocks.pool = simt_reserve(TOGETHER * sizeof *w->clocks.pool, "clocks of other blocks");
            w->clocks.pool_left = TOGETHER;
        }
        w->clocks.pool_left--;
        clock->peer[rank] = w->clocks.pool++;
    }
    return clock->peer[rank];
}

/* The same for clocks of different blocks of a cluster. */
static void join_across(struct worker *to_block, struct vector_clock *to, const struct worker *from_block,
                        const struct vector_clock *from)
{
    const struct cluster *c = from_block->cluster;
    for (unsigned rank = 0; rank < c->size; rank++) {
        const struct vector_clock *known = simt_clock_of_rank(from_block, from, rank);
        if (known != NULL) join_both(c->block[rank], peer_of(to_block, to, rank), known);
    }
    if (from->cluster_phase > to->cluster_phase) to->cluster_phase = from->cluster_phase;
}

void simt_clock_join(struct worker *w, struct vector_clock *to, const struct vector_clock *from)
{
    if (w->cluster != NULL)
        join_across(w, to, w, from);
    else
        join_both(w, to, from);
}

static void clear_columns(const struct worker *w, struct vector_clock *clock)
{
    uint32_t *row[] = {clock->ordered, clock->fenced[FENCED_SHARED], clock->fenced[FENCED_GLOBAL]};
    for (unsigned i = 0; i <= fenced_spaces(); i++) {
        memset(row[i], 0, w->threads * sizeof *row[i]);
        memset(row[i] + COLUMN_ASYNC, 0, w->mbarriers.count * sizeof *row[i]);
        memset(row[i] + COLUMN_ALL, 0, (COLUMNS - COLUMN_ALL) * sizeof *row[i]);
    }
}

void simt_clock_clear(const struct worker *w, struct vector_clock *clock)
{
    const struct cluster *c = w->cluster;
    clear_columns(w, clock);
    for (unsigned rank = 0; c != NULL && rank < c->size; rank++)
        if (clock->peer[rank] != NULL) clear_columns(c->block[rank], clock->peer[rank]);
    clock->cluster_phase = 0;
}

struct vector_clock *simt_clock_complete(const struct worker *w)
{
    struct vector_clock *own = &w->clocks.of[w->thread_index];
    const unsigned mine = w->thread_index / WARP_LANES;
    for (unsigned warp = 0; warp < w->warps; warp++) {
        uint32_t *column = own->ordered + (size_t)warp * WARP_LANES;
        for (unsigned lane = 0; lane < WARP_LANES; lane++) {
            const uint32_t tick = warp == mine ? simt_lane_known(w, lane) : w->warp->clock_of_warp[warp];
            if (tick > column[lane]) column[lane] = tick;
        }
    }
    own->ordered[w->thread_index] = w->time.tick;
    if (w->cluster != NULL && w->time.last_barrier > own->ordered[COLUMN_ALL])
        own->ordered[COLUMN_ALL] = w->time.last_barrier;
    return own;
}

/* ---- what threads do ---------------------------------------------------------------------------------- */

void simt_clock_release(struct worker *w, struct worker *owner, struct vector_clock *to)
{
    if (owner == w) {
        simt_clock_join(w, to, simt_clock_complete(w));
    } else {
        join_across(owner, to, w, simt_clock_complete(w));
        join_across(owner, to, w, w->clocks.block);
    }
    simt_new_tick(w, w->warp);
}

static struct warp *warp_of(struct worker *w, unsigned thread)
{
    return &w->warp_of[thread / WARP_LANES];
}

void simt_clock_acquire(struct worker *w, unsigned thread, const struct vector_clock *from)
{
    simt_clock_join(w, &w->clocks.of[thread], from);
    simt_clocks_mark_unshared(warp_of(w, thread), 1u << thread % WARP_LANES);
}

/* ---- the cluster's barrier ---------------------------------------------------------------------------- */

/* Adds a clock of the running block to what will be known to all. */
static void join_known(struct worker *w, struct vector_clock *const *known, const struct vector_clock *from)
{
    struct cluster *c = w->cluster;
    for (unsigned rank = 0; rank < c->size; rank++) {
        const struct vector_clock *one = simt_clock_of_rank(w, from, rank);
        if (one != NULL) join_both(c->block[rank], known[rank], one);
    }
}

/*
 * Every thread adds what it did itself and what its own warp and named barriers order: what they know of
 * each other by barriers of the block need not be added by each.
 */
void simt_clock_cluster_arrive(struct worker *w, uint32_t tick)
{
    struct cluster *c = w->cluster;
    struct vector_clock *const *known = c->known[(c->phase + 1) % PHASES_KEPT];
    uint32_t *ordered = known[w->member.rank]->ordered;
    const unsigned mine = w->thread_index / WARP_LANES, lane = w->thread_index % WARP_LANES;
    for (unsigned i = 0; i < WARP_LANES; i++)
        if (simt_lane_known(w, i) > ordered[mine * WARP_LANES + i])
            ordered[mine * WARP_LANES + i] = simt_lane_known(w, i);
    for (unsigned i = 0; w->named.used && i < w->threads; i++)
        if (i / WARP_LANES != mine && w->warp->clock_of_warp[i / WARP_LANES] > ordered[i])
            ordered[i] = w->warp->clock_of_warp[i / WARP_LANES];
    if (tick > ordered[w->thread_index]) ordered[w->thread_index] = tick;
    if (c->joined[w->member.rank] != w->time.last_barrier) {
        c->joined[w->member.rank] = w->time.last_barrier;
        join_known(w, known, w->clocks.block);
        if (w->time.last_barrier > ordered[COLUMN_ALL]) ordered[COLUMN_ALL] = w->time.last_barrier;
    }
    if ((w->warp->unshared.block | w->warp->unshared.block_fence) >> lane & 1)
        join_known(w, known, &w->clocks.of[w->thread_index]);
    simt_new_tick(w, w->warp);
}

void simt_clock_cluster_wait(struct worker *w, uint32_t cluster_phase)
{
    struct vector_clock *own = &w->clocks.of[w->thread_index];
    if (cluster_phase > own->cluster_phase) own->cluster_phase = cluster_phase;
    w->clocks.has_phases = true;
    w->warp->unshared.cluster_phase |= 1u << w->thread_index % WARP_LANES;
    for (unsigned i = 0; i < FENCED_SPACES; i++)
        w->warp->unshared.unfenced[i] |= 1u << w->thread_index % WARP_LANES;
}

uint32_t simt_clock_cluster_phase(const struct worker *w)
{
    const uint32_t own = w->clocks.of[w->thread_index].cluster_phase, block = w->clocks.block->cluster_phase;
    return own > block ? own : block;
}

void simt_clocks_join_block(struct worker *w, struct vector_clock *to)
{
    simt_clock_clear(w, to);
    simt_clock_join(w, to, w->clocks.block);
    for (unsigned i = 0; i < w->threads; i++) simt_clock_join(w, to, &w->clocks.of[i]);
}

void simt_clocks_grid_barrier(struct cluster *c)
{
    const uint32_t now = ++c->clock;
    for (unsigned from = 0; from < c->size; from++) {
        struct worker *w = c->at[from];
        simt_clocks_join_block(w, w->clocks.scratch);
        for (unsigned to = 0; to < c->size; to++) {
            if (to == from) continue;
            join_across(c->at[to], c->at[to]->clocks.block, w, w->clocks.scratch);
            peer_of(c->at[to], c->at[to]->clocks.block, w->member.rank)->ordered[COLUMN_ALL] = now;
        }
    }
}

/* Warp barriers order lanes without vector clocks, so for the own warp each fence covers something new. */
static void fence_own_warp(const struct worker *w, struct vector_clock *own, enum fenced_space space)
{
    const size_t first = w->thread_index / WARP_LANES * WARP_LANES;
    for (unsigned lane = 0; lane < WARP_LANES; lane++) {
        const uint32_t tick = simt_lane_known(w, lane);
        if (tick > own->ordered[first + lane]) own->ordered[first + lane] = tick;
    }
    own->ordered[w->thread_index] = w->time.tick;
    join_range(own->fenced[space] + first, own->ordered + first, WARP_LANES);
}

/*
 * What the thread knows of other blocks. What it knows by the cluster's barrier is covered up to the end of
 * that phase.
 */
static void fence_peers(struct worker *w, struct vector_clock *own, enum fenced_space space)
{
    const struct cluster *c = w->cluster;
    const uint32_t cluster_phase = simt_clock_cluster_phase(w);
    for (unsigned rank = 0; rank < c->size; rank++) {
        if (cluster_phase == 0 && own->peer[rank] == NULL && w->clocks.block->peer[rank] == NULL) continue;
        struct vector_clock *peer = peer_of(w, own, rank);
        if (rank != w->member.rank) join(c->block[rank], peer->fenced[space], peer->ordered);
        if (rank != w->member.rank && w->clocks.block->peer[rank] != NULL)
            join(c->block[rank], peer->fenced[space], w->clocks.block->peer[rank]->ordered);
        const uint32_t end = cluster_phase > 0 ? c->phase_end[cluster_phase % PHASES_KEPT] : 0;
        if (end > peer->fenced[space][COLUMN_ALL]) peer->fenced[space][COLUMN_ALL] = end;
    }
}

static void fence(struct worker *w, enum fenced_space space)
{
    struct unshared *unshared = &w->warp->unshared;
    const unsigned bit = 1u << w->thread_index % WARP_LANES;
    struct vector_clock *own = &w->clocks.of[w->thread_index];
    if (unshared->unfenced[space] & bit) {
        own = simt_clock_complete(w);
        join(w, own->fenced[space], own->ordered);
        if (w->cluster != NULL) fence_peers(w, own, space);
        unshared->unfenced[space] &= ~bit;
        unshared->warp |= bit;
        unshared->block |= bit;
    } else {
        fence_own_warp(w, own, space);
        unshared->warp_fence |= bit;
        unshared->block_fence |= bit;
    }
    if (w->time.last_barrier > own->fenced[space][COLUMN_ALL])
        own->fenced[space][COLUMN_ALL] = w->time.last_barrier;
}

void simt_proxy_fence(int shared, int global)
{
    struct worker *w = simt_tls_worker;
    if (w == NULL) return;
    simt_clocks_open(w);
    if (global) atomic_store_explicit(&spaces, FENCED_SPACES, memory_order_relaxed);
    if (shared) fence(w, FENCED_SHARED);
    if (global) fence(w, FENCED_GLOBAL);
    if (global) w->result->proxy_fence.last = w->time.tick;
    if (global && w->result->proxy_fence.first == 0) w->result->proxy_fence.first = w->time.tick;
    simt_new_tick(w, w->warp);
}

/* ---- barriers ----------------------------------------------------------------------------------------- */

void simt_clocks_collect(struct worker *w, const struct warp *warp, unsigned lanes, struct vector_clock *to)
{
    const struct vector_clock *first = &w->clocks.of[(size_t)(warp - w->warp_of) * WARP_LANES];
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1)
        simt_clock_join(w, to, &first[__builtin_ctz(rest)]);
}

void simt_clocks_mark_unshared(struct warp *warp, unsigned lanes)
{
    warp->unshared.warp |= lanes;
    warp->unshared.block |= lanes;
    for (unsigned i = 0; i < FENCED_SPACES; i++) warp->unshared.unfenced[i] |= lanes;
}

/* Adds what the lanes' own fences have changed in their clocks. */
static void collect_fences(const struct worker *w, const struct warp *warp, unsigned lanes,
                           struct vector_clock *to)
{
    const size_t first = (size_t)(warp - w->warp_of) * WARP_LANES;
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
        const struct vector_clock *from = &w->clocks.of[first + (unsigned)__builtin_ctz(rest)];
        for (unsigned i = 0; i < fenced_spaces(); i++) {
            join_range(to->fenced[i] + first, from->fenced[i] + first, WARP_LANES);
            join_range(to->fenced[i] + COLUMN_ALL, from->fenced[i] + COLUMN_ALL, 1);
        }
    }
}

static void share_fences(struct worker *w, struct warp *warp, unsigned lanes)
{
    const size_t first = (size_t)(warp - w->warp_of) * WARP_LANES;
    struct vector_clock *all = w->clocks.scratch;
    for (unsigned i = 0; i < fenced_spaces(); i++) {
        memset(all->fenced[i] + first, 0, WARP_LANES * sizeof all->fenced[i][0]);
        all->fenced[i][COLUMN_ALL] = 0;
    }
    collect_fences(w, warp, lanes, all);
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
        struct vector_clock *to = &w->clocks.of[first + (unsigned)__builtin_ctz(rest)];
        for (unsigned i = 0; i < fenced_spaces(); i++) {
            join_range(to->fenced[i] + first, all->fenced[i] + first, WARP_LANES);
            join_range(to->fenced[i] + COLUMN_ALL, all->fenced[i] + COLUMN_ALL, 1);
        }
    }
    warp->unshared.warp_fence = lanes == warp->lanes ? 0 : warp->unshared.warp_fence | lanes;
    warp->unshared.block_fence |= lanes;
}

/* Gives all lanes the highest of their cluster phases; returns it. */
static uint32_t share_cluster_phases(struct worker *w, struct warp *warp, unsigned lanes)
{
    struct vector_clock *first = &w->clocks.of[(size_t)(warp - w->warp_of) * WARP_LANES];
    uint32_t cluster_phase = 0;
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1)
        if (first[__builtin_ctz(rest)].cluster_phase > cluster_phase)
            cluster_phase = first[__builtin_ctz(rest)].cluster_phase;
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1)
        first[__builtin_ctz(rest)].cluster_phase = cluster_phase;
    return cluster_phase;
}

void simt_clocks_share(struct worker *w, struct warp *warp, unsigned lanes)
{
    struct vector_clock *first = &w->clocks.of[(size_t)(warp - w->warp_of) * WARP_LANES];
    if (warp->unshared.cluster_phase & lanes) {
        (void)share_cluster_phases(w, warp, lanes);
        warp->unshared.cluster_phase |= lanes;
        for (unsigned i = 0; i < FENCED_SPACES; i++) warp->unshared.unfenced[i] |= lanes;
    }
    if ((warp->unshared.warp & lanes) == 0) {
        if (warp->unshared.warp_fence & lanes) share_fences(w, warp, lanes);
        return;
    }
    simt_clock_clear(w, w->clocks.scratch);
    simt_clocks_collect(w, warp, lanes, w->clocks.scratch);
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1)
        simt_clock_join(w, &first[__builtin_ctz(rest)], w->clocks.scratch);
    simt_clocks_mark_unshared(
        warp, lanes); /* what each of them has now, lanes outside of the barrier may not have */
    if (lanes == warp->lanes) warp->unshared.warp = warp->unshared.warp_fence = 0;
}

void simt_clocks_share_all(struct worker *w)
{
    const bool learned = w->cluster != NULL;
    for (unsigned i = 0; i < w->warps; i++) {
        struct warp *warp = &w->warp_of[i];
        if (warp->unshared.cluster_phase != 0) {
            const uint32_t cluster_phase = share_cluster_phases(w, warp, warp->unshared.cluster_phase);
            if (cluster_phase > w->clocks.block->cluster_phase)
                w->clocks.block->cluster_phase = cluster_phase;
        }
        simt_clocks_collect(w, warp, warp->unshared.block, w->clocks.block);
        collect_fences(w, warp, warp->unshared.block_fence & ~warp->unshared.block, w->clocks.block);
        struct unshared kept = {0};
        memcpy(kept.unfenced, warp->unshared.unfenced, sizeof kept.unfenced);
        warp->unshared = learned ? ALL_UNFENCED : kept;
    }
}
