/**
 * @file named.h
 * @brief Barriers of a part of the block.
 */
#ifndef WARPWISE_SIMT_NAMED_H
#define WARPWISE_SIMT_NAMED_H

#include "worker.h"

void simt_resolve_named(struct worker *w,
                        struct warp *warp); /**< no lane of the warp can go on: has it come to one? */
void simt_named_begin(struct worker *w);    /**< a block begins */

#endif
