/**
 * @file viewer.h
 * @brief The viewer of a page, viewer.js and viewer.css, as they are in the tree when the program is built.
 */
#pragma once

#include <stddef.h>

/** @brief Their bytes, with no terminator. */
extern const unsigned char trace_viewer_js[];
/** @brief The stylesheet. */
extern const unsigned char trace_viewer_css[];
/** @brief How many. */
extern const size_t trace_viewer_js_bytes;
/** @brief How many of the stylesheet. */
extern const size_t trace_viewer_css_bytes;
