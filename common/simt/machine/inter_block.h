/**
 * @file inter_block.h
 * @brief Races between blocks.
 */
#pragma once

#include "machine.h"
#include "tools.h"
#include "worker.h"

/**
 * @brief Checks what a block touched, after all earlier blocks: races between blocks, reads of unwritten
 * memory. For a block of a cluster only what it touched in phase @p cluster_phase of the cluster's barrier.
 */
void simt_inter_block_check(struct result *result, uint32_t cluster_phase, struct vector *findings);
/** @brief Launch @p running, behind those in @p before, begins. Returns its number. */
uint32_t simt_inter_block_begin(const struct simt_launch *running, const struct simt_overlap *before);
/** @brief All blocks have met at the grid's barrier: what was before races with nothing that follows, but for loads of what the kernel
 *         does not write. */
void simt_inter_block_next_phase(void);
