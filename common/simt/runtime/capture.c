/**
 * @file capture.c
 * @brief Stream capture: operations become nodes of a graph, events its edges.
 *
 * Each stream under capture knows what its next operation depends on (`last`). An operation becomes a node
 * that depends on those; from then on the next operation depends on this node alone. An event recorded in a
 * capture keeps them; a stream that waits for it adds them to its own, and joins the capture if it is in
 * none. Calls that hardware refuses meanwhile are refused with its codes, and most of them make the capture
 * invalid.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "graph.h"

struct capture {
    unsigned long long id;
    enum cudaStreamCaptureMode mode;
    struct CUstream_st *origin; /**< first of the list of members; NULL once it was destroyed */
    struct CUstream_st *members;
    struct CUgraph_st *graph;
    struct node_set orphans; /**< `last` of destroyed streams, which can no longer be joined */
    pthread_t thread;
    pid_t owner;
    int invalidated;
    struct simt_site site;
    struct capture *next;
};

static struct capture *captures;
static atomic_int capture_count; /* length of `captures`: while it is 0, the functions below cost nothing */
static unsigned long long last_id;
static pthread_mutex_t capture_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local enum cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

/* The caller of every function up to "interface" holds the lock. */

static cudaError_t invalidate(struct capture *capture, cudaError_t error)
{
    capture->invalidated = 1;
    return error;
}

static void add_member(struct capture *capture, struct CUstream_st *stream)
{
    stream->capture = capture;
    stream->member = capture->members;
    capture->members = stream;
}

static void release_member(struct CUstream_st *stream)
{
    struct CUstream_st **link = &stream->capture->members;
    while (*link != stream) link = &(*link)->member;
    *link = stream->member;
    stream->member = NULL;
    stream->capture = NULL;
    node_set_clear(&stream->last);
}

/** Removes all streams from the capture and returns its graph. */
static struct CUgraph_st *end_capture(struct capture *capture)
{
    struct CUgraph_st *graph = capture->graph;
    while (capture->members != NULL) release_member(capture->members);
    struct capture **link = &captures;
    while (*link != capture) link = &(*link)->next;
    *link = capture->next;
    node_set_clear(&capture->orphans);
    free(capture);
    atomic_fetch_sub(&capture_count, 1);
    return graph;
}

/** Marks @p node and all nodes that it depends on. */
static void mark(char *marked, const struct CUgraphNode_st *node)
{
    if (marked[node->index]) return;
    marked[node->index] = 1;
    for (size_t i = 0; i < node->after.count; i++) mark(marked, node->after.nodes[i]);
}

/** 1 if the origin waits for everything that the streams which joined the capture have done. */
static int is_joined(const struct capture *capture)
{
    int joined = 1;
    char *marked = calloc(capture->graph->nodes.count + 1, 1);
    if (marked == NULL) return 0;
    for (size_t i = 0; i < capture->origin->last.count; i++) mark(marked, capture->origin->last.nodes[i]);
    for (const struct CUstream_st *s = capture->members; s != NULL; s = s->member)
        for (size_t i = 0; i < s->last.count; i++) joined &= marked[s->last.nodes[i]->index];
    for (size_t i = 0; i < capture->orphans.count; i++) joined &= marked[capture->orphans.nodes[i]->index];
    free(marked);
    return joined;
}

/** The legacy stream waits for all blocking streams: it cannot be used while one of them is under capture. */
static cudaError_t check_legacy(void)
{
    cudaError_t error = cudaSuccess;
    for (struct capture *c = captures; c != NULL; c = c->next)
        for (const struct CUstream_st *s = c->members; s != NULL; s = s->member)
            if (!(s->flags & cudaStreamNonBlocking)) error = invalidate(c, cudaErrorStreamCaptureImplicit);
    return error;
}

static cudaError_t take_node(struct CUstream_st *stream, const struct operation *operation)
{
    struct CUgraphNode_st *node = graph_add(stream->capture->graph, operation, &stream->last);
    if (node == NULL) return invalidate(stream->capture, cudaErrorMemoryAllocation);
    stream->last.count = 0;
    if (!node_set_add(&stream->last, node)) return invalidate(stream->capture, cudaErrorMemoryAllocation);
    return cudaSuccess;
}

