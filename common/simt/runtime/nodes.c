/**
 * @file nodes.c
 * @brief Graphs as data: nodes and their dependencies, copies, and what becomes of graphs that exist.
 */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

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

/** A launch with its arguments in one block of memory: a graph runs it with the arguments' values at
 *  capture. */
struct kept_launch {
    struct simt_launch launch;
    _Alignas(64) char args[];
};

static int operation_keep(struct operation *kept, const struct operation *operation)
{
    *kept = *operation;
    if (operation->kind == OPERATION_COPY) kept->as.copy.host = host_range_keep(operation);
    if (operation->kind != OPERATION_LAUNCH) return 1;
    size_t args_bytes = operation->as.launch.args_bytes;
    size_t room = args_bytes > SIMT_ARGUMENT_ROOM ? args_bytes : SIMT_ARGUMENT_ROOM;
    size_t bytes = (sizeof(struct kept_launch) + room + 63) / 64 * 64;
    struct kept_launch *copy = aligned_alloc(64, bytes);
    if (copy == NULL) return 0;
    memset(copy, 0, bytes);
    copy->launch = *operation->as.launch.launch;
    memcpy(copy->args, copy->launch.args, args_bytes);
    copy->launch.args = copy->args;
    kept->as.launch.launch = &copy->launch;
    return 1;
}

static void operation_drop(struct operation *kept)
{
    if (kept->kind == OPERATION_LAUNCH) free((void *)kept->as.launch.launch);
    if (kept->kind == OPERATION_COPY) host_range_drop(kept->as.copy.host);
}

/* ---- graphs -------------------------------------------------------------------------------------------- */

struct CUgraph_st *graph_new(struct simt_site site)
{
    struct CUgraph_st *graph = calloc(1, sizeof(*graph));
    if (graph == NULL) return NULL;
    graph->object = object_new(site);
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

struct CUgraph_st *graph_copy(const struct CUgraph_st *graph)
{
    struct CUgraph_st *copy = graph_new(graph->object.site);
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

/* ---- those that exist ------------------------------------------------------------------------------------ */

/** Called by the machine when it looks for leaks. */
static void report_leaked_graphs(void)
{
    if (runtime_lost() != cudaSuccess) return; /* graphs of the lost context cannot be destroyed any more */
    objects_report(OBJECT_GRAPH, 0, 0);
    objects_report(OBJECT_EXECUTABLE, 0, 0);
}

void graphs_watch_leaks(void)
{
    simt_report_leaks_with(report_leaked_graphs);
}

void graph_publish(struct CUgraph_st *graph)
{
    graphs_watch_leaks();
    object_add(OBJECT_GRAPH, &graph->object);
}

int graph_destroy(struct CUgraph_st *graph)
{
    const int found = object_forget(OBJECT_GRAPH, graph);
    if (found) graph_free(graph);
    return found;
}

static void executable_free(struct CUgraphExec_st *executable)
{
    graph_free(executable->graph);
    free(executable);
}

struct CUgraphExec_st *executable_new(const struct CUgraph_st *graph, struct simt_site site)
{
    struct CUgraphExec_st *e = calloc(1, sizeof(*e));
    if (e != NULL) e->graph = graph_copy(graph);
    if (e == NULL || e->graph == NULL) {
        free(e);
        return NULL;
    }
    e->object = object_new(site);
    object_add(OBJECT_EXECUTABLE, &e->object);
    return e;
}

int executable_destroy(struct CUgraphExec_st *executable)
{
    const int found = object_forget(OBJECT_EXECUTABLE, executable);
    if (found) executable_free(executable);
    return found;
}

void graphs_forget(void)
{
    struct CUgraph_st *g;
    struct CUgraphExec_st *e;
    while ((g = object_take(OBJECT_GRAPH)) != NULL) graph_free(g);
    while ((e = object_take(OBJECT_EXECUTABLE)) != NULL) executable_free(e);
}
