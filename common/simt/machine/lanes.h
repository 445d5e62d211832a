/**
 * @file lanes.h
 * @brief The lanes of the running warp, and what the running one may do.
 */
#pragma once

#include "worker.h"

void simt_lanes_run(struct worker *w);  /**< lanes of the running warp, until none of them is ready */
void simt_lanes_drop(struct worker *w); /**< takes back the fibers of threads that will never go on */
/** @brief Another lane, or the scheduler, goes on; returns when this lane is made ready. */
void simt_suspend(struct worker *w);
/** @brief Ends the running block at the running thread. */
void simt_abandon(struct worker *w, int error) __attribute__((noreturn));
/** @brief Adds @p finding about the running thread, filling in who and where. */
void simt_found(struct worker *w, struct finding *finding);
/**
 * @brief The running thread has made its access: reports the pending race, unless the access has shown that
 * it is none.
 */
void simt_settle_race(struct worker *w);
void simt_take_turns(struct worker *w);           /**< in the turned order the other warps come first */
void simt_spin(struct worker *w, const void *pc); /**< the running thread may be waiting for another one */
