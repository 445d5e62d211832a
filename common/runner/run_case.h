/**
 * @file run_case.h
 * @brief A case from its buffers to its result: two runs with different poison, then the timing.
 */
#pragma once

#include "device_case.h"

/**
 * @brief Runs @p item of @p image and writes its result, the stamp last.
 * @param take_turn  where cases take turns, called with 1 before the timing, which it returns to when that may begin, and with 0 after
 *                   it, also where there was nothing to time
 */
void run_case(struct wire_header *image, struct wire_case *item, void (*take_turn)(int begins));

/** @brief Times item->timed calls, one event pair each; outputs are poisoned before each and looked at after some. */
int time_case(struct device_case *run);
