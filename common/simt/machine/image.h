/**
 * @file image.h
 * @brief The program's own file: where its variables are.
 */
#pragma once

#include "machine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol {
    uintptr_t start; /**< offset in the TLS block, or address */
    size_t bytes;
    const char *linker_name;
    char *name; /**< last component: "tile" */
};

enum owner { OWNER_NONE = 0, OWNER_MACHINE = UINT16_MAX - 1, OWNER_UNKNOWN = UINT16_MAX };

struct image {
    uintptr_t bias;           /**< load address minus link address */
    uintptr_t low, high;      /**< all segments */
    uintptr_t data, data_end; /**< the writable segments: `__device__` variables live here */
    size_t tls_bytes;
    uint16_t *tls_owner;            /**< a byte of the TLS block: 1 + index in shared, or enum owner */
    struct symbol *shared, *device; /**< sorted by start */
    size_t shared_count, device_count;
    bool named; /**< false: it was stripped, and nothing is known of its variables */
};
extern struct image simt_image;

void simt_image_load(void);
/** @brief The calling OS thread's TLS block of the program. */
uintptr_t simt_image_tls(void);
/** @brief The last symbol that starts at or before @p address, or NULL. */
const struct symbol *simt_symbol_before(const struct symbol *symbols, size_t count, uintptr_t address);
/** @brief Whether [address, address + bytes) lies in a `__device__` or `__constant__` variable. */
bool simt_image_variable(uintptr_t address, size_t bytes);
bool simt_image_constant(uintptr_t address);
/** @brief Whether @p text is a string that lies among the program's constants, with its end. */
bool simt_image_text(const char *text);
/** @brief Whether these bytes of the TLS block, from @p offset on, lie in one shared variable of the program. */
bool simt_image_shared(uintptr_t offset, size_t bytes);
/** @brief The object of that name in the program, or NULL. */
const void *simt_image_record(const char *linker_name, size_t bytes);

/** @brief The shape of a shared variable, or NULL. */
const struct simt_shape *simt_shape_of_symbol(const struct symbol *symbol);

/** @brief Return addresses are kept as 32-bit offsets from the image. */
static inline uint32_t simt_pack_pc(const void *pc)
{
    return (uint32_t)((uintptr_t)pc - simt_image.bias);
}
