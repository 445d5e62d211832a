/**
 * @file graphs.c
 * @brief Graphs and executable graphs: nodes, instantiation, update, replay. How a capture fills one is in
 * capture.c.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph.h"

/* All that exist, so that a handle can be told from one that was destroyed, and a leak be found. */
static struct CUgraph_st *graphs;
static struct CUgraphExec_st *executables;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- sets of nodes ------------------------------------------------------------------------------------- */

int node_set_add(struct node_set *set, struct CUgraphNode_st *node)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->nodes[i] == node) return 1;
    if (set->count == set->capacity) {
        size_t capacity = set->capacity == 0 ? 4 : 2 * set->capacity;
        struct CUgraphNode_st **more = realloc(set->nodes, capacity * sizeof(struct CUgraphNode_st *));
        if (more == NULL) return 0;
        set->nodes = more;
        set->capacity = capacity;
    }
    set->nodes[set->count++] = node;
    return 1;
}

int node_set_add_all(struct node_set *set, const struct node_set *more)
{
    for (size_t i = 0; i < more->count; i++)
        if (!node_set_add(set, more->nodes[i])) return 0;
    return 1;
}

void node_set_clear(struct node_set *set)
{
    free(set->nodes);
    *set = (struct node_set){NULL, 0, 0};
}

/* ---- kept operations ----------------------------------------------------------------------------------- */

/** A launch with its arguments, in one block of memory: a graph runs it with what they were at capture. */
struct kept_launch {
    struct simt_launch launch;
    _Alignas(64) char args[];
};

static int operation_keep(struct operation *kept, const struct operation *operation)
{
    *kept = *operation;
    if (operation->kind != OPERATION_LAUNCH) return 1;
    size_t args_bytes = operation->as.launch.args_bytes;
    size_t bytes = (sizeof(struct kept_launch) + args_bytes + 63) / 64 * 64;
    struct kept_launch *copy = aligned_alloc(64, bytes);
    if (copy == NULL) return 0;
    copy->launch = *operation->as.launch.launch;
    memcpy(copy->args, copy->launch.args, args_bytes);
    copy->launch.args = copy->args;
    kept->as.launch.launch = &copy->launch;
    return 1;
}

static void operation_drop(struct operation *kept)
{
    if (kept->kind == OPERATION_LAUNCH) free((void *)kept->as.launch.launch);
}

/* ---- graphs -------------------------------------------------------------------------------------------- */

struct CUgraph_st *graph_new(struct simt_site site)
{
    struct CUgraph_st *graph = calloc(1, sizeof(*graph));
    if (graph == NULL) return NULL;
    graph->site = site;
    graph->owner = getpid();
    graph->number = object_number();
    return graph;
}

static void node_free(struct CUgraphNode_st *node)
{
    operation_drop(&node->operation);
    node_set_clear(&node->after);
    free(node);
}

struct CUgraphNode_st *graph_add(struct CUgraph_st *graph, const struct operation *operation,
                                 const struct node_set *after)
{
    struct CUgraphNode_st *node = calloc(1, sizeof(*node));
    if (node == NULL) return NULL;
    if (!operation_keep(&node->operation, operation)) {
        free(node);
        return NULL;
    }
    node->index = graph->nodes.count;
    if (node_set_add_all(&node->after, after) && node_set_add(&graph->nodes, node)) return node;
    node_free(node);
    return NULL;
}

void graph_free(struct CUgraph_st *graph)
{
    if (graph == NULL) return;
    for (size_t i = 0; i < graph->nodes.count; i++) node_free(graph->nodes.nodes[i]);
    node_set_clear(&graph->nodes);
    free(graph);
}

/** A graph with the same nodes and edges; NULL if memory is out. */
static struct CUgraph_st *graph_copy(const struct CUgraph_st *graph)
{
    struct CUgraph_st *copy = graph_new(graph->site);
    for (size_t i = 0; copy != NULL && i < graph->nodes.count; i++) {
        const struct CUgraphNode_st *node = graph->nodes.nodes[i];
        struct node_set after = {NULL, 0, 0};
        int complete = 1;
        for (size_t k = 0; k < node->after.count; k++)
            complete &= node_set_add(&after, copy->nodes.nodes[node->after.nodes[k]->index]);
        if (!complete || graph_add(copy, &node->operation, &after) == NULL) {
            graph_free(copy);
            copy = NULL;
        }
        node_set_clear(&after);
    }
    return copy;
}

