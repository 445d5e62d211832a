/**
 * @file blocks.c
 * @brief The blocks of the running launch: handed out in order, and their results taken up in order.
 *
 * A block takes a slot in a ring for its result. When a block ends, all results that are complete up to there are
 * taken up, in order: printf output, findings, counters. So nothing anyone sees depends on the number of workers, and
 * a grid of 2^31 blocks needs no more memory than one of 64.
 */
#include "blocks.h"
#include "counters.h"
#include "fences.h"
#include "finding.h"
#include "inter_block.h"
#include "lanes.h"
#include "machine.h"
#include "pages.h"
#include "settings.h"
#include "share.h"
#include "tools.h"
#include "trace.h"
#include "worker.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct result usual_ring[RESULTS];
struct running_launch simt_now = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                  .changed = PTHREAD_COND_INITIALIZER,
                                  .ring = usual_ring,
                                  .results = RESULTS};

static uint64_t block_of_order(uint64_t order, uint64_t blocks)
{
    if (simt_settings.order == ORDER_FORWARD) return order;
    if (simt_settings.order == ORDER_REVERSE) return blocks - 1 - order;
    return simt_permuted(order, blocks, simt_settings.seed);
}

bool simt_launch_stopped(const struct worker *w)
{
    (void)w;
    return simt_now.stopped;
}

/* ---- whose turn it is ------------------------------------------------------------------------------------ */

/*
 * Atomics are what makes results depend on timing: a block that comes to one waits for its turn, when all blocks before it are
 * done. A block that does nothing but spin hands its turn to the next one, and so on, as long as there is room in the ring: from
 * then on they take turns until all of them are done. Hardware would run them at the same time.
 */
static bool is_turn_of(const struct worker *w)
{
    /* blocks of its own cluster run together with it */
    const uint64_t first = w->result->order - (w->cluster != NULL ? w->member.position : 0);
    return simt_now.sharing != 0 ? simt_now.holder == first : simt_now.retired >= first;
}

/* The caller holds the lock. False: the launch has stopped. */
static bool wait_for_turn(struct worker *w)
{
    while (!simt_now.stopped && !is_turn_of(w)) pthread_cond_wait(&simt_now.changed, &simt_now.lock);
    w->grid.turn = ++simt_now.turns;
    w->grid.sharing = simt_now.sharing;
    return !simt_now.stopped;
}

/* From here on accesses belong to a new turn. */
static void begin_turn(struct worker *w)
{
    w->grid.has_turn = true;
    simt_new_phase(w);
    *(struct turn *)simt_vector_grow(&w->result->turns, sizeof(struct turn)) =
        (struct turn){w->time.phase, w->grid.turn};
}

void simt_wait_for_earlier(struct worker *w)
{
    if (w->grid.has_turn) return;
    pthread_mutex_lock(&simt_now.lock);
    const bool goes_on = wait_for_turn(w);
    pthread_mutex_unlock(&simt_now.lock);
    if (!goes_on) simt_abandon(w, 0);
    begin_turn(w);
}

static bool is_done(uint64_t order)
{
    return order < simt_now.retired ||
           (order < simt_now.next && simt_now.ring[order % simt_now.results].done &&
            simt_now.ring[order % simt_now.results].order == order);
}

/* The next block after @p order that takes turns and is not done, @p order itself last. */
static uint64_t next_sharing(uint64_t order)
{
    const uint64_t first = simt_now.retired, count = simt_now.sharing_end - first;
    /* a block whose result has been collected comes before the first */
    const uint64_t from = order < first ? count - 1 : order - first;
    for (uint64_t i = 1; i <= count; i++) {
        const uint64_t next = first + (from + i) % count;
        if (!is_done(next)) return next;
    }
    return order;
}

/* Blocks that are done hand over. The caller holds the lock. */
static void update_sharing(void)
{
    if (simt_now.sharing == 0) return;
    simt_now.sharing = 0;
    for (uint64_t order = simt_now.retired; order < simt_now.sharing_end; order++)
        simt_now.sharing += !is_done(order);
    if (simt_now.sharing != 0 && is_done(simt_now.holder)) simt_now.holder = next_sharing(simt_now.holder);
}

/* Whether another block may join those that take turns: number *@p next. */
static bool may_share(uint64_t order, uint64_t *next)
{
    *next = simt_now.sharing != 0 ? simt_now.sharing_end : order + 1;
    return *next < simt_now.blocks && *next - simt_now.retired < simt_now.results;
}

bool simt_blocks_need_worker(const struct worker *w)
{
    uint64_t next;
    pthread_mutex_lock(&simt_now.lock);
    const bool need = w->grid.has_turn && may_share(w->result->order, &next) && next >= simt_now.next;
    pthread_mutex_unlock(&simt_now.lock);
    return need;
}

