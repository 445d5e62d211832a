/**
 * @file inter_block.h
 * @brief Races between blocks.
 */
#pragma once

#include "machine.h"
#include "tools.h"
#include "worker.h"

/** @brief Takes up what a block touched, after all earlier blocks: races between blocks, unwritten memory. Of a block of a cluster
 *         only what comes between phase @p epoch of the cluster's barrier and the next. */
void simt_inter_block_check(struct result *result, uint32_t cluster_phase, struct vector *findings);
/** @brief Launch @p running, behind those in @p before, begins; returns its number. */
uint32_t simt_inter_block_begin(const struct simt_launch *running, const struct simt_overlap *before);
