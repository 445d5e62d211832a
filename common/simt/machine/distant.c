/**
 * @file distant.c
 * @brief Accesses to shared memory of other blocks of the cluster ("distributed shared memory").
 *
 * Each block keeps the cells of its own memory (cells.c). A thread of another block is in them under a number of its own
 * (simt_foreign_actor()), and whether two accesses of different blocks are ordered is known from their clocks (clocks.c), which a barrier
 * of the cluster or an mbarrier of another block passes on. A block's memory is there from when it is known to have begun until
 * it ends: who accesses it must know of the one, and be known to it before the other.
 */
#include "distant.h"
#include "cells.h"
#include "clocks.h"
#include "cluster.h"
#include "image.h"
#include "lanes.h"
#include "machine.h"
#include "phases.h"
#include "settings.h"
#include "tools.h"
#include "worker.h"

#include <string.h>

struct distant {
    struct worker *w, *owner;
    enum place place;
    uintptr_t address, offset;
    size_t bytes;
    int access;
    const void *pc;
    bool reported;
};

/* ---- findings ----------------------------------------------------------------------------------------- */

static struct finding finding_of(const struct distant *now, enum record_kind kind, enum record_advice advice)
{
    struct finding f = simt_finding_about(kind, advice, now->place, now->offset, now->bytes,
                                          simt_actor(now->w, now->pc, now->access));
    simt_finding_owner(&f, now->owner);
    return f;
}

static void found(struct distant *now, enum record_kind kind, enum record_advice advice)
{
    struct finding f = finding_of(now, kind, advice);
    now->reported = true;
    simt_found(now->w, &f);
}

/* Who the cell's actor is, of the owner's block or of another one. */
static struct actor who(const struct distant *now, unsigned actor, uint32_t pc, int access)
{
    const struct worker *owner = now->owner;
    if (actor >= FOREIGN) return simt_foreign(owner, actor, pc, access);
    if (actor >= COLUMN_PRODUCT)
        actor = (actor - COLUMN_PRODUCT) * 4 * WARP_LANES;
    else if (actor >= COLUMN_ASYNC)
        actor = 0;
    return (struct actor){owner->block, pc, (uint16_t)actor, (uint8_t)access, NULL};
}

static void found_pair(struct distant *now, enum record_kind kind, unsigned actor, uint32_t pc, int access,
                       enum record_advice advice)
{
    if (now->reported) return;
    now->reported = true;
    struct finding f = finding_of(now, kind, advice);
    simt_finding_pair(&f, who(now, actor, pc, access));
    simt_found(now->w, &f);
}

/* Two writes of one value are settled when the thread goes on (simt_settle). */
static void found_race(struct distant *now, unsigned actor, uint32_t pc, int access)
{
    struct worker *w = now->w;
    if (now->reported) return;
    if (now->access != SIMT_WRITE || access != SIMT_WRITE || now->bytes > sizeof w->doubt.before) {
        found_pair(now, RECORD_SHARED_RACE, actor, pc, access, RECORD_ADVICE_CLUSTER_BARRIER);
        return;
    }
    now->reported = true;
    struct finding f = finding_of(now, RECORD_SHARED_RACE, RECORD_ADVICE_CLUSTER_BARRIER);
    simt_finding_pair(&f, who(now, actor, pc, access));
    simt_settle(w);
    w->doubt = (struct doubt){true, f, (const void *)now->address, {0}};
    memcpy(w->doubt.before, w->doubt.address, now->bytes);
}

/* ---- order -------------------------------------------------------------------------------------------- */

static bool is_mine(const struct distant *now, unsigned actor)
{
    return actor >= FOREIGN && actor == simt_foreign_actor(now->w, now->w->thread_index);
}

/* Whether what the cell's actor did at @p tick is ordered before what the running thread does. */
static bool is_ordered(const struct distant *now, unsigned actor, uint32_t tick)
{
    const struct worker *w = now->w;
    if (tick < now->owner->block_start || is_mine(now, actor)) return true;
    if (actor < FOREIGN) return simt_clock_knows(w, now->owner->rank, actor, tick);
    const unsigned thread = (actor - FOREIGN) * w->cluster->grain;
    if (thread / w->threads == w->rank) return simt_is_ordered(w, tick, thread % w->threads);
    return simt_knows_foreign(w, actor, tick);
}

static bool is_fenced(const struct distant *now, unsigned actor, uint32_t tick)
{
    const struct worker *w = now->w;
    if (actor < FOREIGN) return simt_clock_knows_fence(w, now->owner->rank, actor, tick);
    const unsigned thread = (actor - FOREIGN) * w->cluster->grain;
    if (thread / w->threads == w->rank) return simt_is_fenced(w, tick, thread % w->threads);
    return simt_knows_foreign_fence(w, actor, tick);
}

/* ---- one cell ----------------------------------------------------------------------------------------- */

