/**
 * @file trap.h
 * @brief Faults of kernel code that no check saw coming.
 */
#pragma once

#include "finding.h"

void simt_trap_install(void);
/** @brief In a signal handler: the calls that led to what was interrupted. */
void simt_note_frames(struct finding *finding, void *context);
/** @brief What is said when the host reads what lies there, which it cannot; of four such places at most. */
void simt_trap_explain(const void *low, size_t bytes, const char *sentence);
void simt_trap_stack(void); /**< an alternate signal stack for the calling OS thread */
