/**
 * @file process.h
 * @brief A runner as a child process that is trusted with nothing.
 *
 * It leads its own process group, runs under limits, and its output goes into a bounded buffer that is shown
 * but never believed. When it ends, everything it left behind is killed.
 */
#ifndef WARPWISE_CHECKER_PROCESS_H
#define WARPWISE_CHECKER_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire.h"

enum { PROCESS_TEXT = 64 << 10 };

/** @brief What a runner may use. */
struct process_limits {
    double cpu_seconds;
    uint64_t
        resident_bytes; /**< private memory in use; address space says nothing, both devices reserve far more */
    uint64_t file_bytes; /**< of any file it writes */
};

/** @brief A running or ended runner. */
struct process {
    pid_t pid;
    int control, replies, output; /**< our ends of the pipes, -1 when closed */
    char text[PROCESS_TEXT];      /**< the beginning of what it printed */
    size_t text_used;
    size_t text_at_end;      /**< how much of it was there when its work was done */
    int exit_code;           /**< -1 unless it exited by itself */
    int signal;              /**< 0 unless it was killed */
    uint64_t resident_bytes; /**< how much memory it may use */
};

enum process_event { PROCESS_REPLY, PROCESS_ENDED, PROCESS_LATE, PROCESS_GREEDY };

/** @brief Makes this process the one that orphans fall to, and hides its memory from children. Call once. */
void process_prepare(void);

/**
 * @brief Starts `path --session IMAGE CONTROL REPLY`.
 * @param counters  file for the software device's counters, or NULL
 * @return 0, or -1 with errno set
 */
int process_start(struct process *process, const char *path, int image, const struct process_limits *limits,
                  const char *counters);

/** @brief Sends a message; 0 or -1. A runner that is gone is no error here: the wait will tell. */
int process_send(struct process *process, uint32_t kind, uint32_t index);

/** @brief Waits for a message of @p kind and @p index, at most @p seconds; meanwhile collects output and watches
 *         how much memory is used. */
enum process_event process_await(struct process *process, uint32_t kind, uint32_t index, double seconds);

/** @brief Closes the control pipe, waits up to @p seconds, then kills; reaps it and all that it left behind. */
void process_end(struct process *process, double seconds);

/** @brief In the child, before exec: limits, and a filter against reaching other processes where there is one. */
int confine(const struct process_limits *limits);

#endif
