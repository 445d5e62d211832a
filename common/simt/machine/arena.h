/**
 * @file arena.h
 * @brief Device memory: its addresses, and what is known of each byte.
 */
#pragma once

#include "machine.h"
#include "record/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARENA_BASE ((uintptr_t)0x10000000000)
#define ARENA_BYTES ((size_t)256 << 30) /* of addresses */
#define DEVICE_BYTES ((size_t)16 << 30) /* of memory, as the device says */

/** @brief A bit for each device byte: somebody wrote it. */
extern uint8_t *simt_written;
/** @brief A byte for each device byte: whether it is not to be written (simt_device_keep()). Nothing, until something is. */
enum { KEPT_INPUT = 1, KEPT_PADDING = 2 };
extern uint8_t *simt_kept;
extern bool simt_any_kept, simt_variables_kept;
/** @brief Whether all these bytes are in one live allocation; @p start and @p end are that allocation's. */
bool simt_arena_live(uintptr_t offset, size_t bytes, uintptr_t *start, uintptr_t *end);
/** @brief The size of the live allocation of a kernel's malloc() that begins at @p pointer; 0: none does. */
size_t simt_arena_heap_bytes(const void *pointer);
/** @brief What is live of the kernels' heap is a finding, and is freed; returns its bytes. */
size_t simt_arena_heap_close(void);
bool simt_arena_host_may(uintptr_t offset); /**< managed or pinned memory */

void simt_arena_open(void);
/**
 * @brief For an address in no allocation: describes it by the live allocation from which an index cut to 32 bits leads there, and
 *        *@p meant is that index before it was cut; else by the nearest that such an index may lead from, and *@p meant is -1.
 *        Returns 0 if there is neither.
 */
int simt_arena_resolve_near(uintptr_t offset, size_t bytes, struct record_memory *memory, int64_t *meant);
/** @brief What the live allocation before the one around @p offset, or @p after it, is called, and how many bytes past its end, or
 *         before its start, @p offset is; NULL: there is none. */
const char *simt_arena_beside(uintptr_t offset, int after, size_t *distance);
/** @brief What the allocation at @p offset is called, and the shape of its elements; element_bytes 0: unknown. */
const char *simt_arena_describe(uintptr_t offset, struct simt_shape *shape);
/** @brief What an arena address is: which element of which allocation, or how far from it. */
void simt_arena_resolve(uintptr_t offset, size_t bytes, struct record_memory *memory);
