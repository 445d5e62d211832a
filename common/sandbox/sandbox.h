/**
 * @file sandbox.h
 * @brief Any command line, run as if it wanted to do harm: a compiler at work on an untrusted file, or a
 * runner.
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
#ifndef WARPWISE_CHECKER_SANDBOX_H
#define WARPWISE_CHECKER_SANDBOX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SANDBOX_TEXT = 64 << 10, SANDBOX_DESCRIPTORS = 3, SANDBOX_FIRST_DESCRIPTOR = 3 };

enum sandbox_isolation {
    SANDBOX_LIMITED, /**< limits and filter; it runs as whoever runs this, and sees what they see */
    SANDBOX_ISOLATED /**< also another user, and bubblewrap where it works */
};

enum sandbox_kind {
    SANDBOX_RUNNER,  /**< may not create, remove or change files */
    SANDBOX_COMPILER /**< may do so in its folder */
};

/** @brief What the program may use. */
struct sandbox_limits {
    double cpu_seconds;      /**< of each process */
    uint64_t resident_bytes; /**< private memory in use, of all processes together */
    uint64_t address_bytes;  /**< address space of each process, 0 for no limit */
    uint64_t file_bytes;     /**< of each file it writes */
    unsigned processes;      /**< processes and threads, beside those that are there already */
    unsigned open_files;     /**< 0 leaves the limit as it is */
};

/** @brief What to run, and how. Lists end with NULL. */
struct sandbox {
    const char *const *arguments;   /**< the first is the program's full path */
    const char *const *environment; /**< NAME=VALUE, the whole of it; NULL for sandbox_environment() */
    const char *folder;             /**< where it starts and may write; NULL: nowhere */
    const char *const *readable;    /**< what it may read beside the system's folders; NULL for no more */
    const char *writable_file;      /**< one file that it may write, or NULL */
    enum sandbox_isolation isolation;
    enum sandbox_kind kind;
    int gpu;     /**< 1: it may reach the GPU's device files */
    int network; /**< 1: of a runner on a GPU, until it locks itself: sockets of any kind, by which NCCL's ranks find each other.
                      In bubblewrap they reach nobody else; where it is isolated without bubblewrap it gets none */
    int descriptor[SANDBOX_DESCRIPTORS]; /**< become 3, 4, 5; -1 for none. All of them, or none */
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

/** @brief How a program ended that was run with sandbox_run(). */
enum sandbox_end { SANDBOX_DONE, SANDBOX_LATE, SANDBOX_GREEDY, SANDBOX_NOT_STARTED };

/** @brief Hides this process's memory from its children and lets orphans fall to it. Call once. */
void sandbox_prepare(void);

/**
 * @brief Starts @p sandbox's program.
 * @return 0, or -1 with errno set. A program that cannot be executed ends with exit code 126 and says so.
 */
int sandbox_start(const struct sandbox *sandbox, struct sandboxed *child);

/** @brief Takes what was printed so far; what does not fit is thrown away. */
void sandbox_collect(struct sandboxed *child);

/** @brief 1 if the program, and all that it started, is gone. */
int sandbox_has_ended(const struct sandboxed *child);

/** @brief 1 if it uses more memory than it may. */
int sandbox_is_greedy(const struct sandboxed *child);

/** @brief A clock that stands still while the program is ready to run and others have the processor. */
struct sandbox_clock {
    double begin, looked;    /**< when it was started and last looked at */
    double running, waiting; /**< of all threads, then */
    double seconds;          /**< what it shows */
};

/** @brief By this factor real time may be ahead of a program's clock: so nothing goes on for ever. */
#define SANDBOX_PATIENCE 10.0

/** @brief Starts the clock of @p child at 0. */
void sandbox_clock_start(const struct sandboxed *child, struct sandbox_clock *watch);

/**
 * @brief Seconds that @p child would have taken since then with the machine to itself: it ran, or slept by its own choice.
 *
 * To be looked at some times per second: in between, what it got of the processor is taken to be evenly spread. Never less than
 * real time divided by ::SANDBOX_PATIENCE. Where the kernel does not say how long a thread waited (schedstat), it is real time.
 */
double sandbox_clock_look(const struct sandboxed *child, struct sandbox_clock *watch);

/** @brief Waits up to @p seconds for its end, then kills it and all it started, and reaps. Fills exit_code
 *         and signal. */
void sandbox_finish(struct sandboxed *child, double seconds);

/** @brief Starts the program and waits at most @p seconds of its clock; whatever comes, nothing of it is left on return.
 *         @p interrupted, if not NULL, is asked now and then whether to stop (then SANDBOX_LATE). */
enum sandbox_end sandbox_run(const struct sandbox *sandbox, double seconds, int (*interrupted)(void),
                             struct sandboxed *child);

/** @brief PATH and what names devices and libraries, out of our own environment (HOME, too, unless
 *         isolated); the list is static. */
const char *const *sandbox_environment(enum sandbox_isolation isolation);

/**
 * @brief What isolation there is on this machine, in one line: "bubblewrap, an unprivileged user, system call
 *        filter". @p tree is the folder that programs have to read.
 *
 * What is missing is named as missing with the reason: "no bubblewrap (/usr/bin/bwrap refuses: setting up
 * uid map: Permission denied)". Probes once.
 */
const char *sandbox_describe(const char *tree);

/**
 * @brief 1 if @p part of the sandbox is switched off by WARPWISE_SANDBOX_WITHOUT, a list such as "user,lock":
 *        filter, user, limits, landlock, or lock (the runner's own second filter). "all" is all of them.
 *
 * Only to find out which part a machine's driver or compiler cannot live with; sandbox_describe() says so.
 */
int sandbox_is_without(const char *part);

/** @brief 1 if all of the isolation is there that this program knows: bubblewrap, another user if this process is root,
 *         the filter, and nothing switched off. Else sandbox_describe() says what is missing. */
int sandbox_is_whole(const char *tree);

/** @brief 1 if bubblewrap is installed and `true` runs in it. Probes once, and tells the programs started
 *         from here by WARPWISE_BUBBLEWRAP=works. WARPWISE_BUBBLEWRAP=no in the environment makes it
 *         absent, so that the other path can be tested. */
int sandbox_has_bubblewrap(void);

#endif
