/**
 * @file schedule.h
 * @brief Workers, and how one runs a block.
 */
#pragma once

#include "worker.h"

#include <stdbool.h>

struct worker *simt_worker_new(void);
void simt_worker_attach(struct worker *w); /**< the calling OS thread will run it */
void simt_worker_begin(struct worker *w, const struct simt_launch *launch);
void simt_begin_block(struct worker *w);
/** @brief True: its threads spin, maybe until another block does something. False: it is over. */
bool simt_run_block(struct worker *w);
void simt_end_block(struct worker *w);
