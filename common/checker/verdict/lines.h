/**
 * @file lines.h
 * @brief The source lines of what the software device found in an untrusted runner.
 */
#pragma once

#include "check.h"

/** @brief Looks up the addresses in all verdicts whose lines are not known, in the runner's file. */
void lines_look_up(struct check *check);
