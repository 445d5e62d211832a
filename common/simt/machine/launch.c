/**
 * @file launch.c
 * @brief A launch: its blocks over OS threads, then its report.
 *
 * The launching thread runs blocks, too. The other threads are started by the first launch that has use for
 * them, and then wait for the next launch. Who runs which block, and what comes of its result, is in
 * blocks.c.
 */
#include "arena.h"
#include "blocks.h"
#include "cluster_schedule.h"
#include "counters.h"
#include "debugger.h"
#include "dependent_launch.h"
#include "image.h"
#include "launch_order.h"
#include "machine.h"
#include "progress.h"
#include "report.h"
#include "schedule.h"
#include "settings.h"
#include "share.h"
#include "tools.h"
#include "trace.h"
#include "trap.h"
#include "watchdog.h"
#include "window.h"
#include "worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t one_launch = PTHREAD_MUTEX_INITIALIZER;

static void work(struct worker *w);

/* ---- the pool ----------------------------------------------------------------------------------------- */

static void *pool_thread(void *worker)
{
    unsigned long seen = 0;
    simt_worker_attach(worker);
    pthread_mutex_lock(&simt_now.lock);
    for (;;) {
        while (!simt_now.running || simt_now.number == seen ||
               ((struct worker *)worker)->index >= simt_now.participants)
            pthread_cond_wait(&simt_now.changed, &simt_now.lock);
        seen = simt_now.number;
        simt_now.busy++;
        pthread_mutex_unlock(&simt_now.lock);
        work(worker);
        pthread_mutex_lock(&simt_now.lock);
        simt_now.busy--;
        pthread_cond_broadcast(&simt_now.changed);
    }
    return NULL;
}

static struct worker *worker_at(int i)
{
    if (simt_all_workers[i] == NULL) {
        simt_all_workers[i] = simt_worker_new();
        simt_all_workers[i]->index = i;
    }
    return simt_all_workers[i];
}

static void start_threads(int wanted)
{
    static const int own[] = {SIGPROF, SIGSEGV, SIGBUS, SIGFPE, SIGILL}; /* of watchdog.c and trap.c */
    sigset_t all, before;
    pthread_attr_t attributes;
    if (simt_pool.started >= wanted) return;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all); /* the program's signals are the business of its own threads */
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) sigdelset(&all, own[i]);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    while (simt_pool.started < wanted) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, pool_thread, worker_at(simt_pool.started + 1)) != 0)
            break; /* fewer, then */
        simt_pool.thread[++simt_pool.started] = thread;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* The block spins: what it waits for may be up to a later one, for which there may be no worker. */
static void let_others_run(struct worker *w)
{
    bool helped = false;
    if (simt_blocks_need_worker(w)) {
        const int wanted = simt_now.participants;
        if (wanted < MAX_WORKERS) start_threads(wanted);
        pthread_mutex_lock(&simt_now.lock);
        helped = simt_pool.started >= wanted;
        if (helped) simt_now.participants = wanted + 1;
        pthread_cond_broadcast(&simt_now.changed);
        pthread_mutex_unlock(&simt_now.lock);
    }
    simt_blocks_pass_turn(w, helped);
}

static void work(struct worker *w)
{
    simt_worker_begin(w, simt_now.launch);
    while (w->cluster != NULL ? simt_cluster_take(w) : simt_take_block(w)) {
        simt_begin_block(w);
        while (simt_run_block(w)) let_others_run(w);
        simt_end_block(w);
        simt_finish_block(w);
    }
}

/* Threads do not survive a fork, and whoever held a lock is gone. */
static void after_fork(void)
{
    pthread_mutex_init(&simt_now.lock, NULL);
    pthread_cond_init(&simt_now.changed, NULL);
    pthread_mutex_init(&one_launch, NULL);
    simt_pool.started = simt_now.busy = 0;
    simt_progress_after_fork();
    simt_now.running = false;
}

/* ---- clusters ----------------------------------------------------------------------------------------- */

static unsigned cluster_size(const struct simt_launch *launch)
{
    return launch->cluster.x == 0 ? 1 : launch->cluster.x * launch->cluster.y * launch->cluster.z;
}

static struct cluster *cluster_number(int i)
{
    static struct cluster *clusters[MAX_WORKERS / 2];
    if (clusters[i] != NULL) return clusters[i];
    struct cluster *c = clusters[i] = simt_reserve(sizeof *c, "a cluster");
    pthread_mutex_init(&c->lock, NULL);
    for (int at = 0; at < MAX_CLUSTER; at++) pthread_cond_init(&c->wake[at], NULL);
    return c;
}

/* Workers come together, as many as a cluster has blocks. */
static void form_clusters(int participants, unsigned size)
{
    for (int i = 0; i <= simt_pool.started; i++) worker_at(i)->cluster = NULL;
    for (int i = 0; size > 1 && i < participants; i++) {
        struct cluster *c = cluster_number(i / (int)size);
        struct worker *w = worker_at(i);
        c->size = size;
        c->gathered = 0;
        w->cluster = c;
        w->member.position = (unsigned)i % size;
        c->at[w->member.position] = w;
    }
}

