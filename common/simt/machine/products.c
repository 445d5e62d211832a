/**
 * @file products.c
 * @brief Warpgroup matrix multiplies in flight, from wgmma.mma_async to wgmma.wait_group.
 *
 * The products of a warpgroup stand in a queue in the order in which its warps issue them; the k-th of one warp must be the k-th
 * of the others. A product is computed when the first of its warps waits for it, which then needs the others to have issued it.
 * A warp's accumulators receive the result at its own wait, and hold a NaN that no arithmetic makes (POISON) until then.
 */
#include "products.h"
#include "frames.h"
#include "finding.h"
#include "lanes.h"
#include "machine.h"
#include "settings.h"
#include "shadow.h"
#include "trace.h"
#include "vector_clocks.h"
#include "worker.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t POISON = 0x7ffe7fed; /* NaN as f32 and as two f16 */

/** Registers of a lane that a product in flight will write. */
struct span {
    uintptr_t low, high;
    const struct sums *sums;
    const void *pc;
};

static struct thread *thread_at(struct worker *w, unsigned warp_index, unsigned lane)
{
    return &w->thread[warp_index * WARP_LANES + lane];
}

static void *room(size_t count, size_t bytes)
{
    void *p = calloc(count, bytes);
    if (p == NULL) simt_die("out of host memory.");
    return p;
}

/* ---- findings ----------------------------------------------------------------------------------------- */

static void found(struct worker *w, enum record_message message, const void *pc, unsigned thread, int access,
                  const struct actor *other, enum record_advice advice)
{
    struct finding f = simt_finding_says(
        RECORD_MISSING_WAIT, message, advice, NULL,
        (struct actor){w->block, simt_pack_pc(pc), (uint16_t)thread, (uint8_t)access, NULL});
    if (other != NULL) f.actor[1] = *other;
    simt_found(w, &f);
}

/* ---- registers ---------------------------------------------------------------------------------------- */

static bool is_touched(const struct worker *w, const struct thread *t, const void *place)
{
    (void)w;
    const uintptr_t at = (uintptr_t)place - t->touched_base;
    return t->touched != NULL && at < STACK_BYTES && t->touched[at / 32] >> at / 4 % 8 & 1;
}

/* An access to a register that is in flight. */
static __attribute__((noinline)) void look_for_span(struct worker *w, uintptr_t address, size_t bytes,
                                                    int access, const void *pc)
{
    const struct thread *t = w->current;
    const struct span *span = t->spans.data;
    for (size_t i = 0, count = t->spans.count; i < count; i++) {
        if (address + bytes <= span[i].low || address >= span[i].high) continue;
        const struct actor actor = simt_actor(w, pc, access);
        found(w, RECORD_SAYS_PRODUCT_REGISTERS, span[i].pc, w->thread_index, SIMT_WRITE, &actor,
              RECORD_ADVICE_PRODUCT_WAIT);
        return;
    }
}

static __attribute__((noinline)) void note_words(uint8_t *touched, uintptr_t word, uintptr_t last)
{
    for (; word <= last && word < STACK_BYTES / 4; word++) touched[word / 8] |= (uint8_t)(1u << word % 8);
}

/*
 * Every access of a watched thread to its own variables comes here. Most lie within the words of one byte
 * of bits, and have been noted before.
 */
static inline void note_touched(uint8_t *touched, uintptr_t at, size_t bytes)
{
    const uintptr_t first = at / 4, last = (at + bytes - 1) / 4;
    if (first / 8 != last / 8) {
        note_words(touched, first, last);
        return;
    }
    const unsigned bits = ((2u << (last - first)) - 1) << first % 8;
    if ((touched[first / 8] & bits) != bits) touched[first / 8] |= (uint8_t)bits;
}

void simt_product_touch(struct worker *w, uintptr_t address, size_t bytes, int access, const void *pc)
{
    struct thread *t = w->current;
    const uintptr_t at = address - t->touched_base;
    if (t->touched != NULL && at < STACK_BYTES) note_touched(t->touched, at, bytes);
    if (t->spans.count > 0) look_for_span(w, address, bytes, access, pc);
}

void simt_product_use(const void *place, const void *return_address)
{
    struct worker *w = simt_tls_worker;
    if (w->checking && simt_product_holds(place))
        look_for_span(w, (uintptr_t)place, sizeof(uint32_t), SIMT_READ, return_address);
}

