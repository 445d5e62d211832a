/**
 * @file sandbox.c
 * @brief Starts a program in the sandbox, reads its output, and ends it.
 */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "sandbox_inside.h"

enum { LOOK_MS = 20, ENVIRONMENT_MOST = 64 };

void sandbox_prepare(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_DUMPABLE, 0);
    signal(SIGPIPE, SIG_IGN);
}

/* ---- starting ------------------------------------------------------------------------------------------ */

const char *const *sandbox_environment(enum sandbox_isolation isolation)
{
    /* Devices, libraries and settings of the software device; no variable that says who or where we are. */
    static const char *const passed[] = {"HOME=", "PATH=", "LD_LIBRARY_PATH=", "CUDA_", "NVIDIA_", "SIMT_",
                                         "GCOV_", "NCCL_"};
    static const char *list[ENVIRONMENT_MOST];
    size_t count = 0;
    list[count++] = "LC_ALL=C";
    if (isolation == SANDBOX_ISOLATED) list[count++] = "HOME=/nonexistent";
    for (char **entry = environ; *entry != NULL && count < ENVIRONMENT_MOST - 1; entry++)
        for (size_t i = isolation == SANDBOX_ISOLATED; i < sizeof passed / sizeof passed[0]; i++)
            if (strncmp(*entry, passed[i], strlen(passed[i])) == 0) {
                list[count++] = *entry;
                break;
            }
    list[count] = NULL;
    return list;
}

static void close_end(int *descriptor)
{
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
}

int sandbox_start(const struct sandbox *sandbox, struct sandboxed *child)
{
    int leash[2] = {-1, -1}, output[2] = {-1, -1};
    struct sandbox settled = *sandbox;
    *child = (struct sandboxed){.keeper = -1,
                                .leash = -1,
                                .output = -1,
                                .exit_code = -1,
                                .resident_bytes = sandbox->limits.resident_bytes};
    if (settled.environment == NULL) settled.environment = sandbox_environment(sandbox->isolation);
    child->wrapped = sandbox->isolation == SANDBOX_ISOLATED && sandbox_has_bubblewrap();
    int failed =
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, leash) != 0 || pipe2(output, O_CLOEXEC) != 0;
    fflush(NULL); /* the child must not inherit text that would be printed twice */
    if (!failed) child->keeper = fork();
    if (child->keeper == 0) {
        close(leash[0]);
        sandbox_keep(&settled, output[1], leash[1]);
    }
    int error = errno;
    close_end(&leash[1]);
    close_end(&output[1]);
    child->leash = leash[0];
    child->output = output[0];
    if (child->keeper < 0) {
        close_end(&child->leash);
        close_end(&child->output);
        errno = error;
        return -1;
    }
    fcntl(child->output, F_SETFL, O_NONBLOCK);
    return 0;
}

/* ---- listening ----------------------------------------------------------------------------------------- */

/* Output that does not fit is dropped, so that a flood neither blocks nor fills memory. */
void sandbox_collect(struct sandboxed *child)
{
    char scratch[4096];
    for (int turn = 0; turn < 1024 && child->output >= 0; turn++) {
        size_t room = sizeof child->text - 1 - child->text_used;
        ssize_t got = room > 0 ? read(child->output, child->text + child->text_used, room)
                               : read(child->output, scratch, sizeof scratch);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return;
        if (got == 0) close_end(&child->output);
        if (room > 0) child->text_used += (size_t)got;
    }
}

int sandbox_has_ended(const struct sandboxed *child)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)child->keeper, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == child->keeper;
}

/* ---- the end ------------------------------------------------------------------------------------------- */

static void note_status(struct sandboxed *child, int status, int killed)
{
    enum { BUBBLEWRAP_SIGNAL = 128 };
    if (killed) return;
    if (WIFSIGNALED(status)) child->signal = WTERMSIG(status);
    if (!WIFEXITED(status)) return;
    int code = WEXITSTATUS(status);
    if (child->wrapped && code > BUBBLEWRAP_SIGNAL && code < BUBBLEWRAP_SIGNAL + NSIG) {
        child->signal = code - BUBBLEWRAP_SIGNAL;
    } else {
        child->exit_code = code;
    }
}