static bool lacks_wait(struct distant *now, const struct cell *c)
{
    if (c->copy == COPY_NONE || c->write_tick < now->owner->block_start) return false;
    const bool flies = c->copy == COPY_IN_FLIGHT || c->copy == COPY_BULK_IN_FLIGHT;
    if (!flies && is_ordered(now, c->writer, c->write_tick)) return false;
    found_pair(now, RECORD_MISSING_WAIT, c->writer, c->write_pc, SIMT_WRITE, RECORD_ADVICE_DISTANT_COPY_WAIT);
    return true;
}

static void check_fence(struct distant *now, unsigned actor, uint32_t tick, uint32_t pc)
{
    if (is_fenced(now, actor, tick)) return;
    found_pair(now, RECORD_MISSING_PROXY_FENCE, actor, pc, SIMT_WRITE, RECORD_ADVICE_PROXY_CLUSTER);
}

static void note_reader(struct distant *now, struct cell *c)
{
    const unsigned me = simt_foreign_actor(now->w, now->w->thread_index);
    int slot = 0;
    for (; slot < 2; slot++) {
        const unsigned reader = c->reader[slot] & ~(unsigned)READER_FLAGS;
        const bool busy = c->reader[slot] & BUSY_READER && c->read_tick[slot] >= now->owner->block_start;
        if (!busy && is_ordered(now, reader, c->read_tick[slot])) break;
    }
    if (slot == 2) slot = c->reader[0] & BUSY_READER ? 1 : 0;
    c->reader[slot] = (uint16_t)(me | (now->access & ACCESS_VOLATILE ? VOLATILE_READER : 0));
    c->read_tick[slot] = now->w->tick;
    c->read_pc[slot] = simt_pack_pc(now->pc);
}

static void read_cell(struct distant *now, struct cell *c)
{
    const bool excused = c->write_atomic && now->access & ACCESS_VOLATILE;
    if (lacks_wait(now, c)) {
        if (c->copy == COPY_IN_FLIGHT || c->copy == COPY_BULK_IN_FLIGHT) c->copy = COPY_NONE;
    } else if (c->write_tick < now->owner->block_start) {
        if (!now->reported) found(now, RECORD_UNINITIALIZED_READ, RECORD_ADVICE_SHARED_UNWRITTEN);
    } else if (!excused && !is_ordered(now, c->writer, c->write_tick)) {
        found_race(now, c->writer, c->write_pc, c->write_atomic ? SIMT_ATOMIC : SIMT_WRITE);
    }
    note_reader(now, c);
}

static void check_readers(struct distant *now, const struct cell *c, bool atomic)
{
    for (int slot = 0; slot < 2; slot++) {
        const unsigned reader = c->reader[slot] & ~(unsigned)READER_FLAGS;
        const bool async = (c->reader[slot] & (ASYNC_READER | BUSY_READER)) != 0;
        if (c->read_tick[slot] < now->owner->block_start) continue;
        if (!(c->reader[slot] & BUSY_READER) && is_ordered(now, reader, c->read_tick[slot])) continue;
        if (async)
            found_pair(now, RECORD_BULK_GROUP, reader, c->read_pc[slot], SIMT_READ,
                       RECORD_ADVICE_DISTANT_BULK_SOURCE);
        else if (reader >= COLUMN_PRODUCT && reader < FOREIGN)
            found_pair(now, RECORD_MISSING_WAIT, reader, c->read_pc[slot], SIMT_READ,
                       RECORD_ADVICE_OPERAND_OVERWRITTEN);
        else if (!(atomic && c->reader[slot] & VOLATILE_READER))
            found_race(now, reader, c->read_pc[slot], SIMT_READ);
    }
}

static void write_cell(struct distant *now, struct cell *c)
{
    const bool atomic = (now->access & SIMT_ATOMIC) != 0;
    const bool gentle = atomic || now->access & ACCESS_VOLATILE,
               fresh = c->write_tick < now->owner->block_start;
    if (now->access == SIMT_ATOMIC && fresh && !now->reported)
        found(now, RECORD_UNINITIALIZED_READ, RECORD_ADVICE_SHARED_UNWRITTEN);
    if (!lacks_wait(now, c) && !fresh && !(gentle && c->write_atomic)) {
        if (!is_ordered(now, c->writer, c->write_tick))
            found_race(now, c->writer, c->write_pc, c->write_atomic ? SIMT_ATOMIC : SIMT_WRITE);
        else if (now->access & ACCESS_BULK && c->copy < COPY_BULK_IN_FLIGHT)
            check_fence(now, c->writer, c->write_tick, c->write_pc);
    }
    check_readers(now, c, atomic);
    c->write_tick = c->copy_tick = now->w->tick;
    c->write_pc = simt_pack_pc(now->pc);
    c->writer = (uint16_t)simt_foreign_actor(now->w, now->w->thread_index);
    c->write_atomic = atomic;
    c->serial = now->owner->serial;
    c->copy = now->access & ACCESS_BULK   ? COPY_BULK_IN_FLIGHT
              : now->access & ACCESS_COPY ? COPY_IN_FLIGHT
                                          : COPY_NONE;
}

