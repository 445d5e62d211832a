/**
 * @file share.h
 * @brief Launches of which only a share of the blocks runs (simt_run_share()).
 */
#pragma once

#include "machine.h"

#include <stdbool.h>
#include <stdint.h>

struct worker;

/** @brief Pages of global memory that a block may touch where other blocks do not run: one that touches more does their work. */
enum { SHARE_PAGES = 1 << 14 };

/** @brief Whether launches are shared now. */
bool simt_is_shared_launch(void);
/** @brief What shared launches leave tells nothing: nothing more is run. */
void simt_share_tells_nothing(void);
/** @brief How many blocks of @p launch run: all of them, unless it is shared. */
uint64_t simt_share_blocks(const struct simt_launch *launch);
/** @brief The number, in the grid, of block @p index of those that run. */
uint64_t simt_share_block(uint64_t index);
/** @brief The running block needs others, or does their work: nothing that follows tells anything. Does not return if launches are shared. */
void simt_share_leave(struct worker *w);
/** @brief Whether a read of what nobody wrote, at @p offset in the arena, is no finding. */
bool simt_share_forgives(uintptr_t offset);
