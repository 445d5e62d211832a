/**
 * @file shadow_words.c
 * @brief An access to one word: whether it races or comes too early, and what its shadow cells keep of it.
 *
 * An access is ordered before the one made now if it was made by the same thread, before the last
 * __syncthreads(), in the same warp before a __syncwarp() that both lanes took part in, or before a barrier of a part
 * of the block (named_barrier.c) that its warp came to and the running one waited at. Two accesses that
 * are not ordered and of which one is a write (not both atomic) are a race, whatever order they happened to
 * run in. An asynchronous copy is a write twice: when it is begun, and when it lands at its thread's wait.
 * What is ordered after the first but not after the second lacks that wait, or a barrier after it.
 */
#include "shadow_cell.h"
#include "dependent_launch.h"
#include "fences.h"
#include "finding.h"
#include "machine.h"
#include "settings.h"
#include "shadow.h"
#include "shadow_findings.h"
#include "tools.h"
#include "worker.h"

#include <stdbool.h>

/* ---- order -------------------------------------------------------------------------------------------- */

/* Whether the access comes after an asynchronous copy was begun, but not after it landed. */
static bool lacks_wait(const struct shadow_access *now, const struct shadow_cell *c)
{
    const struct worker *w = now->w;
    if (!simt_is_shared(now) || c->copy == COPY_NONE || c->write_tick < w->time.block_start) return false;
    if (c->copy == COPY_BULK_IN_FLIGHT) return true;
    if (c->copy >= COPY_REPORTED) return !simt_cell_happens_before(w, c->writer, c->write_tick);
    if (!simt_cell_happens_before(w, c->writer, c->copy_tick)) return false; /* a race */
    return c->copy == COPY_IN_FLIGHT || !simt_cell_happens_before(w, c->writer, c->write_tick);
}

/* ---- one cell ----------------------------------------------------------------------------------------- */

/* Returns false if something was wrong, so that later reads of the cell are not skipped. */
static bool read_cell(struct shadow_access *now, struct shadow_cell *c)
{
    struct worker *w = now->w;
    bool good = true;
    const bool excused = c->write_atomic && now->access & ACCESS_VOLATILE;
    if (lacks_wait(now, c)) {
        simt_found_missing_wait(now, c);
        if (c->copy < COPY_REPORTED) c->copy = COPY_NONE; /* once is enough */
        good = false;
    } else if (c->write_tick >= w->time.all_ordered_before && !excused &&
               !simt_cell_happens_before(w, c->writer, c->write_tick)) {
        simt_found_race(now, c->write_atomic ? SIMT_ATOMIC : SIMT_WRITE, c->writer, c->write_pc);
        good = false;
    } else if (c->write_tick < w->time.block_start && simt_is_shared(now) && !now->padding) {
        simt_found_unwritten(now);
        good = false;
    } else if (now->access & ACCESS_PRODUCT && c->copy < COPY_BULK_IN_FLIGHT) {
        simt_check_product_fence(now, c);
    } else if (now->access & ACCESS_BULK && c->copy < COPY_BULK_IN_FLIGHT) {
        simt_check_fence(now, c->write_tick, c->writer, SIMT_WRITE, c->write_pc);
    } else if (now->access & ACCESS_ASYNC && c->write_tick >= w->time.block_start && !c->write_async) {
        simt_check_fence(now, c->write_tick, c->writer, SIMT_WRITE, c->write_pc);
    }
    if (!(now->access & ACCESS_PRODUCT)) simt_note_reader(now, c); /* it reads later: products.c */
    if (now->access & ACCESS_VOLATILE && !simt_is_shared(now)) c->observed = w->time.tick;
    return good;
}

/*
 * Whether an asynchronous write comes after a fence.proxy.async, if it overwrites what the generic proxy
 * accessed. By the letter reads need that fence, too; but reads before a barrier are done when it opens, so
 * a copy can only overtake a read of its own warp.
 */
static void check_proxies(struct shadow_access *now, const struct shadow_cell *c)
{
    const struct worker *w = now->w;
    const bool async = simt_is_shared(now) ? c->copy >= COPY_BULK_IN_FLIGHT : c->write_async;
    if (c->write_tick >= w->time.block_start && !async &&
        simt_cell_happens_before(w, c->writer, c->write_tick))
        simt_check_fence(now, c->write_tick, c->writer, SIMT_WRITE, c->write_pc);
    for (int slot = 0; slot < 2; slot++) {
        const unsigned reader = simt_thread_of(c->reader[slot]);
        const uint32_t tick = c->read_tick[slot];
        if (tick < w->time.block_start || c->reader[slot] & ASYNC_READER || reader >= MAX_THREADS) continue;
        if (!simt_settings.all && (tick < w->time.last_barrier || !simt_same_warp(reader, w->thread_index)))
            continue;
        if (simt_cell_happens_before(w, reader, tick))
            simt_check_fence(now, tick, reader, SIMT_READ, c->read_pc[slot]);
    }
}

