/**
 * @file shadow_cell.h
 * @brief One shadow cell: who read it, whether that reader may give way, and when further reads of it may be skipped.
 *
 * Functions here are inline, as every access to shared memory that must be looked at comes through them.
 */
#pragma once

#include "happens_before.h"
#include "shadow.h"
#include "shadow_findings.h"
#include "sizes.h"
#include "worker.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a bulk copy of this block has not yet read there. */
static inline __attribute__((always_inline)) bool simt_is_busy(const struct worker *w,
                                                               const struct shadow_cell *c, int slot)
{
    return c->reader[slot] & BUSY_READER && c->read_tick[slot] >= w->time.block_start;
}

static inline bool simt_same_warp(unsigned a, unsigned b)
{
    return simt_thread_of(a) / WARP_LANES == simt_thread_of(b) / WARP_LANES;
}

static inline bool simt_cell_happens_before(const struct worker *w, unsigned actor, uint32_t tick)
{
    return simt_happens_before(w, (struct epoch){w, actor, tick}, EDGE_SYNCHRONISED);
}

static inline __attribute__((always_inline)) void simt_set_reader(const struct shadow_access *now,
                                                                  struct shadow_cell *c, int slot)
{
    c->reader[slot] =
        (uint16_t)(now->w->thread_index | (now->access & ACCESS_VOLATILE ? VOLATILE_READER : 0) |
                   (now->access & ACCESS_BULK ? BUSY_READER | ASYNC_READER : 0) |
                   (now->access & ACCESS_ASYNC ? ASYNC_READER : 0));
    c->read_tick[slot] = now->w->time.tick;
    c->read_pc[slot] = now->pc;
}

/*
 * Whether the reader in the slot may be replaced by the running thread: it happens before it, so a write
 * that happens after the running thread's read happens after that reader's, too.
 */
static inline __attribute__((always_inline)) bool simt_is_replaceable(const struct worker *w,
                                                                      const struct shadow_cell *c, int slot)
{
    const unsigned reader = simt_thread_of(c->reader[slot]);
    if (simt_is_busy(w, c, slot)) return false;
    if (reader == w->thread_index || c->read_tick[slot] < w->time.all_ordered_before) return true;
    return (w->named.used || w->clocks.open) && simt_cell_happens_before(w, reader, c->read_tick[slot]);
}

/*
 * Keeps the running thread as a reader, if need be in place of one that matters less: see struct
 * shadow_cell.
 */
static inline __attribute__((always_inline)) void simt_note_reader(const struct shadow_access *now,
                                                                   struct shadow_cell *c)
{
    const struct worker *w = now->w;
    const unsigned me = w->thread_index;
    const bool bulk = (now->access & ACCESS_BULK) != 0;
    if (simt_is_replaceable(w, c, 0)) {
        simt_set_reader(now, c, 0);
    } else if (simt_is_replaceable(w, c, 1)) {
        simt_set_reader(now, c, 1);
    } else if (!simt_is_busy(w, c, 0) &&
               (bulk || simt_same_warp(c->reader[0], me) || simt_same_warp(c->reader[0], c->reader[1]))) {
        simt_set_reader(now, c, 0);
    } else if (!simt_is_busy(w, c, 1) && (bulk || simt_same_warp(c->reader[1], me))) {
        simt_set_reader(now, c, 1);
    }
}

/*
 * The read mark that lets further reads of this cell be skipped, or 0. If two warps have read it since the
 * barrier, any later writer is of another warp than one of them, so until the next barrier no reader need
 * be added. If two lanes of this warp have read it since its last __syncwarp, a further reader of this warp
 * adds nothing. In either case the last write must happen before all these reads.
 */
static inline __attribute__((always_inline)) uint32_t simt_read_mark_of(const struct worker *w,
                                                                        const struct shadow_cell *c)
{
    if (c->read_tick[0] < w->time.last_barrier || c->read_tick[1] < w->time.last_barrier) return 0;
    if (!simt_same_warp(c->reader[0], c->reader[1]))
        return c->write_tick < w->time.last_barrier && !w->named.used && !w->clocks.open
                   ? (uint32_t)w->shadow.block_mark
                   : 0;
    if (c->read_tick[0] != w->time.tick || c->read_tick[1] != w->time.tick) return 0;
    if (c->writer >= FOREIGN) return 0; /* not all lanes of the warp need have synchronised with it */
    if (c->write_tick < w->time.last_barrier) return (uint32_t)w->shadow.warp_mark;
    return simt_same_warp(c->writer, c->reader[0]) && c->write_tick <= w->warp->known
               ? (uint32_t)w->shadow.warp_mark
               : 0;
}

static inline bool simt_cell_is_live(const struct worker *w, const struct shadow_cell *c)
{
    return c->write_tick >= w->time.block_start || c->read_tick[0] >= w->time.block_start;
}

/* The bytes of a word that an access from @p offset to @p end has. */
static inline unsigned simt_bytes_of_word(size_t word, uintptr_t offset, uintptr_t end)
{
    unsigned mask = 15;
    if (word * 4 < offset) mask &= 15u << (offset - word * 4);
    if (word * 4 + 4 > end) mask &= 15u >> (word * 4 + 4 - end);
    return mask;
}

/** A word: its shadow cell, and the read marks of its halves. */
struct place_of_word {
    struct shadow_cell *cell;
    uint32_t *read_mark;
    size_t word;
};

/** @brief The four byte cells of a word. Made on the first access to a part of it; they begin as the word was. */
struct shadow_cell *simt_byte_cells(struct worker *w, struct shadow_cell *c);
/** @brief Checks the access to the bytes of @p mask of one word, and keeps it in their cells. */
void simt_shadow_word(struct shadow_access *now, const struct place_of_word *at, unsigned mask);
/** @brief Gives the marks and cells of a chunk of shared memory their pages. */
void simt_shadow_make_ready(struct space *s, size_t chunk);
