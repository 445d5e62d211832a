/**
 * @file shadow_access.c
 * @brief Races between the threads of one block, and shared memory read before it was written.
 *
 * An access is ordered before the one made now if it was made by the same thread, before the last
 * __syncthreads(), in the same warp before a __syncwarp() that both lanes took part in, or before a barrier of a part
 * of the block (named_barrier.c) that its warp came to and the running one waited at. Two accesses that
 * are not ordered and of which one is a write (not both atomic) are a race, whatever order they happened to
 * run in. An asynchronous copy is a write twice: when it is begun, and when it lands at its thread's wait.
 * What is ordered after the first but not after the second lacks that wait, or a barrier after it.
 */
#include "shadow.h"
#include "dependent_launch.h"
#include "finding.h"
#include "happens_before.h"
#include "lanes.h"
#include "machine.h"
#include "mbarrier.h"
#include "pages.h"
#include "settings.h"
#include "shadow_findings.h"
#include "sizes.h"
#include "tools.h"
#include "worker.h"

#include <stdbool.h>

/* ---- order -------------------------------------------------------------------------------------------- */

/* Whether a bulk copy of this block has yet to read there. */
static inline __attribute__((always_inline)) bool is_busy(const struct worker *w, const struct shadow_cell *c,
                                                          int slot)
{
    return c->reader[slot] & BUSY_READER && c->read_tick[slot] >= w->block_start;
}

static bool same_warp(unsigned a, unsigned b)
{
    return simt_thread_of(a) / WARP_LANES == simt_thread_of(b) / WARP_LANES;
}

static inline bool happens_before(const struct worker *w, unsigned actor, uint32_t tick)
{
    return simt_happens_before(w, (struct epoch){w, actor, tick}, EDGE_SYNCHRONISED);
}

/* Whether the access comes after an asynchronous copy was begun, but not after it landed. */
static bool lacks_wait(const struct shadow_access *now, const struct shadow_cell *c)
{
    const struct worker *w = now->w;
    if (!simt_is_shared(now) || c->copy == COPY_NONE || c->write_tick < w->block_start) return false;
    if (c->copy == COPY_BULK_IN_FLIGHT) return true;
    if (c->copy >= COPY_REPORTED) return !happens_before(w, c->writer, c->write_tick);
    if (!happens_before(w, c->writer, c->copy_tick)) return false; /* a race */
    return c->copy == COPY_IN_FLIGHT || !happens_before(w, c->writer, c->write_tick);
}

/* ---- one cell ----------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void set_reader(const struct shadow_access *now,
                                                             struct shadow_cell *c, int slot)
{
    c->reader[slot] =
        (uint16_t)(now->w->thread_index | (now->access & ACCESS_VOLATILE ? VOLATILE_READER : 0) |
                   (now->access & ACCESS_BULK ? BUSY_READER | ASYNC_READER : 0) |
                   (now->access & ACCESS_ASYNC ? ASYNC_READER : 0));
    c->read_tick[slot] = now->w->tick;
    c->read_pc[slot] = now->pc;
}

/* Whoever is ordered after the running thread is ordered after that reader, too. */
static inline __attribute__((always_inline)) bool is_replaceable(const struct worker *w,
                                                                 const struct shadow_cell *c, int slot)
{
    const unsigned reader = simt_thread_of(c->reader[slot]);
    if (is_busy(w, c, slot)) return false;
    if (reader == w->thread_index || c->read_tick[slot] < w->all_ordered_before) return true;
    return (w->named_used || w->clocks) && happens_before(w, reader, c->read_tick[slot]);
}

/* Keeps this reader, if need be in place of one that tells less: see struct shadow_cell. */
static inline __attribute__((always_inline)) void note_reader(const struct shadow_access *now,
                                                              struct shadow_cell *c)
{
    const struct worker *w = now->w;
    const unsigned me = w->thread_index;
    const bool bulk = (now->access & ACCESS_BULK) != 0;
    if (is_replaceable(w, c, 0)) {
        set_reader(now, c, 0);
    } else if (is_replaceable(w, c, 1)) {
        set_reader(now, c, 1);
    } else if (!is_busy(w, c, 0) &&
               (bulk || same_warp(c->reader[0], me) || same_warp(c->reader[0], c->reader[1]))) {
        set_reader(now, c, 0);
    } else if (!is_busy(w, c, 1) && (bulk || same_warp(c->reader[1], me))) {
        set_reader(now, c, 1);
    }
}

