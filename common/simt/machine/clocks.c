/**
 * @file clocks.c
 * @brief Vector clocks of the threads of a block: joined where an mbarrier, a warp barrier or a block barrier is between.
 */
#include "clocks.h"
#include "machine.h"
#include "phases.h"
#include "tools.h"
#include "worker.h"

#include <string.h>

void simt_clocks_open(struct worker *w)
{
    if (w->clocks) return;
    if (w->clock_of == NULL) {
        w->clock_of = simt_reserve((MAX_THREADS + BARRIERS) * sizeof *w->clock_of, "the threads' clocks");
        w->shared_clock = simt_reserve(sizeof *w->shared_clock, "a clock");
        w->block_clock = simt_reserve(sizeof *w->block_clock, "the block's clock");
    }
    for (unsigned i = 0; i < w->warps; i++) w->warp_of[i].news = (struct news){.unfenced = UINT32_MAX};
    w->clocks = true; /* what earlier blocks left in them are old ticks, which order nothing in this one */
}

void simt_new_tick(struct worker *w, struct warp *warp)
{
    warp->tick = ++w->clock;
    warp->quiet = warp->tick;
    if (warp != w->warp) return;
    w->tick = warp->tick;
    w->warp_quiet = warp->quiet;
}

/* ---- joining ------------------------------------------------------------------------------------------ */

static void join_range(uint32_t *to, const uint32_t *from, unsigned count)
{
    for (unsigned i = 0; i < count; i++) to[i] = from[i] > to[i] ? from[i] : to[i];
}

static void join(const struct worker *w, uint32_t *to, const uint32_t *from)
{
    join_range(to, from, w->threads);
    join_range(to + COLUMN_ASYNC, from + COLUMN_ASYNC, w->mbarriers);
    join_range(to + COLUMN_ALL, from + COLUMN_ALL, COLUMNS - COLUMN_ALL);
}

void simt_clock_join(const struct worker *w, struct clock *to, const struct clock *from)
{
    join(w, to->heard, from->heard);
    join(w, to->fenced, from->fenced);
}

void simt_clock_clear(const struct worker *w, struct clock *clock)
{
    uint32_t *row[] = {clock->heard, clock->fenced};
    for (unsigned i = 0; i < 2; i++) {
        memset(row[i], 0, w->threads * sizeof *row[i]);
        memset(row[i] + COLUMN_ASYNC, 0, w->mbarriers * sizeof *row[i]);
        memset(row[i] + COLUMN_ALL, 0, (COLUMNS - COLUMN_ALL) * sizeof *row[i]);
    }
}

/* Thread @p thread's clock has what its own was not told: what warp barriers and named barriers order. */
static struct clock *complete_clock(const struct worker *w)
{
    struct clock *own = &w->clock_of[w->thread_index];
    const unsigned mine = w->thread_index / WARP_LANES;
    for (unsigned warp = 0; warp < w->warps; warp++) {
        uint32_t *column = own->heard + (size_t)warp * WARP_LANES;
        for (unsigned lane = 0; lane < WARP_LANES; lane++) {
            const uint32_t tick = warp == mine ? simt_known_of(w, lane) : w->warp->heard[warp];
            if (tick > column[lane]) column[lane] = tick;
        }
    }
    own->heard[w->thread_index] = w->tick;
    return own;
}

/* ---- what threads do ---------------------------------------------------------------------------------- */

void simt_clock_release(struct worker *w, struct clock *to)
{
    simt_clock_join(w, to, complete_clock(w));
    simt_new_tick(w, w->warp);
}

static struct warp *warp_of(struct worker *w, unsigned thread)
{
    return &w->warp_of[thread / WARP_LANES];
}

void simt_clock_acquire(struct worker *w, unsigned thread, const struct clock *from)
{
    simt_clock_join(w, &w->clock_of[thread], from);
    simt_clocks_learned(warp_of(w, thread), 1u << thread % WARP_LANES);
}

/* The lanes of a warp order each other without clocks: of them a fence brings something new every time. */
static void fence_own_warp(const struct worker *w, struct clock *own)
{
    const size_t first = w->thread_index / WARP_LANES * WARP_LANES;
    for (unsigned lane = 0; lane < WARP_LANES; lane++) {
        const uint32_t tick = simt_known_of(w, lane);
        if (tick > own->heard[first + lane]) own->heard[first + lane] = tick;
    }
    own->heard[w->thread_index] = w->tick;
    join_range(own->fenced + first, own->heard + first, WARP_LANES);
}

