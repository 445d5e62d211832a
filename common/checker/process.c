/**
 * @file process.c
 * @brief Starting, listening to and ending a runner.
 */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    CHILD_IMAGE = 3,
    CHILD_CONTROL = 4,
    CHILD_REPLY = 5,
    ABOVE_CHILD = 10,
    EXEC_FAILED = 126,
    LOOK_MS = 20
};

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void process_prepare(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_DUMPABLE, 0);
    signal(SIGPIPE, SIG_IGN);
}

/* Moves descriptors out of the way first, so that none is overwritten before it was copied. */
static int place_descriptors(int image, int control, int replies, int output)
{
    const int from[] = {image, control, replies, output, output};
    const int to[] = {CHILD_IMAGE, CHILD_CONTROL, CHILD_REPLY, STDOUT_FILENO, STDERR_FILENO};
    int high[5];
    for (int i = 0; i < 5; i++)
        if ((high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, ABOVE_CHILD)) < 0) return -1;
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0) return -1;
    for (int i = 0; i < 5; i++)
        if (dup2(high[i], to[i]) < 0) return -1;
    return 0;
}

static void become_runner(const char *path, int image, int control, int replies, int output,
                          const struct process_limits *limits, const char *counters)
{
    setpgid(0, 0);
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (counters != NULL) {
        setenv("SIMT_COUNTERS", counters, 1);
    } else {
        unsetenv("SIMT_COUNTERS");
    }
    if (place_descriptors(image, control, replies, output) == 0 && confine(limits) == 0)
        execl(path, path, "--session", "3", "4", "5", (char *)NULL);
    fprintf(stderr, "checker: cannot start %s: %s\n", path, strerror(errno));
    _exit(EXEC_FAILED);
}

int process_start(struct process *process, const char *path, int image, const struct process_limits *limits,
                  const char *counters)
{
    int control[2] = {-1, -1}, replies[2] = {-1, -1}, output[2] = {-1, -1};
    *process = (struct process){.pid = -1,
                                .control = -1,
                                .replies = -1,
                                .output = -1,
                                .exit_code = -1,
                                .resident_bytes = limits->resident_bytes};
    int failed =
        pipe2(control, O_CLOEXEC) != 0 || pipe2(replies, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0;
    fflush(NULL); /* the child must not inherit text that would be printed twice */
    if (!failed) process->pid = fork();
    if (process->pid == 0) become_runner(path, image, control[0], replies[1], output[1], limits, counters);
    int error = errno;
    if (control[0] >= 0) close(control[0]);
    if (replies[1] >= 0) close(replies[1]);
    if (output[1] >= 0) close(output[1]);
    process->control = control[1];
    process->replies = replies[0];
    process->output = output[0];
    errno = error;
    if (process->pid < 0) return -1;
    setpgid(process->pid, process->pid); /* also here, since the child may not have come to it yet */
    fcntl(process->replies, F_SETFL, O_NONBLOCK);
    fcntl(process->output, F_SETFL, O_NONBLOCK);
    fcntl(process->control, F_SETFL, O_NONBLOCK);
    return 0;
}

int process_send(struct process *process, uint32_t kind, uint32_t index)
{
    struct wire_message message = {kind, index};
    return write(process->control, &message, sizeof message) == (ssize_t)sizeof message ? 0 : -1;
}

/* Takes what there is; what does not fit is thrown away, so that a flood neither blocks nor fills memory. */
static void collect_output(struct process *process)
{
    char scratch[4096];
    for (int turn = 0; turn < 1024 && process->output >= 0; turn++) {
        size_t room = sizeof process->text - 1 - process->text_used;
        ssize_t got = room > 0 ? read(process->output, process->text + process->text_used, room)
                               : read(process->output, scratch, sizeof scratch);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return;
        if (got == 0) {
            close(process->output);
            process->output = -1;
        }
        if (room > 0) process->text_used += (size_t)got;
    }
}

/* 1 if the expected message came, 0 if nothing did yet, -1 if the other end is closed. Others are ignored. */
static int collect_reply(struct process *process, uint32_t kind, uint32_t index)
{
    for (;;) {
        struct wire_message message;
        ssize_t got = read(process->replies, &message, sizeof message);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return 0;
        if (got == 0) return -1;
        if (got == (ssize_t)sizeof message && message.kind == kind && message.index == index) return 1;
    }
}

static int has_ended(struct process *process)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == process->pid;
}

/* Resident memory less what is shared, which is the image and libraries. */
static int is_greedy(const struct process *process)
{
    char path[64];
    unsigned long long resident = 0, shared = 0;
    snprintf(path, sizeof path, "/proc/%ld/statm", (long)process->pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) return 0;
    int known = fscanf(file, "%*u %llu %llu", &resident, &shared) == 2;
    fclose(file);
    return known && resident > shared &&
           (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) > process->resident_bytes;
}

enum process_event process_await(struct process *process, uint32_t kind, uint32_t index, double seconds)
{
    double until = now_seconds() + seconds;
    int closed = 0;
    for (;;) {
        int ended = has_ended(process); /* before reading, so that a last reply is not missed */
        int reply = closed ? -1 : collect_reply(process, kind, index);
        collect_output(process);
        if (reply > 0) return PROCESS_REPLY;
        if (ended) return PROCESS_ENDED;
        closed = reply < 0;
        double left = until - now_seconds();
        if (left <= 0.0) return PROCESS_LATE;
        if (is_greedy(process)) return PROCESS_GREEDY;
        struct pollfd wait[2] = {{closed ? -1 : process->replies, POLLIN, 0}, {process->output, POLLIN, 0}};
        /* An end without a closed pipe (a child of it may hold the pipe) wakes nobody, nor does memory. */
        poll(wait, 2, left * 1000.0 < LOOK_MS ? (int)(left * 1000.0) + 1 : LOOK_MS);
    }
}

/* Children of this process: orphans fall to it, so this is everything the runner left behind. */
static void kill_stragglers(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/children", syscall(SYS_gettid));
    for (int round = 0; round < 100; round++) {
        FILE *file = fopen(path, "re");
        long pid;
        while (file != NULL && fscanf(file, "%ld", &pid) == 1) kill((pid_t)pid, SIGKILL);
        int known = file != NULL;
        if (known) fclose(file);
        if (waitpid(-1, NULL, known ? 0 : WNOHANG) <= 0) return;
    }
}

static void close_end(int *descriptor)
{
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
}

void process_end(struct process *process, double seconds)
{
    close_end(&process->control);
    double until = now_seconds() + seconds;
    while (!has_ended(process) && now_seconds() < until) {
        collect_output(process);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    int killed = !has_ended(process);
    kill(-process->pid, SIGKILL);
    int status = 0;
    while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR) continue;
    if (!killed && WIFEXITED(status)) process->exit_code = WEXITSTATUS(status);
    if (!killed && WIFSIGNALED(status)) process->signal = WTERMSIG(status);
    kill_stragglers();
    collect_output(process);
    process->text[process->text_used] = '\0';
    close_end(&process->replies);
    close_end(&process->output);
}
