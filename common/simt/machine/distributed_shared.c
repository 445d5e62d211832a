/**
 * @file distributed_shared.c
 * @brief Accesses to shared memory of other blocks of the cluster ("distributed shared memory").
 *
 * Each block keeps the shadow cells of its own memory. In them a thread of another block has a number of its
 * own (simt_foreign_actor()). Whether two accesses of different blocks are ordered follows from their vector
 * clocks, which a barrier of the cluster or an mbarrier of another block passes on. A block's shared memory
 * exists from its beginning to its end: an access must happen after the one and before the other.
 */
#include "distributed_shared.h"
#include "cluster.h"
#include "happens_before.h"
#include "image.h"
#include "lanes.h"
#include "machine.h"
#include "settings.h"
#include "shadow.h"
#include "tools.h"
#include "vector_clocks.h"
#include "worker.h"

#include <string.h>

struct distributed_access {
    struct worker *w, *owner;
    enum place place;
    uintptr_t address, offset;
    size_t bytes;
    int access;
    const void *pc;
    bool reported;
};

/* ---- findings ----------------------------------------------------------------------------------------- */

static struct finding finding_of(const struct distributed_access *now, enum record_kind kind,
                                 enum record_advice advice)
{
    struct finding f = simt_finding_about(kind, advice, now->place, now->offset, now->bytes,
                                          simt_actor(now->w, now->pc, now->access));
    simt_finding_owner(&f, now->owner);
    return f;
}

static void found(struct distributed_access *now, enum record_kind kind, enum record_advice advice)
{
    struct finding f = finding_of(now, kind, advice);
    now->reported = true;
    simt_found(now->w, &f);
}

/* Who the cell's actor is, of the owner's block or of another one. */
static struct actor who(const struct distributed_access *now, unsigned actor, uint32_t pc, int access)
{
    const struct worker *owner = now->owner;
    if (actor >= FOREIGN) return simt_foreign(owner, actor, pc, access);
    if (actor >= COLUMN_PRODUCT)
        actor = (actor - COLUMN_PRODUCT) * 4 * WARP_LANES;
    else if (actor >= COLUMN_ASYNC)
        actor = 0;
    return (struct actor){owner->block, pc, (uint16_t)actor, (uint8_t)access, NULL};
}

static void found_pair(struct distributed_access *now, enum record_kind kind, unsigned actor, uint32_t pc,
                       int access, enum record_advice advice)
{
    if (now->reported) return;
    now->reported = true;
    struct finding f = finding_of(now, kind, advice);
    simt_finding_pair(&f, who(now, actor, pc, access));
    simt_found(now->w, &f);
}

/* Whether two writes write the same value is seen when the thread goes on (simt_settle_race). */
static void found_race(struct distributed_access *now, unsigned actor, uint32_t pc, int access)
{
    struct worker *w = now->w;
    if (now->reported) return;
    if (now->access != SIMT_WRITE || access != SIMT_WRITE || now->bytes > sizeof w->pending_race.before) {
        found_pair(now, RECORD_SHARED_RACE, actor, pc, access, RECORD_ADVICE_CLUSTER_BARRIER);
        return;
    }
    now->reported = true;
    struct finding f = finding_of(now, RECORD_SHARED_RACE, RECORD_ADVICE_CLUSTER_BARRIER);
    simt_finding_pair(&f, who(now, actor, pc, access));
    simt_settle_race(w);
    w->pending_race = (struct pending_race){true, f, (const void *)now->address, {0}};
    memcpy(w->pending_race.before, w->pending_race.address, now->bytes);
}

/* ---- order -------------------------------------------------------------------------------------------- */

static bool happens_before(const struct distributed_access *now, unsigned actor, uint32_t tick)
{
    return simt_happens_before(now->w, (struct epoch){now->owner, actor, tick}, EDGE_SYNCHRONISED);
}

/* ---- one cell ----------------------------------------------------------------------------------------- */

static bool lacks_wait(struct distributed_access *now, const struct shadow_cell *c)
{
    if (c->copy == COPY_NONE || c->write_tick < now->owner->time.block_start) return false;
    const bool flies = c->copy == COPY_IN_FLIGHT || c->copy == COPY_BULK_IN_FLIGHT;
    if (!flies && happens_before(now, c->writer, c->write_tick)) return false;
    found_pair(now, RECORD_MISSING_WAIT, c->writer, c->write_pc, SIMT_WRITE, RECORD_ADVICE_DISTANT_COPY_WAIT);
    return true;
}