static void access_cell(void *context, struct cell *c)
{
    struct distant *now = context;
    if (now->access & SIMT_READ)
        read_cell(now, c);
    else
        write_cell(now, c);
}

/* ---- the way of an access ----------------------------------------------------------------------------- */

static void check_bounds(struct distant *now)
{
    const uint16_t *owners = simt_image.tls_owner;
    const uintptr_t end = now->offset + now->bytes;
    const bool inside = now->place == PLACE_DYNAMIC
                            ? end <= now->w->launch->dynamic_shared_bytes
                            : end <= simt_image.tls_bytes && owners[now->offset] != OWNER_NONE &&
                                  owners[now->offset] == owners[end - 1];
    if (inside) return;
    found(now, RECORD_OUT_OF_BOUNDS,
          now->place == PLACE_DYNAMIC ? RECORD_ADVICE_DYNAMIC_BYTES : RECORD_NO_ADVICE);
    simt_abandon(now->w, simt_error_of(RECORD_OUT_OF_BOUNDS));
}

/* Who accesses the block last must be known to it when it ends. */
static void note_visit(const struct distant *now)
{
    enum { ALL = MAX_CLUSTER * MAX_THREADS };
    struct worker *owner = now->owner;
    if (owner->visits == NULL) owner->visits = simt_reserve(ALL * sizeof *owner->visits, "visits");
    owner->visited = true;
    owner->visits[now->w->rank * now->w->threads + now->w->thread_index] =
        (struct visit){now->w->tick,          simt_pack_pc(now->pc),
                       (uint32_t)now->bytes,  (uint16_t)now->w->thread_index,
                       (uint8_t)now->w->rank, (uint8_t)(now->access & ACCESS_KINDS),
                       (uint8_t)now->place,   now->offset};
}

/* The block is there: it has begun, and not ended. False: it has ended. */
static bool check_there(struct distant *now)
{
    if (now->owner->over)
        found(now, RECORD_CLUSTER_EXIT, RECORD_ADVICE_BLOCK_LEFT);
    else if (!simt_clock_knows_begin(now->w, now->owner->rank))
        found(now, RECORD_SHARED_RACE, RECORD_ADVICE_BLOCK_NOT_BEGUN);
    return !now->owner->over;
}

static struct distant distant_of(struct worker *w, struct worker *owner, uintptr_t address, size_t bytes,
                                 int access, const void *pc)
{
    const enum place place = address - owner->space[PLACE_SHARED].base < owner->space[PLACE_SHARED].bytes
                                 ? PLACE_SHARED
                                 : PLACE_DYNAMIC;
    return (struct distant){w,     owner,  place, address, address - owner->space[place].base,
                            bytes, access, pc,    false};
}

bool simt_distant_access(struct worker *w, uintptr_t address, size_t bytes, int access, const void *pc)
{
    struct worker *owner = simt_owner_of(w, address);
    if (owner == NULL || owner == w) return false;
    struct distant now = distant_of(w, owner, address, bytes, access, pc);
    if (!w->checking) return true;
    if (w->doubt.open) simt_settle(w);
    check_bounds(&now);
    if (!check_there(&now)) return true;
    simt_cells_each(owner, now.place, now.offset, bytes, access_cell, &now);
    note_visit(&now);
    return true;
}

void simt_distant_visit(struct worker *w, uintptr_t address, size_t bytes, int access, const void *pc)
{
    struct worker *owner = simt_owner_of(w, address);
    if (owner == NULL || owner == w || !w->checking) return;
    struct distant now = distant_of(w, owner, address, bytes, access, pc);
    if (check_there(&now)) note_visit(&now);
}

/* ---- blocks ------------------------------------------------------------------------------------------- */

void simt_distant_begin(struct worker *w)
{
    if (w->visited) memset(w->visits, 0, (size_t)MAX_CLUSTER * w->threads * sizeof *w->visits);
    w->visited = false;
}

static void found_unknown(struct worker *w, const struct visit *v)
{
    const struct worker *visitor = w->cluster->block[v->rank];
    struct finding f =
        simt_finding_about(RECORD_CLUSTER_EXIT, RECORD_ADVICE_BLOCK_LEFT, (enum place)v->place, v->where,
                           v->bytes, (struct actor){visitor->block, v->pc, v->thread, v->access, NULL});
    simt_finding_owner(&f, w);
    simt_found(w, &f);
}

void simt_distant_end(struct worker *w)
{
    if (w->cluster == NULL || !w->visited || w->abandoned || !w->checking) return;
    simt_clock_gather(w, w->shared_clock);
    for (unsigned i = 0; i < w->cluster->size * w->threads; i++) {
        const struct visit *v = &w->visits[i];
        if (v->tick >= w->block_start && !simt_clock_has(w, w->shared_clock, v->rank, v->thread, v->tick))
            found_unknown(w, v);
    }
}
