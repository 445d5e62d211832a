/**
 * @file vector_clocks.h
 * @brief What each thread knows of the others by mbarriers: vector clocks, one for order and one for proxy fences.
 *
 * A barrier of a block or a warp orders everything before it, so that one tick says enough (fences.h). An mbarrier orders less:
 * whoever waits for a phase comes after what the arriving threads did before they arrived, and after the asynchronous copies
 * that completed on it. So each thread has, for every other thread and every mbarrier, the tick up to which it knows.
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
    FOREIGN =
        1600, /* + i: an actor of another block of the cluster (cluster.h); no clock has a column for it */
    FOREIGN_ACTORS = 6592,
};

/** @brief What a fence.proxy.async is for: without a word for it, both. */
enum fenced_space { FENCED_SHARED, FENCED_GLOBAL, FENCED_SPACES };

/** @brief Ticks by column: a thread, the copies of an mbarrier, or the products of a warpgroup. */
struct vector_clock {
    uint32_t ordered[COLUMNS];               /**< ordered before what comes now */
    uint32_t fenced[FENCED_SPACES][COLUMNS]; /**< and a fence.proxy.async for that memory was between */
    struct vector_clock
        *peer[MAX_CLUSTER]; /**< the same of the other blocks of the cluster, by rank; NULL: nothing */
    uint32_t cluster_phase; /**< phases of the cluster's barrier that are over, and waited for */
};

/** @brief Lanes of a warp whose clocks have what others' have not. Where only a fence of their own is new, few columns are. */
struct unshared {
    unsigned warp, warp_fence;        /**< what the other lanes may not know */
    unsigned block, block_fence;      /**< what the other warps may not know */
    unsigned unfenced[FENCED_SPACES]; /**< lanes that have learned something since their last fence */
    unsigned
        cluster_phase; /**< lanes that have waited at the cluster's barrier since the last of the block */
};

/** @brief From now on the block keeps clocks. */
void simt_clocks_open(struct worker *w);
/** @brief Adds to @p to all that @p from has. */
void simt_clock_join(struct worker *w, struct vector_clock *to, const struct vector_clock *from);
void simt_clock_clear(const struct worker *w, struct vector_clock *clock);
/** @brief What the running thread did and knows so far goes to @p to, a clock of @p owner's block; what it does next does not. */
void simt_clock_release(struct worker *w, struct worker *owner, struct vector_clock *to);
/** @brief The running thread arrives at the cluster's barrier: the same for the clocks of all who will have waited for this phase.
 *         They know what it did until @p tick. */
void simt_clock_cluster_arrive(struct worker *w, uint32_t tick);
/** @brief For how many phases of the cluster's barrier the running thread, or one that it knows of, has waited. */
uint32_t simt_clock_cluster_phase(const struct worker *w);
/** @brief The running thread has waited for @p epoch phases of the cluster's barrier. */
void simt_clock_cluster_wait(struct worker *w, uint32_t cluster_phase);
/** @brief What all threads of the block know together goes to @p to. */
void simt_clocks_join_block(struct worker *w, struct vector_clock *to);
/** @brief All threads of all blocks of a cluster have met, at the barrier of the grid. */
void simt_clocks_grid_barrier(struct cluster *c);
/** @brief Thread @p thread has waited for what @p from has. */
void simt_clock_acquire(struct worker *w, unsigned thread, const struct vector_clock *from);
/** @brief These lanes of a warp have learned something from others. */
void simt_clocks_mark_unshared(struct warp *warp, unsigned lanes);
/** @brief The lanes of a warp barrier know what each of them knows. */
void simt_clocks_share(struct worker *w, struct warp *warp, unsigned lanes);
/** @brief The same for all threads of the block. */
void simt_clocks_share_all(struct worker *w);
/** @brief Adds to @p to what some lanes of a warp know (by clocks; what they did is known by ticks). */
void simt_clocks_collect(struct worker *w, const struct warp *warp, unsigned lanes, struct vector_clock *to);
/** @brief A new tick for the running warp: what it does now comes after what it did before. */
void simt_new_tick(struct worker *w, struct warp *warp);