void sandbox_finish(struct sandboxed *child, double seconds)
{
    double until = monotonic_seconds() + seconds;
    int status = 0;
    if (child->keeper < 0) return;
    while (!sandbox_has_ended(child) && monotonic_seconds() < until) {
        sandbox_collect(child);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    int killed = !sandbox_has_ended(child);
    shutdown(child->leash, SHUT_WR); /* the keeper notices that, and kills the program */
    while (waitpid(child->keeper, NULL, 0) < 0 && errno == EINTR) continue;
    if (read(child->leash, &status, sizeof status) != (ssize_t)sizeof status) killed = 1;
    note_status(child, status, killed);
    sandbox_collect(child);
    child->text[child->text_used] = '\0';
    close_end(&child->leash);
    close_end(&child->output);
    child->keeper = -1;
}

enum sandbox_end sandbox_run(const struct sandbox *sandbox, double seconds, int (*interrupted)(void),
                             struct sandboxed *child)
{
    if (sandbox_start(sandbox, child) != 0) return SANDBOX_NOT_STARTED;
    struct sandbox_clock watch;
    enum sandbox_end end = SANDBOX_DONE;
    sandbox_clock_start(child, &watch);
    while (!sandbox_has_ended(child) && end == SANDBOX_DONE) {
        struct pollfd wait = {child->output, POLLIN, 0};
        if (child->output >= 0) poll(&wait, 1, LOOK_MS);
        if (child->output < 0) nanosleep(&(struct timespec){0, 1000000}, NULL);
        sandbox_collect(child);
        if (interrupted != NULL && interrupted()) end = SANDBOX_LATE;
        if (monotonic_seconds() < watch.looked + LOOK_MS * 1e-3) continue;
        if (sandbox_is_greedy(child)) end = SANDBOX_GREEDY;
        if (sandbox_clock_look(&watch) > seconds) end = SANDBOX_LATE;
    }
    sandbox_finish(child, 0.0);
    return end;
}

/* ---- what there is ------------------------------------------------------------------------------------- */

int sandbox_is_without(const char *part)
{
    const char *at = getenv("WARPWISE_SANDBOX_WITHOUT");
    while (at != NULL && *at != '\0') {
        size_t length = strcspn(at, ",");
        if ((length == strlen(part) && strncmp(at, part, length) == 0) || strncmp(at, "all", length) == 0)
            return length > 0;
        at += length + (at[length] == ',');
    }
    return 0;
}

/** What of the isolation is there. */
struct isolation {
    int wrapped;  /* in bubblewrap */
    int landlock; /* its version, which matters where there is no bubblewrap */
    int filtered;
    enum { USER_ITSELF, USER_OTHER, USER_KEPT_OUT, USER_MISSING } user; /* the last two: it stays root */
    const char *without;                                                /* what is switched off, or NULL */
};

static struct isolation isolation_here(const char *tree)
{
    const uid_t user = sandbox_user(getpid());
    struct isolation here = {.wrapped = sandbox_has_bubblewrap(),
                             .landlock = sandbox_landlock_version(),
                             .without = getenv("WARPWISE_SANDBOX_WITHOUT")};
    here.filtered =
        !sandbox_is_without("filter") && (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0 || errno != EINVAL);
    if (user > 0 && sandbox_user_reaches(user, tree))
        here.user = USER_OTHER;
    else if (geteuid() == 0)
        here.user = user > 0 ? USER_KEPT_OUT : USER_MISSING;
    return here;
}

int sandbox_is_whole(const char *tree)
{
    const struct isolation here = isolation_here(tree);
    return here.wrapped && here.filtered && here.user <= USER_OTHER && here.without == NULL;
}

const char *sandbox_describe(const char *tree)
{
    static const char *const users[] = {
        [USER_ITSELF] = "the user's own rights",
        [USER_OTHER] = "an unprivileged user",
        [USER_KEPT_OUT] = "NO unprivileged user (others may not read the course's folder)",
        [USER_MISSING] = "NO unprivileged user (there is none in this container)"};
    static char text[700];
    const struct isolation here = isolation_here(tree);
    snprintf(text, sizeof text, "%s%s, %s, %s%s%.100s",
             here.wrapped ? "bubblewrap" : sandbox_bubblewrap_reason(),
             here.wrapped         ? ""
             : here.landlock == 0 ? ", NO Landlock, which leaves files to the rights of who reads them"
                                  : ", Landlock for files",
             users[here.user], here.filtered ? "system call filter" : "NO system call filter",
             here.without != NULL ? "; SWITCHED OFF: " : "", here.without != NULL ? here.without : "");
    return text;
}
