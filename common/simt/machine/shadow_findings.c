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

const char *const simt_overwrites_operand =
    "wgmma.mma_async reads its operands at any time until a wgmma.wait_group that covers its group: whoever "
    "overwrites them must come after that wait of every warpgroup that reads them, by a barrier or by an "
    "mbarrier on "
    "which each of them has arrived";
const char *const simt_no_cluster_barrier =
    "no barrier of the cluster (barrier.cluster.arrive.release, then .wait.acquire; cluster_group::sync) is "
    "between the two";
static const char *const NO_BARRIER =
    "no barrier (__syncthreads, or __syncwarp within a warp) is between the two";

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
    struct finding f = {.kind = product               ? "missing-wait"
                                : simt_is_shared(now) ? "shared-race"
                                                      : "global-race",
                        .place = now->place,
                        .bytes = (uint32_t)now->bytes,
                        .where = now->offset,
                        .remark = product   ? simt_overwrites_operand
                                  : foreign ? simt_no_cluster_barrier
                                            : NO_BARRIER,
                        .seen = 1};
    f.actor[0] = who(w, other_thread, other_pc, other_access);
    f.actor[1] = (struct actor){w->block, now->pc, (uint16_t)w->thread_index,
                                (uint8_t)(now->access & ACCESS_KINDS), NULL};
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

/* Something of @p kind about what the cell keeps of @p thread, and what is done now. */
void simt_found_pair(struct shadow_access *now, const char *kind, unsigned thread, uint32_t pc, int access,
                     const char *remark)
{
    struct worker *w = now->w;
    if (now->reported) return;
    now->reported = true;
    struct finding f = {.kind = kind,
                        .place = now->place,
                        .bytes = (uint32_t)now->bytes,
                        .where = now->offset,
                        .remark = remark,
                        .seen = 1};
    f.actor[0] = who(w, thread, pc, access);
    f.actor[1] = (struct actor){w->block, now->pc, (uint16_t)w->thread_index,
                                (uint8_t)(now->access & ACCESS_KINDS), NULL};
    simt_found(w, &f);
}

void simt_found_missing_wait(struct shadow_access *now, const struct shadow_cell *c)
{
    const struct worker *w = now->w;
    const char *remark =
        "the copy lands when its thread has waited (__pipeline_wait_prior, cp.async.wait_group); other "
        "threads need a barrier after that";
    unsigned writer = c->writer;
    if (c->copy >= COPY_REPORTED || writer >= FOREIGN)
        remark =
            "its bytes are there when the phase of the mbarrier is over that they count in: wait for that "
            "phase (mbarrier.try_wait), in a loop, before; or begin the copy later, if what was there is "
            "still "
            "to be read";
    if (writer >= COLUMN_ASYNC && writer < FOREIGN) {
        if (w->clocks.of[w->thread_index].ordered[writer] >= w->time.block_start ||
            w->clocks.block->ordered[writer] >= w->time.block_start)
            remark =
                "the thread has waited for an earlier phase of the copy's mbarrier, not for the one that "
                "these bytes count in: is the parity right? Or has the copy begun too early?";
        writer = w->mbarriers.at[writer - COLUMN_ASYNC].issuer;
    }
    simt_found_pair(now, "missing-wait", writer, c->write_pc, SIMT_WRITE, remark);
}

void simt_found_busy(struct shadow_access *now, const struct shadow_cell *c, int slot)
{
    simt_found_pair(
        now, "bulk-group", simt_thread_of(c->reader[slot]), c->read_pc[slot], SIMT_READ,
        "a bulk store may read its source until its own thread has waited for the group "
        "(cp.async.bulk.wait_group.read), a copy to shared memory until its mbarrier has the bytes; "
        "other threads need a barrier after that");
}

/* Whether the running thread, and those that it knows of, have fenced what @p actor did at @p tick. */
void simt_check_fence(struct shadow_access *now, uint32_t tick, unsigned actor, int access, uint32_t pc)
{
    const struct epoch e = {now->w, actor, tick};
    if (simt_happens_before(now->w, e, simt_is_shared(now) ? EDGE_FENCED_SHARED : EDGE_FENCED_GLOBAL)) return;
    simt_found_pair(
        now, "missing-proxy-fence", actor, pc, access,
        !simt_is_shared(now)
            ? "the copy goes through the asynchronous proxy, the other access did not: a fence.proxy.async, "
              "not "
              "one for shared memory only, by the thread that made it, then a barrier, must be between them"
        : now->access & SIMT_READ || access == SIMT_WRITE
            ? "the copy goes through the asynchronous proxy, the write did not: a fence.proxy.async by the "
              "thread that wrote, then a barrier, must be between them"
            : "the copy goes through the asynchronous proxy and may overtake the read: a "
              "fence.proxy.async must be between them");
}

void simt_found_unwritten(struct shadow_access *now)
{
    struct worker *w = now->w;
    if (now->reported) return;
    now->reported = true;
    struct finding f = {.kind = "uninitialized-read",
                        .place = now->place,
                        .bytes = (uint32_t)now->bytes,
                        .where = now->offset,
                        .seen = 1,
                        .remark = "nothing was written there since the block began"};
    f.actor[0] = (struct actor){w->block, now->pc, (uint16_t)w->thread_index,
                                (uint8_t)(now->access & ACCESS_KINDS), NULL};
    simt_found(w, &f);
}

/* A product reads by the asynchronous proxy what was written by the generic one. */
void simt_check_product_fence(struct shadow_access *now, const struct shadow_cell *c)
{
    struct worker *w = now->w;
    const struct epoch write = {w, c->writer, c->write_tick};
    if (now->reported || simt_happens_before(w, write, EDGE_FENCED_SHARED)) return;
    now->reported = true;
    struct finding f = {
        .kind = "missing-proxy-fence",
        .place = now->place,
        .bytes = (uint32_t)now->bytes,
        .where = now->offset,
        .remark = "wgmma reads shared memory through the asynchronous proxy, the write did not go "
                  "through it: a fence.proxy.async by the thread that wrote, then a barrier, must be "
                  "between them",
        .seen = 1};
    f.actor[0] = (struct actor){w->block, c->write_pc, c->writer, SIMT_WRITE, NULL};
    f.actor[1] = (struct actor){w->block, now->pc, (uint16_t)w->thread_index, SIMT_READ, NULL};
    simt_found(w, &f);
}