static cudaError_t take_record(struct CUstream_st *stream, cudaEvent_t event)
{
    node_set_clear(&event->captured);
    event->capture_id = stream->capture->id;
    if (!node_set_add_all(&event->captured, &stream->last))
        return invalidate(stream->capture, cudaErrorMemoryAllocation);
    return cudaSuccess;
}

static struct capture *capture_with(unsigned long long id)
{
    struct capture *c = captures;
    while (c != NULL && c->id != id) c = c->next;
    return c;
}

/** A stream waits for another, and at least one of them is in a capture. */
static cudaError_t take_wait(struct CUstream_st *stream, cudaEvent_t event)
{
    struct capture *of_event = capture_with(event->capture_id);
    if (of_event == NULL) {
        cudaError_t error = event->capture_id != 0 ? cudaErrorInvalidValue
                            : event->recorded      ? cudaErrorStreamCaptureIsolation
                                                   : cudaSuccess;
        if (error != cudaSuccess && stream != NULL && stream->capture != NULL)
            (void)invalidate(stream->capture, error);
        return error;
    }
    if (stream == NULL) return invalidate(of_event, cudaErrorStreamCaptureImplicit);
    if (of_event->invalidated) return cudaErrorStreamCaptureInvalidated;
    if (stream->capture != NULL && stream->capture != of_event) {
        (void)invalidate(of_event, cudaErrorStreamCaptureMerge);
        return invalidate(stream->capture, cudaErrorStreamCaptureMerge);
    }
    if (stream->capture == NULL) add_member(of_event, stream);
    if (!node_set_add_all(&stream->last, &event->captured))
        return invalidate(of_event, cudaErrorMemoryAllocation);
    return cudaSuccess;
}

static cudaError_t take(struct CUstream_st *stream, const struct operation *operation, int *taken)
{
    int under_capture = stream != NULL && stream->capture != NULL;
    *taken = 1;
    if (under_capture && stream->capture->invalidated) return cudaErrorStreamCaptureInvalidated;
    if (operation->kind == OPERATION_WAIT && (under_capture || operation->as.event->capture_id != 0))
        return take_wait(stream, operation->as.event);
    if (under_capture && operation->kind == OPERATION_RECORD) return take_record(stream, operation->as.event);
    if (under_capture && operation->kind == OPERATION_GRAPH)
        return invalidate(stream->capture, cudaErrorStreamCaptureUnsupported);
    if (under_capture) return take_node(stream, operation);
    *taken = 0;
    return stream == NULL ? check_legacy() : cudaSuccess;
}

/* ---- what hardware refuses during a capture ------------------------------------------------------------ */

cudaError_t capture_take(const struct operation *operation, int *taken)
{
    int of_old_capture = operation->kind == OPERATION_WAIT && operation->as.event->capture_id != 0;
    *taken = 0;
    if (atomic_load(&capture_count) == 0 && !of_old_capture) return cudaSuccess;
    pthread_mutex_lock(&capture_lock);
    cudaError_t error = take(stream_behind(operation->stream), operation, taken);
    pthread_mutex_unlock(&capture_lock);
    return error;
}