static void check_fence(struct distributed_access *now, unsigned actor, uint32_t tick, uint32_t pc)
{
    if (simt_happens_before(now->w, (struct epoch){now->owner, actor, tick}, EDGE_FENCED_SHARED)) return;
    found_pair(now, RECORD_MISSING_PROXY_FENCE, actor, pc, SIMT_WRITE, RECORD_ADVICE_PROXY_CLUSTER);
}

static void note_reader(struct distributed_access *now, struct shadow_cell *c)
{
    const unsigned me = simt_foreign_actor(now->w, now->w->thread_index);
    int slot = 0;
    for (; slot < 2; slot++) {
        const unsigned reader = c->reader[slot] & ~(unsigned)READER_FLAGS;
        const bool busy = c->reader[slot] & BUSY_READER && c->read_tick[slot] >= now->owner->time.block_start;
        if (!busy && happens_before(now, reader, c->read_tick[slot])) break;
    }
    if (slot == 2) slot = c->reader[0] & BUSY_READER ? 1 : 0;
    c->reader[slot] = (uint16_t)(me | (now->access & ACCESS_VOLATILE ? VOLATILE_READER : 0));
    c->read_tick[slot] = now->w->time.tick;
    c->read_pc[slot] = simt_pack_pc(now->pc);
}

static void read_cell(struct distributed_access *now, struct shadow_cell *c)
{
    const bool excused = c->write_atomic && now->access & ACCESS_VOLATILE;
    if (lacks_wait(now, c)) {
        if (c->copy == COPY_IN_FLIGHT || c->copy == COPY_BULK_IN_FLIGHT) c->copy = COPY_NONE;
    } else if (c->write_tick < now->owner->time.block_start) {
        if (!now->reported) found(now, RECORD_UNINITIALIZED_READ, RECORD_ADVICE_SHARED_UNWRITTEN);
    } else if (!excused && !happens_before(now, c->writer, c->write_tick)) {
        found_race(now, c->writer, c->write_pc, c->write_atomic ? SIMT_ATOMIC : SIMT_WRITE);
    }
    note_reader(now, c);
}

