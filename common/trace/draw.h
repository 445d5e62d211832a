/**
 * @file draw.h
 * @brief The sectors of a kernel as a picture: what 32 lanes ask for, line by line, and what moves for it.
 */
#pragma once

#include "page.h"

/**
 * @brief Draws, for each kernel of a trace and each line that costs the most sectors in the first block, the request with the most
 *        sectors, as SVG.
 * @param[in] title  what is drawn
 * @param[in] shown  the trace, and which of its launches
 * @param[in] path   the picture's file
 * @return how many requests are drawn, 0 if no lane asked for global memory (no file is written then), -1 after a message
 */
int trace_draw_sectors(const char *title, const struct trace_shown *shown, const char *path);
