/**
 * @file convergence.h
 * @brief Convergence points: which threads have come to one, decided when no thread can go on.
 */
#pragma once

#include "worker.h"

#include <stdbool.h>

/**
 * @brief No lane of the running warp can go on: which have converged? Returns whether a lane can go on now.
 */
bool simt_resolve_warp(struct worker *w, struct warp *warp);
/** @brief The same for the warps of the block; false if the block is over, or stuck. */
bool simt_resolve_block(struct worker *w);
