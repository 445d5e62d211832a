/**
 * @file captured_memory.c
 * @brief Host memory that copies of a graph use: whether it is still the memory that it was when the copy was captured.
 *
 * A node keeps the address. If the memory has been freed since, a replay reads what is there now, or overwrites it. A local array
 * is gone if it lay, on the stack of the same thread, deeper than the call that replays the graph.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "../machine/freed.h"
#include "graph.h"

struct host_range {
    uintptr_t start;
    atomic_int nodes;             /**< that have it */
    struct simt_watched *watched; /**< NULL: it is on the stack */
    pthread_t thread;             /**< that captured it */
};

/* Whether @p address lies on the stack of the calling thread, in a function that has not returned. */
static int is_on_stack(uintptr_t address)
{
    static _Thread_local uintptr_t top;
    pthread_attr_t attributes;
    void *lowest;
    size_t bytes;
    if (top == 0 && pthread_getattr_np(pthread_self(), &attributes) == 0) {
        if (pthread_attr_getstack(&attributes, &lowest, &bytes) == 0) top = (uintptr_t)lowest + bytes;
        pthread_attr_destroy(&attributes);
    }
    return address > (uintptr_t)__builtin_frame_address(0) && address < top;
}

struct host_range *host_range_keep(const struct operation *operation)
{
    const struct copy_operation *c = &operation->as.copy;
    struct host_range *range = c->host;
    if (range != NULL) {
        atomic_fetch_add(&range->nodes, 1);
        return range;
    }
    if (c->kind != cudaMemcpyHostToDevice && c->kind != cudaMemcpyDeviceToHost) return NULL;
    const int reads = c->kind == cudaMemcpyHostToDevice;
    range = malloc(sizeof *range);
    if (range == NULL) return NULL;
    *range = (struct host_range){
        .start = (uintptr_t)(reads ? c->from : c->to), .nodes = 1, .thread = pthread_self()};
    if (!is_on_stack(range->start))
        range->watched = simt_freed_watch(
            range->start, bytes_of_rows(c->rows, reads ? c->from_pitch : c->to_pitch, c->width));
    return range;
}

void host_range_drop(struct host_range *range)
{
    if (range == NULL || atomic_fetch_sub(&range->nodes, 1) > 1) return;
    if (range->watched != NULL) simt_freed_forget(range->watched);
    free(range);
}

static _Thread_local uintptr_t replayed_from;

void host_ranges_replayed_from(const void *frame)
{
    replayed_from = (uintptr_t)frame;
}

int host_range_is_there(const struct operation *operation)
{
    enum { WAS_FREED, WAS_MOVED, HAS_RETURNED } how = HAS_RETURNED; /* as in the sentence */
    const struct copy_operation *c = &operation->as.copy;
    const struct host_range *range = operation->kind == OPERATION_COPY ? c->host : NULL;
    if (range == NULL) return 1;
    if (range->watched != NULL) {
        const enum simt_loss loss = simt_freed_loss(range->watched);
        if (loss == SIMT_LOSS_NONE) return 1;
        how = loss == SIMT_LOSS_MOVED ? WAS_MOVED : WAS_FREED;
    } else if (!pthread_equal(range->thread, pthread_self()) || range->start >= replayed_from) {
        return 1;
    }
    simt_finding(RECORD_USE_AFTER_FREE, &operation->site, RECORD_SAYS_HOST_MEMORY_GONE,
                 SIMT_SAYS(.name = {operation->site.what}, .number = {c->kind == cudaMemcpyDeviceToHost,
                                                                      (int64_t)(c->rows * c->width), how}));
    return 0;
}
