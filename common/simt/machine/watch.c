/**
 * @file watch.c
 * @brief A call that never ends: stopped after a time, with the line where it spins.
 *
 * A timer interrupts the program after so much CPU time, so that a busy machine makes no difference. If a kernel
 * runs, the first block that has not ended is to blame (later ones may be waiting for it), and its thread says where
 * it is; else it is host code that does not return. What was interrupted cannot go on safely, so the program ends
 * here.
 */
#include "watch.h"
#include "blocks.h"
#include "finding.h"
#include "image.h"
#include "lines.h"
#include "machine.h"
#include "report.h"
#include "tools.h"
#include "trap.h"
#include "worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { EXIT_FINDINGS = 86 };
static const suseconds_t again_us = 200000; /* between two blocks nobody is to blame: look again */

static double patience;
static atomic_flag told = ATOMIC_FLAG_INIT;

static void end_here(void)
{
    fflush(stderr);
    _exit(EXIT_FINDINGS);
}

static char *sentence(const char *what)
{
    char *text = NULL;
    return asprintf(&text, "%s has not ended after %.3g s of CPU time", what, patience) < 0 ? NULL : text;
}

static void tell_of_kernel(struct worker *w, void *context)
{
    struct vector findings = {0};
    struct finding f = {
        .kind = "endless",
        .place = PLACE_OTHER,
        .text = sentence("a launch"),
        .remark = "a loop whose condition never becomes false, or one that takes far too many steps",
        .seen = 1};
    f.actor[0] = (struct actor){w->block, 0, (uint16_t)w->thread_index, SIMT_READ, NULL};
    simt_note_frames(&f, context);
    simt_finding_add(&findings, &f);
    simt_report(&findings, w->launch);
    end_here();
}

static void tell_of_host(void *context)
{
    char *text = sentence("the call");
    struct finding f = {.kind = "endless", .place = PLACE_OTHER};
    simt_image_load();
    simt_note_frames(&f, context);
    fprintf(stderr, "simt: endless: %s in host code: no kernel is running\n",
            text != NULL ? text : "the call");
    for (int i = 0; i < FRAMES && f.frame[i] != 0; i++) {
        if (!simt_line_known(f.frame[i])) continue;
        fprintf(stderr, "  at %s\n", simt_line_text(f.frame[i]));
        break;
    }
    end_here();
}

/* All threads of the pool but the calling one. */
static void ask_workers(int signal)
{
    for (int i = 1; i <= simt_pool.started; i++)
        if (!pthread_equal(simt_pool.thread[i], pthread_self())) pthread_kill(simt_pool.thread[i], signal);
}

static void look(int signal, siginfo_t *info, void *context)
{
    struct worker *w = simt_tls_worker;
    (void)info;
    if (w != NULL && simt_runs_first_block(w)) {
        if (!atomic_flag_test_and_set(&told)) tell_of_kernel(w, context);
    } else if (simt_launch_runs()) {
        ask_workers(signal);
    } else if (w == NULL && !atomic_flag_test_and_set(&told)) {
        tell_of_host(context);
    }
}

void simt_watch_prepare(void)
{
    struct sigaction action = {.sa_sigaction = look, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGPROF, &action, NULL);
    simt_trap_stack();
}

void simt_watch(double seconds)
{
    struct itimerval timer = {
        .it_value = {(time_t)seconds, (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6)}};
    if (seconds > 0.0) {
        simt_watch_prepare(); /* there may never be a launch */
        timer.it_interval.tv_usec = again_us;
        patience = seconds;
    }
    setitimer(ITIMER_PROF, &timer, NULL);
}
