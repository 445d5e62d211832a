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
    char *name;          /**< what a page calls it */
    const char *kernel;  /**< the kernel file, if it is a lesson's */
    const char *debug;   /**< the command that starts a debugger on it, if it is a lesson's */
    struct text bytes;   /**< the file */
    struct trace trace;  /**< what is in it */
    size_t first, count; /**< launches to show */
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
