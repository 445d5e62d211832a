/**
 * @file lines.h
 * @brief From an address in the program to a line of the source.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** @brief Looks up all packed addresses of @p findings at once. */
void simt_lines_load(const uint32_t *pcs, size_t count);
/** @brief A path as people want to read it: from the current folder, or only the name. */
const char *simt_short_path(const char *file);
/** @brief "softmax.cu:47", with the callers of an inlined function; never NULL. */
const char *simt_line_text(uint32_t pc);
bool simt_line_known(uint32_t pc);
