/**
 * @file shadow_access.c
 * @brief The way of an access to its shadow cells: those of shared memory lie in one array, those of global memory are made page by
 *        page, where threads of the block meet in one (pages.c).
 */
#include "shadow_cell.h"
#include "finding.h"
#include "lanes.h"
#include "machine.h"
#include "pages.h"
#include "settings.h"
#include "shadow.h"
#include "shadow_findings.h"
#include "worker.h"

#include <stdbool.h>

/* ---- shared memory ------------------------------------------------------------------------------------ */

static void access_shared(struct shadow_access *now, struct space *s)
{
    const uintptr_t offset = now->offset, end = offset + now->bytes;
    if (now->bytes == 4 && offset % 4 == 0 && s->ready[offset / SPACE_CHUNK]) { /* nearly all of them */
        const struct place_of_word at = {&s->cells[offset / 4], &s->read_mark[offset / 2], offset / 4};
        simt_shadow_word(now, &at, 15);
        return;
    }
    for (size_t chunk = offset / SPACE_CHUNK; chunk * SPACE_CHUNK < end; chunk++)
        if (__builtin_expect(!s->ready[chunk], 0)) simt_shadow_make_ready(s, chunk);
    for (size_t word = offset / 4; word * 4 < end; word++) {
        const struct place_of_word at = {&s->cells[word], &s->read_mark[2 * word], word};
        simt_shadow_word(now, &at, simt_bytes_of_word(word, offset, end));
    }
}

/* ---- global memory ------------------------------------------------------------------------------------ */

/* Enters a run in a cell: in a run no two threads access the same bytes. */
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
        const int slot = c->read_tick[0] >= w->time.block_start;
        c->reader[slot] = (uint16_t)(owner | (r->kind & TOUCH_ASYNC ? ASYNC_READER : 0));
        c->read_tick[slot] = r->tick;
        c->read_pc[slot] = r->pc;
    }
    if (r->phase != w->time.phase) return;
    if (c->touch_tick != w->shadow.touch_tick) c->touched = 0;
    c->touch_tick = w->shadow.touch_tick;
    c->touched |= (uint8_t)simt_touched_bit(r->kind);
}

