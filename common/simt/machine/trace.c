/**
 * @file trace.c
 * @brief What the warps of traced blocks do, as bytes (trace_format.h).
 */
#include "trace.h"
#include "arena.h"
#include "counters.h"
#include "debugger.h"
#include "finding.h"
#include "image.h"
#include "machine.h"
#include "settings.h"
#include "shadow.h"
#include "sizes.h"
#include "tools.h"
#include "traffic.h"
#include "worker.h"

#include <pthread.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SITE_SLOTS = 4096, LISTS = 2 };
#define NOBODY UINT_MAX

/** What an event shares with the one before of its site, as a rule: then it need not be written again. */
struct shape {
    uint32_t mask;
    uint16_t bytes;
    uint8_t access, space, lists;
    int64_t step[LISTS][WARP_LANES - 1]; /* from lane to lane */
};
/** One instruction of some lanes, until those before it are known. */
struct staged {
    unsigned order, number; /* the index in the logs, and in which order they were counted */
    uint32_t site;
    enum trace_event event;
    struct shape shape;
    uintptr_t first[LISTS];
    uint16_t cost[TRACE_COUNTED];
};
/** The last event of a site. */
struct last {
    struct shape shape;
    uintptr_t first[LISTS];
    uint16_t cost[TRACE_COUNTED];
};
struct slot {
    uint64_t key;
    uint32_t site;
    bool used;
};
/** How a worker writes down what its block does. */
struct trace {
    struct vector staged, last; /* struct staged; struct last of each site */
    struct slot slot[SITE_SLOTS];
    uint64_t bulks;                         /* copies that the block has begun */
    int warp;                               /* of the events written last; -1: none */
    unsigned watched;                       /* by a debugger: the index of a thread of the block, or NOBODY */
    struct traced_range range[PLACE_COUNT]; /* that the last address of a place was in */
    uintptr_t element;                      /* SIMT_TRACE_ELEMENT, if it is in that range */
    size_t element_bytes;                   /* 0: it is not */
};

struct traced_launch simt_traced;
static pthread_mutex_t trace_lock = PTHREAD_MUTEX_INITIALIZER; /* of its lists */
static atomic_size_t kept_bytes;                               /* of all launches */

/* ---- numbers ------------------------------------------------------------------------------------------ */

static void put(struct vector *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) *(uint8_t *)simt_vector_grow(to, 1) = (uint8_t)(value | 0x80);
    *(uint8_t *)simt_vector_grow(to, 1) = (uint8_t)value;
}

