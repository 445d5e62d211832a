/**
 * @file trap.h
 * @brief Faults of kernel code that no check saw coming.
 */
#ifndef WARPWISE_SIMT_TRAP_H
#define WARPWISE_SIMT_TRAP_H

#include "finding.h"

void simt_trap_install(void);
/** @brief In a signal handler: the calls that led to what was interrupted. */
void simt_note_frames(struct finding *finding, void *context);
void simt_trap_stack(void); /**< an alternate signal stack for the calling OS thread */

#endif
