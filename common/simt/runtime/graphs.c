/**
 * @file graphs.c
 * @brief The interface of graphs and executable graphs: instantiation, update, launch. Nodes are in nodes.c,
 *        capture is in capture.c, and replay in operations.c.
 */
#include "graph.h"

/* ---- graphs -------------------------------------------------------------------------------------------- */

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
    runtime_makes(CALLER_SITE("cudaGraphDestroy"), SIMT_NO_OBJECTS);
    RETURN_IF_LOST();
    return runtime_result(graph_destroy(graph) ? cudaSuccess : cudaErrorInvalidValue);
}

/** Copies the nodes of @p set into an array with room for *@p count; without an array, only counts them. */
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

static int graphs_are_refused;

void simt_refuse_graphs(int refuse)
{
    graphs_are_refused = refuse;
}

static cudaError_t instantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long flags,
                               struct simt_site site)
{
    runtime_makes(site, SIMT_NO_OBJECTS);
    const unsigned long long harmless = cudaGraphInstantiateFlagAutoFreeOnLaunch |
                                        cudaGraphInstantiateFlagUpload |
                                        cudaGraphInstantiateFlagUseNodePriority;
    RETURN_IF_LOST();
    RETURN_IF_UNSAFE();
    if (executable == NULL || !object_exists(OBJECT_GRAPH, graph))
        return runtime_result(cudaErrorInvalidValue);
    *executable = NULL;
    if (graphs_are_refused) return runtime_result(cudaErrorStreamCaptureUnsupported);
    if (flags & cudaGraphInstantiateFlagDeviceLaunch)
        return runtime_refuse(site, RECORD_SAYS_NO_DEVICE_GRAPH);
    if (flags & ~harmless) return runtime_result(cudaErrorInvalidValue);
    *executable = executable_new(graph, site);
    return runtime_result(*executable != NULL ? cudaSuccess : cudaErrorMemoryAllocation);
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
    RETURN_IF_LOST();
    RETURN_IF_UNSAFE();
    return runtime_result(executable_destroy(executable) ? cudaSuccess : cudaErrorInvalidValue);
}

/* ---- update: the same nodes and edges, other parameters ------------------------------------------------ */

static int same_edges(const struct CUgraphNode_st *a, const struct CUgraphNode_st *b)
{
    if (a->after.count != b->after.count) return 0;
    for (size_t i = 0; i < a->after.count; i++)
        if (a->after.nodes[i]->index != b->after.nodes[i]->index) return 0;
    return 1;
}

/** The error that hardware would return for an update of node @p old by @p fresh. */
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
    if (info == NULL || !object_exists(OBJECT_EXECUTABLE, executable) || !object_exists(OBJECT_GRAPH, graph))
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

/* ---- launch -------------------------------------------------------------------------------------------- */

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
    RETURN_IF_LOST();
    if (!object_exists(OBJECT_EXECUTABLE, executable)) return runtime_result(cudaErrorInvalidValue);
    if (!stream_is_valid(stream)) return runtime_result(cudaErrorInvalidResourceHandle);
    struct operation operation = {OPERATION_GRAPH,
                                  CALLER_SITE("cudaGraphLaunch"),
                                  stream,
                                  stream_device(stream),
                                  {.graph = executable}};
    host_ranges_replayed_from(__builtin_frame_address(0));
    return runtime_result(runtime_perform(&operation));
}

/** There is nothing to prepare: a replay reads its nodes in place. */
cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream)
{
    RETURN_IF_LOST();
    if (!object_exists(OBJECT_EXECUTABLE, executable)) return runtime_result(cudaErrorInvalidValue);
    if (!stream_is_valid(stream)) return runtime_result(cudaErrorInvalidResourceHandle);
    return runtime_result(capture_check_capturable(stream));
}
