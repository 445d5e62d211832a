/**
 * @file profile_checker.h
 * @brief `checker --profile-checker`: everything the checker itself does, without a kernel: where does its
 *        time go?
 */
#pragma once

#include "session.h"

/**
 * @brief Plays the runner for an open session, compares all items, and adds the times to those of their cases.
 * @param seconds  CPU time that session_open() took
 *
 * Inputs come back unchanged. Outputs are zeros, so values are wrong, but comparing them costs as much as
 * comparing right ones.
 */
void profile_checker_session(struct session *session, double seconds);

/** @brief Prints the slowest cases and the sums. */
void profile_checker_report(const struct check *check);

/** @brief CPU seconds of this process so far. */
double profile_checker_now(void);