void simt_product_drop(const void *low, const void *high)
{
    struct worker *w = simt_tls_worker;
    const unsigned warp_index = w->thread_index / WARP_LANES, lane = w->thread_index % WARP_LANES;
    struct span *span = w->current->spans.data;
    size_t left = 0;
    for (size_t i = 0; i < w->current->spans.count; i++)
        if (span[i].low < (uintptr_t)low || span[i].low >= (uintptr_t)high) span[left++] = span[i];
    w->current->spans.count = left;
    for (struct product *p = w->products.queue[warp_index / GROUP_WARPS]; p != NULL; p = p->next) {
        const struct sums *s = p->sums[warp_index % GROUP_WARPS];
        for (unsigned i = lane * p->count; s != NULL && i < (lane + 1) * p->count; i++)
            if (s->place[i] >= low && s->place[i] < high) s->place[i] = NULL;
    }
}

bool simt_product_holds(const void *place)
{
    const struct thread *t = simt_tls_worker->current;
    const struct span *span = t->spans.data;
    for (size_t i = 0; i < t->spans.count; i++)
        if ((uintptr_t)place >= span[i].low && (uintptr_t)place < span[i].high) return true;
    return false;
}

void simt_product_fence(void)
{
    struct worker *w = simt_tls_worker;
    struct thread *t = w->current;
    t->fenced = true;
    if (!w->checking || t->fiber == NULL) return;
    if (t->touched == NULL) t->touched = room(STACK_BYTES / 32, 1);
    memset(t->touched, 0, STACK_BYTES / 32);
    t->touched_base = (uintptr_t)t->fiber->stack;
    t->watched = true;
    w->local.bytes = w->local.open_bytes = 0; /* check.c: from now on its local accesses are looked at */
}

/* The registers of a lane, as ranges of memory: as few as possible. */
static void add_spans(struct thread *t, const struct sums *s, unsigned lane, const void *pc)
{
    void *const *place = s->place + (size_t)lane * s->count;
    for (unsigned i = 0; i < s->count;) {
        struct span *span = simt_vector_grow(&t->spans, sizeof *span);
        *span = (struct span){.low = (uintptr_t)place[i], .sums = s, .pc = pc};
        for (span->high = span->low; i < s->count && (uintptr_t)place[i] == span->high; i++) span->high += 4;
    }
}

static void drop_spans(struct thread *t, const struct sums *s)
{
    struct span *span = t->spans.data;
    size_t left = 0;
    for (size_t i = 0; i < t->spans.count; i++)
        if (span[i].sums != s) span[left++] = span[i];
    t->spans.count = left;
}

static bool overlaps(const struct thread *t, void *const *place, unsigned count)
{
    const struct span *span = t->spans.data;
    for (size_t s = 0; s < t->spans.count; s++)
        for (unsigned i = 0; i < count; i++)
            if ((uintptr_t)place[i] + 4 > span[s].low && (uintptr_t)place[i] < span[s].high) return true;
    return false;
}

/* ---- issuing ------------------------------------------------------------------------------------------ */

static bool same_places(const struct sums *s, const struct product *p, struct product_lane *const *lane)
{
    if (s->count != p->count) return false;
    for (unsigned i = 0; i < WARP_LANES; i++)
        if (memcmp(s->place + (size_t)i * s->count, lane[i]->place, s->count * sizeof *s->place) != 0)
            return false;
    return true;
}

/* The accumulators that an earlier product of this shape has left in flight, or NULL. */
static struct sums *sums_in_flight(const struct worker *w, unsigned warp_index, const struct product *p,
                                   struct product_lane *const *lane)
{
    const unsigned part = warp_index % GROUP_WARPS;
    for (const struct product *q = w->products.queue[warp_index / GROUP_WARPS]; q != NULL && q != p;
         q = q->next)
        if (q->issued >> part & 1 && !(q->delivered >> part & 1) && same_places(q->sums[part], p, lane))
            return q->sums[part];
    return NULL;
}

static struct sums *new_sums(struct worker *w, unsigned warp_index, const struct product *p,
                             struct product_lane *const *lane)
{
    struct sums *s = room(1, sizeof *s);
    s->count = p->count;
    s->value = room((size_t)WARP_LANES * s->count, sizeof *s->value);
    s->place = room((size_t)WARP_LANES * s->count, sizeof *s->place);
    for (unsigned i = 0; i < WARP_LANES; i++) {
        memcpy(s->place + (size_t)i * s->count, lane[i]->place, s->count * sizeof *s->place);
        memcpy(s->value + (size_t)i * s->count, lane[i]->value, s->count * sizeof *s->value);
        s->own[i] = lane[i]->own;
        add_spans(thread_at(w, warp_index, i), s, i, p->pc);
    }
    return s;
}