cudaError_t capture_check_unsafe(void)
{
    cudaError_t error = cudaSuccess;
    if (atomic_load(&capture_count) == 0 || thread_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
    pthread_mutex_lock(&capture_lock);
    for (struct capture *c = captures; c != NULL; c = c->next) {
        int mine = pthread_equal(c->thread, pthread_self());
        if (c->mode == cudaStreamCaptureModeRelaxed) continue;
        if (!mine &&
            (c->mode == cudaStreamCaptureModeThreadLocal || thread_mode == cudaStreamCaptureModeThreadLocal))
            continue;
        error = invalidate(c, cudaErrorStreamCaptureUnsupported);
    }
    pthread_mutex_unlock(&capture_lock);
    return error;
}

cudaError_t capture_check_capturable(cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    if (atomic_load(&capture_count) == 0) return cudaSuccess;
    pthread_mutex_lock(&capture_lock);
    const struct CUstream_st *s = stream_behind(stream);
    if (s == NULL)
        error = check_legacy();
    else if (s->capture != NULL)
        error = invalidate(s->capture, cudaErrorStreamCaptureUnsupported);
    pthread_mutex_unlock(&capture_lock);
    return error;
}

cudaError_t capture_check_stream(cudaStream_t stream)
{
    cudaError_t error = capture_check_capturable(stream);
    return error != cudaSuccess ? error : capture_check_unsafe();
}

cudaError_t capture_check_device(void)
{
    cudaError_t error = cudaSuccess;
    if (atomic_load(&capture_count) == 0) return cudaSuccess;
    pthread_mutex_lock(&capture_lock);
    for (struct capture *c = captures; c != NULL; c = c->next)
        error = invalidate(c, cudaErrorStreamCaptureUnsupported);
    pthread_mutex_unlock(&capture_lock);
    return error;
}

cudaError_t capture_check_time(cudaEvent_t event)
{
    if (event->capture_id == 0) return cudaSuccess;
    pthread_mutex_lock(&capture_lock);
    cudaError_t error =
        capture_with(event->capture_id) != NULL ? cudaErrorCapturedEvent : cudaErrorInvalidValue;
    pthread_mutex_unlock(&capture_lock);
    return error;
}

cudaError_t capture_check_event(cudaEvent_t event)
{
    cudaError_t error = capture_check_time(event);
    if (error == cudaSuccess) return capture_check_unsafe();
    pthread_mutex_lock(&capture_lock);
    struct capture *c = capture_with(event->capture_id);
    if (c != NULL) (void)invalidate(c, error);
    pthread_mutex_unlock(&capture_lock);
    return error;
}

int stream_is_under_capture(cudaStream_t stream)
{
    pthread_mutex_lock(&capture_lock);
    const struct CUstream_st *s = stream_behind(stream);
    int under_capture = s != NULL && s->capture != NULL;
    pthread_mutex_unlock(&capture_lock);
    return under_capture;
}

void capture_spoil(cudaStream_t stream)
{
    if (atomic_load(&capture_count) == 0) return;
    pthread_mutex_lock(&capture_lock);
    const struct CUstream_st *s = stream_behind(stream);
    if (s != NULL && s->capture != NULL) s->capture->invalidated = 1;
    pthread_mutex_unlock(&capture_lock);
}

void capture_lose_stream(cudaStream_t stream)
{
    struct CUgraph_st *graph = NULL;
    pthread_mutex_lock(&capture_lock);
    if (stream->capture != NULL) {
        struct capture *c = stream->capture;
        if (!node_set_add_all(&c->orphans, &stream->last)) c->invalidated = 1;
        release_member(stream);
        if (c->origin == stream) graph = end_capture(c);
    }
    pthread_mutex_unlock(&capture_lock);
    graph_free(graph);
}

void captures_forget(void)
{
    pthread_mutex_lock(&capture_lock);
    while (captures != NULL) graph_free(end_capture(captures));
    pthread_mutex_unlock(&capture_lock);
}

/** Called by the machine when it looks for leaks: captures that were never ended. */
static void report_leaks(void)
{
    if (runtime_lost() != cudaSuccess) return; /* a capture of the lost context cannot be ended any more */
    pthread_mutex_lock(&capture_lock);
    for (const struct capture *c = captures; c != NULL; c = c->next)
        if (c->owner == getpid())
            simt_finding(RECORD_LEAK, &c->site, RECORD_SAYS_CAPTURE_LEFT, SIMT_SAYS(.name = {c->site.what}));
    pthread_mutex_unlock(&capture_lock);
}

/* ---- interface ----------------------------------------------------------------------------------------- */

static cudaError_t begin_capture(struct CUstream_st *stream, enum cudaStreamCaptureMode mode,
                                 struct simt_site site)
{
    if (stream->capture != NULL) return cudaErrorIllegalState;
    struct capture *c = calloc(1, sizeof(*c));
    if (c != NULL) c->graph = graph_new(site);
    if (c == NULL || c->graph == NULL) {
        free(c);
        return cudaErrorMemoryAllocation;
    }
    c->id = ++last_id;
    c->mode = mode;
    c->origin = stream;
    c->thread = pthread_self();
    c->owner = getpid();
    c->site = site;
    c->next = captures;
    captures = c;
    atomic_fetch_add(&capture_count, 1);
    add_member(c, stream);
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    RETURN_IF_LOST();
    if (!stream_is_valid(stream)) {
        runtime_note_refusal(
            CALLER_SITE("cudaStreamBeginCapture"), RECORD_SAYS_CALL_REFUSED,
            SIMT_SAYS(.name = {"its stream was destroyed, or is none", "cudaStreamBeginCapture"}));
        return runtime_result(cudaErrorInvalidResourceHandle);
    }
    if ((unsigned)mode > cudaStreamCaptureModeRelaxed) return runtime_result(cudaErrorInvalidValue);
    struct CUstream_st *s = stream_behind(stream);
    if (s == NULL) return runtime_result(cudaErrorStreamCaptureUnsupported);
    graphs_watch_leaks(); /* their leaks are reported before those of captures */
    simt_report_leaks_with(report_leaks);
    pthread_mutex_lock(&capture_lock);
    cudaError_t error = begin_capture(s, mode, CALLER_SITE("cudaStreamBeginCapture"));
    pthread_mutex_unlock(&capture_lock);
    return runtime_result(error);
}

/** Ends the capture of @p stream; sets *@p graph to NULL unless it succeeds. */
static cudaError_t end(struct CUstream_st *stream, struct CUgraph_st **graph)
{
    *graph = NULL;
    if (stream == NULL || stream->capture == NULL) return cudaErrorIllegalState;
    struct capture *c = stream->capture;
    if (c->origin != stream) return invalidate(c, cudaErrorStreamCaptureUnmatched);
    int elsewhere = c->mode != cudaStreamCaptureModeRelaxed && !pthread_equal(c->thread, pthread_self());
    cudaError_t error = elsewhere        ? cudaErrorStreamCaptureWrongThread
                        : c->invalidated ? cudaErrorStreamCaptureInvalidated
                        : is_joined(c)   ? cudaSuccess
                                         : cudaErrorStreamCaptureUnjoined;
    *graph = end_capture(c);
    if (error == cudaSuccess) return error;
    graph_free(*graph);
    *graph = NULL;
    return error;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    struct CUgraph_st *captured;
    RETURN_IF_LOST();
    if (!stream_is_valid(stream)) return runtime_result(cudaErrorInvalidResourceHandle);
    pthread_mutex_lock(&capture_lock);
    cudaError_t error = end(stream_behind(stream), &captured);
    pthread_mutex_unlock(&capture_lock);
    if (graph != NULL) *graph = captured;
    if (captured != NULL && graph != NULL) graph_publish(captured);
    if (graph == NULL) graph_free(captured);
    return runtime_result(error);
}

/** The checks that come first when a program asks about a stream's capture. */
static cudaError_t status_of(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    RETURN_IF_LOST();
    if (status == NULL) return runtime_result(cudaErrorInvalidValue);
    if (!stream_is_valid(stream)) return runtime_result(cudaErrorInvalidResourceHandle);
    *status = cudaStreamCaptureStatusNone;
    const struct CUstream_st *s = stream_behind(stream);
    if (s != NULL && s->capture != NULL)
        *status =
            s->capture->invalidated ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
    for (const struct capture *c = captures; s == NULL && c != NULL; c = c->next)
        for (const struct CUstream_st *m = c->members; m != NULL; m = m->member)
            if (!(m->flags & cudaStreamNonBlocking)) return runtime_result(cudaErrorStreamCaptureImplicit);
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    pthread_mutex_lock(&capture_lock);
    cudaError_t error = status_of(stream, status);
    pthread_mutex_unlock(&capture_lock);
    return error;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id, cudaGraph_t *graph,
                                     const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **edges,
                                     size_t *count)
{
    pthread_mutex_lock(&capture_lock);
    cudaError_t error = status_of(stream, status);
    const struct CUstream_st *s = error == cudaSuccess ? stream_behind(stream) : NULL;
    if (s != NULL && s->capture != NULL && !s->capture->invalidated) {
        if (id != NULL) *id = s->capture->id;
        if (graph != NULL) *graph = s->capture->graph;
        if (dependencies != NULL) *dependencies = s->last.nodes;
        if (edges != NULL) *edges = NULL;
        if (count != NULL) *count = s->last.count;
    }
    pthread_mutex_unlock(&capture_lock);
    return error;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    if (mode == NULL || (unsigned)*mode > cudaStreamCaptureModeRelaxed)
        return runtime_result(cudaErrorInvalidValue);
    enum cudaStreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return cudaSuccess;
}
