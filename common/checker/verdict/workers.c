/**
 * @file workers.c
 * @brief Processes, not threads: the driver of a GPU, and the image of a session, then belong to one worker alone.
 */
#include "workers.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "turns.h"

enum { WORKERS = 8, GPU_CORES_EACH = 2 };

/* Memory of the host that a worker may need: images, inputs as floats, and a driver. */
#define BYTES_EACH (UINT64_C(4) << 30)

static int cores(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

int workers_of(const struct check *check)
{
    const struct options *options = &check->options;
    const int gpu = options->device == DEVICE_GPU;
    const uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    const char *asked = getenv("WARPWISE_WORKERS"); /* by who runs several checks at once */
    int most = gpu ? cores() / GPU_CORES_EACH : cores();
    const int counted = options->bench && !options->timed;
    if (options->isolated || counted || options->fail_fast || options->dump) return 1;
    if (most > WORKERS) most = WORKERS;
    if (asked != NULL && atoi(asked) > 0) most = atoi(asked) < CHECK_WORKERS ? atoi(asked) : CHECK_WORKERS;
    if ((uint64_t)most > memory / BYTES_EACH) most = (int)(memory / BYTES_EACH);
    return most > 1 ? most : 1;
}

static void work_on(struct check *check, int units, void (*work)(struct check *, int, void *),
                    void (*end)(void *), void *context)
{
    while (check->broken[0] == '\0') {
        const int unit = __atomic_fetch_add(&check->next_unit, 1, __ATOMIC_RELAXED);
        if (unit >= units) break;
        work(check, unit, context);
    }
    end(context);
}

/* The software device of each worker has threads, too, unless somebody has said how many. */
static void share_processors(int workers)
{
    char each[16];
    snprintf(each, sizeof each, "%d", cores() > workers ? cores() / workers : 1);
    setenv("SIMT_WORKERS", each, 0);
}

/* Waits for any child to end; 1 if it was a worker. */
static int await_one(struct check *check, const pid_t *worker, int count)
{
    siginfo_t end = {0};
    int known = 0;
    while (waitid(P_ALL, 0, &end, WEXITED | WNOWAIT) != 0)
        if (errno != EINTR) return count; /* there is none */
    for (int i = 0; i < count; i++) known |= worker[i] == end.si_pid;
    turns_leave(check, end.si_pid);
    waitpid(end.si_pid, NULL, 0);
    if (!known || end.si_code == CLD_EXITED) return known;
    if (check->broken[0] == '\0')
        snprintf(check->broken, sizeof check->broken,
                 "a process of the checker was ended by signal %d (out of memory?)", end.si_status);
    turns_continue(check); /* it may have stopped the others; nobody's times count any more */
    return 1;
}

static void open_merging(struct check *check)
{
    pthread_mutexattr_t shared;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&check->merging, &shared);
    pthread_mutexattr_destroy(&shared);
}

/* A worker that died leaves check->broken, and so no verdict. */
void workers_merge(struct check *check, int begins)
{
    if (check->workers < 2) return;
    if (!begins)
        pthread_mutex_unlock(&check->merging);
    else if (pthread_mutex_lock(&check->merging) == EOWNERDEAD)
        pthread_mutex_consistent(&check->merging);
}

void workers_run(struct check *check, int units, void (*work)(struct check *check, int unit, void *context),
                 void (*end)(void *context), void *context)
{
    pid_t worker[CHECK_WORKERS], parent = getpid();
    int count = 0;
    check->next_unit = 0;
    if (check->workers > units) check->workers = units > 0 ? units : 1;
    if (check->workers > 1) fflush(NULL);
    if (check->workers > 1) open_merging(check);
    while (check->workers > 1 && count < check->workers) {
        worker[count] = fork();
        if (worker[count] < 0) break;
        if (worker[count++] > 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        share_processors(check->workers);
        turns_join(check, count - 1);
        if (getppid() == parent) work_on(check, units, work, end, context);
        turns_join(check, -1);
        _exit(0);
    }
    if (count == 0) work_on(check, units, work, end, context);
    for (int left = count; left > 0;) left -= await_one(check, worker, count);
}

void workers_open_progress(struct check *check, uint32_t inputs)
{
    const size_t bytes = 2 * sizeof check->progress[0];
    int file = check->options.progress != NULL ? open(check->options.progress, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *mapped = ftruncate(file, (off_t)bytes) == 0
                       ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                       : MAP_FAILED;
    close(file);
    if (mapped == MAP_FAILED) return;
    check->progress = mapped;
    check->progress[1] = inputs;
}