/* Returns false if more than the readers is wrong with the cell, so that nobody may skip looking at it. */
static bool read_cell(struct shadow_access *now, struct shadow_cell *c)
{
    struct worker *w = now->w;
    bool good = true;
    const bool excused = c->write_atomic && now->access & ACCESS_VOLATILE;
    if (lacks_wait(now, c)) {
        simt_found_missing_wait(now, c);
        if (c->copy < COPY_REPORTED) c->copy = COPY_NONE; /* once is enough */
        good = false;
    } else if (c->write_tick >= w->all_ordered_before && !excused &&
               !happens_before(w, c->writer, c->write_tick)) {
        simt_found_race(now, c->write_atomic ? SIMT_ATOMIC : SIMT_WRITE, c->writer, c->write_pc);
        good = false;
    } else if (c->write_tick < w->block_start && simt_is_shared(now) && !now->padding) {
        simt_found_unwritten(now);
        good = false;
    } else if (now->access & ACCESS_PRODUCT && c->copy < COPY_BULK_IN_FLIGHT) {
        simt_check_product_fence(now, c);
    } else if (now->access & ACCESS_BULK && c->copy < COPY_BULK_IN_FLIGHT) {
        simt_check_fence(now, c->write_tick, c->writer, SIMT_WRITE, c->write_pc);
    } else if (now->access & ACCESS_ASYNC && c->write_tick >= w->block_start && !c->write_async) {
        simt_check_fence(now, c->write_tick, c->writer, SIMT_WRITE, c->write_pc);
    }
    if (!(now->access & ACCESS_PRODUCT)) note_reader(now, c); /* it reads later: products.c */
    return good;
}

/*
 * What an asynchronous write overwrites without a fence. Of reads that need one by the letter, those that a barrier
 * stands behind have been done when it opens; a copy may only overtake a read of its own warp.
 */
static void check_proxies(struct shadow_access *now, const struct shadow_cell *c)
{
    const struct worker *w = now->w;
    const bool async = simt_is_shared(now) ? c->copy >= COPY_BULK_IN_FLIGHT : c->write_async;
    if (c->write_tick >= w->block_start && !async && happens_before(w, c->writer, c->write_tick))
        simt_check_fence(now, c->write_tick, c->writer, SIMT_WRITE, c->write_pc);
    for (int slot = 0; slot < 2; slot++) {
        const unsigned reader = simt_thread_of(c->reader[slot]);
        const uint32_t tick = c->read_tick[slot];
        if (tick < w->block_start || c->reader[slot] & ASYNC_READER || reader >= MAX_THREADS) continue;
        if (!simt_settings.all && (tick < w->last_barrier || !same_warp(reader, w->thread_index))) continue;
        if (happens_before(w, reader, tick)) simt_check_fence(now, tick, reader, SIMT_READ, c->read_pc[slot]);
    }
}