/* Whether a function has ended in which variables of a lane were: nothing may be written there any more. */
static bool are_gone(const struct thread *t, const struct sums *s, unsigned lane)
{
    for (unsigned i = lane * s->count; i < (lane + 1) * s->count; i++) {
        const uintptr_t place = (uintptr_t)s->place[i];
        if (place - t->stack < STACK_BYTES &&
            place - s->own[lane].low >= s->own[lane].high - s->own[lane].low &&
            !simt_frames_open(t, place, sizeof *s->value))
            return true;
    }
    return false;
}

/* The variables of a lane are not there any more, or hold what somebody else has written. */
static void lose(struct worker *w, unsigned warp_index, struct sums *s, unsigned lane, const void *pc)
{
    if (w->checking)
        found(w, RECORD_SAYS_PRODUCT_REGISTERS_GONE, pc, warp_index * WARP_LANES + lane, SIMT_WRITE, NULL,
              RECORD_ADVICE_PRODUCT_WAIT);
    memset(s->place + (size_t)lane * s->count, 0, s->count * sizeof *s->place);
}

/* Puts @p source, or the results if it is NULL, where the variables are. Lanes that have ended have none. */
static void put(struct worker *w, unsigned warp_index, struct sums *s, const uint32_t *source, const void *pc)
{
    const unsigned exited = w->warp_of[warp_index].exited;
    for (unsigned lane = 0; lane < WARP_LANES; lane++) {
        if (exited >> lane & 1) continue;
        if (are_gone(thread_at(w, warp_index, lane), s, lane)) lose(w, warp_index, s, lane, pc);
        for (unsigned i = lane * s->count; i < (lane + 1) * s->count; i++)
            if (s->place[i] != NULL)
                memcpy(s->place[i], source != NULL ? source : &s->value[i], sizeof *s->value);
    }
}

static void check_registers(struct worker *w, unsigned warp_index, const struct product *p,
                            struct product_lane *const *lane, bool fresh)
{
    for (unsigned i = 0; i < WARP_LANES; i++) {
        const struct thread *t = thread_at(w, warp_index, i);
        lane[i]->fence_missing = !t->fenced;
        for (unsigned r = 0; r < p->count + FRAGMENT; r++)
            if (lane[i]->place[r] != NULL && is_touched(w, t, lane[i]->place[r]))
                lane[i]->fence_missing = true;
        lane[i]->other_shape = fresh && overlaps(t, lane[i]->place, p->count);
    }
}

/* The product that is this warp's next, new if it is the first to come. */
static struct product *next_product(struct worker *w, unsigned warp_index, const struct product *issued)
{
    const unsigned part = warp_index % GROUP_WARPS;
    struct product **at = &w->products.queue[warp_index / GROUP_WARPS];
    while (*at != NULL && (*at)->issued >> part & 1) at = &(*at)->next;
    if (*at == NULL) {
        *at = room(1, sizeof **at);
        **at = *issued;
        return *at;
    }
    const struct product *p = *at;
    const bool same =
        p->site == issued->site && p->a == issued->a && p->b == issued->b && p->scale_d == issued->scale_d;
    return same ? *at : NULL;
}

static void compute(struct worker *w, unsigned group, struct product *p)
{
    if (p->done) return;
    p->compute(p);
    p->done = true;
    if (!simt_settings.early) return;
    for (unsigned part = 0; part < GROUP_WARPS; part++)
        put(w, group * GROUP_WARPS + part, p->sums[part], NULL, p->pc);
}

static void retry_waits(struct worker *w, unsigned group)
{
    for (unsigned part = 0; part < GROUP_WARPS; part++)
        simt_resolve_products(w, &w->warp_of[group * GROUP_WARPS + part]);
}

