/**
 * @file object_gates.h
 * @brief Renames symbols in a student's object file, see object_gates.c.
 */
#pragma once

#include "machine_code.h"

/** @brief Writes object file @p from, which object_check() has accepted, to @p to with its symbols
 *         renamed, and @p frames for the device (simt/machine/frames.h); 0 if that fails. */
int object_add_gates(const char *from, const char *to, const struct machine_code_frames *frames);