static void write_cell(struct shadow_access *now, struct shadow_cell *c)
{
    struct worker *w = now->w;
    const bool atomic = (now->access & SIMT_ATOMIC) != 0;
    const bool gentle = atomic || now->access & ACCESS_VOLATILE; /* does not race with atomics */
    if (now->access == SIMT_ATOMIC && c->write_tick < w->block_start && simt_is_shared(now))
        simt_found_unwritten(now);
    if (lacks_wait(now, c))
        simt_found_missing_wait(now, c);
    else if (c->write_tick >= w->all_ordered_before && !(gentle && c->write_atomic) &&
             !happens_before(w, c->writer, c->write_tick))
        simt_found_race(now, c->write_atomic ? SIMT_ATOMIC : SIMT_WRITE, c->writer, c->write_pc);
    if (now->access & (ACCESS_BULK | ACCESS_ASYNC)) check_proxies(now, c);
    for (int slot = 0; slot < 2; slot++) {
        const unsigned reader = simt_thread_of(c->reader[slot]);
        if (is_busy(w, c, slot)) {
            simt_found_busy(now, c, slot);
            continue;
        }
        if (c->read_tick[slot] < w->all_ordered_before || happens_before(w, reader, c->read_tick[slot]))
            continue;
        if (c->reader[slot] & ASYNC_READER && simt_is_shared(now)) {
            simt_found_busy(now, c, slot);
            continue;
        }
        if (!(atomic && c->reader[slot] & VOLATILE_READER))
            simt_found_race(now, SIMT_READ, reader, c->read_pc[slot]);
    }
    c->write_tick = w->tick;
    c->write_pc = now->pc;
    c->writer = (uint16_t)w->thread_index;
    c->write_atomic = atomic;
    c->write_async = (now->access & ACCESS_ASYNC) != 0;
    if (!simt_is_shared(now)) return;
    c->serial = w->serial;
    c->copy = now->access & ACCESS_BULK   ? COPY_BULK_IN_FLIGHT
              : now->access & ACCESS_COPY ? COPY_IN_FLIGHT
                                          : COPY_NONE;
    c->copy_tick = w->tick;
}

/*
 * The number that makes further reads of this cell skip it, or 0. With readers of two warps since the
 * barrier any later writer meets one of another warp, until the next barrier; with two of this warp since
 * its last __syncwarp a further one of this warp adds nothing. The last write must be ordered before all of
 * them.
 */
static inline __attribute__((always_inline)) uint32_t read_mark_of(const struct worker *w,
                                                                   const struct shadow_cell *c)
{
    if (c->read_tick[0] < w->last_barrier || c->read_tick[1] < w->last_barrier) return 0;
    if (!same_warp(c->reader[0], c->reader[1]))
        return c->write_tick < w->last_barrier && !w->named_used && !w->clocks ? (uint32_t)w->block_read_mark
                                                                               : 0;
    if (c->read_tick[0] != w->tick || c->read_tick[1] != w->tick) return 0;
    if (c->writer >= FOREIGN) return 0; /* not all of the warp need know of it */
    if (c->write_tick < w->last_barrier) return (uint32_t)w->warp_read_mark;
    return same_warp(c->writer, c->reader[0]) && c->write_tick <= w->warp->known ? (uint32_t)w->warp_read_mark
                                                                                 : 0;
}

/* ---- the block's list of what it touched -------------------------------------------------------------- */

/* 1 if this kind of access to the cell is new in this phase. */
static int newly_touched(struct worker *w, struct shadow_cell *c, enum touch_kind kind)
{
    if (c->touch_tick != w->touch_tick) {
        c->touch_tick = w->touch_tick;
        c->touched = 0;
    }
    if (c->touched & kind || (kind == TOUCH_READ && c->touched & TOUCH_WRITE)) return 0;
    c->touched |= (uint8_t)kind;
    return 1;
}

