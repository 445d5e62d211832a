/**
 * @file objects.c
 * @brief The existing streams, events and graphs: looks up handles, and finds objects that are left at the end.
 */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "graph.h"

static struct object *objects[OBJECT_KINDS];             /* those that exist, the last one first */
static struct CUstream_st per_thread[SIMT_MOST_DEVICES]; /* cudaStreamPerThread: one per device is enough */
static pthread_mutex_t objects_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long made; /* number of objects made so far */

unsigned long simt_objects_made(void)
{
    return __atomic_load_n(&made, __ATOMIC_RELAXED);
}

/* ---- lists --------------------------------------------------------------------------------------------- */

struct object object_new(struct simt_site site)
{
    return (struct object){
        .site = site, .number = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED), .owner = getpid()};
}

void object_add(enum object_kind kind, struct object *object)
{
    pthread_mutex_lock(&objects_lock);
    object->next = objects[kind];
    objects[kind] = object;
    pthread_mutex_unlock(&objects_lock);
}

int object_exists(enum object_kind kind, const void *object)
{
    pthread_mutex_lock(&objects_lock);
    const struct object *o = objects[kind];
    while (o != NULL && o != object) o = o->next;
    pthread_mutex_unlock(&objects_lock);
    return o != NULL;
}

int object_forget(enum object_kind kind, const void *object)
{
    pthread_mutex_lock(&objects_lock);
    struct object **link = &objects[kind];
    while (*link != NULL && *link != object) link = &(*link)->next;
    const int found = *link != NULL;
    if (found) *link = (*link)->next;
    pthread_mutex_unlock(&objects_lock);
    return found;
}

void *object_take(enum object_kind kind)
{
    pthread_mutex_lock(&objects_lock);
    struct object *first = objects[kind];
    if (first != NULL) objects[kind] = first->next;
    pthread_mutex_unlock(&objects_lock);
    return first;
}

/* ---- what is left ---------------------------------------------------------------------------------------- */

void report_left(size_t count, const char *kind, int of_this_call, const struct simt_site *site)
{
    if (count == 0) return;
    simt_finding(RECORD_LEAK, site, RECORD_SAYS_OBJECTS_LEFT,
                 SIMT_SAYS(.name = {site->what, kind}, .number = {(int64_t)count, of_this_call}));
}

void objects_report(enum object_kind kind, unsigned long mark, int of_this_call)
{
    static const char *const names[] = {"stream", "event", "graph", "executable graph"};
    struct simt_site site = {0};
    size_t count = 0;
    pthread_mutex_lock(&objects_lock);
    for (struct object *o = objects[kind]; o != NULL; o = o->next) {
        if (o->number <= mark || o->owner != getpid()) continue;
        if (of_this_call) o->owner = 0;
        site = o->site;
        count++;
    }
    pthread_mutex_unlock(&objects_lock);
    report_left(count, names[kind], of_this_call, &site);
}

/* ---- streams and events -------------------------------------------------------------------------------- */

int stream_is_valid(cudaStream_t stream)
{
    if (stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread) return 1;
    return object_exists(OBJECT_STREAM, stream);
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

void event_record_now(cudaEvent_t event)
{
    clock_gettime(CLOCK_MONOTONIC, &event->when);
    event->recorded = 1;
    event->capture_id = 0;
}
