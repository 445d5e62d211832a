/**
 * @file workers.h
 * @brief The cases of a check divided among processes, each with a runner of its own, that share the struct check.
 */
#pragma once

#include "check.h"

/**
 * @brief How many workers a check gets. One alone where counters are taken, where the first failure ends the check, or where the
 *        runner is not the user's own: then what is reported must not depend on how many processors there are.
 */
int workers_of(const struct check *check);

/**
 * @brief Calls @p work(@p check, unit, @p context) for each unit, 0 .. @p units - 1, in order of their numbers, in
 *        check->workers processes at once; here, if that is one. Each of them calls @p end(@p context) when no unit is left.
 *
 * @p check must lie in shared memory. A worker that dies leaves check->broken.
 */
void workers_run(struct check *check, int units, void (*work)(struct check *check, int unit, void *context),
                 void (*end)(void *context), void *context);

/** @brief Before and after a worker changes a verdict: no other does so meanwhile. */
void workers_merge(struct check *check, int begins);

/** @brief Maps the file that options.progress names, if there is one: @p inputs are to be judged. It is no matter if that fails. */
void workers_open_progress(struct check *check, uint32_t inputs);
