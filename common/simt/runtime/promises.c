/**
 * @file promises.c
 * @brief What an entry point promises its caller: it works on the given stream, neither waits nor allocates,
 *        and returns. A CUDA call that breaks a promise is a finding, and is carried out nevertheless.
 *
 * Work may go to other streams if they fork from the given one and join it again by events. For each stream
 * of a call the table keeps how many operations it got, and how many of every other stream come before its
 * next one: an event takes that with it, a stream that waits for the event adds it to its own. At the end the
 * given stream must come after everything. Several streams may be given, one for each device: then work on a
 * device must fork from that device's stream, and join it. Operations that become part of a graph are not checked: they do not run, and capture has its own
 * rules for streams.
 */
#include <string.h>

#include "graph.h"

enum { SITES = 64 };

/** A stream that the entry point may use. */
struct party {
    struct CUstream_st *stream; /**< NULL: the legacy default stream, if that is the given one */
    int used;
    int device; /**< the stream's */
    /** how many operations of each stream come before its next one; for itself: all of them */
    unsigned known[PROMISE_STREAMS];
    struct operation last; /**< the last of those operations that does something */
    const char *kernel;    /**< if that was a launch */
};

static unsigned promised;
static struct party parties[PROMISE_STREAMS]; /* the first ones are the given streams */
static int given = 1;
static unsigned long call;          /* events of other calls are ignored */
static struct operation first_work; /* of the call, if it has given any to a stream */
static int has_work;

/* ---- telling ------------------------------------------------------------------------------------------- */

/** 1 if what is at @p site was reported in this call: a loop of launches is one mistake. */
static int was_promise_reported(const struct simt_site *site)
{
    static struct simt_site reported[SITES];
    static unsigned count;
    static unsigned long of;
    if (of != call) count = 0;
    of = call;
    for (unsigned i = 0; i < count; i++)
        if (reported[i].pc == site->pc && reported[i].line == site->line && reported[i].file == site->file)
            return 1;
    if (count < SITES) reported[count++] = *site;
    return 0;
}

/** How the stream in use differs from the given one; the message has a variant for each. */
enum wrong_stream { STREAM_OF_THREAD, STREAM_LEGACY, STREAM_UNORDERED, STREAM_NOT_JOINED };

static void tell_stream(const struct operation *o, const char *kernel, enum wrong_stream stream)
{
    if (was_promise_reported(&o->site)) {
        simt_finding_again();
        return;
    }
    simt_finding(
        RECORD_WRONG_STREAM, &o->site, RECORD_SAYS_OTHER_STREAM,
        SIMT_SAYS(.name = {kernel != NULL ? kernel : o->site.what}, .number = {kernel != NULL, stream}));
}

static const void *waited_at; /* the call whose waiting has been reported: its stream need not report it */

void runtime_waits(struct simt_site site)
{
    if (!(promised & SIMT_NO_WAIT)) return;
    waited_at = site.pc;
    simt_finding(RECORD_HOST_WAIT, &site, RECORD_SAYS_ENTRY_WAITS, SIMT_SAYS(.name = {site.what}));
}

int promises_are_made(void)
{
    return promised != 0;
}

int runtime_may_wait(void)
{
    return !(promised & SIMT_NO_WAIT);
}

void runtime_makes(struct simt_site site, unsigned promise)
{
    if (!(promised & promise)) return;
    simt_finding(RECORD_HOST_ALLOCATION, &site,
                 promise == SIMT_NO_MEMORY ? RECORD_SAYS_ENTRY_ALLOCATES : RECORD_SAYS_ENTRY_MAKES,
                 SIMT_SAYS(.name = {site.what}));
}

/** Checks the memory that a copy or a fill must not touch. */
void promises_see_write(const struct operation *o, const void *to, size_t bytes)
{
    enum simt_kept kept = SIMT_FREE;
    ptrdiff_t first = promised != 0 ? simt_device_first_kept(to, bytes, &kept) : -1;
    const int variable = promised != 0 && simt_is_kept_variable(to, bytes);
    if (first < 0 && !variable) return;
    if (was_promise_reported(&o->site)) {
        simt_finding_again();
        return;
    }
    if (variable) {
        simt_finding(RECORD_VARIABLE_WRITTEN, &o->site, RECORD_SAYS_WRITES_VARIABLE,
                     SIMT_SAYS(.name = {o->site.what}));
        return;
    }
    simt_finding(kept == SIMT_INPUT ? RECORD_INPUT_WRITTEN : RECORD_PADDING_WRITTEN, &o->site,
                 RECORD_SAYS_WRITES_KEPT,
                 SIMT_SAYS(.name = {o->site.what}, .number = {kept != SIMT_INPUT},
                           .memory = (const char *)to + first, .bytes = 1));
}

/* ---- streams ------------------------------------------------------------------------------------------- */

static struct party *party_of(cudaStream_t handle)
{
    struct CUstream_st *stream = stream_behind(handle);
    for (int i = 0; i < PROMISE_STREAMS; i++)
        if (parties[i].used && parties[i].stream == stream) return &parties[i];
    return NULL;
}

static int device_of(cudaStream_t handle)
{
    const struct CUstream_st *stream = stream_behind(handle);
    return stream != NULL ? stream->device : simt_current_device();
}

