/**
 * @file bench.h
 * @brief Times on a GPU, counters on the software device, and how they compare with the limits; and the dump.
 */
#pragma once

#include "session.h"

/** @brief Makes @p session time or count its kernels. */
void bench_prepare(struct session *session);

/** @brief Copies the measurement of item @p index into the verdict of its case. */
void bench_item(struct session *session, int index);

/** @brief Prints the measurements that are there, in the order of the table and each once: called after every case. */
void bench_report(struct check *check);

/** @brief Prints what came back of item @p index beside what the oracle gives. */
void dump_item(struct session *session, int index);