static void write_cell(struct shadow_access *now, struct shadow_cell *c)
{
    struct worker *w = now->w;
    const bool atomic = (now->access & SIMT_ATOMIC) != 0;
    const bool gentle = atomic || now->access & ACCESS_VOLATILE; /* does not race with atomics */
    if (atomic && !(now->access & ACCESS_STORE) && c->write_tick < w->time.block_start && simt_is_shared(now))
        simt_found_unwritten(now);
    if (lacks_wait(now, c))
        simt_found_missing_wait(now, c);
    else if (c->write_tick >= w->time.all_ordered_before && !(gentle && c->write_atomic) &&
             !simt_cell_happens_before(w, c->writer, c->write_tick))
        simt_found_race(now, c->write_atomic ? SIMT_ATOMIC : SIMT_WRITE, c->writer, c->write_pc);
    if (now->access & (ACCESS_BULK | ACCESS_ASYNC)) check_proxies(now, c);
    for (int slot = 0; slot < 2; slot++) {
        const unsigned reader = simt_thread_of(c->reader[slot]);
        if (simt_is_busy(w, c, slot)) {
            simt_found_busy(now, c, slot);
            continue;
        }
        if (c->read_tick[slot] < w->time.all_ordered_before ||
            simt_cell_happens_before(w, reader, c->read_tick[slot]))
            continue;
        if (c->reader[slot] & ASYNC_READER && simt_is_shared(now)) {
            simt_found_busy(now, c, slot);
            continue;
        }
        if (!(atomic && c->reader[slot] & VOLATILE_READER))
            simt_found_race(now, SIMT_READ, reader, c->read_pc[slot]);
    }
    c->write_tick = w->time.tick;
    c->write_pc = now->pc;
    c->writer = (uint16_t)w->thread_index;
    c->write_atomic = atomic;
    c->write_async = (now->access & ACCESS_ASYNC) != 0;
    if (!simt_is_shared(now)) {
        if (atomic && !(now->access & (ACCESS_STORE | ACCESS_BLOCK | ACCESS_ASYNC)))
            c->observed = w->time.tick;
        now->observed = c->observed >= w->time.block_start;
        return;
    }
    c->serial = w->products.serial;
    c->copy = now->access & ACCESS_BULK   ? COPY_BULK_IN_FLIGHT
              : now->access & ACCESS_COPY ? COPY_IN_FLIGHT
                                          : COPY_NONE;
    c->copy_tick = w->time.tick;
}

/* ---- the block's list of what it touched -------------------------------------------------------------- */

/* Whether this kind of access to the cell is new in this phase. */
static bool newly_touched(const struct shadow_access *now, struct shadow_cell *c, enum touch_kind kind)
{
    const struct worker *w = now->w;
    const unsigned what = kind | (now->access & SIMT_CONSTANT ? TOUCH_CONSTANT : 0u) |
                          (simt_has_acquired(w) ? TOUCH_ACQUIRED : 0u);
    if (c->touch_tick != w->shadow.touch_tick) {
        c->touch_tick = w->shadow.touch_tick;
        c->touched = 0;
    }
    if (kind != TOUCH_READ) /* a later read past the order is another thing than an earlier one */
        c->touched &= (uint8_t)~simt_touched_bit(TOUCH_READ | TOUCH_CONSTANT);
    if (c->touched & simt_touched_enough(what)) return false;
    c->touched |= (uint8_t)simt_touched_bit(what);
    return true;
}

/* Lists the bytes of the mask: the lowest ones that follow each other, then the rest. */
static void add_touch(struct shadow_access *now, size_t word, enum touch_kind kind, unsigned mask)
{
    struct worker *w = now->w;
    const unsigned first = (unsigned)__builtin_ctz(mask), unit = (unsigned)__builtin_ctz(~(mask >> first));
    struct touch *touch = simt_vector_grow(&w->result->touches, sizeof *touch);
    *touch = (struct touch){
        .word = word,
        .pc = now->pc,
        .phase = w->time.phase,
        .tick = w->time.tick,
        .thread = (uint16_t)w->thread_index,
        .kind =
            (uint16_t)(kind | (now->place == PLACE_DATA ? TOUCH_DATA : 0) |
                       (now->access & ACCESS_VOLATILE ? TOUCH_VOLATILE : 0) |
                       (now->access & ACCESS_WHOLE ? TOUCH_WHOLE : 0) |
                       (now->access & ACCESS_PADDED ? TOUCH_PADDED : 0) |
                       (now->access & ACCESS_STORE ? TOUCH_STORED : 0) |
                       (now->access & SIMT_CONSTANT ? TOUCH_CONSTANT : 0) |
                       (now->observed ? TOUCH_OBSERVED : 0) | (now->access & ACCESS_ASYNC ? TOUCH_ASYNC : 0) |
                       (simt_has_acquired(w) ? TOUCH_ACQUIRED : 0) | (simt_is_early(w) ? TOUCH_EARLY : 0)),
        .first = (uint8_t)first,
        .unit = (uint8_t)unit,
        .count = 1};
    const unsigned rest = mask & ~(((1u << unit) - 1) << first);
    if (rest != 0) add_touch(now, word, kind, rest);
}

