/**
 * @file objects.c
 * @brief The existing streams and events: looks up handles, and finds objects that are left at the end.
 */
#include <pthread.h>
#include <time.h>

#include "graph.h"

/* All existing objects, by which handles that were destroyed or never made are found. */
static struct CUstream_st *streams;
static struct CUevent_st *events;
static struct CUstream_st per_thread[SIMT_MOST_DEVICES]; /* cudaStreamPerThread: one per device is enough */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- what is left ---------------------------------------------------------------------------------------- */

static unsigned long made; /* number of streams, events and graphs made so far */

unsigned long object_number(void)
{
    return __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
}

unsigned long simt_objects_made(void)
{
    return __atomic_load_n(&made, __ATOMIC_RELAXED);
}

void report_left(size_t count, const char *kind, int of_this_call, const struct simt_site *site)
{
    if (count == 0) return;
    simt_finding(RECORD_LEAK, site, RECORD_SAYS_OBJECTS_LEFT,
                 SIMT_SAYS(.name = {site->what, kind}, .number = {(int64_t)count, of_this_call}));
}

void objects_report_since(unsigned long mark)
{
    size_t stream_count = 0, event_count = 0;
    struct simt_site stream_site = {0}, event_site = {0};
    pthread_mutex_lock(&lock);
    for (const struct CUstream_st *s = streams; s != NULL; s = s->next)
        if (s->number > mark && ++stream_count) stream_site = s->site;
    for (const struct CUevent_st *e = events; e != NULL; e = e->next)
        if (e->number > mark && ++event_count) event_site = e->site;
    pthread_mutex_unlock(&lock);
    report_left(stream_count, "stream", 1, &stream_site);
    report_left(event_count, "event", 1, &event_site);
}

/* ---- streams ------------------------------------------------------------------------------------------- */

void stream_remember(struct CUstream_st *stream)
{
    pthread_mutex_lock(&lock);
    stream->next = streams;
    streams = stream;
    pthread_mutex_unlock(&lock);
}

int stream_forget(const struct CUstream_st *stream)
{
    pthread_mutex_lock(&lock);
    struct CUstream_st **link = &streams;
    while (*link != NULL && *link != stream) link = &(*link)->next;
    const int found = *link != NULL;
    if (found) *link = stream->next;
    pthread_mutex_unlock(&lock);
    return found;
}

int stream_is_valid(cudaStream_t stream)
{
    if (stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread) return 1;
    pthread_mutex_lock(&lock);
    const struct CUstream_st *s = streams;
    while (s != NULL && s != stream) s = s->next;
    pthread_mutex_unlock(&lock);
    return s != NULL;
}

int stream_device(cudaStream_t stream)
{
    if (stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
        return simt_current_device();
    return stream->device;
}

struct CUstream_st *stream_behind(cudaStream_t stream)
{
    if (stream == cudaStreamPerThread) return &per_thread[simt_current_device()];
    return stream == cudaStreamLegacy ? NULL : stream;
}

/* ---- events -------------------------------------------------------------------------------------------- */

void event_remember(struct CUevent_st *event)
{
    pthread_mutex_lock(&lock);
    event->next = events;
    events = event;
    pthread_mutex_unlock(&lock);
}

int event_forget(const struct CUevent_st *event)
{
    pthread_mutex_lock(&lock);
    struct CUevent_st **link = &events;
    while (*link != NULL && *link != event) link = &(*link)->next;
    const int found = *link != NULL;
    if (found) *link = event->next;
    pthread_mutex_unlock(&lock);
    return found;
}

int event_is_valid(cudaEvent_t event)
{
    pthread_mutex_lock(&lock);
    const struct CUevent_st *e = events;
    while (e != NULL && e != event) e = e->next;
    pthread_mutex_unlock(&lock);
    return e != NULL;
}

void event_record_now(cudaEvent_t event)
{
    clock_gettime(CLOCK_MONOTONIC, &event->when);
    event->recorded = 1;
    event->capture_id = 0;
}
