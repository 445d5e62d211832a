/**
 * @file page.h
 * @brief Traces as a page to read in a browser: one file of HTML that needs no other and no network.
 */
#pragma once

#include <stddef.h>

#include "base/text.h"
#include "read.h"

enum { TRACE_PAGE_BYTES = 20 << 20 /**< no page is larger */ };

/** @brief A trace on its way to a page. */
struct trace_shown {
    const char *name;   /**< what it is of: a kernel file, a case */
    const char *kernel; /**< the kernel file, if the trace may name it without its folder; or NULL */
    const char *debug;  /**< the command that starts a debugger on it, or NULL */
    const struct text *variables; /**< JSON: what variables held (companion/values.py), or NULL */
    const char *no_variables;     /**< why there is none of that, or NULL */
    const struct trace *trace;    /**< what is in it */
    size_t first;                 /**< of its launches, the first that is shown */
    size_t count;                 /**< how many are shown */
    size_t blocks_left_out;       /**< receives how many of their blocks did not fit */
};

/** @brief Writes the page of one trace, or of two to compare, to @p page. */
void trace_write_page(const char *title, struct trace_shown *shown, size_t count, struct text *page);

/** @brief Reads the source @p path that a trace names; a kernel file from elsewhere may have lost its folder on the way through the
 *         compiler. 0, or what is not 0. */
int trace_read_source(const struct trace_shown *shown, const char *path, struct text *source);
