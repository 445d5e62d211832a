/**
 * @file sandbox_inside.h
 * @brief Functions that the files of the sandbox share.
 */
#pragma once

#include <linux/filter.h>

#include "sandbox.h"

enum { SANDBOX_FILTER_MOST = 256 };

/** @brief A system call filter, ready to be set. */
struct sandbox_filter {
    struct sock_filter line[SANDBOX_FILTER_MOST];
    unsigned short count;
};

/** @brief The filter for @p kind. A runner with @p may_write may also make files; one with @p gpu may do
 *         so and open local sockets, for CUDA's driver, until it locks itself; with @p network sockets of
 *         any kind. @p self is the only process that may be signalled, 0 if it is not known. Empty for an
 *         unknown processor architecture. */
void sandbox_filter_make(enum sandbox_kind kind, int may_write, int gpu, int network, unsigned self,
                         struct sandbox_filter *filter);

/** @brief Sets @p filter for this process and everything that it starts; 0, or -1 if the kernel has no
 *         filters. */
int sandbox_filter_set(const struct sandbox_filter *filter);

/** @brief Arguments that run @p sandbox's program in bubblewrap, which reads a filter from descriptor
 *         @p filter_descriptor (-1: none). NULL if there is no bubblewrap. The list is the caller's. */
const char **sandbox_wrap(const struct sandbox *sandbox, int filter_descriptor);

/** @brief Bubblewrap's arguments that say what @p sandbox's program may see, ended by NULL; NULL if there are too many. */
const char **sandbox_view(const struct sandbox *sandbox);

/** @brief The version of Landlock that the kernel has; 0 if it has none, or it is switched off. */
int sandbox_landlock_version(void);

/** @brief Restricts this process and everything that it starts to that view, for good; 0 (also if the
 *         kernel has no Landlock), or -1. */
int sandbox_landlock_set(const struct sandbox *sandbox);

/** @brief Why there is no bubblewrap; call it when sandbox_has_bubblewrap() has returned 0. */
const char *sandbox_bubblewrap_reason(void);

/** @brief Everything that the keeper does: starts the program, waits, kills what is left, writes the wait
 *         status to @p leash. Never returns. */
void sandbox_keep(const struct sandbox *sandbox, int output, int leash) __attribute__((noreturn));

/** @brief The user id for programs of the keeper with process id @p keeper; 0 unless we are root. */
uid_t sandbox_user(pid_t keeper);

/** @brief 1 if @p user, or the current user if it is 0, may read @p path. */
int sandbox_user_reaches(uid_t user, const char *path);
