/**
 * @file sandbox_inside.h
 * @brief What the files of the sandbox know of each other.
 */
#ifndef WARPWISE_CHECKER_SANDBOX_INSIDE_H
#define WARPWISE_CHECKER_SANDBOX_INSIDE_H

#include <linux/filter.h>

#include "sandbox.h"

enum { SANDBOX_EXEC_FAILED = 126, SANDBOX_FILTER_MOST = 256 };

/** @brief A system call filter, ready to be set. */
struct sandbox_filter {
    struct sock_filter line[SANDBOX_FILTER_MOST];
    unsigned short count;
};

/** @brief The filter for @p kind; a runner with @p may_write may also make files, one with @p gpu may do so
 *         and open local sockets, for CUDA's driver, until it locks itself, with @p network any. @p self is the only process that may
 *         be signalled, 0 if it is not known. An empty one on a processor that is not known. */
void sandbox_filter_make(enum sandbox_kind kind, int may_write, int gpu, int network, unsigned self,
                         struct sandbox_filter *filter);

/** @brief Sets @p filter for this process and all that it starts; 0, or -1 where the kernel has none. */
int sandbox_filter_set(const struct sandbox_filter *filter);

/** @brief Arguments that run @p sandbox's program in bubblewrap, which reads a filter from descriptor
 *         @p filter_descriptor (-1: none). NULL if there is no bubblewrap. The list is the caller's. */
const char **sandbox_wrap(const struct sandbox *sandbox, int filter_descriptor);

/** @brief Bubblewrap's arguments that say what @p sandbox's program may see, ended by NULL; NULL if there are too many. */
const char **sandbox_view(const struct sandbox *sandbox);

/** @brief The version of Landlock that the kernel has; 0 if it has none, or it is switched off. */
int sandbox_landlock_version(void);

/** @brief Holds this process and all that it starts to that view, for good; 0 (also where the kernel has no Landlock),
 *         or -1. */
int sandbox_landlock_set(const struct sandbox *sandbox);

/** @brief Why there is no bubblewrap; after sandbox_has_bubblewrap() said so. */
const char *sandbox_bubblewrap_reason(void);

/** @brief The whole life of the keeper: starts the program, waits, kills what is left, writes the wait
 *         status to
 *         @p leash. Never returns. */
void sandbox_keep(const struct sandbox *sandbox, int output, int leash) __attribute__((noreturn));

/** @brief The user that programs of the keeper with process number @p keeper run as; 0 unless we are root. */
uid_t sandbox_user(pid_t keeper);

/** @brief 1 if @p user, or we if it is 0, may read @p path. */
int sandbox_user_reaches(uid_t user, const char *path);

#endif
