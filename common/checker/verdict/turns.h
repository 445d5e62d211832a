/**
 * @file turns.h
 * @brief Workers that measure take turns: while one has a case timed nothing else runs, neither on the device nor, of this check,
 *        on the processors. All else they do beside each other.
 */
#pragma once

#include "check.h"

/** @brief Called before the workers start: from now on they take turns. If that cannot be, one does all the work. */
void turns_open(struct check *check);

/** @brief 1 if they do. If not, the functions below do nothing. */
int turns_are_taken(const struct check *check);

/** @brief This process is worker @p number, and will be stopped while others have a case timed; -1: it is none any more. */
void turns_join(struct check *check, int number);

/** @brief Process @p worker has ended, and was not reaped yet: from now on its number may be another process's. */
void turns_leave(struct check *check, pid_t worker);

/** @brief The device is used, perhaps by several. Also called to end being alone on it and to go on using it. */
void turns_share(struct check *check);

/** @brief Nobody else uses the device, and the other workers are stopped. */
void turns_alone(struct check *check);

/** @brief The device is not used any more. */
void turns_end(struct check *check);

/** @brief All workers go on: the one that has stopped them may be gone. */
void turns_continue(const struct check *check);
