/**
 * @file process.h
 * @brief A runner as a child process that is trusted with nothing: a program in the sandbox, and two pipes.
 */
#ifndef WARPWISE_CHECKER_PROCESS_H
#define WARPWISE_CHECKER_PROCESS_H

#include "sandbox.h"
#include "wire.h"

/** @brief A running or ended runner. */
struct process {
    struct sandboxed box;
    int control, replies; /**< our ends of the pipes, -1 when closed */
    size_t text_at_end;   /**< how much text was there when its work was done */
};

enum process_event { PROCESS_REPLY, PROCESS_ENDED, PROCESS_LATE, PROCESS_GREEDY };

/** @brief How a runner is started. */
struct process_start {
    const char *path;
    int image;
    const char *counters; /**< file for the software device's counters, or NULL */
    int gpu;
    enum sandbox_isolation isolation;
    struct sandbox_limits limits;
};

/**
 * @brief Starts `path --session IMAGE CONTROL REPLY`, or `--locked-session` if it is to be isolated.
 * @return 0, or -1 with errno set
 */
int process_start(struct process *process, const struct process_start *start);

/** @brief Sends a message; 0 or -1. A runner that is gone is no error here: the wait will tell. */
int process_send(struct process *process, uint32_t kind, uint32_t index);

/** @brief Waits for a message of @p kind and @p index, at most @p seconds; meanwhile collects output and
 *         watches how much memory is used. */
enum process_event process_await(struct process *process, uint32_t kind, uint32_t index, double seconds);

/** @brief Closes the control pipe, waits up to @p seconds, then kills; reaps it and all that it left
 *         behind. */
void process_end(struct process *process, double seconds);

#endif
