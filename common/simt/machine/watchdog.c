/**
 * @file watchdog.c
 * @brief A call that never ends: stopped after a time, with the line where it spins.
 *
 * A timer interrupts the program after so much CPU time, and then again and again. If a kernel runs, the
 * first block that has not ended is examined, as later ones may be waiting for it. If it is still the first
 * after three quarters of that time on its own thread's clock, it is endless, and the report says where it
 * is. Otherwise host code runs: it is endless if it has taken as long without a launch. So neither a busy
 * machine nor a launch of very many blocks is taken for an endless loop. What was interrupted cannot go on
 * safely, so the program ends here.
 */
#include "watchdog.h"
#include "blocks.h"
#include "finding.h"
#include "image.h"
#include "machine.h"
#include "report.h"
#include "settings.h"
#include "tools.h"
#include "trap.h"
#include "worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const suseconds_t again_us = 200000; /* CPU time between two looks */
/* of the patience, for one block or for host code without a launch */
static const double share_of_a_block = 0.75;

static double watch_patience;
static atomic_flag watch_reported = ATOMIC_FLAG_INIT;

/* What the first look saw: host code after a launch, or a block of one. */
struct seen {
    bool host, any;
    unsigned long launch;
    uint64_t block;
    double since; /* on the thread's clock */
};
static struct seen seen;
static atomic_flag looking = ATOMIC_FLAG_INIT;

static double thread_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Whether the same block, or host code, is where it was for too long. */
static bool is_endless(const struct worker *w)
{
    if (atomic_flag_test_and_set(&looking)) return false;
    const double now = thread_seconds();
    const struct seen here = {w == NULL, true, simt_now.number, w != NULL ? w->result->order : 0, now};
    const bool same =
        seen.any && seen.host == here.host && seen.launch == here.launch && seen.block == here.block;
    if (!same) seen = here;
    const bool endless = same && now - seen.since >= share_of_a_block * watch_patience;
    atomic_flag_clear(&looking);
    return endless;
}

static volatile sig_atomic_t interrupted; /* by Ctrl-C */

/* As if the signal had not been caught: shells ask how a program ended. */
static void end_by_interrupt(void)
{
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    signal(SIGINT, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &interrupt, NULL);
    raise(SIGINT);
}

static void end_here(void)
{
    fflush(stderr);
    if (interrupted) end_by_interrupt();
    _exit(SIMT_EXIT_ENDLESS);
}

static struct finding finding_of(enum record_message message, enum record_advice advice, struct actor who)
{
    const int64_t milliseconds = (int64_t)(1000 * share_of_a_block * watch_patience);
    return simt_finding_says(RECORD_ENDLESS, message, advice, SIMT_SAYS(.number = {milliseconds}), who);
}

static void report_kernel(struct worker *w, void *context)
{
    struct vector findings = {0};
    struct finding f = finding_of(interrupted ? RECORD_SAYS_INTERRUPTED : RECORD_SAYS_BLOCK_ENDLESS,
                                  interrupted ? RECORD_NO_ADVICE : RECORD_ADVICE_LOOP,
                                  simt_actor_at(w, w->thread_index, NULL));
    simt_note_frames(&f, context);
    simt_finding_add(&findings, &f);
    if (interrupted && isatty(STDERR_FILENO)) fputs("\r\033[K", stderr); /* instead of the line of progress */
    simt_report(&findings, w->launch);
    end_here();
}

static void report_host(void *context)
{
    struct finding f = finding_of(RECORD_SAYS_CALL_ENDLESS, RECORD_NO_ADVICE, (struct actor){0});
    simt_image_load();
    simt_note_frames(&f, context);
    simt_report_host(&f);
    end_here();
}

/* All threads of the pool from number @p first on, but the calling one. */
static void ask_workers(int signal, int first)
{
    for (int i = first; i <= simt_pool.started; i++)
        if (!pthread_equal(simt_pool.thread[i], pthread_self())) pthread_kill(simt_pool.thread[i], signal);
}

static void look_at_launch(int signal, siginfo_t *info, void *context)
{
    struct worker *w = simt_tls_worker;
    (void)info;
    if (w != NULL && simt_runs_first_block(w)) {
        if ((interrupted || is_endless(w)) && !atomic_flag_test_and_set(&watch_reported))
            report_kernel(w, context);
    } else if (interrupted) {
        return; /* each has been asked */
    } else if (simt_launch_runs()) {
        ask_workers(signal, 1);
    } else if (w == NULL && is_endless(NULL) && !atomic_flag_test_and_set(&watch_reported)) {
        report_host(context);
    }
}

void simt_watch_prepare(void)
{
    struct sigaction action = {.sa_sigaction = look_at_launch,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGPROF, &action, NULL);
    simt_trap_stack();
}

/* Ctrl-C while a kernel runs: says where it is, if it is not the second time. */
static void interrupt(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    if (interrupted || !simt_launch_runs()) end_by_interrupt();
    interrupted = 1;
    look_at_launch(SIGPROF, info, context);
    ask_workers(SIGPROF, 0);
}

void simt_watch_keyboard(void)
{
    struct sigaction before,
        action = {.sa_sigaction = interrupt, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    if (simt_reports_all() || simt_settings_are_sealed() || sigaction(SIGINT, NULL, &before) != 0) return;
    sigemptyset(&action.sa_mask);
    if (before.sa_handler == SIG_DFL) sigaction(SIGINT, &action, NULL);
}

void simt_watch_interrupted(void)
{
    static int looks;
    enum { ENOUGH = 8 };
    if (interrupted && ++looks == ENOUGH) end_by_interrupt();
}

void simt_watch(double seconds)
{
    struct itimerval timer = {
        .it_value = {(time_t)seconds, (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6)}};
    if (seconds > 0.0) {
        simt_watch_prepare(); /* there may never be a launch */
        timer.it_interval.tv_usec = again_us;
        watch_patience = seconds;
        seen.any = false;
    }
    setitimer(ITIMER_PROF, &timer, NULL);
}
