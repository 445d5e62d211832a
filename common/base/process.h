/**
 * @file process.h
 * @brief Programs started from here, and lists of their arguments.
 */
#pragma once

#include <poll.h>

#include "text.h"

struct process {
    const char *const *arguments;   /**< ended by NULL; the first is looked up on PATH */
    const char *const *environment; /**< NAME=VALUE added to ours, ended by NULL; NULL for none */
    int echo;                       /**< 1: output is copied to our stdout as it comes */
    int seconds;                    /**< limit; 0: none */
    void (*meanwhile)(
        void *context); /**< called some twenty times a second while it runs; NULL: nothing is */
    void *context;
};

struct process_end {
    int exit_code;      /**< -1 unless it exited by itself */
    int signal;         /**< the signal that ended it, or 0 */
    int start_error;    /**< errno if it could not be started, or 0 */
    int timed_out;      /**< 1 if it was stopped at its limit */
    int given_up;       /**< 1 if it was stopped because its result is not wanted any more */
    struct text output; /**< stdout and stderr together, at most 4 MB of it */
};

/** @brief Runs a program in its own process group and waits. On ^C the whole group is stopped. */
void process_run(const struct process *process, struct process_end *end);
/** @brief From now on, whatever runs is stopped when @p unwanted(@p context) says 1. NULL: nothing is. */
void process_give_up_when(int (*unwanted)(void *), void *context);
/** @brief Seconds of a clock that nobody sets. */
double monotonic_seconds(void);
/** @brief Catches SIGINT, SIGTERM and SIGHUP, so that children can be stopped and files cleaned up. */
void process_catch_signals(void);
/** @brief The signal that asked this program to stop, or 0. */
int process_interrupted(void);
/**
 * @brief poll(), but no signal that asks this program to stop is slept through, however it falls.
 * @param watched the descriptors, @p count of them
 * @param most_ms how long to wait at most, in milliseconds; negative: without a limit
 * @return how many are ready; 0 after @p most_ms or once process_interrupted() says so
 */
int process_wait(struct pollfd *watched, size_t count, int most_ms);

/** @brief Arguments for a program, ended by NULL at all times. */
struct argument_list {
    const char **items;
    size_t count;
};
void argument_add(struct argument_list *list, const char *argument);
/** @brief Adds each word of @p words, which are separated by semicolons or blanks. */
void argument_add_words(struct argument_list *list, const char *words);
