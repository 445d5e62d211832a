/**
 * @file cluster_schedule.h
 * @brief Which block of a cluster runs. For a worker whose block is in no cluster these functions do nothing.
 */
#pragma once

#include <stdbool.h>

struct worker;

/**
 * @brief Waits for the other workers of @p w's cluster, then gives each of them its block of the next
 * cluster. False: there is none left.
 */
bool simt_cluster_take(struct worker *w);
/**
 * @brief Waits until the block may begin; then, once it has begun, until all blocks of the cluster have.
 */
void simt_cluster_schedule_begin(struct worker *w);
void simt_cluster_schedule_begun(struct worker *w);
/** @brief The block is over: the next one runs. */
void simt_cluster_schedule_end(struct worker *w);
/** @brief Lets other blocks of the cluster run that can go on; returns when this one may run again. */
void simt_cluster_schedule_yield(struct worker *w);

/** @brief What a block whose threads all waited finds when it runs again. */
enum cluster_state { CLUSTER_GOES_ON, CLUSTER_STUCK, CLUSTER_STOPPED };
/** @brief All threads of the block wait. CLUSTER_STUCK: no block of the cluster can ever go on. */
enum cluster_state simt_cluster_schedule_wait(struct worker *w);
/** @brief All blocks of the cluster end. */
void simt_cluster_schedule_stop(struct worker *w);
/** @brief The block waits at the barrier of the grid, and comes back from it. CLUSTER_STUCK as above. */
enum cluster_state simt_cluster_schedule_leave(struct worker *w);
void simt_cluster_schedule_return(struct worker *w);
