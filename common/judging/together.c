/**
 * @file together.c
 * @brief Several kernel files judged at once: a process each, which sends what it found as it would have been written to
 *        a file of rows and a report, with how it ended before it.
 */
#include "together.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/terminal.h"
#include "base/text.h"

enum { FEW_CORES = 4, GPU_CORES = 4, MEMORY_MB = 4096, MOST_AT_A_TIME = 32, PAIR = 2 };

#define WORKERS "WARPWISE_WORKERS"

/** How it ended: the beginning of a report on its way. */
struct ending {
    int exit_code, device_finding;
    enum state state;
    double seconds;
};

/** What one process leaves, as files in memory. */
struct worker {
    pid_t process;
    size_t index;
    int rows[PAIR], report[PAIR], said;
};

static int cores(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* A check has several threads of its own, and on a GPU gigabytes of inputs. There the last check should not be left alone with few
 * workers, and cases that need all of the GPU's memory should not meet: so fewer checks, of more workers each. */
int judge_at_a_time(int gpu)
{
    const int here = cores();
    double memory_mb = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 1048576;
    int by_cores = here <= FEW_CORES ? here : FEW_CORES + (here - FEW_CORES) / 2;
    if (gpu) by_cores = here / GPU_CORES;
    int by_memory = (int)(memory_mb / MEMORY_MB);
    int most = by_cores < by_memory ? by_cores : by_memory;
    return most < 1 ? 1 : most < MOST_AT_A_TIME ? most : MOST_AT_A_TIME;
}

static void write_all(int file, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t written = write(file, data, length);
        if (written <= 0) _exit(EXIT_TROUBLE);
        data += written;
        length -= (size_t)written;
    }
}

/* Of the processes that a check may have, each of several checks gets its share, and one more while others wait. */
static void share_workers(int at_a_time)
{
    char each[16];
    snprintf(each, sizeof each, "%d", 1 + cores() / at_a_time);
    setenv(WORKERS, each, 1);
}

/* In the process of its own. */
static void send(const struct worker *worker, int which, const struct judgement *judgement)
{
    const struct ending ending = {judgement->exit_code, judgement->device_finding, judgement->state,
                                  judgement->seconds};
    struct text rows = {0};
    text_print(&rows, "%s\n", judgement->results.header != NULL ? judgement->results.header : "");
    text_append(&rows, judgement->results.lines.data, judgement->results.lines.length);
    if (judgement->results.count || judgement->results.lines.length)
        write_all(worker->rows[which], rows.data, rows.length);
    write_all(worker->report[which], (const char *)&ending, sizeof ending);
    write_all(worker->report[which], judgement->report.data, judgement->report.length);
}

static void receive(const struct worker *worker, int which, struct judgement *judgement)
{
    char *rows = format_string("/proc/self/fd/%d", worker->rows[which]);
    char *report = format_string("/proc/self/fd/%d", worker->report[which]);
    struct text said = {0};
    struct ending ending;
    *judgement = (struct judgement){.exit_code = EXIT_TROUBLE, .state = STATE_NOTHING_RAN};
    if (read_file(report, &said) == 0 && said.length >= sizeof ending) {
        memcpy(&ending, said.data, sizeof ending);
        judgement->exit_code = ending.exit_code;
        judgement->device_finding = ending.device_finding;
        judgement->state = ending.state;
        judgement->seconds = ending.seconds;
        text_append(&judgement->report, said.data + sizeof ending, said.length - sizeof ending);
        (void)results_read(rows, &judgement->results);
    } else {
        text_print(&judgement->report, "the process that judged it ended too early\n");
    }
    text_free(&said);
    free(report);
    free(rows);
}

static void close_all(const struct worker *worker)
{
    for (int i = 0; i < PAIR; i++) {
        close(worker->rows[i]);
        close(worker->report[i]);
    }
    close(worker->said);
}

static int start(struct worker *worker, size_t index,
                 void (*work)(void *context, size_t index, struct judgement pair[PAIR]), void *context)
{
    worker->index = index;
    for (int i = 0; i < PAIR; i++) {
        worker->rows[i] = memfd_create("rows", MFD_CLOEXEC);
        worker->report[i] = memfd_create("report", MFD_CLOEXEC);
    }
    worker->said = memfd_create("said", MFD_CLOEXEC);
    fflush(NULL);
    worker->process = fork();
    if (worker->process != 0) return worker->process > 0;
    struct judgement pair[PAIR] = {{.exit_code = EXIT_SKIPPED, .state = STATE_NOTHING_RAN},
                                   {.exit_code = EXIT_SKIPPED, .state = STATE_NOTHING_RAN}};
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    dup2(worker->said, STDERR_FILENO);
    work(context, index, pair);
    for (int i = 0; i < PAIR; i++) send(worker, i, &pair[i]);
    fflush(NULL);
    _exit(0);
}

static void finish(const struct worker *worker, struct judgement (*judgements)[PAIR])
{
    char *path = format_string("/proc/self/fd/%d", worker->said);
    struct text said = {0};
    for (int i = 0; i < PAIR; i++) receive(worker, i, &judgements[worker->index][i]);
    if (!process_interrupted() && read_file(path, &said) == 0 && said.length > 0) {
        show_progress(NULL);
        fputs(said.data, stderr);
    }
    text_free(&said);
    free(path);
}

/* The worker that ended; count if this program was interrupted, and then all of them have ended. */
static size_t await_one(const struct worker *workers, size_t count)
{
    for (;;) {
        pid_t ended = waitpid(-1, NULL, 0);
        for (size_t i = 0; i < count; i++)
            if (ended == workers[i].process) return i;
        if (ended < 0 && errno == EINTR && process_interrupted())
            for (size_t i = 0; i < count; i++) kill(workers[i].process, SIGTERM);
        if (ended < 0 && errno != EINTR) return count;
    }
}

void judge_together(size_t count, int at_a_time,
                    void (*work)(void *context, size_t index, struct judgement pair[PAIR]),
                    struct judgement (*judgements)[PAIR], void (*done)(void *context, size_t index),
                    void *context)
{
    struct worker workers[MOST_AT_A_TIME];
    const int shares = at_a_time > 1 && getenv(WORKERS) == NULL;
    if (shares) share_workers(at_a_time);
    size_t running = 0, next = 0, most = (size_t)(at_a_time < MOST_AT_A_TIME ? at_a_time : MOST_AT_A_TIME);
    while (running > 0 || (next < count && !process_interrupted())) {
        if (next < count && running < most && !process_interrupted()) {
            if (start(&workers[running], next, work, context)) {
                running++;
                next++;
                continue;
            }
            close_all(&workers[running]);
            if (running == 0) { /* no process to be had: then here */
                work(context, next, judgements[next]);
                done(context, next++);
                continue;
            }
        }
        size_t ended = await_one(workers, running);
        if (ended == running) break;
        finish(&workers[ended], judgements);
        close_all(&workers[ended]);
        if (!process_interrupted()) done(context, workers[ended].index);
        workers[ended] = workers[--running];
    }
    if (shares) unsetenv(WORKERS);
}
