/**
 * @file child.c
 * @brief Starts, listens to and ends a runner.
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"

enum { LOOK_MS = 20, VARIABLES_MOST = 64, PATH_BYTES = 4096 };

static void close_end(int *descriptor)
{
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
}

/* The environment of every program in the sandbox, except that this runner gets a file of its own for
 * counters. */
static void make_environment(enum sandbox_isolation isolation, const char *counters, const char **list)
{
    static char entry[PATH_BYTES];
    size_t count = 0;
    for (const char *const *given = sandbox_environment(isolation);
         *given != NULL && count < VARIABLES_MOST - 3; given++)
        if (strncmp(*given, "SIMT_COUNTERS=", 14) != 0) list[count++] = *given;
    if (counters != NULL) {
        snprintf(entry, sizeof entry, "SIMT_COUNTERS=%s", counters);
        list[count++] = entry;
        list[count++] = "SIMT_TRAFFIC=all"; /* no kernel may hide its reads in other kinds of accesses */
    }
    list[count] = NULL;
}

int child_start(struct child *child, const struct child_start *start)
{
    int control[2] = {-1, -1}, replies[2] = {-1, -1};
    const char *environment[VARIABLES_MOST];
    int locked = start->isolation == SANDBOX_ISOLATED && !sandbox_is_without("lock");
    const char *arguments[] = {start->path, locked ? "--locked-session" : "--session", "3", "4", "5", NULL};
    make_environment(start->isolation, start->counters, environment);
    *child = (struct child){.control = -1, .replies = -1, .box = {.keeper = -1, .leash = -1, .output = -1}};
    if (pipe2(control, O_CLOEXEC) != 0) return -1;
    if (pipe2(replies, O_CLOEXEC) != 0) {
        close_end(&control[0]);
        close_end(&control[1]);
        return -1;
    }
    struct sandbox sandbox = {.arguments = arguments,
                              .environment = environment,
                              .writable_file = start->counters,
                              .isolation = start->isolation,
                              .kind = SANDBOX_RUNNER,
                              .gpu = start->gpu,
                              .network = start->network,
                              .descriptor = {start->image, control[0], replies[1]},
                              .limits = start->limits};
    int failed = sandbox_start(&sandbox, &child->box) != 0, error = errno;
    close_end(&control[0]);
    close_end(&replies[1]);
    child->control = control[1];
    child->replies = replies[0];
    fcntl(child->replies, F_SETFL, O_NONBLOCK);
    fcntl(child->control, F_SETFL, O_NONBLOCK);
    errno = error;
    return failed ? -1 : 0;
}

int child_send(struct child *child, uint32_t kind, uint32_t index)
{
    struct wire_message message = {kind, index};
    return write(child->control, &message, sizeof message) == (ssize_t)sizeof message ? 0 : -1;
}

/* 1 if the expected message came, 0 if nothing did yet, -1 if the other end is closed. Skips other
 * messages. */
static int collect_reply(struct child *child, uint32_t kind, uint32_t index)
{
    for (;;) {
        struct wire_message message;
        ssize_t got = read(child->replies, &message, sizeof message);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return 0;
        if (got == 0) return -1;
        if (got == (ssize_t)sizeof message && message.kind == kind && message.index == index) return 1;
    }
}

enum child_event child_await(struct child *child, uint32_t kind, uint32_t index, double seconds)
{
    struct sandbox_clock watch = {0};
    double look = monotonic_seconds() + LOOK_MS * 1e-3; /* most cases finish before that */
    int closed = 0;
    for (;;) {
        int ended = sandbox_has_ended(&child->box); /* before reading, so that a last reply is not missed */
        int reply = closed ? -1 : collect_reply(child, kind, index);
        sandbox_collect(&child->box);
        if (reply > 0) return CHILD_REPLY;
        if (ended) return CHILD_ENDED;
        closed = reply < 0;
        struct pollfd wait[2] = {{closed ? -1 : child->replies, POLLIN, 0}, {child->box.output, POLLIN, 0}};
        /* The end of the runner does not wake poll() if a child of it holds the pipe, nor does its use of
         * memory: hence the timeout. */
        poll(wait, 2, LOOK_MS);
        if (monotonic_seconds() < look) continue;
        if (sandbox_is_greedy(&child->box)) return CHILD_GREEDY;
        if (watch.begin == 0.0) sandbox_clock_start(&child->box, &watch);
        if (sandbox_clock_look(&watch) > seconds) return CHILD_LATE;
        look = monotonic_seconds() + LOOK_MS * 1e-3;
    }
}

void child_end(struct child *child, double seconds)
{
    close_end(&child->control);
    sandbox_finish(&child->box, seconds);
    close_end(&child->replies);
}