/* From now on the page has shadow cells, which know what its runs knew. */
static __attribute__((noinline)) struct shadow_page *split_page(struct worker *w, struct page *page)
{
    struct shadow_page *cells = simt_page_cells(w, page);
    for (unsigned i = 0; i < page->runs; i++) {
        const struct run *r = &page->run[i];
        for (unsigned at = r->first; at < r->end; at += r->unit < 4 ? r->unit : 4u) {
            struct shadow_cell *c = &cells->cells[at / 4];
            const unsigned owner = simt_run_owner(r, at);
            if (c->split != 0 && !simt_cell_is_live(w, c)) c->split = 0;
            if (r->unit >= 4 && c->split == 0) {
                recall(w, c, r, owner);
                continue;
            }
            struct shadow_cell *bytes = simt_byte_cells(w, c);
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
    const int plain = now->access & ~ACCESS_COPY, way = plain & ~(ACCESS_ASYNC | SIMT_CONSTANT);
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
        simt_shadow_word(now, &at, simt_bytes_of_word(word, offset, end));
    }
}

void simt_shadow_access(struct worker *w, enum place place, uintptr_t offset, size_t bytes, int access,
                        uint32_t pc)
{
    if (__builtin_expect(w->pending_race.open, 0)) simt_settle_race(w);
    struct shadow_access now = {w, place, offset, bytes, access, pc, false, false, false};
    if (simt_is_shared(&now))
        access_shared(&now, &w->space[place]);
    else
        access_global(&now);
}

/* Whether the word was written as a whole, by this block, before everything that runs now: whoever wrote it was within bounds. What a
 * copy that was waited for brought is such a word, too. */
static inline bool is_settled(const struct worker *w, const struct shadow_cell *c)
{
    return c->split == 0 && (c->copy == COPY_NONE || c->copy == COPY_LANDED) &&
           c->write_tick < w->time.all_ordered_before && c->write_tick >= w->time.block_start;
}

/* The usual read of shared memory that has to be checked: of words with which nothing can be wrong. */
bool simt_shadow_read_words(struct worker *w, enum place place, uintptr_t offset, size_t bytes, uint32_t pc)
{
    const struct space *s = &w->space[place];
    struct shadow_cell *c = &s->cells[offset / 4];
    uint32_t *read_mark = &s->read_mark[offset / 2];
    const size_t words = bytes / 4;
    if (w->pending_race.open || !s->ready[offset / SPACE_CHUNK]) return false;
    for (size_t i = 0; i < words; i++)
        if (!is_settled(w, &c[i])) return false;
    const struct shadow_access now = {w, place, offset, bytes, SIMT_READ, pc, false, false, false};
    for (size_t i = 0; i < words; i++) {
        simt_note_reader(&now, &c[i]);
        read_mark[2 * i] = read_mark[2 * i + 1] = simt_read_mark_of(w, &c[i]);
    }
    return true;
}

/* The usual write: of words that were written before, and that nobody has used since a barrier. */
bool simt_shadow_write_words(struct worker *w, enum place place, uintptr_t offset, size_t bytes, uint32_t pc)
{
    const struct space *s = &w->space[place];
    struct shadow_cell *c = &s->cells[offset / 4];
    uint32_t *read_mark = &s->read_mark[offset / 2];
    const size_t words = bytes / 4;
    if (w->pending_race.open || !s->ready[offset / SPACE_CHUNK]) return false;
    for (size_t i = 0; i < words; i++)
        if (!is_settled(w, &c[i]) || c[i].read_tick[0] >= w->time.all_ordered_before ||
            c[i].read_tick[1] >= w->time.all_ordered_before ||
            (c[i].reader[0] | c[i].reader[1]) & (BUSY_READER | ASYNC_READER))
            return false;
    for (size_t i = 0; i < words; i++) {
        c[i].write_tick = c[i].copy_tick = w->time.tick;
        c[i].write_pc = pc;
        c[i].writer = (uint16_t)w->thread_index;
        c[i].write_atomic = c[i].write_async = false;
        c[i].copy = COPY_NONE;
        c[i].serial = w->products.serial;
        read_mark[2 * i] = read_mark[2 * i + 1] = 0;
    }
    return true;
}

/* ---- reads before a compare-and-swap ------------------------------------------------------------------ */

/* Marks the running thread's read in the cell as volatile, which races with no atomic. */
static void excuse_reader(const struct worker *w, struct shadow_cell *c)
{
    for (int slot = 0; slot < 2; slot++)
        if (c->reader[slot] == w->thread_index && c->read_tick[slot] == w->time.tick)
            c->reader[slot] |= VOLATILE_READER;
}

/* Marks the running thread's last reads of these words in the block's list in the same way. */
static void excuse_touches(struct worker *w, bool data, size_t word, uint32_t words)
{
    enum { LOOK_BACK = 16 };
    struct touch *touch = w->result->touches.data;
    const size_t count = w->result->touches.count;
    for (size_t i = 0; i < count && i < LOOK_BACK; i++) {
        struct touch *t = &touch[count - 1 - i];
        const size_t end = t->word + (t->first + t->count * t->unit + 3u) / 4;
        if (((t->kind & TOUCH_DATA) != 0) == data && t->kind & TOUCH_READ && t->count == 1 &&
            t->thread == w->thread_index && t->tick == w->time.tick && t->word >= word && end <= word + words)
            t->kind |= TOUCH_VOLATILE;
    }
}

static void excuse_reads(struct worker *w, enum place place, uintptr_t offset, size_t bytes)
{
    const size_t word = offset / 4;
    const uint32_t words = (uint32_t)((bytes + 3) / 4);
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
