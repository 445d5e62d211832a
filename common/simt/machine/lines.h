/**
 * @file lines.h
 * @brief From an address in the program to a line of the source.
 */
#pragma once

#include "machine.h"
#include "record/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** @brief Looks up all packed addresses of @p findings at once. */
void simt_lines_load(const uint32_t *pcs, size_t count);
/** @brief A path as people want to read it: from the current folder, or only the name. */
const char *simt_short_path(const char *file);
/** @brief Where packed address @p pc is, with the callers of an inlined function; if no line is known, its address. */
void simt_line_frames(uint32_t pc, struct record_line at[RECORD_FRAMES]);
/** @brief The same as up to @p most sites with the files' whole paths; returns how many. */
int simt_line_places(uint32_t pc, struct simt_site *at, int most);
bool simt_line_known(uint32_t pc);
