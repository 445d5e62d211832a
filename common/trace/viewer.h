/**
 * @file viewer.h
 * @brief The viewer of a page, viewer.js and viewer.css, as they are in the tree when the program is built.
 */
#pragma once

#include <stddef.h>

extern const unsigned char trace_viewer_js[], trace_viewer_css[];
extern const size_t trace_viewer_js_bytes, trace_viewer_css_bytes;
