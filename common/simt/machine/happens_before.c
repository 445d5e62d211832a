/**
 * @file happens_before.c
 * @brief Orders that only vector clocks know, above all those between the blocks of a cluster; and what a block barrier orders.
 */
#include "happens_before.h"
#include "cluster.h"
#include "sizes.h"
#include "vector_clocks.h"
#include "worker.h"

#include <stdbool.h>
#include <stddef.h>

/* COLUMN_ALL stands for all threads of the block; only a fence covers copies and products by it, too. */
static bool has(const struct vector_clock *clock, unsigned column, uint32_t tick, enum edge edge)
{
    if (clock == NULL) return false;
    if (edge == EDGE_SYNCHRONISED)
        return tick <= clock->ordered[column] || (column < MAX_THREADS && tick < clock->ordered[COLUMN_ALL]);
    const uint32_t *fenced = clock->fenced[edge == EDGE_FENCED_SHARED ? FENCED_SHARED : FENCED_GLOBAL];
    return tick <= fenced[column] || tick < fenced[COLUMN_ALL];
}

/* What all threads know that have waited for so many phases of the cluster's barrier. */
static const struct vector_clock *known_after_phase(const struct worker *w, uint32_t phase, unsigned rank)
{
    return phase > 0 ? w->cluster->known[phase % PHASES_KEPT][rank] : NULL;
}

bool simt_clock_has(const struct worker *w, const struct vector_clock *clock, struct epoch e)
{
    const unsigned rank = e.block->member.rank;
    return has(simt_clock_of_rank(w, clock, rank), e.actor, e.tick, EDGE_SYNCHRONISED) ||
           has(known_after_phase(w, clock->cluster_phase, rank), e.actor, e.tick, EDGE_SYNCHRONISED);
}

bool simt_clock_knows(const struct worker *w, unsigned rank, unsigned column, uint32_t tick, enum edge edge)
{
    if (!w->clocks.open) return false;
    return has(simt_clock_of_rank(w, &w->clocks.of[w->thread_index], rank), column, tick, edge) ||
           has(simt_clock_of_rank(w, w->clocks.block, rank), column, tick, edge) ||
           has(known_after_phase(w, simt_clock_cluster_phase(w), rank), column, tick, edge);
}

/* Several threads may share an actor's number (cluster.h's grain): what is known of one of them counts for all. */
bool simt_knows_foreign(const struct worker *w, unsigned actor, uint32_t tick, enum edge edge)
{
    const unsigned grain = w->cluster->grain, first = (actor - FOREIGN) * grain;
    for (unsigned i = first; i < first + grain; i++)
        if (simt_clock_knows(w, i / w->threads, i % w->threads, tick, edge)) return true;
    return false;
}

static bool knows_begin(const struct worker *w, const struct worker *other)
{
    const struct vector_clock *own = w->clocks.of[w->thread_index].peer[other->member.rank],
                              *block = w->clocks.block->peer[other->member.rank];
    return simt_clock_cluster_phase(w) > 0 ||
           (own != NULL && own->ordered[COLUMN_ALL] >= other->time.block_start) ||
           (block != NULL && block->ordered[COLUMN_ALL] >= other->time.block_start);
}

bool simt_happens_before_across(const struct worker *w, struct epoch e, enum edge edge)
{
    const struct worker *other = e.block;
    if (edge == EDGE_BEGUN) return knows_begin(w, other);
    if (edge == EDGE_SYNCHRONISED) {
        if (e.tick < other->time.block_start) return true; /* left there by an earlier block */
        if (e.actor >= FOREIGN && e.actor == simt_foreign_actor(w, w->thread_index)) return true;
    }
    if (e.actor < FOREIGN) return simt_clock_knows(w, other->member.rank, e.actor, e.tick, edge);
    const unsigned thread = (e.actor - FOREIGN) * w->cluster->grain;
    if (thread / w->threads != w->member.rank) return simt_knows_foreign(w, e.actor, e.tick, edge);
    return simt_happens_before(w, (struct epoch){w, thread % w->threads, e.tick}, edge);
}

void simt_order_block(struct worker *w)
{
    if (w->clocks.open) simt_clocks_share_all(w);
    w->mbarriers.idle = 0;
    w->time.last_barrier = ++*w->time.clock;
    w->time.all_ordered_before = w->cluster == NULL ? w->time.last_barrier : w->time.block_start;
    w->shadow.block_mark = simt_read_mark_pair(++*w->time.clock);
    w->grid.launch_before_over = w->result->grids_waited;
    w->grid.acquired |= w->grid.met;
    for (unsigned i = 0; i < w->warps; i++) {
        struct warp *warp = &w->warp_of[i];
        warp->tick = ++*w->time.clock;
        warp->read_mark = warp->tick;
        warp->known = w->time.last_barrier;
        warp->partial = false;
    }
}