/** Called by the machine when it looks for leaks. */
static void report_leaks(void)
{
    size_t count = 0, executable_count = 0;
    struct simt_site site = {0}, executable_site = {0};
    if (runtime_lost() != cudaSuccess) return; /* nothing can be destroyed any more */
    pthread_mutex_lock(&lock);
    for (const struct CUgraph_st *g = graphs; g != NULL; g = g->next)
        if (g->owner == getpid() && ++count) site = g->site;
    for (const struct CUgraphExec_st *e = executables; e != NULL; e = e->next)
        if (e->owner == getpid() && ++executable_count) executable_site = e->site;
    pthread_mutex_unlock(&lock);
    report_left(count, "graph", "", &site);
    report_left(executable_count, "executable graph", "", &executable_site);
    captures_report_leaks();
}

void graphs_report_since(unsigned long mark)
{
    size_t count = 0, executable_count = 0;
    struct simt_site site = {0}, executable_site = {0};
    pthread_mutex_lock(&lock);
    for (struct CUgraph_st *g = graphs; g != NULL; g = g->next) {
        if (g->number <= mark || g->owner != getpid()) continue;
        site = g->site;
        g->owner = 0; /* nobody's: it is not told again at the end */
        count++;
    }
    for (struct CUgraphExec_st *e = executables; e != NULL; e = e->next) {
        if (e->number <= mark || e->owner != getpid()) continue;
        executable_site = e->site;
        e->owner = 0;
        executable_count++;
    }
    pthread_mutex_unlock(&lock);
    report_left(count, "graph", OF_THIS_CALL, &site);
    report_left(executable_count, "executable graph", OF_THIS_CALL, &executable_site);
}

void graphs_watch_leaks(void)
{
    simt_report_leaks_with(report_leaks);
}

void graph_publish(struct CUgraph_st *graph)
{
    graphs_watch_leaks();
    pthread_mutex_lock(&lock);
    graph->next = graphs;
    graphs = graph;
    pthread_mutex_unlock(&lock);
}

static int graph_is_valid(cudaGraph_t graph)
{
    pthread_mutex_lock(&lock);
    const struct CUgraph_st *g = graphs;
    while (g != NULL && g != graph) g = g->next;
    pthread_mutex_unlock(&lock);
    return g != NULL;
}

static int executable_is_valid(cudaGraphExec_t executable)
{
    pthread_mutex_lock(&lock);
    const struct CUgraphExec_st *e = executables;
    while (e != NULL && e != executable) e = e->next;
    pthread_mutex_unlock(&lock);
    return e != NULL;
}

static void executable_free(struct CUgraphExec_st *executable)
{
    graph_free(executable->graph);
    free(executable);
}

void graphs_forget(void)
{
    pthread_mutex_lock(&lock);
    while (graphs != NULL) {
        struct CUgraph_st *g = graphs;
        graphs = g->next;
        graph_free(g);
    }
    while (executables != NULL) {
        struct CUgraphExec_st *e = executables;
        executables = e->next;
        executable_free(e);
    }
    pthread_mutex_unlock(&lock);
}

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags)
{
    runtime_makes(CALLER_SITE("cudaGraphCreate"), SIMT_NO_OBJECTS);
    RETURN_IF_LOST();
    if (graph == NULL || flags != 0) return runtime_result(cudaErrorInvalidValue);
    *graph = graph_new(CALLER_SITE("cudaGraphCreate"));
    if (*graph == NULL) return runtime_result(cudaErrorMemoryAllocation);
    graph_publish(*graph);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    cudaError_t error = cudaErrorInvalidValue;
    runtime_makes(CALLER_SITE("cudaGraphDestroy"), SIMT_NO_OBJECTS);
    RETURN_IF_LOST();
    pthread_mutex_lock(&lock);
    for (struct CUgraph_st **link = &graphs; *link != NULL; link = &(*link)->next) {
        if (*link != graph) continue;
        *link = graph->next;
        graph_free(graph);
        error = cudaSuccess;
        break;
    }
    pthread_mutex_unlock(&lock);
    return runtime_result(error);
}