static enum touch_kind touch_kind(int access)
{
    if (access & ACCESS_BLOCK) return TOUCH_BLOCK_ATOMIC;
    if (access & SIMT_ATOMIC) return TOUCH_ATOMIC;
    return access & SIMT_WRITE ? TOUCH_WRITE : TOUCH_READ;
}

/* ---- words and their bytes ---------------------------------------------------------------------------- */

struct shadow_cell *simt_byte_cells(struct worker *w, struct shadow_cell *c)
{
    if (c->split == 0) {
        if (w->shadow.split.count == 0)
            simt_vector_grow(&w->shadow.split, 4 * sizeof *c); /* index 0 means none */
        const size_t index = w->shadow.split.count;
        struct shadow_cell *bytes = simt_vector_grow(&w->shadow.split, 4 * sizeof *c);
        for (int b = 0; b < 4; b++) bytes[b] = *c;
        c->split = (uint32_t)index;
        c->read_tick[0] = w->time.tick; /* the word counts as accessed, so that `split` is valid */
    }
    return (struct shadow_cell *)w->shadow.split.data + 4 * (size_t)c->split;
}

/* Makes a word one cell again once its four bytes need not be kept apart. */
static void join_bytes(struct worker *w, struct shadow_cell *c, const struct shadow_cell *bytes, bool written,
                       bool global)
{
    if (!written) {
        for (int b = 0; b < 4; b++) /* every byte must have been written before the last barrier */
            if (bytes[b].write_tick >= w->time.last_barrier || bytes[b].write_tick < w->time.block_start)
                return;
    }
    *c = bytes[0];
    c->split = 0;
    if (global) c->touched = 0;
}

/*
 * Whether the bytes may be padding, which nobody writes: in a copy of a struct, in a word that was written
 * in part.
 */
static bool is_excused(const struct shadow_access *now, const struct shadow_cell *bytes, unsigned mask)
{
    if (now->access & ACCESS_PADDED) return true;
    if (!(now->access & ACCESS_WHOLE)) return false;
    for (unsigned b = 0; b < 4; b++)
        if (mask >> b & 1 && bytes[b].write_tick >= now->w->time.block_start) return true;
    return false;
}

/* Where only some threads have acquired, reads of the others are still to be listed. */
static uint32_t mark_of(const struct shadow_access *now, const struct shadow_cell *c)
{
    const struct worker *w = now->w;
    if (!simt_is_shared(now) && w->current->acquired && !w->grid.acquired) return 0;
    return simt_read_mark_of(w, c);
}

static void access_bytes(struct shadow_access *now, const struct place_of_word *at, unsigned mask)
{
    struct worker *w = now->w;
    struct shadow_cell *c = at->cell, *bytes = simt_byte_cells(w, c);
    const enum touch_kind kind = touch_kind(now->access);
    const bool global = !simt_is_shared(now);
    now->padding = is_excused(now, bytes, mask);
    unsigned fresh = 0;
    uint32_t read_mark[4] = {0};
    for (unsigned b = 0; b < 4; b++) {
        if (!(mask >> b & 1)) continue;
        if (kind != TOUCH_READ)
            write_cell(now, &bytes[b]);
        else if (read_cell(now, &bytes[b]))
            read_mark[b] = mark_of(now, &bytes[b]);
        if (global && newly_touched(now, &bytes[b], kind)) fresh |= 1u << b;
    }
    if (fresh != 0) add_touch(now, at->word, kind, fresh);
    for (unsigned half = 0; half < 2; half++)
        if (mask >> 2 * half & 3)
            at->read_mark[half] = read_mark[2 * half] == read_mark[2 * half + 1] ? read_mark[2 * half] : 0;
    if (mask == 15 && (kind != TOUCH_READ || !global)) join_bytes(w, c, bytes, kind != TOUCH_READ, global);
}

void simt_shadow_word(struct shadow_access *now, const struct place_of_word *at, unsigned mask)
{
    struct worker *w = now->w;
    struct shadow_cell *c = at->cell;
    if (c->split != 0 && !simt_cell_is_live(w, c)) c->split = 0;
    if (mask != 15 || c->split != 0) {
        access_bytes(now, at, mask);
        return;
    }
    const enum touch_kind kind = touch_kind(now->access);
    uint32_t read_mark = 0;
    now->padding = (now->access & ACCESS_PADDED) != 0;
    if (kind != TOUCH_READ)
        write_cell(now, c);
    else if (read_cell(now, c))
        read_mark = mark_of(now, c);
    if (!simt_is_shared(now) && newly_touched(now, c, kind)) add_touch(now, at->word, kind, mask);
    at->read_mark[0] = at->read_mark[1] = read_mark;
}

void simt_shadow_make_ready(struct space *s, size_t chunk)
{
    size_t from = chunk * SPACE_CHUNK, to = from + SPACE_CHUNK < s->bytes ? from + SPACE_CHUNK : s->bytes;
    simt_populate(s->read_mark + from / 2, (to - from) / 2 * sizeof *s->read_mark);
    simt_populate(s->cells + from / 4, ((to - from) / 4 + 1) * sizeof *s->cells);
    s->ready[chunk] = 1;
}
