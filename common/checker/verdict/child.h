/**
 * @file child.h
 * @brief A runner as an untrusted child process: a program in the sandbox, and two pipes.
 */
#pragma once

#include "sandbox/sandbox.h"
#include "protocol/wire.h"

/** @brief A running or ended runner. */
struct child {
    struct sandboxed box;
    int control, replies; /**< our ends of the pipes, -1 when closed */
    size_t text_at_end;   /**< length of the text when the runner had done its work */
};

enum child_event { CHILD_REPLY, CHILD_ENDED, CHILD_LATE, CHILD_GREEDY };

/** @brief How a runner is started. */
struct child_start {
    const char *path;
    int image;
    const char *counters; /**< file for the software device's counters, or NULL */
    int gpu;
    int network; /**< 1: its lesson's ranks find each other by sockets */
    enum sandbox_isolation isolation;
    struct sandbox_limits limits;
};

/**
 * @brief Starts `path --session IMAGE CONTROL REPLY`, or `--locked-session` if it is to be isolated.
 * @return 0, or -1 with errno set
 */
int child_start(struct child *child, const struct child_start *start);

/** @brief Sends a message; 0 or -1. If the runner is gone this is no error here: the wait will report it. */
int child_send(struct child *child, uint32_t kind, uint32_t index);

/** @brief Waits for a message of @p kind and @p index, at most @p seconds of the runner's clock
 *         (sandbox_clock_look()). Meanwhile it collects output and checks the use of memory. */
enum child_event child_await(struct child *child, uint32_t kind, uint32_t index, double seconds);

/** @brief Closes the control pipe, waits up to @p seconds, then kills the runner; reaps it and every
 *         process that it left behind. */
void child_end(struct child *child, double seconds);
