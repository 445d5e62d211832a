/**
 * @file dependent_launch.h
 * @brief Launches that start before the one in front is over.
 */
#pragma once

#include "worker.h"

#include <stdbool.h>

/** @brief Whether the running thread may still meet the launch in front. */
static inline bool simt_is_early(const struct worker *w)
{
    return !w->grid.launch_before_over && !w->current->grids_waited;
}
/** @brief The lanes of a warp barrier: who has waited has done so for all of them. */
void simt_grids_share(struct worker *w, const struct warp *warp, unsigned lanes);
/** @brief After launch @p number: what the next one is behind, from what this one was. */
void simt_overlap_next(struct simt_overlap *overlap, const struct simt_launch *launch, uint32_t number,
                       bool waited, bool triggered_early);
