/**
 * @file dependent_launch.c
 * @brief Launches that start before the one in front of them is over (programmatic dependent launch).
 *
 * Grids run one after the other here. Which launches may overlap on hardware is computed: a dependent launch
 * overlaps the launch n in front of it until it waits. If n was a dependent launch itself, and triggered the
 * next before it had waited, then the next one also overlaps what n was behind; and even after its wait, if
 * no thread of n ever waited. inter_block.c compares the accesses.
 */
#include "dependent_launch.h"
#include "machine.h"
#include "sizes.h"
#include "worker.h"

#include <stdbool.h>
#include <string.h>

void simt_grids_wait(void)
{
    struct worker *w = simt_tls_worker;
    if (w == NULL) return;
    w->current->grids_waited = true;
    w->result->grids_waited = true;
}

void simt_grids_trigger(void)
{
    struct worker *w = simt_tls_worker;
    if (w == NULL || w->result->triggered) return;
    w->result->triggered = true;
    w->result->triggered_after_wait = !simt_is_early(w);
}

void simt_grids_share(struct worker *w, const struct warp *warp, unsigned lanes)
{
    struct thread *first = &w->thread[(size_t)(warp - w->warp_of) * WARP_LANES];
    bool any = false;
    for (unsigned lane = 0; lane < WARP_LANES; lane++) any |= (lanes >> lane & 1) && first[lane].grids_waited;
    for (unsigned lane = 0; any && lane < WARP_LANES; lane++)
        if (lanes >> lane & 1) first[lane].grids_waited = true;
}

/* Drops the oldest, which has long been over. */
static void forget_one(struct simt_overlap *overlap)
{
    overlap->count--;
    if (overlap->left > 0) overlap->left--;
    memmove(overlap->launch, overlap->launch + 1, overlap->count * sizeof *overlap->launch);
}

void simt_overlap_next(struct simt_overlap *overlap, const struct simt_launch *launch, uint32_t number,
                       bool waited, bool triggered_early)
{
    enum { MOST = sizeof overlap->launch / sizeof *overlap->launch };
    if (!launch->early) overlap->count = overlap->left = 0; /* it began when all of these were over */
    if (!triggered_early) overlap->count = overlap->left;
    if (!waited) overlap->left = overlap->count;
    if (overlap->count == MOST) forget_one(overlap);
    overlap->launch[overlap->count++] =
        (struct simt_running){number, launch->kernel, launch->grid, launch->block, 0};
}
