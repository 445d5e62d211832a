/**
 * @file divergence.h
 * @brief Counting instructions that not all lanes of a warp executed together.
 */
#pragma once

struct worker;

/**
 * Counts what the logs hold from index @p from on, site by site. Entries that paused lanes have yet to
 * complete stay in the logs.
 */
void simt_count_divergent(struct worker *w, unsigned from, unsigned paused);
/**
 * The first of the @p reached entries common to all lanes whose site lanes execute different numbers of
 * times later on: if some lanes had left a loop early there, the logs would look the same. @p reached if
 * there is none.
 */
unsigned simt_converged_until(const struct worker *w, unsigned reached);
