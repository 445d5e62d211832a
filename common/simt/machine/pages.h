/**
 * @file pages.h
 * @brief What the running block did to global memory, page by page: as runs where threads access it in order,
 *         as shadow cells (shadow_words.c) where they do not.
 */
#pragma once

#include "dependent_launch.h"
#include "fences.h"
#include "finding.h"
#include "image.h"
#include "machine.h"
#include "shadow.h"
#include "worker.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** @brief Numbers of pages: those of variables lie behind those of the arena. */
#define DATA_PAGES (UINT32_C(1) << 31)

static inline uint32_t simt_page_number(enum place place, uintptr_t offset)
{
    return (uint32_t)(offset / PAGE_BYTES) + (place == PLACE_DATA ? DATA_PAGES : 0);
}

/** @brief The page of that number, or NULL if the block has not touched it. */
static inline struct page *simt_page_find(const struct worker *w, uint32_t number)
{
    const struct pages *p = &w->shadow.pages;
    for (uint32_t at = number * 2654435769u >> p->shift;; at = (at + 1) & p->mask) {
        const uint32_t index = p->slot[at];
        if (index >= p->count || p->page[index].slot != at) return NULL; /* an earlier block's */
        if (p->page[index].number == number) return &p->page[index];
    }
}

/** @brief The kind of the touch that an access makes. */
static inline unsigned simt_run_kind(const struct worker *w, int access)
{
    const unsigned kind = (access & SIMT_WRITE ? TOUCH_WRITE : TOUCH_READ) |
                          (access & ACCESS_ASYNC ? (unsigned)TOUCH_ASYNC : 0) |
                          (access & SIMT_CONSTANT ? (unsigned)TOUCH_CONSTANT : 0);
    if (w->grid.launch_before_over && !w->grid.met) return kind;
    return kind | (simt_is_early(w) ? TOUCH_EARLY : 0u) | (simt_has_acquired(w) ? TOUCH_ACQUIRED : 0u);
}

/** @brief Whether the access is the next one of the run @p r, which then holds it. */
static inline __attribute__((always_inline)) bool simt_run_extend(const struct worker *w, struct run *r,
                                                                  unsigned first, unsigned bytes,
                                                                  unsigned kind, uint32_t pc)
{
    const uint32_t next = kind | (uint32_t)bytes << 16 | (uint32_t)first << 24; /* as the union lays it out */
    if (r->when != w->time.when || r->pc != pc || r->next != next) return false;
    if (w->thread_index == r->last) {
        if (r->left == 0) return false;
        r->left = (uint8_t)(r->left - (r->each != 0));
    } else {
        if (w->thread_index != r->last + 1u || (r->each != 0 && r->left != 0)) return false;
        if (r->each == 0) r->each = r->count;
        r->left = (uint8_t)(r->each - 1);
        r->last = (uint16_t)w->thread_index;
    }
    r->count++;
    r->end = (uint8_t)(r->end + bytes);
    return true;
}

/** @brief Puts the access, a plain one that lies in @p page, into a run. False: the page needs cells. */
bool simt_page_take(struct worker *w, struct page *page, unsigned first, unsigned bytes, int access,
                    uint32_t pc);
struct page *simt_page_make(struct worker *w, uint32_t number);
/**
 * @brief Gives the page shadow cells, and lists its runs as touched. The caller enters the runs in the
 * cells, then drops them.
 */
struct shadow_page *simt_page_cells(struct worker *w, struct page *page);
/** @brief Lists what the runs of all pages touched. */
void simt_pages_end_block(struct worker *w);
void simt_pages_open(struct worker *w);
void simt_pages_forget(struct worker *w); /**< ticks begin anew */
/** @brief Which thread made the access at byte @p at of the page. */
unsigned simt_run_owner(const struct run *r, unsigned at);
