/**
 * @file between.h
 * @brief Races between blocks.
 */
#ifndef WARPWISE_SIMT_BETWEEN_H
#define WARPWISE_SIMT_BETWEEN_H

#include "machine.h"
#include "tools.h"
#include "worker.h"

/** @brief Takes up what a block touched, after all earlier blocks: races between blocks, unwritten memory. */
void simt_between(struct result *result, uint64_t block, struct vector *findings);
/** @brief A launch behind those in @p before begins; returns its number. */
uint32_t simt_between_begin(const struct simt_overlap *before);

#endif
