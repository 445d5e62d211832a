/**
 * @file cluster_barrier.h
 * @brief The barrier of a cluster of thread blocks, or of a block that is a cluster of its own.
 */
#pragma once

#include <stdbool.h>

struct worker;

void simt_cluster_begin(struct worker *w); /**< a block begins */
/** @brief No thread of the cluster can go on: some may if the others have ended. */
bool simt_cluster_resolve(struct worker *w);
