/**
 * @file share.h
 * @brief Launches of which only a share of the blocks runs (simt_run_share()).
 */
#pragma once

#include "machine.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** @brief Pages of global memory that a block may touch where other blocks do not run: one that touches more does their work. Where all
 * of few blocks run, they may touch LAUNCH_PAGES together, and no block more than its part of that: what is to be done is
 * a hundred times as much, so that it would not come to its end. */
enum {
    SHARE_PAGES = 1 << 14,
    LAUNCH_PAGES = 64 * SHARE_PAGES,
    FEW_BLOCKS = 1024,
    WHOLE_PAGES = LAUNCH_PAGES / FEW_BLOCKS
};

/** @brief How many outputs of shared launches are known. */
extern unsigned simt_share_outputs;

/** @brief Whether launches are shared now. */
bool simt_is_shared_launch(void);
/** @brief What shared launches leave tells nothing: nothing more is run. */
void simt_share_tells_nothing(void);
/** @brief Whether that has been said. */
bool simt_share_stopped(void);
/** @brief How many blocks of @p launch run: all of them, unless it is shared. What ends it early sets @p stopped. */
uint64_t simt_share_blocks(const struct simt_launch *launch, atomic_bool *stopped);
/** @brief The number, in the grid, of block @p index of those that run. */
uint64_t simt_share_block(uint64_t index);
/** @brief The running block needs others, or does their work. True: launches are shared, so that nothing that follows tells anything. */
bool simt_share_gives_up(void);
/** @brief The same, if the running block has touched so many pages that it does. */
bool simt_share_overworks(size_t pages);
/** @brief The running launch has written to @p offset in the arena. */
void simt_share_written(uintptr_t offset);
/** @brief A block that has touched so many pages has ended: where all blocks run, they count together. */
void simt_share_block_ended(size_t pages);
/** @brief Whether a read of what nobody wrote, at @p offset in the arena, is no finding. */
bool simt_share_forgives(uintptr_t offset);
