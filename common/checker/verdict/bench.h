/**
 * @file bench.h
 * @brief Times on a GPU, counters on the software device, and what they are a share of; and the dump.
 */
#pragma once

#include "session.h"

/** @brief Asks @p session to be timed or counted. */
void bench_prepare(struct session *session);

/** @brief Takes the measurement of item @p index into the verdict of its case. */
void bench_item(struct session *session, int index);

/** @brief Prints the measurements of all chosen cases. */
void bench_report(const struct check *check);

/** @brief Prints what came back of item @p index beside what the oracle gives. */
void dump_item(struct session *session, int index);
