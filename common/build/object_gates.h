/**
 * @file object_gates.h
 * @brief Renames symbols in a student's object file, see object_gates.c.
 */
#pragma once

#include "machine_code.h"

/** @brief 1 if a kernel file may call or use @p name of others, which gets a gate for it. */
int object_has_gate(const char *name);
/** @brief 1 if a kernel file may call or use @p name of others as it is: BOUNDARY_FREE. */
int object_needs_no_gate(const char *name);

/** @brief Writes object file @p from, which object_check() has accepted, to @p to with its symbols
 *         renamed, and @p frames for the device (simt/machine/frames.h); 0 if that fails. */
int object_add_gates(const char *from, const char *to, const struct machine_code_frames *frames);