static void fence(struct worker *w)
{
    struct news *news = &w->warp->news;
    const unsigned bit = 1u << w->thread_index % WARP_LANES;
    struct clock *own = &w->clock_of[w->thread_index];
    if (news->unfenced & bit) {
        own = complete_clock(w);
        join(w, own->fenced, own->heard);
        news->unfenced &= ~bit;
        news->warp |= bit;
        news->block |= bit;
    } else {
        fence_own_warp(w, own);
        news->warp_fence |= bit;
        news->block_fence |= bit;
    }
    if (w->last_barrier > own->fenced[COLUMN_ALL]) own->fenced[COLUMN_ALL] = w->last_barrier;
    simt_new_tick(w, w->warp);
}

void simt_proxy_fence(void)
{
    struct worker *w = simt_tls_worker;
    if (w == NULL) return;
    simt_clocks_open(w);
    fence(w);
}

/* ---- barriers ----------------------------------------------------------------------------------------- */

void simt_clocks_collect(const struct worker *w, const struct warp *warp, unsigned lanes, struct clock *to)
{
    const struct clock *first = &w->clock_of[(size_t)(warp - w->warp_of) * WARP_LANES];
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1)
        simt_clock_join(w, to, &first[__builtin_ctz(rest)]);
}

void simt_clocks_learned(struct warp *warp, unsigned lanes)
{
    warp->news.warp |= lanes;
    warp->news.block |= lanes;
    warp->news.unfenced |= lanes;
}

/* Of the clocks of @p lanes, what their own fences have changed. */
static void collect_fences(const struct worker *w, const struct warp *warp, unsigned lanes, struct clock *to)
{
    const size_t first = (size_t)(warp - w->warp_of) * WARP_LANES;
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
        const struct clock *from = &w->clock_of[first + (unsigned)__builtin_ctz(rest)];
        join_range(to->fenced + first, from->fenced + first, WARP_LANES);
        join_range(to->fenced + COLUMN_ALL, from->fenced + COLUMN_ALL, 1);
    }
}

static void share_fences(struct worker *w, struct warp *warp, unsigned lanes)
{
    const size_t first = (size_t)(warp - w->warp_of) * WARP_LANES;
    struct clock *all = w->shared_clock;
    memset(all->fenced + first, 0, WARP_LANES * sizeof *all->fenced);
    all->fenced[COLUMN_ALL] = 0;
    collect_fences(w, warp, lanes, all);
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
        struct clock *to = &w->clock_of[first + (unsigned)__builtin_ctz(rest)];
        join_range(to->fenced + first, all->fenced + first, WARP_LANES);
        join_range(to->fenced + COLUMN_ALL, all->fenced + COLUMN_ALL, 1);
    }
    warp->news.warp_fence = lanes == warp->lanes ? 0 : warp->news.warp_fence | lanes;
    warp->news.block_fence |= lanes;
}

void simt_clocks_share(struct worker *w, struct warp *warp, unsigned lanes)
{
    struct clock *first = &w->clock_of[(size_t)(warp - w->warp_of) * WARP_LANES];
    if ((warp->news.warp & lanes) == 0) {
        if (warp->news.warp_fence & lanes) share_fences(w, warp, lanes);
        return;
    }
    simt_clock_clear(w, w->shared_clock);
    simt_clocks_collect(w, warp, lanes, w->shared_clock);
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1)
        simt_clock_join(w, &first[__builtin_ctz(rest)], w->shared_clock);
    simt_clocks_learned(warp, lanes); /* now each of them knows what others may not */
    if (lanes == warp->lanes) warp->news.warp = warp->news.warp_fence = 0;
}

void simt_clocks_share_all(struct worker *w)
{
    for (unsigned i = 0; i < w->warps; i++) {
        struct warp *warp = &w->warp_of[i];
        simt_clocks_collect(w, warp, warp->news.block, w->block_clock);
        collect_fences(w, warp, warp->news.block_fence & ~warp->news.block, w->block_clock);
        warp->news = (struct news){.unfenced = warp->news.unfenced};
    }
}
