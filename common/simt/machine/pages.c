/**
 * @file pages.c
 * @brief Global memory as the running block sees it: pages of 128 bytes, found by a hash, each with a few runs.
 *
 * Most of what a block does to global memory is regular: thread after thread takes element after element. For
 * such accesses a page keeps runs, which cost a few bytes and a few comparisons. Where threads use a page in
 * any other way, it gets shadow cells, one per word, from a pool, and every access to it is checked by
 * shadow_words.c. A block begins with no pages at all, so that what is kept grows with what one block
 * touches, not with the memory of the device.
 */
#include "pages.h"
#include "finding.h"
#include "machine.h"
#include "settings.h"
#include "shadow.h"
#include "share.h"
#include "tools.h"
#include "worker.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS_LOG = 10 };

/**
 * Memory for shadow cells, of all workers together: when it is used up, the page that has had cells for
 * longest gives them up.
 */
#define POOL_BYTES ((size_t)1 << 30)

/* ---- the table ---------------------------------------------------------------------------------------- */

static void set_slots(struct pages *p, unsigned log)
{
    p->slot = realloc(p->slot, sizeof *p->slot << log);
    if (p->slot == NULL) simt_die("out of host memory.");
    memset(p->slot, 0xff, sizeof *p->slot << log);
    p->mask = (1u << log) - 1;
    p->shift = 32 - log;
}

static void take_slot(struct pages *p, uint32_t index)
{
    uint32_t at = p->page[index].number * 2654435769u >> p->shift;
    while (p->slot[at] < index && p->page[p->slot[at]].slot == at) at = (at + 1) & p->mask;
    p->slot[at] = index;
    p->page[index].slot = at;
}

void simt_pages_open(struct worker *w)
{
    struct pages *p = &w->shadow.pages;
    size_t bytes = POOL_BYTES / (size_t)simt_settings.workers;
    if (bytes < POOL_BYTES / 64) bytes = POOL_BYTES / 64;
    p->pool_size = bytes / sizeof *p->pool;
    p->pool = simt_reserve(p->pool_size * sizeof *p->pool, "a worker's race cells");
    p->pool_owner = simt_reserve(p->pool_size * sizeof *p->pool_owner, "a worker's race cells");
    set_slots(p, FIRST_SLOTS_LOG);
}

struct page *simt_page_make(struct worker *w, uint32_t number)
{
    struct pages *p = &w->shadow.pages;
    if (p->count == p->capacity) {
        p->capacity = p->capacity ? 2 * p->capacity : 256;
        p->page = realloc(p->page, p->capacity * sizeof *p->page);
        if (p->page == NULL) simt_die("out of host memory (for what one block touches).");
    }
    if (2 * p->count > p->mask) {
        set_slots(p, 33 - p->shift);
        for (uint32_t i = 0; i < p->count; i++) take_slot(p, i);
    }
    struct page *page = &p->page[p->count];
    page->number = number;
    page->read = page->written = page->phase = 0;
    page->cells = NULL;
    page->runs = 0;
    page->live = false;
    take_slot(p, (uint32_t)p->count);
    p->count++;
    return page;
}

/* ---- runs --------------------------------------------------------------------------------------------- */

unsigned simt_run_owner(const struct run *r, unsigned at)
{
    return r->thread + (r->each != 0 ? (at - r->first) / r->unit / r->each : 0);
}

/* The words that lie in the run wholly. */
static uint32_t whole_words(const struct run *r)
{
    const unsigned first = (r->first + 3u) / 4, end = r->end / 4;
    return end > first ? (uint32_t)(((uint64_t)1 << end) - ((uint64_t)1 << first)) : 0;
}

/* Lists what a run touched, if any of it is new in its phase. */
static void list_run(struct worker *w, struct page *page, const struct run *r)
{
    const uint32_t words = whole_words(r);
    const bool reads = (r->kind & TOUCH_READ) != 0, whole = r->first % 4 == 0 && r->end % 4 == 0;
    if (page->phase != r->phase) {
        page->phase = r->phase;
        page->read = page->written = 0;
    }
    const bool weak = (r->kind & TOUCH_ACQUIRED) != 0, strong = (r->kind & TOUCH_CONSTANT) != 0;
    if (whole && !strong && (words & ~(reads ? page->read | page->written : page->written)) == 0) return;
    if (!weak) *(reads ? &page->read : &page->written) |= words; /* others may still say more */
    const bool data = page->number >= DATA_PAGES;
    struct touch *touch = simt_vector_grow(&w->result->touches, sizeof *touch);
    *touch = (struct touch){.word = (page->number - (data ? DATA_PAGES : 0)) * (uint64_t)(PAGE_BYTES / 4) +
                                    r->first / 4,
                            .pc = r->pc,
                            .phase = r->phase,
                            .tick = r->tick,
                            .thread = r->thread,
                            .kind = (uint16_t)(r->kind | (data ? TOUCH_DATA : 0)),
                            .first = r->first % 4,
                            .unit = r->unit,
                            .count = r->count,
                            .each = r->each};
}

