/**
 * @file distributed_shared.h
 * @brief Shared memory of another block of the cluster.
 */
#pragma once

#include "finding.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct worker;

/**
 * @brief An access of the running thread to what may be shared memory of another block of its cluster, with kinds as in shadow.h.
 *        Returns false if it is not; ends the block if hardware would refuse it.
 */
bool simt_distributed_access(struct worker *w, uintptr_t address, size_t bytes, int access, const void *pc);
/**
 * @brief The same for an access that is known to be ordered: only checks that the block has begun, and that
 * it does not end before the access.
 */
void simt_distributed_note(struct worker *w, uintptr_t address, size_t bytes, int access, const void *pc);
/** @brief A block of a cluster begins; all its threads have ended. */
void simt_distributed_begin(struct worker *w);
void simt_distributed_end(struct worker *w);
