/**
 * @file names.h
 * @brief What the source calls a variable, and which of its elements an address is.
 */
#pragma once

#include "machine.h"
#include "record/record.h"

#include <stddef.h>

/** @brief "tile" of a name as the linker has it, in memory of its own. */
char *simt_plain_name(const char *linker_name);
/**
 * @brief Which element of a variable or buffer an access at byte @p where is, into @p memory; the first index may be past the end.
 *
 * Only a buffer of bytes may be accessed before its beginning.
 */
void simt_resolve_element(const struct simt_shape *shape, ptrdiff_t where, size_t bytes,
                          struct record_memory *memory);
