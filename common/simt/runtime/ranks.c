/**
 * @file ranks.c
 * @brief Lets the ranks' calls meet, and finds those that never will.
 *
 * The k-th collective of each rank belongs to the k-th of all others; the k-th send to a rank belongs to its
 * k-th receive from there. A host thread waits in its call until all of its calls have met. The wait never
 * ends if a rank that it needs is gone, or belongs to a thread that itself waits for ever, or to no thread:
 * that is a finding, and all calls end with an error.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ranks.h"

enum { LOOK_MILLISECONDS = 100, CALLERS = 64, MOST_THREADS = 1 << 20 };

/* Seconds in which nothing happens in the whole process before a call counts as hanging: if it is not
 * known which thread might still call, and if a thread that called has ended. */
static const double PATIENCE = 8, PATIENCE_AFTER_END = 1, WORK = 0.1;

static pthread_mutex_t meeting_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void ranks_lock(void)
{
    pthread_mutex_lock(&meeting_lock);
}

void ranks_unlock(void)
{
    pthread_mutex_unlock(&meeting_lock);
}

void ranks_changed(void)
{
    pthread_cond_broadcast(&changed);
}

/* ---- host threads ---------------------------------------------------------------------------------------- */

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void end_caller(void *data)
{
    struct caller *caller = data; /* never freed: communicators point to it */
    ranks_lock();
    caller->ended = 1;
    ranks_changed();
    ranks_unlock();
}

static void make_key(void)
{
    pthread_key_create(&key, end_caller);
}

struct caller *ranks_caller(void)
{
    pthread_once(&key_once, make_key);
    struct caller *caller = pthread_getspecific(key);
    if (caller != NULL) return caller;
    caller = calloc(1, sizeof *caller);
    if (caller != NULL) pthread_setspecific(key, caller);
    return caller;
}

/** A thread's state in /proc: 1 if it runs, or would run if a core were free. */
static int is_running(const char *task)
{
    char path[64], text[256], *end = NULL;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", task);
    FILE *file = fopen(path, "re");
    if (file == NULL) return 0;
    if (fgets(text, sizeof text, file) != NULL) end = strrchr(text, ')');
    fclose(file);
    return end != NULL && (end[2] == 'R' || end[2] == 'D');
}

/** Counts the program's threads, except those that wait for launches; sets @p running to how many of all
 *  threads run, including this one. */
static int program_threads(int *running)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    const struct dirent *entry;
    *running = 2; /* who knows */
    if (folder == NULL) return MOST_THREADS;
    *running = 0;
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        count++;
        *running += is_running(entry->d_name);
    }
    closedir(folder);
    return count - simt_pool_threads();
}

/* ---- meeting --------------------------------------------------------------------------------------------- */

static void push(struct queue *queue, struct call *call)
{
    call->next = NULL;
    if (queue->first == NULL) queue->end = &queue->first;
    *queue->end = call;
    queue->end = &call->next;
}

static void pop(struct queue *queue)
{
    queue->first = queue->first->next;
}

static void end_calls(struct queue *queue, ncclResult_t result)
{
    for (struct call *call = queue->first; call != NULL; call = call->next) {
        call->done = 1;
        call->result = result;
    }
    queue->first = NULL;
}

void ranks_break(struct clique *clique, ncclResult_t result)
{
    clique->broken = result;
    for (int r = 0; r < clique->ranks; r++) {
        ncclComm_t comm = clique->rank[r];
        if (comm == NULL || comm->gone) continue;
        end_calls(&comm->collectives, result);
        if (!comm->init.done) comm->init.result = result;
        comm->init.done = 1;
        for (int peer = 0; peer < clique->ranks; peer++) {
            end_calls(&comm->sends[peer], result);
            end_calls(&comm->receives[peer], result);
        }
    }
    ranks_changed();
}

/** What the ranks call, as far as there is room. */
struct calls_told {
    struct record_wait wait[RECORD_WAITS];
    uint32_t kept, ranks;
};

static struct record_wait *next_rank(struct calls_told *told, int rank, enum record_waiting waiting)
{
    static struct record_wait beyond; /* is not told */
    struct record_wait *wait = told->kept < RECORD_WAITS ? &told->wait[told->kept++] : &beyond;
    told->ranks++;
    *wait = (struct record_wait){.waiting = waiting, .count = 1, .number = {(uint32_t)rank}};
    return wait;
}