void simt_product_issue(const struct product *issued, unsigned warp_index,
                        struct product_lane *lane[WARP_LANES])
{
    struct worker *w = simt_tls_worker;
    const unsigned group = warp_index / GROUP_WARPS, part = warp_index % GROUP_WARPS;
    struct product *p = next_product(w, warp_index, issued);
    if (p == NULL) {
        for (unsigned i = 0; i < WARP_LANES; i++) lane[i]->other_product = true;
        return;
    }
    if (w->checking) simt_clocks_open(w);
    struct sums *s = sums_in_flight(w, warp_index, p, lane);
    if (w->checking) check_registers(w, warp_index, p, lane, s == NULL);
    const bool fresh = s == NULL;
    if (fresh) s = new_sums(w, warp_index, p, lane);
    s->users++;
    p->sums[part] = s;
    p->group[part] = w->warp_of[warp_index].open_group;
    p->serial[part] = ++w->products.serial;
    for (unsigned i = 0; i < WARP_LANES; i++)
        memcpy(p->fragment[part][i], lane[i]->value + p->count, sizeof p->fragment[part][i]);
    p->issued |= 1u << part;
    if (fresh && !simt_settings.early) put(w, warp_index, s, &POISON, p->pc);
    if (p->issued != (1u << GROUP_WARPS) - 1) return;
    if (simt_settings.early) compute(w, group, p);
    retry_waits(w, group);
}

void simt_product_commit(unsigned warp_index)
{
    simt_tls_worker->warp_of[warp_index].open_group++;
}

/* ---- waiting ------------------------------------------------------------------------------------------ */

void simt_product_wait(const struct simt_site *site, unsigned prior)
{
    struct worker *w = simt_tls_worker;
    struct thread *t = w->current;
    t->wait = WAIT_PRODUCTS;
    t->site = site;
    t->mask = 0;
    t->prior = prior;
    w->warp->at_products |= 1u << w->thread_index % WARP_LANES;
    simt_suspend(w);
}

/** The search for writes to the operands of a product since it was issued. */
struct overwriting {
    struct worker *w;
    const struct product *product;
    unsigned group;
    uint32_t serial, tick; /**< writes after this one; when it is complete */
    unsigned thread;
    bool found;
};

static void look_at_row(void *context, uintptr_t address)
{
    struct overwriting *o = context;
    struct worker *w = o->w;
    const enum place place = simt_place_of(w, address);
    if (place != PLACE_SHARED && place != PLACE_DYNAMIC) return;
    simt_shadow_product_read(w, place, address - w->space[place].base, 16, o->group, o->tick,
                             simt_pack_pc(o->product->pc));
    if (o->found) return;
    const struct actor reader = {w->block, simt_pack_pc(o->product->pc), (uint16_t)o->thread, SIMT_READ,
                                 NULL};
    struct finding f = simt_finding_about(RECORD_MISSING_WAIT, RECORD_ADVICE_OPERAND_OVERWRITTEN, place,
                                          address - w->space[place].base, 16, reader);
    if (!simt_shadow_written_since(w, place, f.where, 16, o->serial, &f.actor[1])) return;
    o->found = true;
    simt_found(w, &f);
}

static void check_operands(struct worker *w, unsigned group, const struct product *p)
{
    struct overwriting o = {.w = w,
                            .product = p,
                            .group = group,
                            .tick = ++*w->time.clock,
                            .thread = group * GROUP_WARPS * WARP_LANES,
                            .serial = UINT32_MAX};
    for (unsigned part = 0; part < GROUP_WARPS; part++)
        if (p->serial[part] < o.serial) o.serial = p->serial[part];
    p->each_row(p, GROUP_WARPS, look_at_row, &o);
    for (unsigned part = 0; part < GROUP_WARPS; part++) {
        o.serial = p->serial[part];
        o.thread = (group * GROUP_WARPS + part) * WARP_LANES;
        p->each_row(p, part, look_at_row, &o);
    }
}

/* Whether somebody wrote to the accumulators of a lane. */
static bool is_overwritten(const struct sums *s, unsigned lane)
{
    for (unsigned i = lane * s->count; i < (lane + 1) * s->count; i++)
        if (s->place[i] != NULL && memcmp(s->place[i], &POISON, sizeof POISON) != 0) return true;
    return false;
}

/* The last product of a warp that used these accumulators is over. */
static void land(struct worker *w, unsigned warp_index, struct sums *s, const struct product *p)
{
    struct warp *warp = &w->warp_of[warp_index];
    for (unsigned lane = 0; lane < WARP_LANES; lane++) {
        struct thread *t = thread_at(w, warp_index, lane);
        drop_spans(t, s);
        if (!simt_settings.early && !(warp->exited >> lane & 1) && is_overwritten(s, lane))
            lose(w, warp_index, s, lane, p->pc);
    }
    if (!simt_settings.early) put(w, warp_index, s, NULL, p->pc);
    free(s->value);
    free(s->place);
    free(s);
}

