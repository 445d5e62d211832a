/**
 * @file undefined.h
 * @brief Whether results depend on a value that CUDA leaves undefined: what a shuffle brings from a lane that takes no part.
 */
#pragma once

struct worker;

/** @brief This process has run a block on for a comparison, and the block is over: says what came out, and ends the process.
 *         Does nothing in any other process. */
void simt_undefined_end_block(struct worker *w);
