/**
 * @file named_barrier.h
 * @brief Barriers of a part of the block.
 */
#pragma once

#include "worker.h"

void simt_resolve_named(struct worker *w,
                        struct warp *warp); /**< no lane of the warp can go on: has it arrived at one? */
void simt_named_begin(struct worker *w);    /**< a block begins */
