/**
 * @file launch.c
 * @brief Blocks over OS threads, and their results in block order.
 *
 * The thread that launches works too; the others are started when they are first of use and wait for the
 * next launch ever after. A block takes a slot in a ring for its result. When a block ends, all results that
 * are complete up to there are taken up, in order: printf output, findings, counters. So nothing anyone sees
 * depends on the number of workers, and a grid of 2^31 blocks needs no more memory than one of 64.
 */
#include "internal.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { RING = 64, MAX_WORKERS = 256 };

/** The launch that is running; one at a time. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool running; /* workers may join */
    unsigned long number;
    int busy; /* pool threads at work */
    uint64_t blocks, next, retired;
    bool retiring;       /* somebody is taking up results */
    atomic_bool stopped; /* a block ended at a finding: later ones do not count */
    int error;
    bool waited, let_go_early; /* some block waited for the launch in front; all let the next start before */
    const struct simt_launch *launch;
    struct result ring[RING];
    struct vector findings;
    struct counters counters;
} now = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

bool simt_broken;

static pthread_mutex_t one_launch = PTHREAD_MUTEX_INITIALIZER;
static struct worker *workers[MAX_WORKERS];
static pthread_t pool[MAX_WORKERS]; /* of worker i; 0 is whoever launches */
static int started; /* pool threads: workers 1 .. started */

/* ---- blocks ------------------------------------------------------------------------------------------- */

uint64_t simt_block_of_order(uint64_t order, uint64_t blocks)
{
    if (simt_settings.order == ORDER_FORWARD) return order;
    if (simt_settings.order == ORDER_REVERSE) return blocks - 1 - order;
    return simt_permuted(order, blocks, simt_settings.seed);
}

bool simt_launch_stopped(const struct worker *w)
{
    (void)w;
    return now.stopped;
}

void simt_wait_for_earlier(struct worker *w)
{
    if (w->waited) return;
    pthread_mutex_lock(&now.lock);
    while (!now.stopped && now.retired != w->result->order) pthread_cond_wait(&now.changed, &now.lock);
    pthread_mutex_unlock(&now.lock);
    if (now.stopped) simt_abandon(w, 0);
    w->waited = true;
}

bool simt_launch_runs(void)
{
    return now.running;
}

bool simt_runs_first_block(const struct worker *w)
{
    return w->result != NULL && w->result->order == now.retired;
}

static bool take_block(struct worker *w)
{
    pthread_mutex_lock(&now.lock);
    while (!now.stopped && now.next < now.blocks && now.next - now.retired >= RING)
        pthread_cond_wait(&now.changed, &now.lock);
    const bool taken = !now.stopped && now.next < now.blocks;
    if (taken) {
        w->result = &now.ring[now.next % RING];
        w->result->order = now.next++;
    }
    pthread_mutex_unlock(&now.lock);
    if (!taken) return false;
    w->block = simt_block_of_order(w->result->order, now.blocks);
    w->result->error = 0;
    w->result->touches.count = w->result->text.count = 0;
    w->result->acquired_from = UINT32_MAX;
    w->result->released_before = 0;
    w->result->grids_waited = !now.launch->early;
    w->result->let_go = w->result->let_go_waited = false;
    memset(&w->result->counters, 0, sizeof w->result->counters);
    return true;
}

/* Takes up one result; all earlier ones have been. */
static void retire(struct result *result)
{
    const uint64_t block = simt_block_of_order(result->order, now.blocks);
    if (result->text.count > 0) fwrite(result->text.data, 1, result->text.count, stdout);
    simt_between(result, block, &now.findings);
    now.waited |= result->grids_waited;
    now.let_go_early &= !(result->let_go ? result->let_go_waited : result->grids_waited);
    const struct finding *findings = result->findings.data;
    for (size_t i = 0; i < result->findings.count; i++) simt_finding_add(&now.findings, &findings[i]);
    result->findings.count = 0; /* their texts have a new owner */
    simt_counters_add(&now.counters, &result->counters);
}

static void finish_block(struct worker *w)
{
    pthread_mutex_lock(&now.lock);
    w->result->done = true;
    if (!now.retiring) {
        now.retiring = true;
        for (;;) {
            struct result *result = &now.ring[now.retired % RING];
            if (now.stopped || !result->done) break;
            pthread_mutex_unlock(&now.lock);
            retire(result);
            pthread_mutex_lock(&now.lock);
            result->done = false;
            now.retired++;
            now.error = result->error;
            now.stopped = result->error != 0;
            pthread_cond_broadcast(&now.changed);
        }
        now.retiring = false;
    }
    pthread_mutex_unlock(&now.lock);
}

static void work(struct worker *w)
{
    simt_worker_begin(w, now.launch);
    while (take_block(w)) {
        simt_run_block(w);
        finish_block(w);
    }
}

/* ---- the pool ----------------------------------------------------------------------------------------- */

static void *pool_thread(void *worker)
{
    unsigned long seen = 0;
    simt_worker_attach(worker);
    pthread_mutex_lock(&now.lock);
    for (;;) {
        while (!now.running || now.number == seen) pthread_cond_wait(&now.changed, &now.lock);
        seen = now.number;
        now.busy++;
        pthread_mutex_unlock(&now.lock);
        work(worker);
        pthread_mutex_lock(&now.lock);
        now.busy--;
        pthread_cond_broadcast(&now.changed);
    }
    return NULL;
}

