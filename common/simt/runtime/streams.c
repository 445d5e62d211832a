/**
 * @file streams.c
 * @brief Streams and events. Work is done when it is asked for: a stream is always idle, waiting is free.
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "runtime.h"

struct CUstream_st {
    unsigned int flags;
    int priority;
    struct CUstream_st *next;
};

struct CUevent_st {
    unsigned int flags;
    int recorded;
    struct timespec when;
    struct CUevent_st *next;
};

/* All that exist, so that a handle can be told from one that was destroyed or never made. */
static struct CUstream_st *streams;
static struct CUevent_st *events;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- streams ------------------------------------------------------------------------------------------- */

int stream_is_valid(cudaStream_t stream)
{
    if (stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread) return 1;
    pthread_mutex_lock(&lock);
    const struct CUstream_st *s = streams;
    while (s != NULL && s != stream) s = s->next;
    pthread_mutex_unlock(&lock);
    return s != NULL;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
    RETURN_IF_LOST();
    if (stream == NULL || flags > cudaStreamNonBlocking) return runtime_result(cudaErrorInvalidValue);
    struct CUstream_st *s = malloc(sizeof(*s));
    if (s == NULL) return runtime_result(cudaErrorMemoryAllocation);
    s->flags = flags;
    s->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    pthread_mutex_lock(&lock);
    s->next = streams;
    streams = s;
    pthread_mutex_unlock(&lock);
    *stream = s;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaError_t error = cudaErrorInvalidResourceHandle;
    RETURN_IF_LOST();
    pthread_mutex_lock(&lock);
    for (struct CUstream_st **link = &streams; *link != NULL; link = &(*link)->next) {
        if (*link != stream) continue;
        *link = stream->next;
        free(stream);
        error = cudaSuccess;
        break;
    }
    pthread_mutex_unlock(&lock);
    return runtime_result(error);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    RETURN_IF_LOST();
    return runtime_result(stream_is_valid(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    return cudaStreamSynchronize(stream);
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags)
{
    RETURN_IF_LOST();
    if (flags == NULL) return runtime_result(cudaErrorInvalidValue);
    if (!stream_is_valid(stream)) return runtime_result(cudaErrorInvalidResourceHandle);
    int built_in = stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
    *flags = built_in ? cudaStreamDefault : stream->flags;
    return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    RETURN_IF_LOST();
    if (priority == NULL) return runtime_result(cudaErrorInvalidValue);
    if (!stream_is_valid(stream)) return runtime_result(cudaErrorInvalidResourceHandle);
    int built_in = stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
    *priority = built_in ? 0 : stream->priority;
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *user_data)
{
    RETURN_IF_LOST();
    if (function == NULL) return runtime_result(cudaErrorInvalidValue);
    if (!stream_is_valid(stream)) return runtime_result(cudaErrorInvalidResourceHandle);
    struct operation operation = {
        OPERATION_HOST_FUNCTION, CALLER_SITE("cudaLaunchHostFunc"), stream, {.host = {function, user_data}}};
    return runtime_perform(&operation);
}

/** A stream callback with its own arguments, as a host function. */
struct callback {
    cudaStreamCallback_t function;
    cudaStream_t stream;
    void *user_data;
};

static void run_callback(void *data)
{
    const struct callback *c = data;
    c->function(c->stream, cudaSuccess, c->user_data);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *user_data,
                                  unsigned int flags)
{
    struct callback c = {callback, stream, user_data};
    if (flags != 0 || callback == NULL) return runtime_result(cudaErrorInvalidValue);
    return cudaLaunchHostFunc(stream, run_callback, &c);
}

/* ---- events -------------------------------------------------------------------------------------------- */

static int event_is_valid(cudaEvent_t event)
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
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    const unsigned int known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    RETURN_IF_LOST();
    if (event == NULL || (flags & ~known) != 0) return runtime_result(cudaErrorInvalidValue);
    struct CUevent_st *e = calloc(1, sizeof(*e));
    if (e == NULL) return runtime_result(cudaErrorMemoryAllocation);
    e->flags = flags;
    pthread_mutex_lock(&lock);
    e->next = events;
    events = e;
    pthread_mutex_unlock(&lock);
    *event = e;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    cudaError_t error = cudaErrorInvalidResourceHandle;
    RETURN_IF_LOST();
    pthread_mutex_lock(&lock);
    for (struct CUevent_st **link = &events; *link != NULL; link = &(*link)->next) {
        if (*link != event) continue;
        *link = event->next;
        free(event);
        error = cudaSuccess;
        break;
    }
    pthread_mutex_unlock(&lock);
    return runtime_result(error);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
    RETURN_IF_LOST();
    if (flags != cudaEventRecordDefault) return runtime_result(cudaErrorInvalidValue);
    if (!event_is_valid(event) || !stream_is_valid(stream))
        return runtime_result(cudaErrorInvalidResourceHandle);
    struct operation operation = {
        OPERATION_RECORD, CALLER_SITE("cudaEventRecord"), stream, {.record = event}};
    return runtime_perform(&operation);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    RETURN_IF_LOST();
    return runtime_result(event_is_valid(event) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return cudaEventSynchronize(event);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    RETURN_IF_LOST();
    if (flags != cudaEventWaitDefault) return runtime_result(cudaErrorInvalidValue);
    int valid = event_is_valid(event) && stream_is_valid(stream);
    return runtime_result(valid ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

/** The host's clock: how long the software took, which says nothing about a GPU. */
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    RETURN_IF_LOST();
    if (milliseconds == NULL) return runtime_result(cudaErrorInvalidValue);
    if (!event_is_valid(start) || !event_is_valid(end) || !start->recorded || !end->recorded ||
        ((start->flags | end->flags) & cudaEventDisableTiming))
        return runtime_result(cudaErrorInvalidResourceHandle);
    double seconds = (double)(end->when.tv_sec - start->when.tv_sec);
    double nanoseconds = (double)(end->when.tv_nsec - start->when.tv_nsec);
    *milliseconds = (float)(seconds * 1e3 + nanoseconds * 1e-6);
    return cudaSuccess;
}

/* ---- graphs: their place ------------------------------------------------------------------------------- */

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    RETURN_IF_LOST();
    if (status == NULL) return runtime_result(cudaErrorInvalidValue);
    if (!stream_is_valid(stream)) return runtime_result(cudaErrorInvalidResourceHandle);
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    (void)stream;
    (void)mode;
    return runtime_refuse(CALLER_SITE("cudaStreamBeginCapture"), "graphs are");
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    (void)stream;
    if (graph != NULL) *graph = NULL;
    return runtime_refuse(CALLER_SITE("cudaStreamEndCapture"), "graphs are");
}

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags)
{
    (void)flags;
    if (graph != NULL) *graph = NULL;
    return runtime_refuse(CALLER_SITE("cudaGraphCreate"), "graphs are");
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long flags)
{
    (void)graph;
    (void)flags;
    if (executable != NULL) *executable = NULL;
    return runtime_refuse(CALLER_SITE("cudaGraphInstantiate"), "graphs are");
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
    (void)executable;
    (void)stream;
    return runtime_refuse(CALLER_SITE("cudaGraphLaunch"), "graphs are");
}

/** There can be none to destroy. */
cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    (void)graph;
    return runtime_result(cudaErrorInvalidValue);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable)
{
    (void)executable;
    return runtime_result(cudaErrorInvalidValue);
}
