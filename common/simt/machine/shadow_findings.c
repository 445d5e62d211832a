/**
 * @file shadow_findings.c
 * @brief What accesses of one block are found to do wrong: races, missing waits and fences, reads of what nobody wrote.
 */
#include "shadow_findings.h"
#include "finding.h"
#include "happens_before.h"
#include "lanes.h"
#include "machine.h"
#include "mbarrier.h"
#include "shadow.h"
#include "worker.h"

#include <stdbool.h>
#include <string.h>

static struct actor running_actor(const struct shadow_access *now)
{
    const struct worker *w = now->w;
    return (struct actor){w->block, now->pc, (uint16_t)w->thread_index, (uint8_t)(now->access & ACCESS_KINDS),
                          NULL};
}

/* A thread to name for what an actor did: for the products of a warpgroup, its first thread. */
static struct actor who(const struct worker *w, unsigned actor, uint32_t pc, int access)
{
    if (actor >= FOREIGN) return simt_foreign(w, actor, pc, access);
    if (actor >= COLUMN_PRODUCT) actor = (actor - COLUMN_PRODUCT) * 4 * WARP_LANES;
    return (struct actor){w->block, pc, (uint16_t)actor, (uint8_t)access, NULL};
}

void simt_found_race(struct shadow_access *now, int other_access, unsigned other_thread, uint32_t other_pc)
{
    struct worker *w = now->w;
    if (now->reported) return;
    now->reported = true;
    const bool foreign = other_thread >= FOREIGN, product = other_thread >= COLUMN_PRODUCT && !foreign;
    /* two threads that write an output by one statement rather lack a check of bounds than a barrier */
    const bool written_alike = now->place == PLACE_ARENA && now->pc == other_pc &&
                               now->access == SIMT_WRITE && other_access == SIMT_WRITE;
    struct finding f = simt_finding_about(product               ? RECORD_MISSING_WAIT
                                          : simt_is_shared(now) ? RECORD_SHARED_RACE
                                                                : RECORD_GLOBAL_RACE,
                                          product         ? RECORD_ADVICE_OPERAND_OVERWRITTEN
                                          : foreign       ? RECORD_ADVICE_CLUSTER_BARRIER
                                          : written_alike ? RECORD_ADVICE_ONE_ELEMENT
                                                          : RECORD_ADVICE_BARRIER,
                                          now->place, now->offset, now->bytes, running_actor(now));
    simt_finding_pair(&f, who(w, other_thread, other_pc, other_access));
    const bool writes = now->access == SIMT_WRITE && other_access == SIMT_WRITE &&
                        now->bytes <= sizeof w->pending_race.before;
    const bool guesses = now->access == SIMT_READ && other_access == SIMT_ATOMIC;
    if (!writes && !guesses) {
        simt_found(w, &f);
        return;
    }
    w->pending_race =
        (struct pending_race){true, f, (const void *)(w->space[now->place].base + now->offset), {0}};
    if (writes) memcpy(w->pending_race.before, w->pending_race.address, now->bytes);
}

void simt_found_pair(struct shadow_access *now, enum record_kind kind, unsigned thread, uint32_t pc,
                     int access, enum record_advice advice)
{
    struct worker *w = now->w;
    if (now->reported) return;
    now->reported = true;
    struct finding f =
        simt_finding_about(kind, advice, now->place, now->offset, now->bytes, running_actor(now));
    simt_finding_pair(&f, who(w, thread, pc, access));
    simt_found(w, &f);
}

void simt_found_missing_wait(struct shadow_access *now, const struct shadow_cell *c)
{
    const struct worker *w = now->w;
    enum record_advice advice = RECORD_ADVICE_COPY_WAIT;
    unsigned writer = c->writer;
    if (c->copy >= COPY_REPORTED || writer >= FOREIGN) advice = RECORD_ADVICE_BULK_WAIT;
    if (writer >= COLUMN_ASYNC && writer < FOREIGN) {
        if (w->clocks.of[w->thread_index].ordered[writer] >= w->time.block_start ||
            w->clocks.block->ordered[writer] >= w->time.block_start)
            advice = RECORD_ADVICE_BULK_PHASE;
        writer = w->mbarriers.at[writer - COLUMN_ASYNC].issuer;
    }
    simt_found_pair(now, RECORD_MISSING_WAIT, writer, c->write_pc, SIMT_WRITE, advice);
}

void simt_found_busy(struct shadow_access *now, const struct shadow_cell *c, int slot)
{
    simt_found_pair(now, RECORD_BULK_GROUP, simt_thread_of(c->reader[slot]), c->read_pc[slot], SIMT_READ,
                    RECORD_ADVICE_BULK_SOURCE);
}

/* Whether the running thread, and those that it knows of, have fenced what @p actor did at @p tick. */
void simt_check_fence(struct shadow_access *now, uint32_t tick, unsigned actor, int access, uint32_t pc)
{
    const struct epoch e = {now->w, actor, tick};
    if (simt_happens_before(now->w, e, simt_is_shared(now) ? EDGE_FENCED_SHARED : EDGE_FENCED_GLOBAL)) return;
    simt_found_pair(now, RECORD_MISSING_PROXY_FENCE, actor, pc, access,
                    !simt_is_shared(now)                              ? RECORD_ADVICE_PROXY_GLOBAL
                    : now->access & SIMT_READ || access == SIMT_WRITE ? RECORD_ADVICE_PROXY_WRITE
                                                                      : RECORD_ADVICE_PROXY_READ);
}

void simt_found_unwritten(struct shadow_access *now)
{
    struct worker *w = now->w;
    if (now->reported) return;
    now->reported = true;
    struct finding f = simt_finding_about(RECORD_UNINITIALIZED_READ, RECORD_ADVICE_SHARED_UNWRITTEN,
                                          now->place, now->offset, now->bytes, running_actor(now));
    simt_found(w, &f);
}

void simt_check_product_fence(struct shadow_access *now, const struct shadow_cell *c)
{
    struct worker *w = now->w;
    const struct epoch write = {w, c->writer, c->write_tick};
    if (now->reported || simt_happens_before(w, write, EDGE_FENCED_SHARED)) return;
    now->reported = true;
    struct actor reader = running_actor(now);
    reader.access = SIMT_READ;
    struct finding f = simt_finding_about(RECORD_MISSING_PROXY_FENCE, RECORD_ADVICE_PROXY_PRODUCT, now->place,
                                          now->offset, now->bytes, reader);
    simt_finding_pair(&f, (struct actor){w->block, c->write_pc, c->writer, SIMT_WRITE, NULL});
    simt_found(w, &f);
}