void simt_blocks_pass_turn(struct worker *w, bool helped)
{
    const uint64_t order = w->result->order;
    uint64_t next;
    simt_wait_for_earlier(w);
    pthread_mutex_lock(&simt_now.lock);
    simt_now.changes += w->grid.changes != w->grid.changes_told;
    const uint64_t changes = simt_now.changes;
    if (simt_now.sharing == 0 ||
        next_sharing(order) <= order) { /* every block has had a turn: one more may join */
        if (may_share(order, &next) && (helped || next < simt_now.next)) {
            if (simt_now.sharing++ == 0) simt_now.sharing = 2;
            simt_now.sharing_end = next + 1;
        }
    }
    if (simt_now.sharing != 0) simt_now.holder = next_sharing(order);
    pthread_cond_broadcast(&simt_now.changed);
    const bool goes_on = wait_for_turn(w);
    w->grid.changes += changes != simt_now.changes;
    w->grid.changes_told = w->grid.changes;
    pthread_mutex_unlock(&simt_now.lock);
    if (goes_on) begin_turn(w);
}

bool simt_launch_runs(void)
{
    return simt_now.running;
}

bool simt_runs_first_block(const struct worker *w)
{
    if (w->result != NULL && w->cluster != NULL) /* of the first cluster, the block that runs */
        return w->result->order - w->member.position <= simt_now.retired &&
               w->cluster->running == (int)w->member.position;
    return w->result != NULL && w->result->order == simt_now.retired;
}

/* What inter_block.c and the counters take from a block when it ends, and at each barrier of the grid. */
static void begin_result(struct result *result)
{
    result->touches.count = result->text.count = result->releases.count = result->cluster_phases.count = 0;
    result->fence_clocks.count = result->turns.count = result->locks.count = 0;
    memset(&result->counters, 0, sizeof result->counters);
}

/* Results for the next @p count blocks: their workers @p w. */
static bool take_results(struct worker *const *w, unsigned count)
{
    pthread_mutex_lock(&simt_now.lock);
    while (!simt_now.stopped && simt_now.next < simt_now.blocks &&
           simt_now.next + count - simt_now.retired > simt_now.results)
        pthread_cond_wait(&simt_now.changed, &simt_now.lock);
    const bool taken = !simt_now.stopped && simt_now.next < simt_now.blocks;
    for (unsigned i = 0; taken && i < count; i++) {
        w[i]->result = &simt_now.ring[simt_now.next % simt_now.results];
        w[i]->result->order = simt_now.next++;
    }
    pthread_mutex_unlock(&simt_now.lock);
    return taken;
}

static void set_block(struct worker *w, uint64_t block, uint64_t cluster)
{
    struct result *result = w->result;
    w->block = result->block = block;
    result->cluster = cluster;
    result->error = 0;
    result->proxy_fence.first = result->proxy_fence.last = 0;
    result->grids_waited = !simt_now.launch->early;
    result->triggered = result->triggered_after_wait = false;
    begin_result(result);
}

bool simt_take_block(struct worker *w)
{
    if (!take_results(&w, 1)) return false;
    set_block(w, simt_share_block(block_of_order(w->result->order, simt_now.blocks)), 0);
    return true;
}

/* Block number @p rank of a cluster, in x first; its linear index in the grid. */
static uint64_t block_of_cluster(uint64_t cluster, unsigned rank)
{
    const struct simt_extent grid = simt_now.launch->grid, size = simt_now.launch->cluster;
    const uint64_t across = grid.x / size.x, down = grid.y / size.y;
    const uint64_t x = cluster % across * size.x + rank % size.x,
                   y = cluster / across % down * size.y + rank / size.x % size.y,
                   z = cluster / across / down * size.z + rank / size.x / size.y;
    return x + grid.x * (y + grid.y * z);
}

bool simt_take_cluster(struct cluster *c)
{
    if (!take_results(c->at, c->size)) return false;
    const uint64_t order = c->at[0]->result->order / c->size;
    const uint64_t cluster = block_of_order(order, simt_now.blocks / c->size);
    for (unsigned i = 0; i < c->size; i++) {
        unsigned rank = i;
        if (simt_settings.order == ORDER_REVERSE) rank = c->size - 1 - i;
        if (simt_settings.order == ORDER_RANDOM)
            rank = (unsigned)simt_permuted(i, c->size, simt_settings.seed ^ simt_mix(cluster));
        struct worker *w = c->at[i];
        w->member.rank = rank;
        c->block[rank] = w;
        set_block(w, block_of_cluster(cluster, rank), 1 + cluster);
    }
    return true;
}

static unsigned blocks_of_cluster(const struct result *result)
{
    const struct simt_extent size = simt_now.launch->cluster;
    return result->cluster == 0 ? 1 : size.x * size.y * size.z;
}