static void check_readers(struct distributed_access *now, const struct shadow_cell *c, bool atomic)
{
    for (int slot = 0; slot < 2; slot++) {
        const unsigned reader = c->reader[slot] & ~(unsigned)READER_FLAGS;
        const bool async = (c->reader[slot] & (ASYNC_READER | BUSY_READER)) != 0;
        if (c->read_tick[slot] < now->owner->time.block_start) continue;
        if (!(c->reader[slot] & BUSY_READER) && happens_before(now, reader, c->read_tick[slot])) continue;
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

static void write_cell(struct distributed_access *now, struct shadow_cell *c)
{
    const bool atomic = (now->access & SIMT_ATOMIC) != 0;
    const bool gentle = atomic || now->access & ACCESS_VOLATILE,
               fresh = c->write_tick < now->owner->time.block_start;
    if (now->access == SIMT_ATOMIC && fresh && !now->reported)
        found(now, RECORD_UNINITIALIZED_READ, RECORD_ADVICE_SHARED_UNWRITTEN);
    if (!lacks_wait(now, c) && !fresh && !(gentle && c->write_atomic)) {
        if (!happens_before(now, c->writer, c->write_tick))
            found_race(now, c->writer, c->write_pc, c->write_atomic ? SIMT_ATOMIC : SIMT_WRITE);
        else if (now->access & ACCESS_BULK && c->copy < COPY_BULK_IN_FLIGHT)
            check_fence(now, c->writer, c->write_tick, c->write_pc);
    }
    check_readers(now, c, atomic);
    c->write_tick = c->copy_tick = now->w->time.tick;
    c->write_pc = simt_pack_pc(now->pc);
    c->writer = (uint16_t)simt_foreign_actor(now->w, now->w->thread_index);
    c->write_atomic = atomic;
    c->serial = now->owner->products.serial;
    c->copy = now->access & ACCESS_BULK   ? COPY_BULK_IN_FLIGHT
              : now->access & ACCESS_COPY ? COPY_IN_FLIGHT
                                          : COPY_NONE;
}

static void access_cell(void *context, struct shadow_cell *c)
{
    struct distributed_access *now = context;
    if (now->access & SIMT_READ)
        read_cell(now, c);
    else
        write_cell(now, c);
}

/* ---- an access ---------------------------------------------------------------------------------------- */

static void check_bounds(struct distributed_access *now)
{
    if (simt_shared_holds(now->w, now->place, now->offset, now->bytes)) return;
    found(now, RECORD_OUT_OF_BOUNDS,
          now->place == PLACE_DYNAMIC ? RECORD_ADVICE_DYNAMIC_BYTES : RECORD_NO_ADVICE);
    simt_abandon(now->w, simt_error_of(RECORD_OUT_OF_BOUNDS));
}

/*
 * The last access of each other thread must happen before the block's end. What a copy brings is reported to an
 * mbarrier of the block: it is late if the block ends before it has waited (simt_bulk_end).
 */
static void note_remote_access(const struct distributed_access *now)
{
    enum { ALL = MAX_CLUSTER * MAX_THREADS };
    struct worker *owner = now->owner;
    if (now->access & ACCESS_COPY) return;
    if (owner->remote.accesses == NULL)
        owner->remote.accesses = simt_reserve(ALL * sizeof *owner->remote.accesses, "visits");
    owner->remote.any = true;
    owner->remote.accesses[now->w->member.rank * now->w->threads + now->w->thread_index] =
        (struct remote_access){now->w->time.tick,
                               simt_pack_pc(now->pc),
                               (uint32_t)now->bytes,
                               (uint16_t)now->w->thread_index,
                               (uint8_t)now->w->member.rank,
                               (uint8_t)(now->access & ACCESS_KINDS),
                               (uint8_t)now->place,
                               now->offset};
}

/*
 * Whether the block's memory still exists; a finding if it does not, or if nothing says that the block has
 * begun.
 */
static bool check_there(struct distributed_access *now)
{
    if (now->owner->member.over)
        found(now, RECORD_CLUSTER_EXIT, RECORD_ADVICE_BLOCK_LEFT);
    else if (!simt_happens_before(now->w, (struct epoch){.block = now->owner}, EDGE_BEGUN))
        found(now, RECORD_SHARED_RACE, RECORD_ADVICE_BLOCK_NOT_BEGUN);
    return !now->owner->member.over;
}

static struct distributed_access distributed_access_of(struct worker *w, struct worker *owner,
                                                       uintptr_t address, size_t bytes, int access,
                                                       const void *pc)
{
    const enum place place = address - owner->space[PLACE_SHARED].base < owner->space[PLACE_SHARED].bytes
                                 ? PLACE_SHARED
                                 : PLACE_DYNAMIC;
    return (struct distributed_access){w,     owner,  place, address, address - owner->space[place].base,
                                       bytes, access, pc,    false};
}

bool simt_distributed_access(struct worker *w, uintptr_t address, size_t bytes, int access, const void *pc)
{
    struct worker *owner = simt_owner_of(w, address);
    if (owner == NULL || owner == w) return false;
    struct distributed_access now = distributed_access_of(w, owner, address, bytes, access, pc);
    if (!w->checking) return true;
    if (w->pending_race.open) simt_settle_race(w);
    check_bounds(&now);
    if (!check_there(&now)) return true;
    simt_shadow_for_each(owner, now.place, now.offset, bytes, access_cell, &now);
    note_remote_access(&now);
    return true;
}

void simt_distributed_note(struct worker *w, uintptr_t address, size_t bytes, int access, const void *pc)
{
    struct worker *owner = simt_owner_of(w, address);
    if (owner == NULL || owner == w || !w->checking) return;
    struct distributed_access now = distributed_access_of(w, owner, address, bytes, access, pc);
    if (check_there(&now)) note_remote_access(&now);
}

/* ---- blocks ------------------------------------------------------------------------------------------- */

void simt_distributed_begin(struct worker *w)
{
    if (w->remote.any)
        memset(w->remote.accesses, 0, (size_t)MAX_CLUSTER * w->threads * sizeof *w->remote.accesses);
    w->remote.any = false;
}

static void found_unknown(struct worker *w, const struct remote_access *v)
{
    const struct worker *visitor = w->cluster->block[v->rank];
    struct finding f =
        simt_finding_about(RECORD_CLUSTER_EXIT, RECORD_ADVICE_BLOCK_LEFT, (enum place)v->place, v->where,
                           v->bytes, (struct actor){visitor->block, v->pc, v->thread, v->access, NULL});
    simt_finding_owner(&f, w);
    simt_found(w, &f);
}

void simt_distributed_end(struct worker *w)
{
    if (w->cluster == NULL || !w->remote.any || w->abandoned || !w->checking) return;
    simt_clocks_join_block(w, w->clocks.scratch);
    for (unsigned i = 0; i < w->cluster->size * w->threads; i++) {
        const struct remote_access *v = &w->remote.accesses[i];
        if (v->tick >= w->time.block_start &&
            !simt_clock_has(w, w->clocks.scratch,
                            (struct epoch){w->cluster->block[v->rank], v->thread, v->tick}))
            found_unknown(w, v);
    }
}
