/**
 * @file process.c
 * @brief Runs compilers, the checker and the probes, keeps what they say, and stops them when asked to.
 *
 * A child gets a process group of its own, so that ^C, which the terminal sends to us only, can be answered
 * by stopping the child and everything it has started. Should this program itself be killed, the kernel sends
 * the child SIGTERM.
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "terminal.h"
#include "text.h"

enum { MOST_OUTPUT = 4 << 20, GRACE_SECONDS = 2 };

static volatile sig_atomic_t caught_signal;

static void note_signal(int number)
{
    caught_signal = number;
}

void process_catch_signals(void)
{
    struct sigaction action = {.sa_handler = note_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

int process_interrupted(void)
{
    return caught_signal;
}

int process_wait(struct pollfd *watched, size_t count, int most_ms)
{
    sigset_t stops, before;
    struct timespec most = {most_ms / 1000, most_ms % 1000 * 1000000L};
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGHUP);
    /* Nothing comes between the look and the wait: ppoll() lets signals in and waits in one step. */
    sigprocmask(SIG_BLOCK, &stops, &before);
    int ready = caught_signal ? 0 : ppoll(watched, count, most_ms < 0 ? NULL : &most, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return ready < 0 ? 0 : ready;
}

static int (*is_unwanted)(void *);
static void *unwanted_context;

void process_give_up_when(int (*unwanted)(void *), void *context)
{
    is_unwanted = unwanted;
    unwanted_context = context;
}

double monotonic_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Runs in the child. Whatever fails before the program has started is told through @p failure. */
static void become(const struct process *process, int output, int failure, pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGPIPE, SIG_DFL); /* what we ignore, a child would go on ignoring */
    signal(SIGXFSZ, SIG_DFL);
    int nothing = open("/dev/null", O_RDONLY);
    if (getppid() == parent && nothing >= 0) {
        dup2(nothing, STDIN_FILENO);
        dup2(output, STDOUT_FILENO);
        dup2(output, STDERR_FILENO);
        for (const char *const *entry = process->environment; entry != NULL && *entry != NULL; entry++) {
            putenv((char *)*entry);
        }
        execvp(process->arguments[0], (char *const *)process->arguments);
    }
    int error = errno;
    (void)!write(failure, &error, sizeof error);
    _exit(127);
}

static void keep_output(const struct process *process, struct process_end *end, const char *data,
                        size_t length)
{
    if (process->echo) {
        show_progress(NULL);
        fwrite(data, 1, length, stdout);
        fflush(stdout);
    }
    if (end->output.length < MOST_OUTPUT) text_append(&end->output, data, length);
}

/* Reads what is there; 0 at the end of the stream. */
static int read_some(const struct process *process, int output, struct process_end *end)
{
    char buffer[16384];
    ssize_t length = read(output, buffer, sizeof buffer);
    if (length > 0) keep_output(process, end, buffer, (size_t)length);
    return length > 0 || (length < 0 && (errno == EINTR || errno == EAGAIN));
}

static void stop_group(pid_t child, int *status)
{
    kill(-child, SIGTERM);
    double deadline = monotonic_seconds() + GRACE_SECONDS;
    int gone = 0;
    while (!gone && monotonic_seconds() < deadline) {
        gone = waitpid(child, status, WNOHANG) == child;
        if (!gone) poll(NULL, 0, 20);
    }
    kill(-child, SIGKILL);
    if (!gone) waitpid(child, status, 0);
}

/* Collects output until the child is gone. A stray grandchild that holds the pipe open does not keep us. */
static void attend(const struct process *process, pid_t child, int output, struct process_end *end,
                   int *status)
{
    double deadline = process->seconds ? monotonic_seconds() + process->seconds : 0;
    struct pollfd watched = {.fd = output, .events = POLLIN};
    int open_stream = 1;
    for (;;) {
        int ready = open_stream ? poll(&watched, 1, 50) : poll(NULL, 0, 5);
        int late = deadline > 0 && monotonic_seconds() > deadline;
        int unwanted = !caught_signal && is_unwanted != NULL && is_unwanted(unwanted_context);
        if (caught_signal || late || unwanted) {
            end->given_up = unwanted;
            end->timed_out = late && !caught_signal && !unwanted;
            stop_group(child, status);
            break;
        }
        if (ready > 0) open_stream = read_some(process, output, end);
        if (ready == 0 && process->meanwhile != NULL) process->meanwhile(process->context);
        if (ready <= 0 || !open_stream) {
            if (waitpid(child, status, WNOHANG) == child) break;
        }
    }
    fcntl(output, F_SETFL, O_NONBLOCK);
    while (open_stream && poll(&watched, 1, 0) > 0 && read_some(process, output, end)) continue;
}

void process_run(const struct process *process, struct process_end *end)
{
    int output[2], failure[2], status = 0;
    *end = (struct process_end){.exit_code = -1};
    text_append(&end->output, "", 0);
    fflush(NULL);
    if (pipe2(output, O_CLOEXEC) != 0) {
        end->start_error = errno;
        return;
    }
    if (pipe2(failure, O_CLOEXEC) != 0) {
        end->start_error = errno;
        close(output[0]);
        close(output[1]);
        return;
    }
    pid_t parent = getpid(), child = fork();
    if (child == 0) become(process, output[1], failure[1], parent);
    if (child < 0) end->start_error = errno;
    close(output[1]);
    close(failure[1]);
    if (child > 0) {
        setpgid(child, child); /* both sides set it: whoever comes first, it holds before the first kill */
        int error = 0;
        if (read(failure[0], &error, sizeof error) == sizeof error) end->start_error = error;
        attend(process, child, output[0], end, &status);
        if (WIFEXITED(status) && !end->start_error) end->exit_code = WEXITSTATUS(status);
        if (WIFSIGNALED(status)) end->signal = WTERMSIG(status);
    }
    close(output[0]);
    close(failure[0]);
}

void argument_add(struct argument_list *list, const char *argument)
{
    const char **items = must_allocate((list->count + 2) * sizeof *items);
    for (size_t i = 0; i < list->count; i++) items[i] = list->items[i];
    items[list->count++] = argument;
    free(list->items);
    list->items = items;
}

void argument_add_words(struct argument_list *list, const char *words)
{
    char *blanks = copy_string(words);
    for (char *letter = blanks; *letter; letter++) {
        if (*letter == ';') *letter = ' ';
    }
    const char *rest = blanks;
    for (char *word; (word = next_word(&rest, ' ')) != NULL;) {
        if (*word) argument_add(list, word);
    }
    free(blanks);
}