static struct result *result_after(const struct result *first, unsigned i)
{
    return &simt_now.ring[(first->order + i) % simt_now.results];
}

/* The blocks of a cluster are taken up together, from one of their barriers to the next. */
static void check_touches(struct result *result)
{
    const unsigned size = blocks_of_cluster(result);
    uint32_t last = 0;
    if (result->order % size != 0) return;
    for (unsigned i = 0; i < size; i++)
        if (result_after(result, i)->cluster_phases.count > last)
            last = (uint32_t)result_after(result, i)->cluster_phases.count;
    for (uint32_t cluster_phase = 0; cluster_phase <= last; cluster_phase++)
        for (unsigned i = 0; i < size; i++)
            simt_inter_block_check(result_after(result, i), cluster_phase, &simt_now.findings);
}

/* A block of a cluster is complete when all blocks of the cluster are. */
static bool is_complete(const struct result *result)
{
    if (!result->done) return false; /* its place may hold what an earlier launch left there */
    const uint64_t first = result->order - result->order % blocks_of_cluster(result);
    for (unsigned i = 0; i < blocks_of_cluster(result) && result->order == first; i++)
        if (!result_after(result, i)->done) return false;
    return true;
}

/* Takes up one result; all earlier ones have been. */
static void retire(struct result *result)
{
    if (result->text.count > 0) fwrite(result->text.data, 1, result->text.count, stdout);
    const size_t found_before = simt_now.findings.count;
    check_touches(result);
    simt_now.waited |= result->grids_waited;
    simt_now.triggered_early &= !(result->triggered ? result->triggered_after_wait : result->grids_waited);
    const struct finding *findings = result->findings.data;
    if (simt_settings.trace != NULL)
        simt_trace_take(result, result->findings.count > 0 || simt_now.findings.count > found_before);
    for (size_t i = 0; i < result->findings.count; i++) simt_finding_add(&simt_now.findings, &findings[i]);
    result->findings.count = 0; /* what they have allocated has a new owner */
    simt_counters_add(&simt_now.counters, &result->counters);
}

/* Takes up all results that are complete, in order. The caller holds the lock. */
static void retire_all(void)
{
    if (simt_now.retiring) return;
    simt_now.retiring = true;
    while (simt_now.retired < simt_now.blocks) {
        struct result *result = &simt_now.ring[simt_now.retired % simt_now.results];
        if (simt_now.stopped || !is_complete(result)) break;
        pthread_mutex_unlock(&simt_now.lock);
        retire(result);
        pthread_mutex_lock(&simt_now.lock);
        result->done = false;
        simt_now.retired++;
        simt_now.error = result->error;
        simt_now.stopped = result->error != 0;
        pthread_cond_broadcast(&simt_now.changed);
    }
    simt_now.retiring = false;
    if (simt_now.sharing == 0) return;
    simt_now.changes++;
    update_sharing();
    pthread_cond_broadcast(&simt_now.changed);
}

/* Some blocks wait at the grid's barrier, and the others have ended. */
static void found_absent(const struct result *result, const struct simt_site *site)
{
    const struct actor who = {result->block, 0, 0, SIMT_READ, site};
    const struct finding f =
        simt_finding_says(RECORD_DEADLOCK, RECORD_SAYS_BLOCKS_ABSENT, RECORD_ADVICE_GRID_BARRIER,
                          SIMT_SAYS(.name = {site->what}, .number = {(int64_t)simt_now.waiting}), who);
    simt_finding_add(&simt_now.findings, &f);
    simt_now.error = simt_error_of(RECORD_DEADLOCK);
    simt_now.stopped = true;
}

/*
 * All results up to this barrier of the grid have been taken up. If every block waits there, all go on.
 */
static void end_grid_phase(void)
{
    if (simt_now.waiting == 0 || simt_now.retired != simt_now.blocks || simt_now.stopped) return;
    if (simt_now.waiting < simt_now.blocks) {
        for (uint64_t i = 0; i < simt_now.blocks; i++)
            if (simt_now.ring[i].waits_at != NULL) {
                found_absent(&simt_now.ring[i], simt_now.ring[i].waits_at);
                break;
            }
    } else {
        simt_inter_block_next_phase();
        simt_now.waiting = simt_now.retired = simt_now.sharing = 0;
        simt_now.grid_phases++;
        for (uint64_t i = 0; i < simt_now.blocks; i++) simt_now.ring[i].waits_at = NULL;
    }
    pthread_cond_broadcast(&simt_now.changed);
}

/* What the block's threads touched between their arrival and their wait is not over for other blocks when those have waited, unless
 * the block released it in some other way. (CUDA Programming Guide, Cooperative Groups: "Threads blocked on barrier_wait might
 * be released from the synchronization before other threads call barrier_wait".) */