/** The nodes of @p set into an array of *@p count places; without an array, only how many there are. */
static cudaError_t give_nodes(const struct node_set *set, cudaGraphNode_t *nodes, size_t *count)
{
    for (size_t i = 0; nodes != NULL && i < *count; i++) nodes[i] = i < set->count ? set->nodes[i] : NULL;
    if (nodes == NULL || *count > set->count) *count = set->count;
    return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    RETURN_IF_LOST();
    if (count == NULL || graph == NULL) return runtime_result(cudaErrorInvalidValue);
    return give_nodes(&graph->nodes, nodes, count);
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    struct node_set roots = {NULL, 0, 0};
    int complete = 1;
    RETURN_IF_LOST();
    if (count == NULL || graph == NULL) return runtime_result(cudaErrorInvalidValue);
    for (size_t i = 0; i < graph->nodes.count; i++)
        if (graph->nodes.nodes[i]->after.count == 0) complete &= node_set_add(&roots, graph->nodes.nodes[i]);
    (void)give_nodes(&roots, nodes, count);
    node_set_clear(&roots);
    return runtime_result(complete ? cudaSuccess : cudaErrorMemoryAllocation);
}

static enum cudaGraphNodeType type_of(const struct operation *operation)
{
    switch (operation->kind) {
    case OPERATION_LAUNCH:
        return cudaGraphNodeTypeKernel;
    case OPERATION_COPY:
        return cudaGraphNodeTypeMemcpy;
    case OPERATION_SET:
        return cudaGraphNodeTypeMemset;
    case OPERATION_HOST_FUNCTION:
        return cudaGraphNodeTypeHost;
    case OPERATION_GRAPH:
        return cudaGraphNodeTypeGraph;
    default:
        return cudaGraphNodeTypeEmpty;
    }
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
    RETURN_IF_LOST();
    if (node == NULL || type == NULL) return runtime_result(cudaErrorInvalidValue);
    *type = type_of(&node->operation);
    return cudaSuccess;
}

/* ---- executable graphs --------------------------------------------------------------------------------- */

static cudaError_t instantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long flags,
                               struct simt_site site)
{
    runtime_makes(site, SIMT_NO_OBJECTS);
    const unsigned long long harmless = cudaGraphInstantiateFlagAutoFreeOnLaunch |
                                        cudaGraphInstantiateFlagUpload |
                                        cudaGraphInstantiateFlagUseNodePriority;
    RETURN_IF_LOST();
    RETURN_IF_UNSAFE();
    if (executable == NULL || !graph_is_valid(graph)) return runtime_result(cudaErrorInvalidValue);
    *executable = NULL;
    if (flags & cudaGraphInstantiateFlagDeviceLaunch) return runtime_refuse(site, "launch from a kernel is");
    if (flags & ~harmless) return runtime_result(cudaErrorInvalidValue);
    struct CUgraphExec_st *e = calloc(1, sizeof(*e));
    if (e != NULL) e->graph = graph_copy(graph);
    if (e == NULL || e->graph == NULL) {
        free(e);
        return runtime_result(cudaErrorMemoryAllocation);
    }
    e->site = site;
    e->owner = getpid();
    e->number = object_number();
    pthread_mutex_lock(&lock);
    e->next = executables;
    executables = e;
    pthread_mutex_unlock(&lock);
    *executable = e;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long flags)
{
    return instantiate(executable, graph, flags, CALLER_SITE("cudaGraphInstantiate"));
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *executable, cudaGraph_t graph,
                                          unsigned long long flags)
{
    return instantiate(executable, graph, flags, CALLER_SITE("cudaGraphInstantiateWithFlags"));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable)
{
    runtime_makes(CALLER_SITE("cudaGraphExecDestroy"), SIMT_NO_OBJECTS);
    cudaError_t error = cudaErrorInvalidValue;
    RETURN_IF_LOST();
    RETURN_IF_UNSAFE();
    pthread_mutex_lock(&lock);
    for (struct CUgraphExec_st **link = &executables; *link != NULL; link = &(*link)->next) {
        if (*link != executable) continue;
        *link = executable->next;
        executable_free(executable);
        error = cudaSuccess;
        break;
    }
    pthread_mutex_unlock(&lock);
    return runtime_result(error);
}

/* ---- update: the same nodes and edges, other parameters ------------------------------------------------ */

static int same_edges(const struct CUgraphNode_st *a, const struct CUgraphNode_st *b)
{
    if (a->after.count != b->after.count) return 0;
    for (size_t i = 0; i < a->after.count; i++)
        if (a->after.nodes[i]->index != b->after.nodes[i]->index) return 0;
    return 1;
}

