/**
 * @file blocks.c
 * @brief The blocks of the running launch: handed out in order, and their results taken up in order.
 *
 * A block takes a slot in a ring for its result. When a block ends, all results that are complete up to there are
 * taken up, in order: printf output, findings, counters. So nothing anyone sees depends on the number of workers, and
 * a grid of 2^31 blocks needs no more memory than one of 64.
 */
#include "blocks.h"
#include "between.h"
#include "counters.h"
#include "finding.h"
#include "lanes.h"
#include "machine.h"
#include "settings.h"
#include "tools.h"
#include "worker.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct running_launch simt_now = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

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

void simt_wait_for_earlier(struct worker *w)
{
    if (w->waited) return;
    pthread_mutex_lock(&simt_now.lock);
    while (!simt_now.stopped && simt_now.retired != w->result->order)
        pthread_cond_wait(&simt_now.changed, &simt_now.lock);
    pthread_mutex_unlock(&simt_now.lock);
    if (simt_now.stopped) simt_abandon(w, 0);
    w->waited = true;
}

bool simt_launch_runs(void)
{
    return simt_now.running;
}

bool simt_runs_first_block(const struct worker *w)
{
    return w->result != NULL && w->result->order == simt_now.retired;
}

bool simt_take_block(struct worker *w)
{
    pthread_mutex_lock(&simt_now.lock);
    while (!simt_now.stopped && simt_now.next < simt_now.blocks &&
           simt_now.next - simt_now.retired >= RESULTS)
        pthread_cond_wait(&simt_now.changed, &simt_now.lock);
    const bool taken = !simt_now.stopped && simt_now.next < simt_now.blocks;
    if (taken) {
        w->result = &simt_now.ring[simt_now.next % RESULTS];
        w->result->order = simt_now.next++;
    }
    pthread_mutex_unlock(&simt_now.lock);
    if (!taken) return false;
    w->block = block_of_order(w->result->order, simt_now.blocks);
    w->result->error = 0;
    w->result->touches.count = w->result->text.count = w->result->releases.count = 0;
    w->result->acquired_from = UINT32_MAX;
    w->result->released_tick = 0;
    w->result->grids_waited = !simt_now.launch->early;
    w->result->let_go = w->result->let_go_waited = false;
    memset(&w->result->counters, 0, sizeof w->result->counters);
    return true;
}

/* Takes up one result; all earlier ones have been. */
static void retire(struct result *result)
{
    const uint64_t block = block_of_order(result->order, simt_now.blocks);
    if (result->text.count > 0) fwrite(result->text.data, 1, result->text.count, stdout);
    simt_between(result, block, &simt_now.findings);
    simt_now.waited |= result->grids_waited;
    simt_now.let_go_early &= !(result->let_go ? result->let_go_waited : result->grids_waited);
    const struct finding *findings = result->findings.data;
    for (size_t i = 0; i < result->findings.count; i++) simt_finding_add(&simt_now.findings, &findings[i]);
    result->findings.count = 0; /* their texts have a new owner */
    simt_counters_add(&simt_now.counters, &result->counters);
}

void simt_finish_block(struct worker *w)
{
    pthread_mutex_lock(&simt_now.lock);
    w->result->done = true;
    if (!simt_now.retiring) {
        simt_now.retiring = true;
        for (;;) {
            struct result *result = &simt_now.ring[simt_now.retired % RESULTS];
            if (simt_now.stopped || !result->done) break;
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
    }
    pthread_mutex_unlock(&simt_now.lock);
}

uint32_t simt_blocks_begin(const struct simt_launch *launch, const struct simt_overlap *before)
{
    simt_now.launch = launch;
    simt_now.waited = false;
    simt_now.let_go_early = true;
    simt_now.blocks = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    simt_now.next = simt_now.retired = 0;
    simt_now.stopped = false;
    simt_now.error = 0;
    memset(&simt_now.counters, 0, sizeof simt_now.counters);
    for (int i = 0; i < RESULTS; i++) {
        simt_now.ring[i].done = false;
        simt_finding_drop(&simt_now.ring[i].findings);
    }
    return simt_between_begin(launch->early ? before : NULL);
}