static struct vector touched_since_arrival(struct worker *w)
{
    const struct touch *touch = w->result->touches.data;
    struct vector since = {0};
    for (size_t i = 0; i < w->result->touches.count && w->result->releases.count == 0; i++) {
        const uint32_t arrived = w->thread[touch[i].thread].grid_arrived;
        if (arrived == 0 || touch[i].tick < arrived) continue;
        struct touch *kept = simt_vector_grow(&since, sizeof *kept);
        *kept = touch[i];
        kept->phase = 1;
    }
    for (unsigned i = 0; i < w->threads; i++) w->thread[i].grid_arrived = 0;
    return since;
}

bool simt_blocks_grid_barrier(struct worker *w, const struct simt_site *site)
{
    struct worker *watch = simt_tls_watch;
    simt_pages_end_block(w);
    struct vector since = touched_since_arrival(w);
    pthread_mutex_lock(&simt_now.lock);
    const unsigned long grid_phases = simt_now.grid_phases;
    w->result->waits_at = site;
    w->result->done = true;
    simt_now.waiting++;
    retire_all();
    end_grid_phase();
    while (!simt_now.stopped && simt_now.grid_phases == grid_phases)
        pthread_cond_wait(&simt_now.changed, &simt_now.lock);
    const bool goes_on = !simt_now.stopped;
    pthread_mutex_unlock(&simt_now.lock);
    if (goes_on) begin_result(w->result);
    for (size_t i = 0; goes_on && i < since.count; i++)
        *(struct touch *)simt_vector_grow(&w->result->touches, sizeof(struct touch)) =
            ((struct touch *)since.data)[i];
    free(since.data);
    if (!goes_on) return false;
    w->trace = simt_trace_begin(w);
    simt_tls_watch = watch;
    w->grid.has_turn = false;
    w->time.phase = 1;
    w->grid.last.address = NULL;
    w->grid.fences = 0;
    w->grid.met = w->grid.acquired = false;
    for (unsigned i = 0; i < w->threads; i++) {
        w->thread[i].fence.phase = 0;
        w->thread[i].lock = 0;
        w->thread[i].met = w->thread[i].acquired = w->thread[i].saw_acquired = false;
    }
    w->shadow.touch_tick = ++*w->time.clock;
    return true;
}

/* If a shared launch ends early, a block may have done the work of others. Its races in shared memory are real all the same: of its
 * findings these alone are kept. */
static void keep_races(struct result *result)
{
    struct finding *findings = result->findings.data;
    for (size_t i = 0; i < result->findings.count;) {
        if (findings[i].kind != RECORD_SHARED_RACE) {
            i++;
            continue;
        }
        simt_finding_add(&simt_now.findings, &findings[i]); /* what it has allocated has a new owner */
        findings[i] = findings[--result->findings.count];
    }
}

void simt_finish_block(struct worker *w)
{
    pthread_mutex_lock(&simt_now.lock);
    if (simt_is_shared_launch() && simt_now.stopped) keep_races(w->result);
    w->result->done = true;
    retire_all();
    end_grid_phase();
    pthread_mutex_unlock(&simt_now.lock);
}

/* Room for the results of @p blocks at once, or of as many as usual. */
static void make_ring(const struct simt_launch *launch)
{
    static struct result *large_ring;
    simt_now.ring = usual_ring;
    simt_now.results = RESULTS;
    if (!launch->cooperative || simt_now.blocks <= RESULTS) return;
    if (large_ring == NULL)
        large_ring = simt_reserve(COOPERATIVE_BLOCKS * sizeof *large_ring, "the blocks' results");
    simt_now.ring = large_ring;
    simt_now.results = COOPERATIVE_BLOCKS;
}

uint32_t simt_blocks_begin(const struct simt_launch *launch, const struct simt_overlap *before)
{
    simt_now.launch = launch;
    simt_now.waited = false;
    simt_now.triggered_early = true;
    simt_now.next = simt_now.retired = simt_now.waiting = simt_now.sharing = 0;
    simt_now.turns = 0;
    simt_now.stopped = false;
    simt_now.blocks = simt_share_blocks(launch, &simt_now.stopped);
    make_ring(launch);
    simt_now.error = 0;
    memset(&simt_now.counters, 0, sizeof simt_now.counters);
    for (uint64_t i = 0; i < simt_now.results; i++) {
        simt_now.ring[i].done = false;
        simt_now.ring[i].waits_at = NULL;
        simt_finding_drop(&simt_now.ring[i].findings);
    }
    const bool overlaps = launch->early || (before->count > 0 && before->launch[0].elsewhere);
    return simt_inter_block_begin(launch, overlaps ? before : NULL);
}
