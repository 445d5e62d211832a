/**
 * @file phases.h
 * @brief `checker --phases`: where the time of a check goes, by what is done and by group of cases.
 *
 * Times are of the clock on the wall, summed over all that work at once: several runners, each with a worker of the checker.
 */
#pragma once

#include "check.h"
#include "session.h"

/** @brief Nanoseconds on the monotonic clock. */
uint64_t phases_now(void);

/** @brief Adds the time since @p begin to a phase of the group of @p item. */
void phases_add(struct check *check, const struct item *item, enum check_phase phase, uint64_t begin);

/** @brief Adds what the runner says about an item that took @p seconds, and what it did not say. */
void phases_add_runner(struct check *check, const struct item *item, const struct wire_result *result,
                       double seconds);
