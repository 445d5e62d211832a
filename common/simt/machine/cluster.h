/**
 * @file cluster.h
 * @brief A cluster of several blocks: which blocks it has, and which one runs.
 *
 * A block's `__shared__` variables are thread_local ones, so that each block of a cluster has an OS thread of
 * its own. One of these OS threads runs and the others wait (cluster_schedule.c), so the running one may
 * touch what belongs to any block of the cluster. The blocks share one clock, so their ticks can be compared.
 */
#pragma once

#include "sizes.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vector_clock;
struct worker;

enum { NOBODY = -1, PHASES_KEPT = 3 };

struct cluster {
    pthread_mutex_t lock;
    pthread_cond_t wake[MAX_CLUSTER]; /**< by position */
    unsigned size;
    struct worker *at[MAX_CLUSTER];    /**< by position: the order in which they run */
    struct worker *block[MAX_CLUSTER]; /**< by rank */
    int running;                       /**< position of the block that runs, or NOBODY */
    unsigned gathered;                 /**< workers that wait for the next cluster */
    unsigned long number;              /**< of clusters that have been begun here */
    bool taken;                        /**< there was a next one */
    unsigned begun;                    /**< blocks that have */
    bool stopped;                      /**< one of its blocks ended at a finding */
    bool forget;                       /**< ticks begin anew */
    uint32_t clock;
    unsigned grain; /**< threads that share an actor's number, see simt_foreign_actor() */

    /* its barrier */
    uint32_t phase;
    struct vector_clock
        *known[PHASES_KEPT]
              [MAX_CLUSTER]; /**< what all threads know that have waited for phase e - 1: [e % 3], by rank */
    uint32_t phase_end[PHASES_KEPT]; /**< the tick at which the phase was over */
    uint32_t joined[MAX_CLUSTER];    /**< last_barrier of each block when its block clock was joined */
};

/** @brief The last access of a thread of another block to this block's shared memory. */
struct remote_access {
    uint32_t tick, pc, bytes;
    uint16_t thread;
    uint8_t rank, access, place;
    uintptr_t where;
};