/** An entry for a stream that forks. Counts continue where an earlier stream in the entry ended, so that
 *  no clock has to forget them. */
static struct party *take_place(cudaStream_t handle)
{
    for (int i = given; i < PROMISE_STREAMS; i++) {
        if (parties[i].used) continue;
        parties[i].used = 1;
        parties[i].stream = stream_behind(handle);
        parties[i].device = device_of(handle);
        return &parties[i];
    }
    return NULL;
}

/* What the caller did before the call counts as its stream's first operation. */
static void give_place(int i, cudaStream_t handle)
{
    parties[i] = (struct party){.used = 1, .stream = stream_behind(handle), .device = device_of(handle)};
    parties[i].known[i] = 1;
}

/* Whether the given stream of a device may be this one. */
static int is_given_for(int g, const struct party *party)
{
    int others = 0;
    for (int i = 0; i < given; i++) others += i != g && parties[i].device == party->device;
    return parties[g].device == party->device || others == 0;
}

/* Whether the caller's work on the device comes before what the stream gets now. */
static int has_forked(const struct party *party)
{
    for (int g = 0; g < given; g++)
        if (party - parties == g || (party->known[g] > 0 && is_given_for(g, party))) return 1;
    return 0;
}

static int is_joined_to_stream(int i)
{
    for (int g = 0; g < given; g++)
        if (parties[g].known[i] >= parties[i].known[i] && is_given_for(g, &parties[i])) return 1;
    return 0;
}

static void see_wait(const struct operation *o)
{
    const struct CUevent_st *event = o->as.event;
    struct party *party = party_of(o->stream);
    if (event->call != call) return;
    if (party == NULL) party = take_place(o->stream);
    for (int i = 0; party != NULL && i < PROMISE_STREAMS; i++)
        if (event->known[i] > party->known[i]) party->known[i] = event->known[i];
}

static enum wrong_stream wrong_stream(cudaStream_t stream)
{
    if (stream == cudaStreamPerThread) return STREAM_OF_THREAD;
    return stream_behind(stream) == NULL ? STREAM_LEGACY : STREAM_UNORDERED;
}

void promises_see(const struct operation *o)
{
    if (!(promised & SIMT_ONE_STREAM)) return;
    if (o->kind == OPERATION_WAIT) {
        see_wait(o);
        return;
    }
    const char *kernel = o->kind == OPERATION_LAUNCH ? o->as.launch.launch->kernel : NULL;
    struct party *party = party_of(o->stream);
    if (party == NULL) {
        if (o->site.pc == NULL || o->site.pc != waited_at) tell_stream(o, kernel, wrong_stream(o->stream));
        return;
    }
    if (o->kind != OPERATION_RECORD && !has_forked(party)) {
        tell_stream(o, kernel, STREAM_UNORDERED);
        return;
    }
    if (o->kind == OPERATION_RECORD) {
        o->as.event->call = call;
        memcpy(o->as.event->known, party->known, sizeof party->known);
        return;
    }
    party->known[party - parties]++;
    party->last = *o;
    party->kernel = kernel;
    if (!has_work) first_work = *o;
    has_work = 1;
}

void promises_lose_stream(struct CUstream_st *stream)
{
    if (!(promised & SIMT_ONE_STREAM)) return;
    for (int i = given; i < PROMISE_STREAMS; i++) {
        if (!parties[i].used || parties[i].stream != stream) continue;
        if (is_joined_to_stream(i))
            parties[i].used = 0;
        else /* not free yet: its work may still be joined */
            parties[i].stream = (struct CUstream_st *)&parties[i];
    }
}

static int broken_off; /* it returned an error */

void simt_promise_broken_off(int refused)
{
    broken_off = 1;
    if (refused && has_work)
        simt_finding(
            RECORD_WROTE_REFUSED, &first_work.site, RECORD_SAYS_WORK_REFUSED,
            SIMT_SAYS(.name = {first_work.kind == OPERATION_LAUNCH ? "a kernel" : first_work.site.what}));
}

static void check_joined(void)
{
    for (int i = given; i < PROMISE_STREAMS && !broken_off; i++)
        if (parties[i].used && !is_joined_to_stream(i))
            tell_stream(&parties[i].last, parties[i].kernel, STREAM_NOT_JOINED);
}

_Thread_local int (*promises_leave_group)(void);

/** The calls of a group begin when the group ends: so an entry point must end the group that it began, after an
 *  error, too: what its caller does next would be in it. */
void simt_promise_returned(void)
{
    if (promises_leave_group != NULL && promises_leave_group() && promised & SIMT_ONE_STREAM)
        simt_finding(RECORD_COLLECTIVE_HANG, NULL, RECORD_SAYS_GROUP_OPEN, NULL);
}

void simt_promise(unsigned promises, void *stream)
{
    if (promised & SIMT_ONE_STREAM) check_joined();
    promised = promises;
    broken_off = 0;
    has_work = 0;
    waited_at = NULL;
    call++;
    given = 1;
    memset(parties, 0, sizeof parties);
    give_place(0, stream);
}

void simt_promise_also(void *stream)
{
    if (!(promised & SIMT_ONE_STREAM) || given == PROMISE_STREAMS) return;
    give_place(given, stream);
    given++;
}
