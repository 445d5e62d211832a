/**
 * @file progress.c
 * @brief What is said of a launch while it runs for long: a line that changes on a terminal; elsewhere a line if no block comes to an end.
 *
 * A thread of its own looks four times a second, since whoever runs a block may never come back from it.
 */
#include "progress.h"
#include "blocks.h"
#include "settings.h"
#include "watchdog.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_NANOSECONDS = 250000000 };
static const double patience = 2; /* seconds */

/** The launch that is running, and what has been said of it. */
static struct {
    pthread_mutex_t lock;
    const struct simt_launch *launch; /* NULL: none runs */
    bool seen;                        /* the three below are set */
    double began, quiet_since;        /* on the wall; of CPU time, since when no block has ended */
    uint64_t retired;
    double wait;  /* CPU time until the next line, where that is no terminal */
    bool on_line; /* of the terminal */
    bool looks;   /* the thread is there */
} now = {.lock = PTHREAD_MUTEX_INITIALIZER};

static double seconds_of(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void show_on_terminal(void)
{
    if (seconds_of(CLOCK_MONOTONIC) - now.began < patience) return;
    now.on_line = true;
    fprintf(stderr, "\rsimt: %s: %.0f%% of %llu blocks ", now.launch->kernel,
            100.0 * (double)simt_now.retired / (double)simt_now.blocks, (unsigned long long)simt_now.blocks);
}

/* A long launch is no news in a file; one in which nothing comes to an end may be endless. */
static void show_in_file(void)
{
    const double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    if (simt_now.retired != now.retired) {
        now.retired = simt_now.retired;
        now.quiet_since = cpu;
        now.wait = patience;
    }
    if (cpu - now.quiet_since < now.wait) return;
    now.wait *= 2;
    fprintf(stderr,
            "simt: kernel %s is running, and no block has ended for %.0f s of CPU time: %llu of %llu blocks "
            "are over\n",
            now.launch->kernel, cpu - now.quiet_since, (unsigned long long)simt_now.retired,
            (unsigned long long)simt_now.blocks);
}

static void look(void)
{
    if (now.launch == NULL) return;
    if (!now.seen) {
        now.seen = true;
        now.began = seconds_of(CLOCK_MONOTONIC);
        now.quiet_since = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        now.retired = simt_now.retired;
        now.wait = patience;
    } else if (isatty(STDERR_FILENO)) {
        show_on_terminal();
    } else {
        show_in_file();
    }
}

static void *look_again(void *nothing)
{
    const struct timespec pause = {0, LOOK_NANOSECONDS};
    for (;;) {
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&now.lock);
        look();
        pthread_mutex_unlock(&now.lock);
        simt_watch_interrupted();
    }
    return nothing;
}

/* Lessons' checks have their own progress, and their own time limits. */
static void begin_looking(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    now.looks = true;
    if (simt_reports_all() || simt_settings_are_sealed()) return;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_create(&thread, &attributes, look_again, NULL); /* without it nothing is said */
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void simt_progress_begin(const struct simt_launch *launch)
{
    pthread_mutex_lock(&now.lock);
    if (!now.looks) begin_looking();
    now.launch = launch;
    now.seen = false;
    pthread_mutex_unlock(&now.lock);
}

void simt_progress_end(void)
{
    pthread_mutex_lock(&now.lock);
    if (now.on_line) fputs("\r\033[K", stderr);
    now.on_line = false;
    now.launch = NULL;
    pthread_mutex_unlock(&now.lock);
}

void simt_progress_after_fork(void)
{
    pthread_mutex_init(&now.lock, NULL);
    now.looks = false;
}
