/**
 * @file vector_clocks.h
 * @brief Vector clocks: what each thread knows of the others by mbarriers, and by proxy fences.
 *
 * A barrier of a block or a warp orders everything before it, so one tick is enough (happens_before.h). An
 * mbarrier orders less: a wait for a phase happens after what the arriving threads did before they arrived,
 * and after the asynchronous copies that completed on it. So each thread has a tick for every other thread
 * and every mbarrier: what they did up to it happens before what the thread does now.
 */
#pragma once

#include "sizes.h"

#include <stdbool.h>
#include <stdint.h>

struct cluster;
struct worker;
struct warp;

enum {
    MBARRIERS = 512,            /* initialised at once in a block */
    COLUMN_ASYNC = MAX_THREADS, /* + i: what asynchronous copies that complete on mbarrier i have written */
    COLUMN_ALL = COLUMN_ASYNC + MBARRIERS, /* what anybody of the block did before this tick */
    COLUMN_PRODUCT = COLUMN_ALL + 1,       /* + i: what the completed products of warpgroup i have read */
    COLUMNS = COLUMN_PRODUCT + MAX_WARPS / 4,
    /* + i: an actor of another block of the cluster (cluster.h); no clock has a column for it */
    FOREIGN = 1600,
    FOREIGN_ACTORS = 6592,
};

/** @brief What memory a fence.proxy.async is for. One that does not say so is for both. */
enum fenced_space { FENCED_SHARED, FENCED_GLOBAL, FENCED_SPACES };

/** @brief Ticks by column: a thread, the copies of an mbarrier, or the products of a warpgroup. */
struct vector_clock {
    uint32_t ordered[COLUMNS];               /**< happens before what comes now */
    uint32_t fenced[FENCED_SPACES][COLUMNS]; /**< and is fenced for that memory */
    /** the same for the other blocks of the cluster, by rank; NULL: nothing is known */
    struct vector_clock *peer[MAX_CLUSTER];
    uint32_t cluster_phase; /**< phases of the cluster's barrier that were waited for */
};

/**
 * @brief Lanes of a warp whose clocks have entries that are not shared yet. If only their own fences are
 * new, few columns are.
 */
struct unshared {
    unsigned warp, warp_fence;        /**< with the other lanes of the warp */
    unsigned block, block_fence;      /**< with the other warps */
    unsigned unfenced[FENCED_SPACES]; /**< lanes whose clocks have grown since their last fence */
    /** lanes that have waited at the cluster's barrier since the last of the block */
    unsigned cluster_phase;
};

/** @brief From now on the block keeps vector clocks. */
void simt_clocks_open(struct worker *w);
/** @brief Joins @p from into @p to. */
void simt_clock_join(struct worker *w, struct vector_clock *to, const struct vector_clock *from);
void simt_clock_clear(const struct worker *w, struct vector_clock *clock);
/**
 * @brief Releases: what the running thread did and knows so far is joined into @p to, a clock of @p owner's
 * block. What it does next has a new tick.
 */
void simt_clock_release(struct worker *w, struct worker *owner, struct vector_clock *to);
/**
 * @brief The running thread arrives at the cluster's barrier: what it did until @p tick, and what it knows,
 * is joined into the clocks of this phase.
 */
void simt_clock_cluster_arrive(struct worker *w, uint32_t tick);
/** @brief For how many phases of the cluster's barrier the running thread, or one that it knows of, has waited. */
uint32_t simt_clock_cluster_phase(const struct worker *w);
/** @brief The running thread has waited for @p cluster_phase phases of the cluster's barrier. */
void simt_clock_cluster_wait(struct worker *w, uint32_t cluster_phase);
/** @brief Sets @p to to the join of the clocks of all threads of the block. */
void simt_clocks_join_block(struct worker *w, struct vector_clock *to);
/**
 * @brief All threads of all blocks of a cluster were at the barrier of the grid: they know all that any of
 * them knew.
 */
void simt_clocks_grid_barrier(struct cluster *c);
/** @brief Completes the running thread's clock by what warp barriers and named barriers order, which is kept in struct warp. */
struct vector_clock *simt_clock_complete(const struct worker *w);
/** @brief Acquires: @p from is joined into the clock of thread @p thread. */
void simt_clock_acquire(struct worker *w, unsigned thread, const struct vector_clock *from);
/**
 * @brief The clocks of these lanes of a warp have grown, and the other lanes and warps have to be given a
 * share.
 */
void simt_clocks_mark_unshared(struct warp *warp, unsigned lanes);
/** @brief A warp barrier of @p lanes: each gets what any of them knows. */
void simt_clocks_share(struct worker *w, struct warp *warp, unsigned lanes);
/** @brief A barrier of the block: the block's clock gets what any of its threads knows. */
void simt_clocks_share_all(struct worker *w);
/**
 * @brief Joins the clocks of some lanes of a warp into @p to; what these lanes did themselves is known by
 * their ticks.
 */
void simt_clocks_collect(struct worker *w, const struct warp *warp, unsigned lanes, struct vector_clock *to);
/** @brief A new tick for the running warp: what it does now comes after what it did before. */
void simt_new_tick(struct worker *w, struct warp *warp);