/** What hardware would say of an update of node @p old by @p fresh. */
static enum cudaGraphExecUpdateResult compare_nodes(const struct CUgraphNode_st *old,
                                                    const struct CUgraphNode_st *fresh)
{
    const struct operation *a = &old->operation, *b = &fresh->operation;
    if (type_of(a) != type_of(b)) return cudaGraphExecUpdateErrorNodeTypeChanged;
    if (!same_edges(old, fresh)) return cudaGraphExecUpdateErrorTopologyChanged;
    if (a->kind == OPERATION_COPY && a->as.copy.kind != b->as.copy.kind)
        return cudaGraphExecUpdateErrorParametersChanged;
    return cudaGraphExecUpdateSuccess;
}

static enum cudaGraphExecUpdateResult compare_graphs(const struct CUgraph_st *old,
                                                     const struct CUgraph_st *fresh, cudaGraphNode_t *culprit)
{
    *culprit = NULL;
    if (old->nodes.count != fresh->nodes.count) return cudaGraphExecUpdateErrorTopologyChanged;
    for (size_t i = 0; i < old->nodes.count; i++) {
        enum cudaGraphExecUpdateResult result = compare_nodes(old->nodes.nodes[i], fresh->nodes.nodes[i]);
        if (result == cudaGraphExecUpdateSuccess) continue;
        *culprit = fresh->nodes.nodes[i];
        return result;
    }
    return cudaGraphExecUpdateSuccess;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo *info)
{
    RETURN_IF_LOST();
    if (info == NULL || !executable_is_valid(executable) || !graph_is_valid(graph))
        return runtime_result(cudaErrorInvalidValue);
    info->errorFromNode = NULL;
    info->result = compare_graphs(executable->graph, graph, &info->errorNode);
    if (info->result != cudaGraphExecUpdateSuccess) return runtime_result(cudaErrorGraphExecUpdateFailure);
    struct CUgraph_st *copy = graph_copy(graph);
    if (copy == NULL) return runtime_result(cudaErrorMemoryAllocation);
    graph_free(executable->graph);
    executable->graph = copy;
    return cudaSuccess;
}

/* ---- replay -------------------------------------------------------------------------------------------- */

/** The host's memory and the device's may have been freed since the capture: device ranges are looked at. */
static int ranges_are_valid(const struct operation *o)
{
    if (o->kind == OPERATION_SET)
        return device_range_is_valid(o->site, o->as.set.to,
                                     (o->as.set.rows - 1) * o->as.set.pitch + o->as.set.width, "fills");
    if (o->kind != OPERATION_COPY) return 1;
    const struct copy_operation *c = &o->as.copy;
    int to_device = c->kind == cudaMemcpyHostToDevice || c->kind == cudaMemcpyDeviceToDevice;
    int from_device = c->kind == cudaMemcpyDeviceToHost || c->kind == cudaMemcpyDeviceToDevice;
    if (to_device && !device_range_is_valid(o->site, c->to, (c->rows - 1) * c->to_pitch + c->width, "writes"))
        return 0;
    return !from_device ||
           device_range_is_valid(o->site, c->from, (c->rows - 1) * c->from_pitch + c->width, "reads");
}

void graph_replay(cudaGraphExec_t executable, void (*carry_out)(const struct operation *))
{
    const struct node_set *nodes = &executable->graph->nodes;
    for (size_t i = 0; i < nodes->count && runtime_lost() == cudaSuccess; i++) {
        const struct operation *operation = &nodes->nodes[i]->operation;
        if (ranges_are_valid(operation))
            carry_out(operation);
        else
            runtime_lose(cudaErrorIllegalAddress);
    }
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
    RETURN_IF_LOST();
    if (!executable_is_valid(executable)) return runtime_result(cudaErrorInvalidValue);
    if (!stream_is_valid(stream)) return runtime_result(cudaErrorInvalidResourceHandle);
    struct operation operation = {
        OPERATION_GRAPH, CALLER_SITE("cudaGraphLaunch"), stream, {.graph = executable}};
    return runtime_result(runtime_perform(&operation));
}

/** There is nothing to prepare: a replay reads its nodes where they are. */
cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream)
{
    RETURN_IF_LOST();
    if (!executable_is_valid(executable)) return runtime_result(cudaErrorInvalidValue);
    if (!stream_is_valid(stream)) return runtime_result(cudaErrorInvalidResourceHandle);
    return runtime_result(capture_check_capturable(stream));
}
