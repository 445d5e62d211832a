/**
 * @file streams.c
 * @brief Streams and events. Work is carried out at the call: a stream is always idle, and waiting takes no
 *        time.
 */
#include <stdlib.h>

#include "graph.h"
#include "order.h"

void simt_report_left_since(unsigned long mark)
{
    if (runtime_lost() != cudaSuccess) return; /* streams of the lost context cannot be destroyed any more */
    for (int kind = 0; kind < OBJECT_KINDS; kind++) objects_report((enum object_kind)kind, mark, 1);
}

/* ---- streams ------------------------------------------------------------------------------------------- */

static cudaError_t create_stream(cudaStream_t *stream, unsigned int flags, int priority,
                                 struct simt_site site)
{
    runtime_makes(site, SIMT_NO_OBJECTS);
    RETURN_IF_LOST();
    if (stream == NULL || flags > cudaStreamNonBlocking) return runtime_result(cudaErrorInvalidValue);
    struct CUstream_st *s = calloc(1, sizeof(*s));
    if (s == NULL) return runtime_result(cudaErrorMemoryAllocation);
    s->flags = flags;
    s->device = simt_current_device();
    s->object = object_new(site);
    s->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    order_stream_made(s);
    object_add(OBJECT_STREAM, &s->object);
    *stream = s;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
    return create_stream(stream, flags, priority, CALLER_SITE("cudaStreamCreateWithPriority"));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    return create_stream(stream, flags, 0, CALLER_SITE("cudaStreamCreateWithFlags"));
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return create_stream(stream, cudaStreamDefault, 0, CALLER_SITE("cudaStreamCreate"));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    runtime_makes(CALLER_SITE("cudaStreamDestroy"), SIMT_NO_OBJECTS);
    RETURN_IF_LOST();
    if (!object_forget(OBJECT_STREAM, stream)) return runtime_result(cudaErrorInvalidResourceHandle);
    capture_lose_stream(stream);
    promises_lose_stream(stream);
    order_stream_lost(stream);
    free(stream);
    return cudaSuccess;
}

/** The host knows that all work of the stream is done. */
static cudaError_t settle_stream(cudaStream_t stream)
{
    RETURN_IF_LOST();
    if (!stream_is_valid(stream)) return runtime_result(cudaErrorInvalidResourceHandle);
    runtime_settled();
    order_host_waits(stream, stream_device(stream));
    return runtime_result(capture_check_stream(stream));
}

/** Who may not wait learns nothing by asking: on a GPU the work may still be under way. */
cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    if (!runtime_may_wait())
        return runtime_result(stream_is_valid(stream) ? capture_check_stream(stream)
                                                      : cudaErrorInvalidResourceHandle);
    return settle_stream(stream);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    runtime_waits(CALLER_SITE("cudaStreamSynchronize"));
    return settle_stream(stream);
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

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device)
{
    RETURN_IF_LOST();
    if (device == NULL) return runtime_result(cudaErrorInvalidValue);
    if (!stream_is_valid(stream)) return runtime_result(cudaErrorInvalidResourceHandle);
    *device = stream_device(stream);
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
    struct operation operation = {OPERATION_HOST_FUNCTION,
                                  CALLER_SITE("cudaLaunchHostFunc"),
                                  stream,
                                  stream_device(stream),
                                  {.host = {function, user_data}}};
    return runtime_result(runtime_perform(&operation));
}

/** Wraps a stream callback and its arguments as a host function. */
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
    cudaError_t error = stream_is_valid(stream) ? capture_check_capturable(stream) : cudaSuccess;
    if (error != cudaSuccess) return runtime_result(error);
    return cudaLaunchHostFunc(stream, run_callback, &c);
}

/* ---- events -------------------------------------------------------------------------------------------- */

