/**
 * @file async_copies.h
 * @brief Asynchronous copies of a thread that an mbarrier waits for.
 */
#pragma once

#include <stdint.h>

struct worker;

/** @brief The first @p number copies of @p thread land, if they have not yet, and report to the mbarrier of @p column. */
void simt_copies_report(struct worker *w, unsigned thread, uint32_t number, unsigned column, uint32_t tick);
