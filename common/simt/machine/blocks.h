/**
 * @file blocks.h
 * @brief The blocks of the running launch.
 */
#pragma once

#include "worker.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* How many results there is room for; the blocks of a cooperative launch are all there at once, each on its OS thread. */
enum { RESULTS = 64, COOPERATIVE_BLOCKS = 1024 };

/** The launch that is running; one at a time. */
struct running_launch {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool running; /**< workers may join */
    unsigned long number;
    int busy; /**< pool threads at work */
    uint64_t blocks, next, retired;
    /** blocks that take turns and are not done, those up to sharing_end; 0: they come in order */
    uint64_t sharing;
    uint64_t sharing_end; /**< in the order in which blocks run */
    uint64_t holder;      /**< whose turn it is */
    uint64_t changes;     /**< times that one of them did something */
    uint32_t turns;       /**< so far */
    bool retiring;        /**< somebody is taking up results */
    atomic_bool stopped;  /**< a block ended at a finding: later ones do not count */
    int error;
    bool waited,
        triggered_early; /**< some block waited for the launch in front; all let the next start before */
    const struct simt_launch *launch;
    struct result *ring;
    uint64_t results; /**< how many the ring holds */
    uint64_t waiting; /**< blocks at the grid's barrier */
    int participants; /**< workers that take part: those of lower index */
    unsigned long grid_phases;
    struct vector findings;
    struct counters counters;
};
extern struct running_launch simt_now;

/** @brief A launch behind those in @p before begins; returns its number. */
uint32_t simt_blocks_begin(const struct simt_launch *launch, const struct simt_overlap *before);
bool simt_take_block(struct worker *w); /**< false: there is none left */
bool simt_take_cluster(
    struct cluster *c); /**< the same for all its workers: position and rank follow SIMT_ORDER */
void simt_finish_block(struct worker *w);
/** @brief Waits until all blocks before the running one are finished; abandons the block if one stopped. */
void simt_wait_for_earlier(struct worker *w);
/** @brief Whether the block that would share turns next, if the running one hands its own over, has no worker yet. */
bool simt_blocks_need_worker(const struct worker *w);
/** @brief The running block only waits: hands its turn over, and goes on when it has another. @p helped: one more worker is there. */
void simt_blocks_pass_turn(struct worker *w, bool helped);
/** @brief The running block is at the grid's barrier: waits for all others. False: the launch has ended. */
bool simt_blocks_grid_barrier(struct worker *w, const struct simt_site *site);
bool simt_launch_stopped(const struct worker *w);
bool simt_launch_runs(void);
bool simt_runs_first_block(const struct worker *w); /**< of those that have not ended */