static void put_signed(struct vector *to, int64_t value)
{
    put(to, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

/* ---- sites and allocations ----------------------------------------------------------------------------- */

unsigned simt_trace_site(uint32_t pc, const struct simt_site *site)
{
    pthread_mutex_lock(&trace_lock);
    const struct traced_site *sites = simt_traced.sites.data;
    unsigned i = 0;
    while (i < simt_traced.sites.count && (sites[i].pc != pc || sites[i].site != site)) i++;
    if (i == simt_traced.sites.count)
        *(struct traced_site *)simt_vector_grow(&simt_traced.sites, sizeof *sites) =
            (struct traced_site){pc, site};
    pthread_mutex_unlock(&trace_lock);
    return i;
}

static unsigned site_of(struct trace *t, uint32_t pc, const struct simt_site *site)
{
    const uint64_t key = site != NULL ? (uintptr_t)site : pc;
    size_t slot = simt_mix(key) % SITE_SLOTS;
    for (unsigned tried = 0; tried < SITE_SLOTS; tried++, slot = (slot + 1) % SITE_SLOTS) {
        struct slot *s = &t->slot[slot];
        if (!s->used) *s = (struct slot){key, simt_trace_site(pc, site), true};
        if (s->key == key) return s->site;
    }
    return simt_trace_site(pc, site);
}

static void note(struct traced_range range)
{
    pthread_mutex_lock(&trace_lock);
    const struct traced_range *ranges = simt_traced.ranges.data;
    size_t i = 0;
    while (i < simt_traced.ranges.count && (ranges[i].space != range.space || ranges[i].start != range.start))
        i++;
    if (i == simt_traced.ranges.count)
        *(struct traced_range *)simt_vector_grow(&simt_traced.ranges, sizeof *ranges) = range;
    pthread_mutex_unlock(&trace_lock);
}

/* Whether SIMT_TRACE_ELEMENT names an element of the allocation that begins at @p start. */
static void look_for_element(struct trace *t, uintptr_t start)
{
    struct simt_shape shape;
    const char *name = simt_arena_describe(start, &shape), *at = simt_settings.element;
    const size_t length = strlen(name);
    uint64_t index = 0;
    t->element_bytes = 0;
    if (strncmp(at, name, length) != 0 || at[length] != ':') return;
    at += length;
    for (int axis = 0; axis < shape.rank && *at != '\0'; axis++) {
        char *end;
        index = index * shape.extent[axis] + strtoull(at + 1, &end, 10);
        at = end;
    }
    const size_t columns = shape.row_bytes > 0 ? shape.extent[shape.rank - 1] : 0;
    t->element_bytes = *at == '\0' ? shape.element_bytes : 0;
    t->element =
        start + (columns > 0 ? index / columns * shape.row_bytes + index % columns * shape.element_bytes
                             : index * shape.element_bytes);
}

/* What lies at an address, which mostly is what lay at the last one. */
static void note_place(struct trace *t, enum place place, uintptr_t at, size_t bytes)
{
    struct traced_range *r = &t->range[place < PLACE_COUNT ? place : 0];
    const struct symbol *symbol = NULL;
    if (place >= PLACE_DYNAMIC || at - r->start < r->end - r->start) return;
    if (place == PLACE_ARENA) {
        uintptr_t start, end;
        if (!simt_arena_live(at, bytes, &start, &end)) return;
        *r = (struct traced_range){TRACE_GLOBAL, start, end, NULL};
        if (simt_settings.element != NULL) look_for_element(t, start);
    } else {
        symbol = place == PLACE_DATA ? simt_symbol_before(simt_image.device, simt_image.device_count, at)
                                     : simt_symbol_before(simt_image.shared, simt_image.shared_count, at);
        if (symbol == NULL || at - symbol->start >= symbol->bytes) return;
        *r = (struct traced_range){place == PLACE_DATA ? TRACE_VARIABLE : TRACE_SHARED, symbol->start,
                                   symbol->start + symbol->bytes, symbol};
    }
    note(*r);
}

/* ---- what lanes do -------------------------------------------------------------------------------------- */

static uint8_t access_of(int access)
{
    return (uint8_t)((access & SIMT_READ ? TRACE_READ : 0) | (access & SIMT_WRITE ? TRACE_WRITE : 0) |
                     (access & SIMT_ATOMIC ? TRACE_ATOMIC : 0) | (access & ACCESS_COPY ? TRACE_COPY : 0));
}

static enum trace_space space_of(enum place place)
{
    static const enum trace_space spaces[] = {[PLACE_ARENA] = TRACE_GLOBAL,
                                              [PLACE_DATA] = TRACE_VARIABLE,
                                              [PLACE_SHARED] = TRACE_SHARED,
                                              [PLACE_DYNAMIC] = TRACE_DYNAMIC};
    return place < PLACE_COUNT ? spaces[place] : TRACE_NOWHERE;
}

static uintptr_t in_space(const struct worker *w, enum place place, uintptr_t address)
{
    if (place != PLACE_SHARED && place != PLACE_DYNAMIC) return address;
    return address - w->space[place].base;
}

/* An access to @p bytes at @p at of the arena; is it the last write so far? */
static void note_write(struct worker *w, unsigned thread, uint32_t pc, int access, uintptr_t at, size_t bytes)
{
    const struct trace *t = w->trace;
    if ((access & (SIMT_WRITE | SIMT_ATOMIC)) == 0) return;
    if (at >= t->element + t->element_bytes || at + bytes <= t->element) return;
    w->result->wrote = (struct actor){w->result->block, pc, (uint16_t)thread, (uint8_t)access, NULL};
    simt_traced.element = t->element;
    simt_traced.element_bytes = t->element_bytes;
}

void simt_trace_stored(struct worker *w, unsigned thread, const void *pc, const void *target, size_t bytes)
{
    const uintptr_t at = (uintptr_t)target - ARENA_BASE;
    if (w->trace == NULL || simt_settings.element == NULL || at >= ARENA_BYTES) return;
    note_place(w->trace, PLACE_ARENA, at, bytes);
    note_write(w, thread, simt_pack_pc(pc), SIMT_WRITE, at, bytes);
}

/* Of a copy the addresses in shared memory are a list of their own. */
static void stage_addresses(struct worker *w, const struct request *r, const struct log_entry *entry,
                            struct staged *s)
{
    uintptr_t before[LISTS] = {0};
    const bool copy = simt_is_packed(entry->access);
    const enum place target = entry->access & COPY_TO_DYNAMIC ? PLACE_DYNAMIC : PLACE_SHARED;
    s->shape.lists = copy ? 2 : 1;
    for (unsigned i = 0; i < r->count; i++) {
        uintptr_t to = 0, from = r->address[i];
        if (copy) from = simt_unpack_copy(from, &to);
        const uintptr_t address[LISTS] = {in_space(w, entry->place, from), to};
        note_place(w->trace, entry->place, entry->place == PLACE_ARENA ? from - ARENA_BASE : address[0],
                   r->bytes);
        if (copy) note_place(w->trace, target, to, r->bytes);
        if (entry->place == PLACE_ARENA && w->trace->element_bytes > 0)
            note_write(w, (unsigned)(w->warp - w->warp_of) * WARP_LANES + r->lane[i], entry->pc,
                       entry->access & ACCESS_COPY ? SIMT_READ : entry->access, from - ARENA_BASE, r->bytes);
        for (unsigned list = 0; list < s->shape.lists; list++) {
            if (i == 0)
                s->first[list] = address[list];
            else
                s->shape.step[list][i - 1] = (int64_t)(address[list] - before[list]);
            before[list] = address[list];
        }
        s->shape.mask |= 1u << r->lane[i];
    }
    if (copy && target == PLACE_DYNAMIC) s->shape.space |= TRACE_TO_DYNAMIC;
}

void simt_trace_request(struct worker *w, const struct request *r, const struct log_entry *entry,
                        unsigned index)
{
    struct trace *t = w->trace;
    if (entry->place == PLACE_NONE) return;
    struct staged *s = simt_vector_grow(&t->staged, sizeof *s);
    memset(s, 0, sizeof *s); /* shapes are compared as bytes */
    s->order = index;
    s->number = (unsigned)t->staged.count;
    s->site = site_of(t, entry->pc, NULL);
    s->event = entry->place == PLACE_MARK ? TRACE_MARK : TRACE_LANES;
    s->shape.bytes = entry->bytes;
    if (s->event == TRACE_MARK) {
        s->shape.access = entry->access;
        s->first[0] = r->address[0];
        for (unsigned i = 0; i < r->count; i++) s->shape.mask |= 1u << r->lane[i];
        return;
    }
    s->shape.access = access_of(entry->access);
    s->shape.space = (uint8_t)space_of(entry->place);
    stage_addresses(w, r, entry, s);
    struct counters cost = {0};
    simt_count_request(&cost, r, entry->access, entry->place);
    const uint64_t *value = (const uint64_t *)&cost;
    for (int i = 0; i < TRACE_COUNTED; i++) s->cost[i] = (uint16_t)value[i];
    if (entry->place == PLACE_DYNAMIC && w->dynamic_name != NULL) {
        simt_traced.dynamic_name = w->dynamic_name;
        simt_traced.dynamic_element_bytes = w->dynamic_element_bytes;
    }
}

void simt_trace_again(struct worker *w)
{
    w->trace->staged.count = 0;
}

static int compare_staged(const void *a, const void *b)
{
    const struct staged *one = a, *two = b;
    if (one->order != two->order) return one->order < two->order ? -1 : 1;
    return one->number < two->number ? -1 : one->number > two->number;
}

/* ---- events as bytes ------------------------------------------------------------------------------------ */

/* The block's events, at warp @p warp; NULL if there is no room for more. */
static struct vector *events_of(struct worker *w, int warp)
{
    struct vector *to = &w->result->events;
    if (to->count >= TRACE_BLOCK_BYTES || kept_bytes + to->count >= TRACE_FILE_BYTES) {
        w->result->events_left_out++;
        return NULL;
    }
    if (warp < 0 || warp == w->trace->warp) return to;
    w->trace->warp = warp;
    put(to, TRACE_WARP);
    put(to, (unsigned)warp);
    return to;
}

static void put_steps(struct vector *to, const int64_t *step, unsigned count)
{
    for (unsigned i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && step[end] == step[i];) end++;
        put_signed(to, step[i]);
        put(to, end - i);
    }
}

static struct last *last_of(struct trace *t, uint32_t site)
{
    while (t->last.count <= site)
        memset(simt_vector_grow(&t->last, sizeof(struct last)), 0, sizeof(struct last));
    return (struct last *)t->last.data + site;
}

static void put_lanes(struct vector *to, const struct staged *s, struct last *last)
{
    const bool same = memcmp(&s->shape, &last->shape, sizeof s->shape) == 0,
               same_cost = memcmp(s->cost, last->cost, sizeof s->cost) == 0;
    put(to, TRACE_LANES | (same ? TRACE_SAME : 0) | (same_cost ? TRACE_SAME_COST : 0));
    put(to, s->site);
    if (!same) {
        put(to, s->shape.access);
        put(to, s->shape.space);
        put(to, s->shape.bytes);
        put(to, s->shape.mask);
        for (unsigned list = 0; list < s->shape.lists; list++)
            put_steps(to, s->shape.step[list], (unsigned)__builtin_popcount(s->shape.mask) - 1);
    }
    for (unsigned list = 0; list < s->shape.lists; list++)
        put_signed(to, (int64_t)(s->first[list] - last->first[list]));
    if (!same_cost) {
        unsigned rises = 0;
        for (int i = 0; i < TRACE_COUNTED; i++) rises |= (s->cost[i] != 0) << i;
        put(to, rises);
        for (int i = 0; i < TRACE_COUNTED; i++)
            if (s->cost[i] != 0) put(to, s->cost[i]);
    }
    last->shape = s->shape;
    memcpy(last->first, s->first, sizeof last->first);
    memcpy(last->cost, s->cost, sizeof last->cost);
}

void simt_trace_flushed(struct worker *w, bool counted)
{
    struct trace *t = w->trace;
    struct staged *staged = t->staged.data;
    if (t->staged.count > 1) qsort(staged, t->staged.count, sizeof *staged, compare_staged);
    for (size_t i = 0; i < t->staged.count; i++) {
        struct staged *s = &staged[i];
        struct vector *to = events_of(w, (int)(w->warp - w->warp_of));
        if (to == NULL) continue;
        if (s->event == TRACE_MARK) {
            put(to, TRACE_MARK);
            put(to, s->site);
            put(to, s->shape.access);
            put(to, s->shape.mask);
            put(to, s->first[0]);
            continue;
        }
        if (!counted) {
            s->shape.access |= TRACE_UNUSED;
            memset(s->cost, 0, sizeof s->cost);
        }
        put_lanes(to, s, last_of(t, s->site));
    }
    t->staged.count = 0;
}

uint64_t simt_trace_number(struct worker *w)
{
    return ++w->trace->bulks;
}

enum trace_meet simt_trace_gathered(const struct simt_site *site)
{
    return strstr(site->what, "mma_sync") != NULL || strstr(site->what, "mma.sync") != NULL ||
                   strstr(site->what, "mma_async") != NULL
               ? TRACE_PRODUCT
               : TRACE_COLLECTIVE;
}

void simt_trace_meet(struct worker *w, const struct warp *warp, const struct simt_site *site, unsigned meet,
                     unsigned lanes)
{
    if (w->trace == NULL) return;
    struct vector *to = events_of(w, (int)(warp - w->warp_of));
    if (to == NULL) return;
    put(to, TRACE_MEET);
    put(to, site_of(w->trace, 0, site));
    put(to, meet);
    put(to, lanes);
}

void simt_trace_barrier(struct worker *w, const struct simt_site *site, uint32_t warps)
{
    struct vector *to = w->trace != NULL ? events_of(w, -1) : NULL;
    if (to == NULL) return;
    put(to, TRACE_BARRIER);
    put(to, site_of(w->trace, 0, site));
    put(to, warps);
}

void simt_trace_named(struct worker *w, unsigned id, uint32_t warps)
{
    struct vector *to = w->trace != NULL ? events_of(w, -1) : NULL;
    if (to == NULL) return;
    put(to, TRACE_NAMED);
    put(to, id);
    put(to, warps);
}

void simt_trace_landed(struct worker *w, uint64_t number, const void *target, uint64_t bytes)
{
    struct vector *to = w->trace != NULL ? events_of(w, -1) : NULL;
    if (to == NULL) return;
    const enum place place = simt_place_of(w, (uintptr_t)target);
    const uintptr_t at = in_space(w, place, (uintptr_t)target);
    put(to, TRACE_LANDED);
    put(to, number);
    put(to, bytes);
    put(to, space_of(place));
    put(to, at);
    note_place(w->trace, place, place == PLACE_ARENA ? at - ARENA_BASE : at, 1);
}

/* ---- blocks --------------------------------------------------------------------------------------------- */

static bool is_chosen(const struct worker *w)
{
    const struct simt_extent b = simt_block_index, want = simt_settings.traced_block;
    if (simt_settings.traced == TRACED_ALL) return true;
    if (simt_settings.traced == TRACED_ONE) return b.x == want.x && b.y == want.y && b.z == want.z;
    return w->result->order == 0 || !simt_traced.found || simt_settings.element != NULL;
}

/* Which of the block's threads SIMT_TRACE_WATCHED names. */
static unsigned watched_thread(const struct worker *w)
{
    unsigned long long launch, block;
    unsigned thread;
    int used;
    for (const char *at = simt_settings.watched; at != NULL; at = at[used] == ',' ? at + used + 1 : NULL) {
        if (sscanf(at, "%llu:%llu:%u%n", &launch, &block, &thread, &used) != 3)
            simt_die("SIMT_TRACE_WATCHED is \"%s\"; it must be LAUNCH:BLOCK:THREAD, or several with commas.",
                     simt_settings.watched);
        if (launch == simt_traced.launches && block == w->result->block) return thread;
    }
    return NOBODY;
}

void simt_trace_logged(struct worker *w)
{
    const struct space *shared = &w->space[PLACE_SHARED], *dynamic = &w->space[PLACE_DYNAMIC];
    if (w->thread_index == w->trace->watched)
        simt_debugger_access(&(struct simt_debugger_place){simt_traced.launches, w->result->block,
                                                           shared->base, shared->bytes, dynamic->base,
                                                           dynamic->bytes});
}

struct trace *simt_trace_begin(struct worker *w)
{
    static _Thread_local struct trace *simt_recorder;
    if (simt_settings.trace == NULL || !is_chosen(w)) return NULL;
    if (simt_recorder == NULL) simt_recorder = simt_reserve(sizeof *simt_recorder, "the trace");
    if (simt_recorder->last.count > 0)
        memset(simt_recorder->last.data, 0, simt_recorder->last.count * sizeof(struct last));
    simt_recorder->staged.count = 0;
    simt_recorder->warp = -1;
    simt_recorder->bulks = 0;
    simt_recorder->watched = watched_thread(w);
    memset(simt_recorder->range, 0, sizeof simt_recorder->range);
    simt_recorder->element_bytes = 0;
    return simt_recorder;
}

void simt_trace_take(struct result *result, bool found)
{
    const bool sampled = simt_settings.traced == TRACED_SOME, wrote = result->wrote.access != 0,
               wanted = !sampled || result->order == 0 || wrote || (found && !simt_traced.found);
    if (wrote) simt_traced.wrote = result->wrote;
    result->wrote.access = 0;
    if (result->events.count == 0 && result->events_left_out == 0 && !found) return;
    if (wanted) {
        struct traced_block *block = simt_vector_grow(&simt_traced.blocks, sizeof *block);
        *block = (struct traced_block){.block = result->block,
                                       .left_out = result->events_left_out,
                                       .why = found     ? TRACE_FOUND
                                              : wrote   ? TRACE_WROTE
                                              : sampled ? TRACE_FIRST
                                                        : TRACE_CHOSEN,
                                       .counters = result->counters,
                                       .events = result->events};
        kept_bytes += result->events.count;
        result->events = (struct vector){0};
        simt_traced.found |= found;
    }
    result->events.count = 0;
    result->events_left_out = 0;
}
