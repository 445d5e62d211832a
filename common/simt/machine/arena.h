/**
 * @file arena.h
 * @brief Device memory: its addresses, a shadow byte a byte.
 */
#ifndef WARPWISE_SIMT_ARENA_H
#define WARPWISE_SIMT_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARENA_BASE ((uintptr_t)0x10000000000)
#define ARENA_BYTES ((size_t)16 << 30)

/**
 * Shadow of a device byte. LIVE is set a chunk at a time on the first access there, so that the shadow of a
 * large allocation costs memory only where it is used; without it, the extents know. INPUT and PADDING are not to be
 * written (simt_device_keep()).
 */
enum { SHADOW_LIVE = 1, SHADOW_WRITTEN = 2, SHADOW_INPUT = 4, SHADOW_PADDING = 8 };
extern uint8_t *simt_shadow;
/** @brief Whether all these bytes are in one live allocation; then their shadow says so from now on. */
bool simt_arena_live(uintptr_t offset, size_t bytes);
bool simt_arena_host_may(uintptr_t offset); /**< managed or pinned memory */

void simt_arena_open(void);
/** @brief Writes what an arena address is, for a report: `scores[12]`, or how far from which allocation. */
void simt_arena_describe(uintptr_t offset, size_t bytes, char *text, size_t size);

#endif
