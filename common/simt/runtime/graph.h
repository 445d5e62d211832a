/**
 * @file graph.h
 * @brief Graphs, and streams and events as stream capture sees them.
 *
 * A graph holds nodes in an order that respects its edges: a node only depends on nodes before it. While a
 * stream is under capture, runtime_perform() passes its operations to capture_take(), which makes them nodes.
 * A replay performs the nodes' operations like all others.
 */
#pragma once

#include <pthread.h>
#include <sys/types.h>
#include <time.h>

#include "runtime.h"

/* ---- objects: what a handle may be -------------------------------------------------------------------------- */

enum object_kind { OBJECT_STREAM, OBJECT_EVENT, OBJECT_GRAPH, OBJECT_EXECUTABLE, OBJECT_KINDS };

/** @brief The first member of each of them. */
struct object {
    struct object *next;   /**< of its kind */
    struct simt_site site; /**< the call that made it */
    unsigned long number;  /**< later objects have higher ones */
    pid_t owner;           /**< 0: it is not reported again */
};

/** @brief One that is made at @p site, and does not exist yet. */
struct object object_new(struct simt_site site);
/** @brief From here on @p object exists, and its handle is valid. */
void object_add(enum object_kind kind, struct object *object);
int object_exists(enum object_kind kind, const void *object);
/** @brief From here on it does not exist; returns 0 if it did not before. */
int object_forget(enum object_kind kind, const void *object);
/** @brief Takes the last one out of the list; NULL: there is none. */
void *object_take(enum object_kind kind);
/** @brief Reports those of this process with a number higher than @p mark as leaks. @p of_this_call 1: at the end of an entry
 *         point's call, not of the process; they are not reported again. */
void objects_report(enum object_kind kind, unsigned long mark, int of_this_call);
/** @brief Reports a finding if @p count objects of a kind are left; @p site is where the first of them was made. */
void report_left(size_t count, const char *kind, int of_this_call, const struct simt_site *site);

/* ---- graphs -------------------------------------------------------------------------------------------- */

struct host_range;
/** @brief The host memory of a copy that a node is about to keep, watched from now on; NULL: it has none. */
struct host_range *host_range_keep(const struct operation *operation);
void host_range_drop(struct host_range *range);
/** @brief The calling thread replays a graph: @p frame is that of the function that the program calls. */
void host_ranges_replayed_from(const void *frame);
/** @brief 0, after a finding, if the host memory of a node's copy is no longer what it was. */
int host_range_is_there(const struct operation *operation);

/** @brief A set of nodes that something depends on. */
struct node_set {
    struct CUgraphNode_st **nodes;
    size_t count, capacity;
};

struct CUgraphNode_st {
    struct operation operation; /**< kept: this node owns its launch and arguments */
    struct node_set after;      /**< what must be done before */
    size_t index;               /**< in its graph */
};

struct CUgraph_st {
    struct object object;
    struct node_set nodes;
};

struct CUgraphExec_st {
    struct object object;
    struct CUgraph_st *graph; /**< a copy that no other code can change */
};

/** @brief Adds @p node unless it is there; 0 if memory is out. */
int node_set_add(struct node_set *set, struct CUgraphNode_st *node);
/** @brief Adds all of @p more; 0 if memory is out. */
int node_set_add_all(struct node_set *set, const struct node_set *more);
void node_set_clear(struct node_set *set);

/** @brief An empty graph that is in no list; NULL if memory is out. */
struct CUgraph_st *graph_new(struct simt_site site);
/** @brief A node that keeps a copy of @p operation; NULL if memory is out. */
struct CUgraphNode_st *graph_add(struct CUgraph_st *graph, const struct operation *operation,
                                 const struct node_set *after);
void graph_free(struct CUgraph_st *graph);
/** @brief From here on @p graph belongs to the program: a valid handle, and a leak if it is never
 *         destroyed. */
