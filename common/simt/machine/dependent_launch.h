/**
 * @file dependent_launch.h
 * @brief Launches that start before the one in front is over.
 */
#pragma once

#include "worker.h"

#include <stdbool.h>

/** @brief Whether the launch in front may still be running, as far as the running thread knows. */
static inline bool simt_is_early(const struct worker *w)
{
    return !w->grid.launch_before_over && !w->current->grids_waited;
}
/**
 * @brief A warp barrier of @p lanes: if one of them has waited for the launch in front, all of them have.
 */
void simt_grids_share(struct worker *w, const struct warp *warp, unsigned lanes);
/**
 * @brief Launch @p number is over: computes from @p overlap, which launches it was behind, which ones the
 * next launch is behind.
 */
void simt_overlap_next(struct simt_overlap *overlap, const struct simt_launch *launch, uint32_t number,
                       bool waited, bool triggered_early);