/** What a rank calls where. */
static void add_call(struct calls_told *told, const struct call *call)
{
    struct record_wait *wait = next_rank(told, call->comm->rank, RECORD_WAIT_RANK);
    const int reduces =
        call->kind == CALL_ALL_REDUCE || call->kind == CALL_REDUCE || call->kind == CALL_REDUCE_SCATTER;
    record_copy_text(wait->name, sizeof wait->name, call_name(call));
    wait->at = simt_site_line(&call->operation.site);
    if (call->kind == CALL_INIT) return;
    wait->index = (int64_t)call->count;
    wait->number[1] = 1 + (uint32_t)call->type;
    if (reduces) wait->number[2] = 1 + (uint32_t)call->op;
    if (call->kind < CALL_SEND && call->peer >= 0) wait->number[3] = 1 + (uint32_t)call->peer;
    wait->number[4] = 1 + (uint32_t)call->peer;
}

static void tell_mismatch(struct call *const *call, int count)
{
    struct calls_told told = {.kept = 0};
    for (int i = 0; i < count; i++) add_call(&told, call[i]);
    simt_finding(RECORD_COLLECTIVE_MISMATCH, NULL,
                 call[0]->kind >= CALL_SEND ? RECORD_SAYS_SEND_DIFFERS : RECORD_SAYS_RANKS_DIFFER,
                 SIMT_SAYS(.wait = told.wait, .waits = told.kept, .places = told.ranks));
}

static int same_call(const struct call *a, const struct call *b)
{
    return a->kind == b->kind && a->count == b->count && a->type == b->type && a->op == b->op &&
           a->peer == b->peer;
}

/** 1 if all ranks had a collective pending; it is now done, or was a mismatch. */
static int meet_collectives(struct clique *clique)
{
    struct call *call[MOST_RANKS];
    int same = 1;
    for (int r = 0; r < clique->ranks; r++) {
        if (clique->rank[r] == NULL || clique->rank[r]->gone) return 0;
        call[r] = clique->rank[r]->collectives.first;
        if (call[r] == NULL) return 0;
    }
    for (int r = 1; r < clique->ranks; r++) same &= same_call(call[0], call[r]);
    if (!same) {
        tell_mismatch(call, clique->ranks);
        ranks_break(clique, ncclInvalidUsage);
        return 0;
    }
    for (int r = 0; r < clique->ranks; r++) pop(&clique->rank[r]->collectives);
    collective_perform(call, clique->ranks);
    return 1;
}

/** The same for a send and its receive. */
static int meet_transfers(struct clique *clique, ncclComm_t from, ncclComm_t to)
{
    if (from == NULL || to == NULL || from->gone || to->gone) return 0;
    struct call *const pair[] = {from->sends[to->rank].first, to->receives[from->rank].first};
    if (pair[0] == NULL || pair[1] == NULL) return 0;
    if (pair[0]->count != pair[1]->count || pair[0]->type != pair[1]->type) {
        tell_mismatch(pair, 2);
        ranks_break(clique, ncclInvalidUsage);
        return 0;
    }
    pop(&from->sends[to->rank]);
    pop(&to->receives[from->rank]);
    transfer_perform(pair[0], pair[1]);
    return 1;
}

void ranks_submit(struct call *call)
{
    ncclComm_t comm = call->comm;
    struct clique *clique = comm->clique;
    if (clique->broken != ncclSuccess) {
        call->done = 1;
        call->result = clique->broken;
        return;
    }
    if (call->kind == CALL_SEND) {
        push(&comm->sends[call->peer], call);
        while (meet_transfers(clique, comm, clique->rank[call->peer])) continue;
    } else if (call->kind == CALL_RECEIVE) {
        push(&comm->receives[call->peer], call);
        while (meet_transfers(clique, clique->rank[call->peer], comm)) continue;
    } else if (call->kind == CALL_INIT) {
        for (int r = 0; clique->joined == clique->ranks && r < clique->ranks; r++)
            clique->rank[r]->init.done = 1;
    } else {
        push(&comm->collectives, call);
        while (meet_collectives(clique)) continue;
    }
    ranks_changed();
}