void graph_publish(struct CUgraph_st *graph);
/** @brief A copy of the graph's nodes and edges that is in no list; NULL if memory is out. */
struct CUgraph_st *graph_copy(const struct CUgraph_st *graph);
/** @brief 0 if there is no such graph. */
int graph_destroy(struct CUgraph_st *graph);
/** @brief An executable copy of @p graph, made at @p site; NULL if memory is out. */
struct CUgraphExec_st *executable_new(const struct CUgraph_st *graph, struct simt_site site);
/** @brief 0 if there is no such executable graph. */
int executable_destroy(struct CUgraphExec_st *executable);
/** @brief From here on graphs that still exist at the end are reported. */
void graphs_watch_leaks(void);
/** @brief For cudaDeviceReset: destroys all graphs. */
void graphs_forget(void);

/* ---- streams and events -------------------------------------------------------------------------------- */

struct capture;

struct CUstream_st {
    struct object object;
    unsigned int flags;
    int priority;
    int device;
    int order_index;            /**< its place in order.c; -1: none */
    struct capture *capture;    /**< NULL: not under capture */
    struct node_set last;       /**< what the next operation of the capture depends on */
    struct CUstream_st *member; /**< next stream of the same capture */
};

enum { PROMISE_STREAMS = 20 }; /* streams that one call of an entry point may use */
enum { ORDER_STREAMS = 96 };   /* streams that order.c can follow at once */

struct CUevent_st {
    struct object object;
    unsigned int flags;
    int recorded;
    int device;
    struct timespec when;
    unsigned long long capture_id; /**< number of the capture it was last recorded in; 0: outside of any */
    struct node_set captured;      /**< what a wait for it depends on */
    unsigned long call; /**< last recorded in this call of an entry point; promises.c follows it then */
    unsigned known[PROMISE_STREAMS];
    /** number of operations of each stream that come before it (order.c) */
    unsigned long order[ORDER_STREAMS];
};

struct ncclComm;
/** @brief 1 if the communicator exists: it was made, and neither destroyed nor aborted (nccl.c). */
int comm_is_valid(const struct ncclComm *comm);

/** @brief The stream is about to be destroyed. */
void promises_lose_stream(struct CUstream_st *stream);
/** @brief The stream behind a handle; NULL for the legacy default stream. */
struct CUstream_st *stream_behind(cudaStream_t stream);

/** @brief Checks before calls that may have to wait for the device: a capture may forbid them. */
#define RETURN_IF_UNSAFE()                                                                                   \
    do {                                                                                                     \
        cudaError_t unsafe = capture_check_unsafe();                                                         \
        if (unsafe != cudaSuccess) return runtime_result(unsafe);                                            \
    } while (0)

/* ---- capture: each of these gives an error where hardware refuses -------------------------------------- */

/** @brief Makes @p operation part of a graph if its stream is under capture; sets *@p taken to whether it
 *         was. */
cudaError_t capture_take(const struct operation *operation, int *taken);
/** @brief Call it before a call that may wait for other streams, or change what they use: cudaMalloc, for
 *         example. */
cudaError_t capture_check_unsafe(void);
/** @brief Call it before waiting for a stream, or asking whether it is done. */
cudaError_t capture_check_stream(cudaStream_t stream);
cudaError_t capture_check_device(void);
/** @brief Call it before the time of an event is read. */
cudaError_t capture_check_time(cudaEvent_t event);
/** @brief Call it before waiting for an event, or asking whether it is done. */
cudaError_t capture_check_event(cudaEvent_t event);
int stream_is_under_capture(cudaStream_t stream);
/** @brief Call it before an operation that no capture can hold. */
cudaError_t capture_check_capturable(cudaStream_t stream);
/** @brief A refused launch invalidates the capture of its stream, if there is one. */
void capture_spoil(cudaStream_t stream);
/** @brief The stream is about to be destroyed. */
void capture_lose_stream(cudaStream_t stream);
/** @brief For cudaDeviceReset: no stream is under capture any more. */
void captures_forget(void);
