/**
 * @file bulk_copies.h
 * @brief Bulk copies that are under way.
 */
#pragma once

#include <stdbool.h>

struct worker;

/** @brief Completes copies whose mbarriers threads wait for. False: there was none. */
bool simt_bulk_progress(struct worker *w);
void simt_bulk_begin(struct worker *w); /**< a block begins */
void simt_bulk_end(struct worker *w);   /**< it is over: remaining stores complete now */