static void deliver(struct worker *w, unsigned warp_index, struct product *p)
{
    const unsigned part = warp_index % GROUP_WARPS;
    p->delivered |= 1u << part;
    if (--p->sums[part]->users == 0) land(w, warp_index, p->sums[part], p);
}

static void drop_delivered(struct product **queue)
{
    while (*queue != NULL && (*queue)->delivered == (1u << GROUP_WARPS) - 1) {
        struct product *over = *queue;
        *queue = over->next;
        free(over);
    }
}

/* Whether the warp waits for this product. */
static bool covers(const struct warp *warp, unsigned part, const struct product *p, unsigned prior)
{
    return p->issued >> part & 1 && !(p->delivered >> part & 1) && p->group[part] + prior < warp->open_group;
}

/* What the lanes do next happens after the completed products have read their operands. */
static void order_after_products(struct worker *w, struct warp *warp, unsigned group)
{
    struct vector_clock *clock = &w->clocks.of[(size_t)(warp - w->warp_of) * WARP_LANES];
    for (unsigned lane = 0; lane < WARP_LANES; lane++)
        clock[lane].ordered[COLUMN_PRODUCT + group] = *w->time.clock;
    simt_clocks_mark_unshared(warp, warp->lanes);
    simt_new_tick(w, warp);
}

void simt_resolve_products(struct worker *w, struct warp *warp)
{
    const unsigned live = warp->lanes & ~warp->exited, warp_index = (unsigned)(warp - w->warp_of);
    const unsigned group = warp_index / GROUP_WARPS, part = warp_index % GROUP_WARPS;
    if (warp->at_products == 0 || warp->at_products != live) return;
    const unsigned prior = thread_at(w, warp_index, (unsigned)__builtin_ctz(live))->prior;
    for (const struct product *p = w->products.queue[group]; p != NULL; p = p->next)
        if (covers(warp, part, p, prior) && p->issued != (1u << GROUP_WARPS) - 1) return;
    for (struct product *p = w->products.queue[group]; p != NULL; p = p->next) {
        if (!covers(warp, part, p, prior)) continue;
        const bool first = p->delivered == 0;
        compute(w, group, p);
        if (first && w->checking) check_operands(w, group, p);
        deliver(w, warp_index, p);
    }
    if (w->checking && w->clocks.open) order_after_products(w, warp, group);
    simt_trace_meet(w, warp, thread_at(w, warp_index, (unsigned)__builtin_ctz(live))->site,
                    TRACE_PRODUCTS_WAIT, live);
    drop_delivered(&w->products.queue[group]);
    for (unsigned rest = warp->at_products; rest != 0; rest &= rest - 1)
        thread_at(w, warp_index, (unsigned)__builtin_ctz(rest))->wait = WAIT_NONE;
    warp->ready |= warp->at_products;
    warp->at_products = 0;
}

/* ---- blocks ------------------------------------------------------------------------------------------- */

void simt_products_begin(struct worker *w)
{
    for (unsigned i = 0; i < w->warps; i++) {
        w->warp_of[i].at_products = 0;
        w->warp_of[i].open_group = 0;
    }
}

static void forget(struct product *p)
{
    for (unsigned part = 0; part < GROUP_WARPS; part++) {
        struct sums *s = p->sums[part];
        if (!(p->issued >> part & 1) || p->delivered >> part & 1 || --s->users != 0) continue;
        free(s->value);
        free(s->place);
        free(s);
    }
    free(p);
}

void simt_products_end(struct worker *w)
{
    for (unsigned group = 0; group < GROUPS; group++) {
        bool reported = w->abandoned || !w->checking;
        while (w->products.queue[group] != NULL) {
            struct product *p = w->products.queue[group];
            w->products.queue[group] = p->next;
            const unsigned waiting = p->issued & ~p->delivered;
            if (!reported && waiting != 0)
                found(w, RECORD_SAYS_PRODUCT_LEFT, p->pc,
                      (group * GROUP_WARPS + (unsigned)__builtin_ctz(waiting)) * WARP_LANES, SIMT_READ, NULL,
                      RECORD_ADVICE_PRODUCT_LEFT);
            reported |= waiting != 0;
            forget(p);
        }
    }
    for (unsigned i = 0; i < w->threads; i++) w->thread[i].spans.count = 0;
}