/* The bytes of the mask that follow each other, from the lowest. */
static void add_touch(struct shadow_access *now, size_t word, enum touch_kind kind, unsigned mask)
{
    struct worker *w = now->w;
    const unsigned first = (unsigned)__builtin_ctz(mask), unit = (unsigned)__builtin_ctz(~(mask >> first));
    struct touch *touch = simt_vector_grow(&w->result->touches, sizeof *touch);
    *touch = (struct touch){.word = (uint32_t)word,
                            .pc = now->pc,
                            .phase = w->phase,
                            .tick = w->tick,
                            .thread = (uint16_t)w->thread_index,
                            .kind = (uint16_t)(kind | (now->place == PLACE_DATA ? TOUCH_DATA : 0) |
                                               (now->access & ACCESS_VOLATILE ? TOUCH_VOLATILE : 0) |
                                               (now->access & ACCESS_WHOLE ? TOUCH_WHOLE : 0) |
                                               (now->access & ACCESS_PADDED ? TOUCH_PADDED : 0) |
                                               (simt_is_early(w) ? TOUCH_EARLY : 0)),
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

static bool is_live(const struct worker *w, const struct shadow_cell *c)
{
    return c->write_tick >= w->block_start || c->read_tick[0] >= w->block_start;
}

/* The four byte cells of a word. Made on the first access to a part of it; they begin as the word was. */
static struct shadow_cell *byte_cells(struct worker *w, struct shadow_cell *c)
{
    if (c->split == 0) {
        if (w->split.count == 0) simt_vector_grow(&w->split, 4 * sizeof *c); /* index 0 means none */
        const size_t index = w->split.count;
        struct shadow_cell *bytes = simt_vector_grow(&w->split, 4 * sizeof *c);
        for (int b = 0; b < 4; b++) bytes[b] = *c;
        c->split = (uint32_t)index;
        c->read_tick[0] = w->tick; /* keeps the word alive, so that split is believed */
    }
    return (struct shadow_cell *)w->split.data + 4 * (size_t)c->split;
}

/* Makes a word one cell again where its bytes no longer differ in anything that matters. */
static void join_bytes(struct worker *w, struct shadow_cell *c, const struct shadow_cell *bytes, bool written,
                       bool global)
{
    if (!written) {
        for (int b = 0; b < 4; b++) /* every byte must be known to be written, or global, and quiet since */
            if (bytes[b].write_tick >= w->last_barrier || bytes[b].write_tick < w->block_start) return;
    }
    *c = bytes[0];
    c->split = 0;
    if (global) c->touched = 0;
}

/* Whether bytes that nobody wrote may be padding: of a struct copy, in a word that is written in part. */
static bool is_excused(const struct shadow_access *now, const struct shadow_cell *bytes, unsigned mask)
{
    if (now->access & ACCESS_PADDED) return true;
    if (!(now->access & ACCESS_WHOLE)) return false;
    for (unsigned b = 0; b < 4; b++)
        if (mask >> b & 1 && bytes[b].write_tick >= now->w->block_start) return true;
    return false;
}

/* A word: its cell, and the numbers of its two halves. */
struct place_of_word {
    struct shadow_cell *cell;
    uint32_t *read_mark;
    size_t word;
};

static void access_bytes(struct shadow_access *now, const struct place_of_word *at, unsigned mask)
{
    struct worker *w = now->w;
    struct shadow_cell *c = at->cell, *bytes = byte_cells(w, c);
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
            read_mark[b] = read_mark_of(w, &bytes[b]);
        if (global && newly_touched(w, &bytes[b], kind)) fresh |= 1u << b;
    }
    if (fresh != 0) add_touch(now, at->word, kind, fresh);
    for (unsigned half = 0; half < 2; half++)
        if (mask >> 2 * half & 3)
            at->read_mark[half] = read_mark[2 * half] == read_mark[2 * half + 1] ? read_mark[2 * half] : 0;
    if (mask == 15 && (kind != TOUCH_READ || !global)) join_bytes(w, c, bytes, kind != TOUCH_READ, global);
}

static void access_word(struct shadow_access *now, const struct place_of_word *at, unsigned mask)
{
    struct worker *w = now->w;
    struct shadow_cell *c = at->cell;
    if (c->split != 0 && !is_live(w, c)) c->split = 0;
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
        read_mark = read_mark_of(w, c);
    if (!simt_is_shared(now) && newly_touched(w, c, kind)) add_touch(now, at->word, kind, mask);
    at->read_mark[0] = at->read_mark[1] = read_mark;
}

/* The bytes of a word that an access from @p offset to @p end has. */
static unsigned bytes_of_word(size_t word, uintptr_t offset, uintptr_t end)
{
    unsigned mask = 15;
    if (word * 4 < offset) mask &= 15u << (offset - word * 4);
    if (word * 4 + 4 > end) mask &= 15u >> (word * 4 + 4 - end);
    return mask;
}

/* ---- shared memory ------------------------------------------------------------------------------------ */

static __attribute__((noinline)) void make_ready(struct space *s, size_t chunk)
{
    size_t from = chunk * SPACE_CHUNK, to = from + SPACE_CHUNK < s->bytes ? from + SPACE_CHUNK : s->bytes;
    simt_populate(s->read_mark + from / 2, (to - from) / 2 * sizeof *s->read_mark);
    simt_populate(s->cells + from / 4, ((to - from) / 4 + 1) * sizeof *s->cells);
    s->ready[chunk] = 1;
}

static void access_shared(struct shadow_access *now, struct space *s)
{
    const uintptr_t offset = now->offset, end = offset + now->bytes;
    if (now->bytes == 4 && offset % 4 == 0 && s->ready[offset / SPACE_CHUNK]) { /* nearly all of them */
        const struct place_of_word at = {&s->cells[offset / 4], &s->read_mark[offset / 2], offset / 4};
        access_word(now, &at, 15);
        return;
    }
    for (size_t chunk = offset / SPACE_CHUNK; chunk * SPACE_CHUNK < end; chunk++)
        if (__builtin_expect(!s->ready[chunk], 0)) make_ready(s, chunk);
    for (size_t word = offset / 4; word * 4 < end; word++) {
        const struct place_of_word at = {&s->cells[word], &s->read_mark[2 * word], word};
        access_word(now, &at, bytes_of_word(word, offset, end));
    }
}

/* ---- global memory ------------------------------------------------------------------------------------ */

/* What a run says of a cell. Its accesses meet no others but of their own thread. */
static void recall(const struct worker *w, struct shadow_cell *c, const struct run *r, unsigned owner)
{
    const bool wrote = (r->kind & TOUCH_WRITE) != 0;
    if (wrote) {
        c->write_tick = r->tick;
        c->write_pc = r->pc;
        c->writer = (uint16_t)owner;
        c->write_atomic = false;
        c->write_async = (r->kind & TOUCH_ASYNC) != 0;
    } else {
        const int slot = c->read_tick[0] >= w->block_start;
        c->reader[slot] = (uint16_t)(owner | (r->kind & TOUCH_ASYNC ? ASYNC_READER : 0));
        c->read_tick[slot] = r->tick;
        c->read_pc[slot] = r->pc;
    }
    if (r->phase != w->phase) return;
    if (c->touch_tick != w->touch_tick) c->touched = 0;
    c->touch_tick = w->touch_tick;
    c->touched |= (uint8_t)(wrote ? TOUCH_WRITE : TOUCH_READ);
}

/* From now on the page has cells, which know what its runs knew. */
static __attribute__((noinline)) struct shadow_page *split_page(struct worker *w, struct page *page)
{
    struct shadow_page *cells = simt_page_cells(w, page);
    for (unsigned i = 0; i < page->runs; i++) {
        const struct run *r = &page->run[i];
        for (unsigned at = r->first; at < r->end; at += r->unit < 4 ? r->unit : 4u) {
            struct shadow_cell *c = &cells->cells[at / 4];
            const unsigned owner = simt_run_owner(r, at);
            if (c->split != 0 && !is_live(w, c)) c->split = 0;
            if (r->unit >= 4 && c->split == 0) {
                recall(w, c, r, owner);
                continue;
            }
            struct shadow_cell *bytes = byte_cells(w, c);
            for (unsigned b = at % 4; b < (r->unit < 4 ? at % 4 + r->unit : 4u); b++)
                recall(w, &bytes[b], r, owner);
        }
    }
    page->runs = 0;
    return cells;
}

static void access_global(struct shadow_access *now)
{
    struct worker *w = now->w;
    const uintptr_t offset = now->offset, end = offset + now->bytes;
    const int plain = now->access & ~ACCESS_COPY, way = plain & ~ACCESS_ASYNC;
    struct page *page = NULL;
    for (size_t word = offset / 4; word * 4 < end; word++) {
        const unsigned in_page = (unsigned)(word % (PAGE_BYTES / 4));
        if (page == NULL || in_page == 0) {
            const uint32_t number = simt_page_number(now->place, word * 4);
            page = simt_page_find(w, number);
            if (page == NULL) page = simt_page_make(w, number);
        }
        if (page->cells == NULL) {
            const bool regular = (way == SIMT_READ || way == SIMT_WRITE) && now->bytes <= 16 &&
                                 (now->bytes & (now->bytes - 1)) == 0 && offset % now->bytes == 0;
            if (regular && simt_page_take(w, page, (unsigned)(offset % PAGE_BYTES), (unsigned)now->bytes,
                                          plain, now->pc))
                return;
            (void)split_page(w, page);
        }
        const struct place_of_word at = {&page->cells->cells[in_page], &page->cells->read_mark[2 * in_page],
                                         word};
        access_word(now, &at, bytes_of_word(word, offset, end));
    }
}

void simt_shadow_access(struct worker *w, enum place place, uintptr_t offset, size_t bytes, int access,
                        uint32_t pc)
{
    if (__builtin_expect(w->pending_race.open, 0)) simt_settle_race(w);
    struct shadow_access now = {w, place, offset, bytes, access, pc, false, false};
    if (simt_is_shared(&now))
        access_shared(&now, &w->space[place]);
    else
        access_global(&now);
}

/*
 * What most reads of shared memory are that have to be looked at: of a word that was written as a whole, by this block, before a
 * barrier. Whoever wrote it was within bounds, and nothing can be wrong with the read.
 */
bool simt_shadow_read_word(struct worker *w, enum place place, uintptr_t offset, uint32_t pc)
{
    const struct space *s = &w->space[place];
    if (w->pending_race.open || !s->ready[offset / SPACE_CHUNK]) return false;
    struct shadow_cell *c = &s->cells[offset / 4];
    if (c->split != 0 || c->copy != COPY_NONE || c->write_tick >= w->all_ordered_before ||
        c->write_tick < w->block_start)
        return false;
    const struct shadow_access now = {w, place, offset, 4, SIMT_READ, pc, false, false};
    note_reader(&now, c);
    s->read_mark[offset / 2] = s->read_mark[offset / 2 + 1] = read_mark_of(w, c);
    return true;
}

/* The same for writes: of a word that was written before, by this block, and that nobody has used since a barrier. */
bool simt_shadow_write_word(struct worker *w, enum place place, uintptr_t offset, uint32_t pc)
{
    const struct space *s = &w->space[place];
    if (w->pending_race.open || !s->ready[offset / SPACE_CHUNK]) return false;
    struct shadow_cell *c = &s->cells[offset / 4];
    if (c->split != 0 || c->copy != COPY_NONE || c->write_tick >= w->all_ordered_before ||
        c->write_tick < w->block_start || c->read_tick[0] >= w->all_ordered_before ||
        c->read_tick[1] >= w->all_ordered_before ||
        (c->reader[0] | c->reader[1]) & (BUSY_READER | ASYNC_READER))
        return false;
    c->write_tick = c->copy_tick = w->tick;
    c->write_pc = pc;
    c->writer = (uint16_t)w->thread_index;
    c->write_atomic = c->write_async = false;
    c->serial = w->serial;
    s->read_mark[offset / 2] = s->read_mark[offset / 2 + 1] = 0;
    return true;
}

/* ---- guesses ------------------------------------------------------------------------------------------ */

/* The cell's readers name the running thread: as one that read a volatile, which races with no atomic. */
static void excuse_reader(const struct worker *w, struct shadow_cell *c)
{
    for (int slot = 0; slot < 2; slot++)
        if (c->reader[slot] == w->thread_index && c->read_tick[slot] == w->tick)
            c->reader[slot] |= VOLATILE_READER;
}

/* The block's list names the running thread's last reads of these words. */
static void excuse_touches(struct worker *w, bool data, uint32_t word, uint32_t words)
{
    enum { LOOK_BACK = 16 };
    struct touch *touch = w->result->touches.data;
    const size_t count = w->result->touches.count;
    for (size_t i = 0; i < count && i < LOOK_BACK; i++) {
        struct touch *t = &touch[count - 1 - i];
        const unsigned end = t->word + (t->first + t->count * t->unit + 3u) / 4;
        if (((t->kind & TOUCH_DATA) != 0) == data && t->kind & TOUCH_READ && t->count == 1 &&
            t->thread == w->thread_index && t->tick == w->tick && t->word >= word && end <= word + words)
            t->kind |= TOUCH_VOLATILE;
    }
}

static void excuse_reads(struct worker *w, enum place place, uintptr_t offset, size_t bytes)
{
    const uint32_t word = (uint32_t)(offset / 4), words = (uint32_t)((bytes + 3) / 4);
    if (place == PLACE_SHARED || place == PLACE_DYNAMIC) {
        for (uint32_t i = 0; i < words; i++) excuse_reader(w, &w->space[place].cells[word + i]);
        return;
    }
    struct page *page = simt_page_find(w, simt_page_number(place, offset));
    if (page == NULL) return;
    struct shadow_page *cells = page->cells != NULL ? page->cells : split_page(w, page);
    for (uint32_t i = 0; i < words; i++) excuse_reader(w, &cells->cells[(word + i) % (PAGE_BYTES / 4)]);
    excuse_touches(w, place == PLACE_DATA, word, words);
}

void simt_swap_checks(void *address, size_t bytes)
{
    struct worker *w = simt_tls_watch;
    if (w == NULL || !w->checking || simt_settings.all) return;
    if (w->pending_race.open && w->pending_race.address == address &&
        w->pending_race.finding.actor[1].access == SIMT_READ)
        w->pending_race.open = false;
    const enum place place = simt_place_of(w, (uintptr_t)address);
    if (place < PLACE_COUNT) excuse_reads(w, place, (uintptr_t)address - w->space[place].base, bytes);
}

/* ---- copies that land --------------------------------------------------------------------------------- */

static void land_cell(const struct worker *w, struct shadow_cell *c)
{
    if (c->copy != COPY_IN_FLIGHT || c->writer != w->thread_index || c->write_tick < w->block_start) return;
    c->copy = COPY_LANDED;
    c->write_tick = w->tick;
    c->serial = w->serial;
}

void simt_shadow_copy_landed(struct worker *w, enum place place, uintptr_t offset, size_t bytes)
{
    struct space *s = &w->space[place];
    for (size_t word = offset / 4; word * 4 < offset + bytes; word++) {
        struct shadow_cell *c = &s->cells[word];
        if (c->split != 0 && is_live(w, c))
            for (unsigned b = 0; b < 4; b++) land_cell(w, byte_cells(w, c) + b);
        else
            land_cell(w, c);
        s->read_mark[2 * word] = s->read_mark[2 * word + 1] = 0;
    }
}

/* ---- writes behind a product's back ------------------------------------------------------------------- */

static bool is_written_since(const struct worker *w, const struct shadow_cell *c, uint32_t serial,
                             struct actor *writer)
{
    if (c->write_tick < w->block_start || c->serial < serial) return false;
    *writer =
        (struct actor){w->block, c->write_pc, c->writer, c->write_atomic ? SIMT_ATOMIC : SIMT_WRITE, NULL};
    return true;
}

bool simt_shadow_written_since(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                               uint32_t serial, struct actor *writer)
{
    const struct space *s = &w->space[place];
    for (size_t word = offset / 4; word * 4 < offset + bytes; word++) {
        struct shadow_cell *c = &s->cells[word];
        if (!s->ready[word * 4 / SPACE_CHUNK]) continue;
        const bool split = c->split != 0 && is_live(w, c);
        const struct shadow_cell *one = split ? byte_cells(w, c) : c;
        for (unsigned b = 0; b < (split ? 4u : 1u); b++)
            if (is_written_since(w, &one[b], serial, writer)) return true;
    }
    return false;
}

static void read_by_product(struct shadow_cell *c, unsigned actor, uint32_t tick, uint32_t pc)
{
    const int slot = c->read_tick[0] <= c->read_tick[1] ? 0 : 1; /* the older one gives way */
    c->reader[slot] = (uint16_t)actor;
    c->read_tick[slot] = tick;
    c->read_pc[slot] = pc;
}

void simt_shadow_product_read(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                              unsigned group, uint32_t tick, uint32_t pc)
{
    struct space *s = &w->space[place];
    for (size_t word = offset / 4; word * 4 < offset + bytes; word++) {
        struct shadow_cell *c = &s->cells[word];
        if (!s->ready[word * 4 / SPACE_CHUNK]) continue;
        const bool split = c->split != 0 && is_live(w, c);
        struct shadow_cell *one = split ? byte_cells(w, c) : c;
        for (unsigned b = 0; b < (split ? 4u : 1u); b++)
            read_by_product(&one[b], COLUMN_PRODUCT + group, tick, pc);
        s->read_mark[2 * word] = s->read_mark[2 * word + 1] = 0;
    }
}

/* ---- copies that report to an mbarrier ---------------------------------------------------------------- */

/** What happens to the cells of a copy. */
struct landing {
    struct worker *w;
    uint32_t begun, tick;
    unsigned thread, column;
};

static void report_cell(const struct landing *l, struct shadow_cell *c)
{
    if (c->copy != COPY_IN_FLIGHT || c->writer != l->thread || c->write_tick < l->w->block_start) return;
    c->copy = COPY_REPORTED;
    c->writer = (uint16_t)l->column;
    c->write_tick = l->tick;
}

static void report_bulk_cell(const struct landing *l, struct shadow_cell *c)
{
    if (c->copy != COPY_BULK_IN_FLIGHT || c->copy_tick != l->begun) return;
    c->copy = COPY_BULK_REPORTED;
    c->writer = (uint16_t)l->column;
    c->write_tick = l->tick;
}

static void read_done(const struct landing *l, struct shadow_cell *c)
{
    for (int slot = 0; slot < 2; slot++) {
        if (!(c->reader[slot] & BUSY_READER) || c->read_tick[slot] != l->begun) continue;
        c->reader[slot] = (uint16_t)(l->w->thread_index | ASYNC_READER);
        c->read_tick[slot] = l->w->tick;
    }
}

static void for_cells(const struct landing *l, enum place place, uintptr_t offset, size_t bytes,
                      void (*what)(const struct landing *l, struct shadow_cell *c))
{
    struct worker *w = l->w;
    struct space *s = &w->space[place];
    for (size_t word = offset / 4; word * 4 < offset + bytes; word++) {
        struct shadow_cell *c = &s->cells[word];
        if (c->split != 0 && is_live(w, c))
            for (unsigned b = 0; b < 4; b++) what(l, byte_cells(w, c) + b);
        else
            what(l, c);
        s->read_mark[2 * word] = s->read_mark[2 * word + 1] = 0;
    }
}

void simt_shadow_copy_reported(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                               unsigned thread, unsigned column, uint32_t tick)
{
    const struct landing l = {.w = w, .tick = tick, .thread = thread, .column = column};
    for_cells(&l, place, offset, bytes, report_cell);
}

void simt_shadow_bulk_reported(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                               uint32_t begun, unsigned column, uint32_t tick)
{
    const struct landing l = {.w = w, .begun = begun, .tick = tick, .column = column};
    for_cells(&l, place, offset, bytes, report_bulk_cell);
}

void simt_shadow_read_awaited(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                              uint32_t begun)
{
    const struct landing l = {.w = w, .begun = begun};
    for_cells(&l, place, offset, bytes, read_done);
}

static void read_over(const struct landing *l, struct shadow_cell *c)
{
    for (int slot = 0; slot < 2; slot++)
        if (c->reader[slot] & BUSY_READER && c->read_tick[slot] == l->begun)
            c->read_tick[slot] = c->reader[slot] = 0;
}

void simt_shadow_read_complete(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                               uint32_t begun)
{
    const struct landing l = {.w = w, .begun = begun};
    for_cells(&l, place, offset, bytes, read_over);
}

/* ---- other blocks' accesses --------------------------------------------------------------------------- */

void simt_shadow_for_each(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                          void (*what)(void *context, struct shadow_cell *c), void *context)
{
    struct space *s = &w->space[place];
    const uintptr_t end = offset + bytes;
    for (size_t chunk = offset / SPACE_CHUNK; chunk * SPACE_CHUNK < end; chunk++)
        if (!s->ready[chunk]) make_ready(s, chunk);
    for (size_t word = offset / 4; word * 4 < end; word++) {
        struct shadow_cell *c = &s->cells[word];
        const unsigned mask = bytes_of_word(word, offset, end);
        if (c->split != 0 && !is_live(w, c)) c->split = 0;
        if (mask == 15 && c->split == 0) {
            what(context, c);
        } else {
            struct shadow_cell *one = byte_cells(w, c);
            for (unsigned b = 0; b < 4; b++)
                if (mask >> b & 1) what(context, &one[b]);
        }
        s->read_mark[2 * word] = s->read_mark[2 * word + 1] = 0;
    }
}
