/**
 * @file happens_before.h
 * @brief Whether something happens before what the running thread does now. Every check of an order asks here.
 *
 * When something happened is an epoch: an actor and a tick. A tick is a number of one counter that only goes
 * up: each worker has one, and the blocks of a cluster share one. Every operation that orders something takes
 * a new tick, so that what a warp does before it and what it does after it have different ones.
 *
 *     tick         10        11            12          13
 *     warp 0   --- write ---- __syncthreads ----------- write --- mbarrier.arrive ---
 *     warp 1   ------- read -- __syncthreads -- read --------------------- mbarrier wait --- read
 *
 * What a thread knows to be over is kept where it costs least:
 *
 *     who may rely on it               kept as                                set by
 *     1  the block, of the block       time.last_barrier                      __syncthreads
 *     2  a lane, of its warp           warp.known: one tick for all lanes     __syncwarp of the whole warp
 *                                      warp.clock: a tick for each pair       __syncwarp of some lanes
 *     3  a warp, of another warp       warp.clock_of_warp                     bar.sync, bar.arrive with a number
 *     4  a thread, of any actor        vector_clock.ordered, .fenced          mbarrier, wgmma.wait_group; fence.proxy.async
 *        ... of another block          vector_clock.peer[rank]                mbarrier of another block
 *        ... after a cluster's barrier cluster.known[phase % 3][rank]         barrier.cluster
 *     5  a block, of another block     phases of a block and of its cluster   __threadfence and atomics; barrier.cluster
 *
 * 1 to 4 are ticks, compared here. 5 is compared when blocks are over, in block order (inter_block.c): until then nobody knows
 * which block an atomic met.
 */
#pragma once

#include "sizes.h"
#include "vector_clocks.h"
#include "worker.h"

#include <stdbool.h>
#include <stdint.h>

/** @brief When somebody did something. */
struct epoch {
    /** whose memory it was done to: actors are numbered as that block's shadow cells number them */
    const struct worker *block;
    unsigned actor; /**< a thread, a column of a vector clock, or at least FOREIGN: of another block */
    uint32_t tick;
};

/** @brief What must be between. */
enum edge {
    EDGE_SYNCHRONISED,  /**< a barrier, an mbarrier, a wait: an access after it does not race */
    EDGE_FENCED_SHARED, /**< and a fence.proxy.async for shared memory, */
    EDGE_FENCED_GLOBAL, /**< or for global memory */
    EDGE_BEGUN,         /**< of another block: something by which it is known to have begun */
};

/** @brief simt_happens_before() of an epoch of another block of the cluster. */
bool simt_happens_before_across(const struct worker *w, struct epoch e, enum edge edge);
/**
 * @brief The same by vector clocks alone: of column @p column of the block of @p rank, or of an actor that
 * is at least FOREIGN.
 */
bool simt_clock_knows(const struct worker *w, unsigned rank, unsigned column, uint32_t tick, enum edge edge);
bool simt_knows_foreign(const struct worker *w, unsigned actor, uint32_t tick, enum edge edge);
/** @brief Whether @p clock, one of @p w's block, has the epoch, whoever runs. */
bool simt_clock_has(const struct worker *w, const struct vector_clock *clock, struct epoch e);
/** @brief A barrier of the whole block, or its beginning: what was done before happens before all that comes. */
void simt_order_block(struct worker *w);

static inline bool simt_synchronised(const struct worker *w, unsigned actor, uint32_t tick)
{
    if (actor < MAX_THREADS) {
        if (tick < w->time.last_barrier || actor == w->thread_index) return true;
        if (actor / WARP_LANES != w->thread_index / WARP_LANES) {
            if (tick <= w->warp->clock_of_warp[actor / WARP_LANES]) return true;
        } else if (tick <= simt_lane_known(w, actor % WARP_LANES)) {
            return true;
        }
    }
    if (actor >= FOREIGN) return simt_knows_foreign(w, actor, tick, EDGE_SYNCHRONISED);
    return w->clocks.open &&
           (tick <= w->clocks.of[w->thread_index].ordered[actor] || tick <= w->clocks.block->ordered[actor] ||
            (w->cluster != NULL && simt_clock_knows(w, w->member.rank, actor, tick, EDGE_SYNCHRONISED)));
}

static inline bool simt_fenced(const struct worker *w, unsigned actor, uint32_t tick, enum edge edge)
{
    const enum fenced_space space = edge == EDGE_FENCED_SHARED ? FENCED_SHARED : FENCED_GLOBAL;
    if (!w->clocks.open) return false;
    if (actor >= FOREIGN) return simt_knows_foreign(w, actor, tick, edge);
    const uint32_t *own = w->clocks.of[w->thread_index].fenced[space],
                   *block = w->clocks.block->fenced[space];
    return tick <= own[actor] || tick <= block[actor] || tick < own[COLUMN_ALL] || tick < block[COLUMN_ALL] ||
           (w->cluster != NULL && simt_clock_knows(w, w->member.rank, actor, tick, edge));
}

/** @brief Whether @p e happens before what the running thread, which is @p w's, does now. */
static inline __attribute__((always_inline)) bool simt_happens_before(const struct worker *w, struct epoch e,
                                                                      enum edge edge)
{
    if (e.block != w) return simt_happens_before_across(w, e, edge);
    if (edge == EDGE_SYNCHRONISED) return simt_synchronised(w, e.actor, e.tick);
    return simt_fenced(w, e.actor, e.tick, edge);
}