/*
 * How many OS threads the launch can use. All blocks of a cooperative launch, and all blocks of a cluster,
 * need a thread of their own at once; of a cluster one block runs at a time.
 */
static int useful_threads(const struct simt_launch *launch)
{
    const unsigned size = cluster_size(launch);
    uint64_t most = launch->cooperative ? COOPERATIVE_BLOCKS : (uint64_t)simt_settings.workers * size;
    if (most > MAX_WORKERS / size * size) most = MAX_WORKERS / size * size;
    return (int)(simt_now.blocks < most ? simt_now.blocks : most);
}

static int refuse_size(const struct simt_launch *launch, bool cooperative)
{
    simt_finding(RECORD_UNSUPPORTED, &launch->site, RECORD_SAYS_GRID_HELD,
                 SIMT_SAYS(.number = {(int64_t)simt_now.blocks, simt_pool.started + 1, !cooperative}));
    return 720;
}

/* Starts the threads. Returns 0, or what the launch ends with if there are too few. */
static int take_threads(const struct simt_launch *launch)
{
    const unsigned size = cluster_size(launch);
    const int useful = useful_threads(launch);
    start_threads(useful - 1);
    const int there = useful < simt_pool.started + 1 ? useful : simt_pool.started + 1;
    simt_now.participants = there / (int)size * (int)size;
    if (launch->cooperative && simt_now.blocks > (uint64_t)there) return refuse_size(launch, true);
    if (simt_now.participants == 0) return refuse_size(launch, false);
    form_clusters(simt_now.participants, size);
    return 0;
}

/* ---- launching ---------------------------------------------------------------------------------------- */

/* Returns the launch's number. */
static uint32_t begin(const struct simt_launch *launch, const struct simt_overlap *before)
{
    static bool opened;
    if (!opened) {
        simt_image_load();
        simt_arena_open();
        simt_trap_install();
        simt_watch_prepare();
        simt_watch_keyboard();
        if (simt_settings.trace != NULL) simt_report_to(simt_trace_finding);
        pthread_atfork(NULL, NULL, after_fork);
        opened = true;
    }
    simt_worker_attach(worker_at(0));
    simt_pool.thread[0] = pthread_self();
    simt_window_begin();
    return simt_blocks_begin(launch, before);
}

int simt_run(const struct simt_launch *launch)
{
    struct simt_overlap none = {0};
    return simt_run_behind(launch, &none);
}

int simt_run_behind(const struct simt_launch *launch, struct simt_overlap *before)
{
    if (simt_tls_worker != NULL)
        simt_stop(&launch->site, RECORD_UNSUPPORTED, RECORD_SAYS_KERNEL_LAUNCHES,
                  SIMT_SAYS(.name = {launch->kernel}));
    const struct simt_extent grid = launch->grid;
    if ((double)grid.x * grid.y * grid.z >= UINT32_MAX) { /* would run for hours */
        simt_finding(RECORD_UNSUPPORTED, &launch->site, RECORD_SAYS_GRID_HUGE,
                     SIMT_SAYS(.name = {launch->kernel}));
        return 719;
    }
    if (simt_is_shared_launch() && (launch->cooperative || cluster_size(launch) > 1))
        simt_share_tells_nothing(); /* its blocks need each other */
    if (simt_is_shared_launch() && simt_share_stopped()) return 0;
    pthread_mutex_lock(&one_launch);
    const uint32_t number = begin(launch, before);
    const int refused = take_threads(launch);
    if (refused != 0) {
        pthread_mutex_unlock(&one_launch);
        return refused;
    }
    pthread_mutex_lock(&simt_now.lock);
    simt_now.running = true;
    simt_now.number++;
    simt_debugger_launches++;
    if (simt_now.participants > 1) pthread_cond_broadcast(&simt_now.changed);
    pthread_mutex_unlock(&simt_now.lock);
    simt_progress_begin(launch);
    work(simt_all_workers[0]);
    pthread_mutex_lock(&simt_now.lock);
    while (simt_now.busy > 0) pthread_cond_wait(&simt_now.changed, &simt_now.lock);
    simt_now.running = false;
    pthread_mutex_unlock(&simt_now.lock);
    simt_progress_end();
    const int error = simt_now.error;
    simt_broken |= error != 0;
    simt_report(&simt_now.findings, launch);
    simt_launch_order_report(launch->kernel);
    simt_overlap_next(before, launch, number, simt_now.waited, simt_now.triggered_early);
    if (simt_settings.counters != NULL) simt_counters_write(launch, &simt_now.counters);
    if (simt_settings.trace != NULL) simt_trace_write(launch, &simt_now.counters);
    pthread_mutex_unlock(&one_launch);
    return error;
}
