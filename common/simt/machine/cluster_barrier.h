/**
 * @file cluster_barrier.h
 * @brief The barrier of a cluster of thread blocks. On this device a cluster is one block.
 */
#ifndef WARPWISE_SIMT_CLUSTER_BARRIER_H
#define WARPWISE_SIMT_CLUSTER_BARRIER_H

#include <stdbool.h>

struct worker;
struct simt_site;

/** @brief barrier.cluster.arrive by the running thread, which goes on; with @p release, what it did is ordered before what comes
 *         after the wait of others. */
void simt_cluster_arrive(const struct simt_site *site, bool release);
/** @brief barrier.cluster.wait: until all threads that have not ended have arrived. */
void simt_cluster_wait(const struct simt_site *site);

void simt_cluster_begin(struct worker *w);
/** @brief No thread of the block can go on: some may if the others have ended. */
bool simt_cluster_resolve(struct worker *w);

#endif
