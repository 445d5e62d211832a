/**
 * @file divergence.h
 * @brief Counting instructions that not all lanes of a warp executed together.
 */
#pragma once

struct worker;

/** Counts what logs hold from index @p from on, site by site; leaves what lanes that only paused must complete. */
void simt_count_divergent(struct worker *w, unsigned from, unsigned paused);
/**
 * The first of the @p reached entries common to all lanes that is of a site which lanes execute unequally often
 * behind them: had some left a loop early there, it would look the same. @p reached if there is none.
 */
unsigned simt_converged_until(const struct worker *w, unsigned reached);