void simt_pages_end_block(struct worker *w)
{
    for (size_t i = 0; i < w->shadow.pages.count; i++) {
        struct page *page = &w->shadow.pages.page[i];
        for (unsigned k = 0; k < page->runs; k++) list_run(w, page, &page->run[k]);
    }
    simt_share_block_ended(w->shadow.pages.count);
    w->shadow.pages.count = w->shadow.pages.pool_used = 0;
}

/* Room for one more run. A run from before the last barrier can race with nothing and gives way. */
static struct run *make_room(struct worker *w, struct page *page)
{
    if (page->runs < PAGE_RUNS) return &page->run[page->runs++];
    for (unsigned i = 0; i < PAGE_RUNS; i++) {
        if (page->run[i].tick >= w->time.last_barrier) continue;
        for (unsigned k = 0; k <= i; k++)
            list_run(w, page, &page->run[k]); /* in the order in which they were made */
        memmove(&page->run[i], &page->run[i + 1], (PAGE_RUNS - 1 - i) * sizeof page->run[0]);
        return &page->run[PAGE_RUNS - 1];
    }
    return NULL;
}

bool simt_page_take(struct worker *w, struct page *page, unsigned first, unsigned bytes, int access,
                    uint32_t pc)
{
    const unsigned kind = simt_run_kind(w, access), me = w->thread_index, end = first + bytes;
    for (unsigned i = 0; i < page->runs; i++) {
        const struct run *r = &page->run[i];
        if (first >= r->end || end <= r->first) continue;
        if (kind & TOUCH_ASYNC && !(r->kind & TOUCH_ASYNC)) return false; /* is a fence between them? */
        if (r->tick < w->time.last_barrier) continue;
        if (first < r->first || end > r->end || simt_run_owner(r, first) != me ||
            simt_run_owner(r, end - 1) != me)
            return false; /* threads share bytes here: the page needs cells */
        if (r->tick == w->time.tick && r->phase == w->time.phase &&
            (kind & TOUCH_READ || r->kind & TOUCH_WRITE))
            return true; /* nothing new */
    }
    for (unsigned i = page->runs; i-- > 0;)
        if (simt_run_extend(w, &page->run[i], first, bytes, kind, pc)) return true;
    struct run *r = make_room(w, page);
    if (r == NULL) return false;
    *r = (struct run){.tick = w->time.tick,
                      .pc = pc,
                      .phase = w->time.phase,
                      .thread = (uint16_t)me,
                      .last = (uint16_t)me,
                      .kind = (uint16_t)kind,
                      .first = (uint8_t)first,
                      .end = (uint8_t)end,
                      .unit = (uint8_t)bytes,
                      .count = 1,
                      .left = UINT8_MAX};
    return true;
}

/* ---- cells -------------------------------------------------------------------------------------------- */

struct shadow_page *simt_page_cells(struct worker *w, struct page *page)
{
    struct pages *p = &w->shadow.pages;
    const size_t at = p->pool_used % p->pool_size;
    if (p->pool_used >= p->pool_size) { /* what the page knew is lost: a race in it may be missed */
        p->page[p->pool_owner[at]].cells = NULL;
        memset(&p->pool[at], 0, sizeof p->pool[at]);
    }
    p->pool_used++;
    p->pool_owner[at] = (uint32_t)(page - p->page);
    page->cells = &p->pool[at];
    for (unsigned k = 0; k < page->runs; k++) list_run(w, page, &page->run[k]);
    return page->cells;
}

void simt_pages_forget(struct worker *w)
{
    simt_forget(w->shadow.pages.pool, w->shadow.pages.pool_size * sizeof *w->shadow.pages.pool);
    w->shadow.pages.count = w->shadow.pages.pool_used = 0;
}