static struct worker *worker_at(int i)
{
    if (workers[i] == NULL) workers[i] = simt_worker_new();
    return workers[i];
}

static void start_threads(int wanted)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    if (started >= wanted) return;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all); /* the program's signals are the business of its own threads, */
    sigdelset(&all, SIGPROF); /* but watch.c asks these where they are */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    while (started < wanted) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, pool_thread, worker_at(started + 1)) != 0)
            break; /* fewer, then */
        pool[++started] = thread;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

void simt_signal_workers(int signal)
{
    for (int i = 1; i <= started; i++)
        if (!pthread_equal(pool[i], pthread_self())) pthread_kill(pool[i], signal);
}

/* Threads do not survive a fork, and whoever held a lock is gone. */
static void after_fork(void)
{
    pthread_mutex_init(&now.lock, NULL);
    pthread_cond_init(&now.changed, NULL);
    pthread_mutex_init(&one_launch, NULL);
    started = now.busy = 0;
    now.running = false;
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
        pthread_atfork(NULL, NULL, after_fork);
        opened = true;
    }
    simt_worker_attach(worker_at(0));
    now.launch = launch;
    now.waited = false;
    now.let_go_early = true;
    now.blocks = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    now.next = now.retired = 0;
    now.stopped = false;
    now.error = 0;
    memset(&now.counters, 0, sizeof now.counters);
    for (int i = 0; i < RING; i++) {
        now.ring[i].done = false;
        simt_finding_drop(&now.ring[i].findings);
    }
    return simt_between_begin(launch->early ? before : NULL);
}

int simt_run(const struct simt_launch *launch)
{
    struct simt_overlap none = {0};
    return simt_run_behind(launch, &none);
}

int simt_run_behind(const struct simt_launch *launch, struct simt_overlap *before)
{
    if (simt_tls_worker != NULL)
        simt_stop(&launch->site, "unsupported", "a kernel launches %s; only the host can", launch->kernel);
    const struct simt_extent grid = launch->grid;
    if ((double)grid.x * grid.y * grid.z >= UINT32_MAX) { /* would run for hours */
        simt_finding("unsupported", &launch->site, "%s is launched with more than 2^32 blocks",
                     launch->kernel);
        return 719;
    }
    pthread_mutex_lock(&one_launch);
    const uint32_t number = begin(launch, before);
    const uint64_t useful =
        now.blocks < (uint64_t)simt_settings.workers ? now.blocks : (uint64_t)simt_settings.workers;
    start_threads((int)useful - 1);
    pthread_mutex_lock(&now.lock);
    now.running = true;
    now.number++;
    if (useful > 1) pthread_cond_broadcast(&now.changed);
    pthread_mutex_unlock(&now.lock);
    work(workers[0]);
    pthread_mutex_lock(&now.lock);
    while (now.busy > 0) pthread_cond_wait(&now.changed, &now.lock);
    now.running = false;
    pthread_mutex_unlock(&now.lock);
    const int error = now.error;
    simt_broken |= error != 0;
    simt_report(&now.findings, launch);
    simt_overlap_next(before, launch, number, now.waited, now.let_go_early);
    if (simt_settings.counters != NULL) simt_counters_write(launch, &now.counters);
    pthread_mutex_unlock(&one_launch);
    return error;
}

/* ---- output ------------------------------------------------------------------------------------------- */

int simt_vprintf(const char *format, va_list arguments)
{
    struct worker *w = simt_tls_worker;
    va_list again;
    if (w == NULL) return vprintf(format, arguments);
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments);
    char *text = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (text != NULL) {
        vsnprintf(text, (size_t)length + 1, format, again);
        for (int i = 0; i < length; i++) *(char *)simt_vector_grow(&w->result->text, 1) = text[i];
        free(text);
    }
    va_end(again);
    return length;
}

static int error_of_kind(const char *kind)
{
    return strcmp(kind, "assert") == 0 ? 710 : 719;
}

void simt_stop(const struct simt_site *site, const char *kind, const char *format, ...)
{
    struct worker *w = simt_tls_worker;
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) simt_die("out of host memory.");
    va_end(arguments);
    if (w == NULL) {
        simt_finding(kind, site, "%s", text);
        exit(86);
    }
    struct finding f = {.kind = kind, .place = PLACE_OTHER, .text = text, .seen = 1};
    f.actor[0] = (struct actor){w->block, 0, (uint16_t)w->thread_index, SIMT_READ, site};
    simt_finding_add(&w->result->findings, &f);
    simt_abandon(w, error_of_kind(kind));
}

void simt_note(const struct simt_site *site, const char *kind, const char *remark, const char *format, ...)
{
    struct worker *w = simt_tls_worker;
    char *text = NULL;
    va_list arguments;
    if (w == NULL || !w->checking) return;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) simt_die("out of host memory.");
    va_end(arguments);
    struct finding f = {.kind = kind, .place = PLACE_OTHER, .text = text, .remark = remark, .seen = 1};
    f.actor[0] = (struct actor){w->block, 0, (uint16_t)w->thread_index, SIMT_READ, site};
    simt_finding_add(&w->result->findings, &f);
}
