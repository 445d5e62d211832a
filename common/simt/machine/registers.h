/**
 * @file registers.h
 * @brief How many registers the warps of a block have asked for (setmaxnreg).
 */
#pragma once

struct worker;
struct simt_site;

/** @brief The running warp has @p count registers per thread from now on; @p site must stay. */
void simt_registers_set(const struct simt_site *site, unsigned count);
void simt_registers_begin(struct worker *w);
/** @brief The block is over: whether all warps of each warpgroup agreed, and all requests could be met. */
void simt_registers_end(struct worker *w);
