/**
 * @file sandbox.h
 * @brief Runs any command line as untrusted code: a compiler that works on an untrusted file, or a runner.
 *
 *     this process ──▶ keeper ──▶ [bubblewrap ──▶] the program ──▶ whatever it starts
 *
 * The *keeper* is a fork of this process that does nothing but watch: orphans fall to it, and when the
 * program is done, or this process says so or dies, it kills all that is left. What the program prints goes
 * into a bounded buffer that is shown and never believed.
 *
 * Always: limits, a process group and session of its own, closed descriptors, an environment that is given
 * and nothing else, a system call filter where the kernel has one. With SANDBOX_ISOLATED also: an
 * unprivileged user of its own when this process is root, and, where bubblewrap works, no network, no view
 * of other processes, and a file system that holds only what is named here, nothing of it writable but one
 * folder. Where it does not, Landlock allows no more of the file system than that, if the kernel has it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SANDBOX_TEXT = 64 << 10, SANDBOX_DESCRIPTORS = 3, SANDBOX_EXEC_FAILED = 126 };

enum sandbox_isolation {
    SANDBOX_LIMITED, /**< limits and filter; it runs as the current user, and sees what that user sees */
    SANDBOX_ISOLATED /**< also as another user, and in bubblewrap where that works */
};

enum sandbox_kind {
    SANDBOX_RUNNER,  /**< may not create, remove or change files */
    SANDBOX_COMPILER /**< may do so in its folder */
};

/** @brief What the program may use. */
struct sandbox_limits {
    double cpu_seconds;      /**< of each process */
    uint64_t resident_bytes; /**< private memory in use, over all processes */
    uint64_t address_bytes;  /**< address space per process, 0 for no limit */
    uint64_t file_bytes;     /**< of each file it writes */
    unsigned processes;      /**< processes and threads, in addition to existing ones */
    unsigned open_files;     /**< 0 keeps the current limit */
};

/** @brief What to run, and how. Lists end with NULL. */
struct sandbox {
    const char *const *arguments; /**< the first is the program's full path */
    /** NAME=VALUE, the complete environment; NULL for sandbox_environment() */
    const char *const *environment;
    const char *folder; /**< the folder where it starts and may write; NULL: none */
    /** what it may read in addition to the system's folders; NULL for nothing */
    const char *const *readable;
    const char *writable_file; /**< one file that it may write, or NULL */
    enum sandbox_isolation isolation;
    enum sandbox_kind kind;
    int gpu; /**< 1: it may reach the GPU's device files */
    /** 1: for a runner on a GPU, until it locks itself: it may use sockets of any kind, by which NCCL's
     *  ranks find each other. In bubblewrap they reach no other process; if it is isolated without
     *  bubblewrap it gets no sockets */
    int network;
    /** these become descriptors 3, 4, 5; -1 for none. Either all are given, or none */
    int descriptor[SANDBOX_DESCRIPTORS];
    struct sandbox_limits limits;
};

/** @brief A running or ended program. */
struct sandboxed {
    pid_t keeper;
    int leash, output; /**< -1 when closed */
    char text[SANDBOX_TEXT];
    size_t text_used;
    uint64_t resident_bytes; /**< most it may use */
    int wrapped;             /**< 1: inside bubblewrap */
    int exit_code;           /**< -1 unless it exited by itself */
    int signal;              /**< 0 unless it was killed */
};

/** @brief How a program run with sandbox_run() ended. */
enum sandbox_end { SANDBOX_DONE, SANDBOX_LATE, SANDBOX_GREEDY, SANDBOX_NOT_STARTED };

/** @brief Hides this process's memory from its children and makes it the parent of orphans. Call once. */
void sandbox_prepare(void);

/**
 * @brief Starts @p sandbox's program.
 * @return 0, or -1 with errno set. A program that cannot be executed ends with exit code
 *         ::SANDBOX_EXEC_FAILED and says so.
 */
int sandbox_start(const struct sandbox *sandbox, struct sandboxed *child);

/** @brief Reads the output so far; what does not fit is dropped. */
void sandbox_collect(struct sandboxed *child);

/** @brief 1 if the program and everything that it started have ended. */
int sandbox_has_ended(const struct sandboxed *child);

/** @brief 1 if it uses more memory than it may. */
int sandbox_is_greedy(const struct sandboxed *child);

/** @brief A clock that stands still while the program is ready to run but other programs have the
 *         processor. */
struct sandbox_clock {
    long process;            /**< whose, with everything below it */
    double begin, looked;    /**< when it was started and last read */
    double running, waiting; /**< of all threads, then */
    double seconds;          /**< what it shows */
};

/** @brief Wall-clock time is at most this factor ahead of a program's clock, so that no wait is endless. */
#define SANDBOX_PATIENCE 10.0

/** @brief Starts the clock of @p child at 0. */
void sandbox_clock_start(const struct sandboxed *child, struct sandbox_clock *watch);

/** @brief Starts one for this process and everything below it. */
void sandbox_clock_start_here(struct sandbox_clock *watch);

/**
 * @brief Seconds that the program would have taken since then with the machine to itself: it ran, or slept by
 *        its own choice. Call it several times per second: between two calls, its share of the processor is
 *        assumed to be constant. Never less than wall-clock time divided by ::SANDBOX_PATIENCE. If the kernel
 *        does not report how long a thread waited (schedstat), it is wall-clock time.
 */
double sandbox_clock_look(struct sandbox_clock *watch);

/** @brief Waits up to @p seconds for the program to end, then kills it and everything it started, and
 *         reaps. Sets exit_code and signal. */
void sandbox_finish(struct sandboxed *child, double seconds);

/** @brief Starts the program and waits at most @p seconds of its clock; in any case nothing of it is left
 *         on return. Polls @p interrupted, if not NULL, to find out whether to stop (then SANDBOX_LATE). */
enum sandbox_end sandbox_run(const struct sandbox *sandbox, double seconds, int (*interrupted)(void),
                             struct sandboxed *child);

/** @brief PATH and the variables that name devices and libraries, from our own environment (HOME, too,
 *         unless isolated); the list is static. */
const char *const *sandbox_environment(enum sandbox_isolation isolation);

/**
 * @brief What isolation there is on this machine, in one line: "bubblewrap, an unprivileged user, system call
 *        filter". @p tree is the folder that programs have to read.
 *
 * Missing parts are named with the reason: "no bubblewrap (/usr/bin/bwrap refuses: setting up uid map:
 * Permission denied)". Probes once.
 */
const char *sandbox_describe(const char *tree);

/**
 * @brief 1 if @p part of the sandbox is switched off by WARPWISE_SANDBOX_WITHOUT, a list such as "user,lock":
 *        filter, user, limits, landlock, or lock (the runner's own second filter). "all" is all of them.
 *
 * Only for finding out which part a machine's driver or compiler does not work with; sandbox_describe()
 * mentions it.
 */
int sandbox_is_without(const char *part);

/** @brief 1 if all parts of the isolation that this program knows are there: bubblewrap, another user if
 *         this process is root, the filter, and nothing switched off. Else sandbox_describe() says what is
 *         missing. */
int sandbox_is_whole(const char *tree);

/** @brief 1 if bubblewrap is installed and `true` runs in it. Probes once, and tells the programs started
 *         from here by WARPWISE_BUBBLEWRAP=works. WARPWISE_BUBBLEWRAP=no in the environment makes it
 *         absent, so that the other path can be tested. */
int sandbox_has_bubblewrap(void);