/* ---- those that never meet ------------------------------------------------------------------------------- */

/** Whether @p call still waits for rank @p r of its clique. */
static int waits_for(const struct call *call, int r)
{
    const struct clique *clique = call->comm->clique;
    if (call->done || r >= clique->ranks) return 0;
    if (call->kind >= CALL_SEND && call->kind != CALL_INIT) return r == call->peer;
    if (clique->rank[r] == NULL || call->kind == CALL_INIT) return clique->rank[r] == NULL;
    return clique->rank[r]->collectives.first == NULL;
}

/** What is known about the whole process. */
struct situation {
    int alone;    /**< every thread waits in a call */
    double quiet; /**< seconds since anything happened */
};

/** 1 if rank @p r will not arrive, as far as one can know: its thread waits for ever, or ended and no
 *  other takes over. */
static int will_not_come(const struct call *call, int r, const struct caller *self, struct situation now)
{
    const ncclComm_t comm = call->comm->clique->rank[r];
    if (comm == NULL) return now.alone;
    if (comm->gone) return 1;
    if (comm->caller == NULL || comm->caller == self) return now.alone; /* another thread may take it over */
    if (comm->caller->ended) return now.alone || now.quiet > PATIENCE_AFTER_END;
    return comm->caller->waits && comm->caller->stuck;
}

static int is_stuck(const struct caller *caller, struct situation now)
{
    for (const struct call *call = caller->calls; call != NULL; call = call->next_group)
        for (int r = 0; r < MOST_RANKS; r++)
            if (waits_for(call, r) && will_not_come(call, r, caller, now)) return 1;
    return 0;
}

/** Collects the threads that wait for ranks of this thread's cliques, those that wait for ranks of theirs,
 *  and so on. At first all of them count as stuck. */
static size_t collect(struct caller *self, struct caller **list, size_t room)
{
    size_t count = 0;
    list[count++] = self;
    for (size_t i = 0; i < count; i++)
        for (const struct call *call = list[i]->calls; call != NULL; call = call->next_group)
            for (int r = 0; r < call->comm->clique->ranks; r++) {
                const ncclComm_t comm = call->comm->clique->rank[r];
                struct caller *other = comm != NULL && !comm->gone ? comm->caller : NULL;
                size_t k = 0;
                while (k < count && list[k] != other) k++;
                if (other != NULL && other->waits && k == count && count < room) list[count++] = other;
            }
    return count;
}

/** 1 if the calling thread waits for a rank that cannot arrive. Removes threads whose ranks may still
 *  arrive from the stuck ones until no more can be removed. */
static int waits_for_ever(struct caller *self, int threads, double quiet)
{
    struct caller *list[CALLERS];
    const size_t count = collect(self, list, CALLERS);
    int waiting = 0, more = 1;
    for (size_t i = 0; i < count; i++) {
        list[i]->stuck = 1;
        waiting += list[i]->waits;
    }
    const struct situation now = {threads <= waiting, quiet};
    while (more) {
        more = 0;
        for (size_t i = 0; i < count; i++) {
            if (!list[i]->stuck || is_stuck(list[i], now)) continue;
            list[i]->stuck = 0;
            more = 1;
        }
    }
    return self->stuck;
}

static enum record_absence why_absent(const struct clique *clique, int r, const struct caller *self)
{
    const ncclComm_t comm = clique->rank[r];
    if (comm == NULL) return RECORD_ABSENT_UNMADE;
    if (comm->gone) return RECORD_ABSENT_DESTROYED;
    if (comm->caller == self) return RECORD_ABSENT_SAME_THREAD;
    if (comm->caller == NULL) return RECORD_ABSENT_SILENT;
    if (comm->caller->ended) return RECORD_ABSENT_THREAD_ENDED;
    if (comm->caller->waits) return RECORD_ABSENT_ELSEWHERE;
    return RECORD_ABSENT_SILENT;
}

/** The call in which the thread of rank @p r waits; NULL if there is none. */
static const struct call *waiting_call(const struct clique *clique, int r)
{
    const ncclComm_t comm = clique->rank[r];
    const struct caller *caller = comm != NULL && !comm->gone ? comm->caller : NULL;
    const struct call *own = caller != NULL && caller->waits ? caller->calls : NULL;
    while (own != NULL && (own->done || own->comm != comm)) own = own->next_group;
    return own;
}

