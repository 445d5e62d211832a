/**
 * @file fences.h
 * @brief Fences and atomics, and the phases that they divide a block into.
 */
#pragma once

#include "sizes.h"
#include "worker.h"

#include <stdbool.h>
#include <stdint.h>

void simt_new_phase(struct worker *w);
/** @brief Whether other blocks may see what is there. */
static inline bool simt_is_global(const struct worker *w, const void *address)
{
    const enum place place = simt_place_of(w, (uintptr_t)address);
    return place == PLACE_ARENA || place == PLACE_DATA;
}

/** @brief The running thread is at an atomic operation on global memory: it acquires, and releases what
 *         was fenced by itself, or by others before a barrier that it has passed. */
void simt_note_atomic(struct worker *w);
/** @brief A flag may be read and set through a volatile as well. */
void simt_note_volatile(struct worker *w, const void *address, int access);
