/**
 * @file progress.h
 * @brief What is said of a launch while it runs for long.
 */
#pragma once

#include "machine.h"

/** @brief A launch begins; simt_progress_end() comes before its arguments and its report. */
void simt_progress_begin(const struct simt_launch *launch);
void simt_progress_end(void);
/** @brief In a process that fork() has made: the thread that looks is not in it. */
void simt_progress_after_fork(void);
