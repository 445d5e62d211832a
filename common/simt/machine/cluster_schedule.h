/**
 * @file cluster_schedule.h
 * @brief How the blocks of a cluster take turns. Of a worker whose block is in no cluster, these do nothing.
 */
#pragma once

#include <stdbool.h>

struct worker;

/** @brief Waits for the others of @p w's cluster; then each of them has its block of the next one. False: there is none left. */
bool simt_cluster_take(struct worker *w);
/** @brief Waits until the block may begin; and, when it has, until all have. */
void simt_cluster_schedule_begin(struct worker *w);
void simt_cluster_schedule_begun(struct worker *w);
/** @brief The block is over: the next one has the turn. */
void simt_cluster_schedule_end(struct worker *w);
/** @brief The block leaves its turn to others, who can go on; whatever it waits for itself, it comes back when it may go on. */
void simt_cluster_schedule_yield(struct worker *w);

/** @brief What a block that cannot go on finds when its turn has come again. */
enum cluster_state { CLUSTER_GOES_ON, CLUSTER_STUCK, CLUSTER_STOPPED };
/** @brief CLUSTER_STUCK: no block of the cluster can ever go on. */
enum cluster_state simt_cluster_schedule_wait(struct worker *w);
/** @brief All blocks of the cluster end. */
void simt_cluster_schedule_stop(struct worker *w);
/** @brief The block waits for something outside of the cluster, and has come back. STUCK as above. */
enum cluster_state simt_cluster_schedule_leave(struct worker *w);
void simt_cluster_schedule_return(struct worker *w);
