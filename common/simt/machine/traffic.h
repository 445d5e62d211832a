/**
 * @file traffic.h
 * @brief What one instruction of a warp costs in requests, sectors and wavefronts.
 */
#pragma once

#include "counters.h"
#include "finding.h"
#include "sizes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The lanes of one instruction of a warp, in ascending order. */
struct request {
    unsigned count;
    uintptr_t address[WARP_LANES]; /**< of an asynchronous copy both, as simt_pack_copy() has them */
    uint8_t lane[WARP_LANES];
    size_t bytes;
};

/** Adds what one instruction costs. */
void simt_count_request(struct counters *c, const struct request *r, int access, enum place place);
/** Both addresses of an asynchronous copy in one: the global one, and the offset @p to in shared memory. */
uintptr_t simt_pack_copy(uintptr_t from, uintptr_t to);
/** Whether addresses of this access are packed so; then: the global one, and the offset. */
bool simt_is_packed(int access);
uintptr_t simt_unpack_copy(uintptr_t packed, uintptr_t *to);
