/**
 * @file convergence.h
 * @brief Who has met whom, decided when nobody can go on.
 */
#pragma once

#include "worker.h"

#include <stdbool.h>

/** @brief No lane of the running warp can go on: who has met? Returns whether one can now. */
bool simt_resolve_warp(struct worker *w, struct warp *warp);
/** @brief The same for the warps of the block; false if it is over, or stuck. */
bool simt_resolve_block(struct worker *w);