static cudaError_t create_event(cudaEvent_t *event, unsigned int flags, struct simt_site site)
{
    runtime_makes(site, SIMT_NO_OBJECTS);
    const unsigned int known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    RETURN_IF_LOST();
    if (event == NULL || (flags & ~known) != 0) return runtime_result(cudaErrorInvalidValue);
    struct CUevent_st *e = calloc(1, sizeof(*e));
    if (e == NULL) return runtime_result(cudaErrorMemoryAllocation);
    e->flags = flags;
    e->device = simt_current_device();
    e->object = object_new(site);
    object_add(OBJECT_EVENT, &e->object);
    *event = e;
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    return create_event(event, flags, CALLER_SITE("cudaEventCreateWithFlags"));
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return create_event(event, cudaEventDefault, CALLER_SITE("cudaEventCreate"));
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    runtime_makes(CALLER_SITE("cudaEventDestroy"), SIMT_NO_OBJECTS);
    RETURN_IF_LOST();
    if (!object_forget(OBJECT_EVENT, event)) return runtime_result(cudaErrorInvalidResourceHandle);
    node_set_clear(&event->captured);
    free(event);
    return cudaSuccess;
}

static cudaError_t record(cudaEvent_t event, cudaStream_t stream, unsigned int flags, struct simt_site site)
{
    RETURN_IF_LOST();
    if (flags != cudaEventRecordDefault) return runtime_result(cudaErrorInvalidValue);
    if (!object_exists(OBJECT_EVENT, event) || !stream_is_valid(stream) ||
        event->device != stream_device(stream))
        return runtime_result(cudaErrorInvalidResourceHandle);
    struct operation operation = {OPERATION_RECORD, site, stream, stream_device(stream), {.event = event}};
    return runtime_result(runtime_perform(&operation));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
    return record(event, stream, flags, CALLER_SITE("cudaEventRecordWithFlags"));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return record(event, stream, cudaEventRecordDefault, CALLER_SITE("cudaEventRecord"));
}

static cudaError_t settle_event(cudaEvent_t event)
{
    RETURN_IF_LOST();
    if (!object_exists(OBJECT_EVENT, event)) return runtime_result(cudaErrorInvalidResourceHandle);
    runtime_settled();
    order_host_waits_event(event);
    return runtime_result(capture_check_event(event));
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    if (!runtime_may_wait())
        return runtime_result(object_exists(OBJECT_EVENT, event) ? capture_check_event(event)
                                                                 : cudaErrorInvalidResourceHandle);
    return settle_event(event);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    runtime_waits(CALLER_SITE("cudaEventSynchronize"));
    return settle_event(event);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    RETURN_IF_LOST();
    if (flags != cudaEventWaitDefault) return runtime_result(cudaErrorInvalidValue);
    if (!object_exists(OBJECT_EVENT, event) || !stream_is_valid(stream))
        return runtime_result(cudaErrorInvalidResourceHandle);
    struct operation operation = {
        OPERATION_WAIT, CALLER_SITE("cudaStreamWaitEvent"), stream, stream_device(stream), {.event = event}};
    return runtime_result(runtime_perform(&operation));
}

/** Reads the host's clock: how long the software took, which says nothing about a GPU. */
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    RETURN_IF_LOST();
    if (milliseconds == NULL) return runtime_result(cudaErrorInvalidValue);
    if (!object_exists(OBJECT_EVENT, start) || !object_exists(OBJECT_EVENT, end) ||
        start->device != end->device)
        return runtime_result(cudaErrorInvalidResourceHandle);
    cudaError_t error = capture_check_time(start);
    if (error == cudaSuccess) error = capture_check_time(end);
    if (error != cudaSuccess) return runtime_result(error);
    if (!start->recorded || !end->recorded || ((start->flags | end->flags) & cudaEventDisableTiming))
        return runtime_result(cudaErrorInvalidResourceHandle);
    double seconds = (double)(end->when.tv_sec - start->when.tv_sec);
    double nanoseconds = (double)(end->when.tv_nsec - start->when.tv_nsec);
    *milliseconds = (float)(seconds * 1e3 + nanoseconds * 1e-6);
    return cudaSuccess;
}
