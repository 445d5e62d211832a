/**
 * @file traced.h
 * @brief Traces of kernel files.
 */
#pragma once

#include "base/text.h"
#include "course/course.h"
#include "trace/read.h"

/** @brief A trace, and where it came from. */
struct traced {
    char *name;               /**< what a page calls it */
    const char *kernel;       /**< the kernel file, if it is a lesson's */
    const char *debug;        /**< the command that starts a debugger on it, if it is a lesson's */
    struct text bytes;        /**< the file */
    struct trace trace;       /**< what is in it */
    size_t first, count;      /**< launches to show */
    struct text variables;    /**< what variables held, as values.py writes it; empty if nobody has looked */
    const char *no_variables; /**< why nobody has, or NULL */
};

/** @brief Reads the trace in the file @p path; EXIT_PASS, or EXIT_TROUBLE after a complaint. */
int traced_read(const char *path, struct traced *traced);

/**
 * @brief Builds @p kernel for the software device, runs @p test_case and reads the trace; of the runner's two calls one is shown.
 * @param[in] blocks what SIMT_TRACE_BLOCKS says
 * @return EXIT_PASS; EXIT_SKIPPED if no kernel was launched; EXIT_FAIL or EXIT_TROUBLE after a message
 */
int traced_run(const struct lesson_folder *lesson, const char *kernel, const char *test_case,
               const char *blocks, struct traced *traced);

/** @brief The thread whose variables are of interest, if none is asked for: the one that acted last in a block's finding, else 0. */
enum { TRACED_USUAL_THREAD = -1 };

/**
 * @brief Runs the traced case once more under gdb, and writes down what variables of one thread of each traced block held.
 *
 * That program is built as for a debugger, so that its variables are there. It makes the same accesses in the same order, which
 * the page holds against the trace. Without gdb, or if that fails, traced->no_variables says why.
 * @param[in] thread of the block, or TRACED_USUAL_THREAD
 */
void traced_look_at_variables(const struct lesson_folder *lesson, const char *kernel, const char *test_case,
                              const char *blocks, int thread, struct traced *traced);