/* The first thread that notices the hang reports it; the words do not depend on which thread that is. */
static void tell_hang(struct caller *self, int seconds)
{
    struct calls_told told = {.kept = 0};
    const struct call *call = self->calls;
    while (call->next_group != NULL && call->done) call = call->next_group;
    const struct clique *clique = call->comm->clique;
    const int ungrouped = self->calls->next_group == NULL;
    int free_ranks = 0; /* ranks that this thread might still call for */
    for (int r = 0; r < clique->ranks; r++) {
        const ncclComm_t comm = clique->rank[r];
        const struct call *own = waiting_call(clique, r);
        free_ranks +=
            comm != NULL && !comm->gone && own == NULL && (comm->caller == NULL || comm->caller == self);
        if (own == NULL) {
            next_rank(&told, r, RECORD_WAIT_ABSENT)->number[1] = why_absent(clique, r, self);
            continue;
        }
        add_call(&told, own);
        if (told.ranks == told.kept && (own->kind == CALL_SEND || own->kind == CALL_RECEIVE))
            told.wait[told.kept - 1].number[5] = own->kind == CALL_SEND ? 1 : 2;
    }
    const int sends = call->kind == CALL_SEND || call->kind == CALL_RECEIVE;
    simt_finding_advised(
        RECORD_COLLECTIVE_HANG, NULL, RECORD_SAYS_RANKS_HANG,
        sends                         ? RECORD_ADVICE_SEND_GROUP
        : ungrouped && free_ranks > 0 ? RECORD_ADVICE_RANK_GROUP
                                      : RECORD_NO_ADVICE,
        SIMT_SAYS(.number = {seconds > 0}, .wait = told.wait, .waits = told.kept, .places = told.ranks));
}

/* ---- waiting --------------------------------------------------------------------------------------------- */

static int all_done(const struct call *calls)
{
    for (; calls != NULL; calls = calls->next_group)
        if (!calls->done) return 0;
    return 1;
}

/** Ends the calls of all threads that the thread waits for, of those that they have to do with, and so on. */
static void break_all(struct caller *self, ncclResult_t result)
{
    struct caller *list[CALLERS];
    const size_t count = collect(self, list, CALLERS);
    for (size_t i = 0; i < count; i++)
        for (const struct call *call = list[i]->calls; call != NULL; call = call->next_group)
            if (!call->done && (list[i] == self || list[i]->stuck)) ranks_break(call->comm->clique, result);
}

static double clock_seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void wait_a_moment(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_MILLISECONDS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&changed, &meeting_lock, &until);
}

/** Sets since when nothing has happened: no other thread runs, and the process uses hardly any CPU time. */
struct quiet {
    double since, work;
};

static double quiet_for(struct quiet *quiet, int running)
{
    const double now = clock_seconds(CLOCK_MONOTONIC), work = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (running > 1 || work - quiet->work > WORK || quiet->since == 0) *quiet = (struct quiet){now, work};
    return now - quiet->since;
}

static void wait_for_others(struct caller *self)
{
    struct quiet quiet = {0, 0};
    while (!all_done(self->calls)) {
        int running;
        const int threads = program_threads(&running);
        const double seconds = quiet_for(&quiet, running);
        const int for_ever = waits_for_ever(self, threads, seconds);
        if (for_ever || seconds > PATIENCE) {
            tell_hang(self, !for_ever);
            break_all(self, for_ever ? ncclRemoteError : ncclSystemError);
            return;
        }
        wait_a_moment();
    }
}

ncclResult_t ranks_wait(struct call *calls)
{
    struct caller *self = ranks_caller();
    if (self == NULL) return ncclSystemError;
    self->calls = calls;
    self->waits = 1;
    if (!all_done(calls)) {
        ranks_changed(); /* other threads may now wait for ever */
        wait_for_others(self);
    }
    self->waits = 0;
    self->calls = NULL;
    for (; calls != NULL; calls = calls->next_group)
        if (calls->result != ncclSuccess) return calls->result;
    return ncclSuccess;
}
