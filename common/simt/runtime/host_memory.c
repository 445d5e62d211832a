/**
 * @file host_memory.c
 * @brief Host memory that copies of a graph use: whether it is still the memory that it was when the copy was captured.
 *
 * A node keeps the address. If the memory has been freed since, a replay reads what is there now, or overwrites it. So the
 * program's free() and realloc() are these here, which only look whether the memory belongs to a graph, and pass it on. A local
 * array is gone if it lay, on the stack of the same thread, deeper than the call that replays the graph.
 */
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "graph.h"

/** How host memory is no longer what it was; the same numbers as in the sentence. */
enum loss { LOSS_NONE, LOSS_FREED, LOSS_MOVED, LOSS_RETURNED };

struct host_range {
    uintptr_t start, end;
    atomic_int nodes; /**< that have it */
    atomic_int lost;  /**< enum loss */
    int on_stack;     /**< of the thread that captured it */
    pthread_t thread;
    struct host_range *next;
};

static struct host_range *ranges;
static atomic_int range_count; /* length of `ranges`: while it is 0, free() costs nothing more */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

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
    const uintptr_t start = (uintptr_t)(reads ? c->from : c->to);
    range = malloc(sizeof *range);
    if (range == NULL) return NULL;
    *range = (struct host_range){.start = start,
                                 .end = start +
                                        bytes_of_rows(c->rows, reads ? c->from_pitch : c->to_pitch, c->width),
                                 .nodes = 1,
                                 .on_stack = is_on_stack(start),
                                 .thread = pthread_self()};
    pthread_mutex_lock(&lock);
    range->next = ranges;
    ranges = range;
    atomic_fetch_add(&range_count, 1);
    pthread_mutex_unlock(&lock);
    return range;
}

void host_range_drop(struct host_range *range)
{
    if (range == NULL || atomic_fetch_sub(&range->nodes, 1) > 1) return;
    pthread_mutex_lock(&lock);
    struct host_range **link = &ranges;
    while (*link != range) link = &(*link)->next;
    *link = range->next;
    atomic_fetch_sub(&range_count, 1);
    pthread_mutex_unlock(&lock);
    free(range);
}

static _Thread_local uintptr_t replayed_from;

void host_ranges_replayed_from(const void *frame)
{
    replayed_from = (uintptr_t)frame;
}

int host_range_is_there(const struct operation *operation)
{
    const struct copy_operation *c = &operation->as.copy;
    const struct host_range *range = operation->kind == OPERATION_COPY ? c->host : NULL;
    if (range == NULL) return 1;
    int loss = atomic_load(&range->lost);
    if (loss == LOSS_NONE && range->on_stack && pthread_equal(range->thread, pthread_self()) &&
        range->start < replayed_from)
        loss = LOSS_RETURNED;
    if (loss == LOSS_NONE) return 1;
    simt_finding(
        RECORD_USE_AFTER_FREE, &operation->site, RECORD_SAYS_HOST_MEMORY_GONE,
        SIMT_SAYS(.name = {operation->site.what},
                  .number = {c->kind == cudaMemcpyDeviceToHost, (int64_t)(c->rows * c->width), loss - 1}));
    return 0;
}

/* ---- the program's own free() and realloc() ------------------------------------------------------------- */

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
extern void __libc_free(void *memory);
extern void *__libc_realloc(void *memory, size_t bytes);

/* The memory of @p bytes bytes from @p start on is no longer its owner's. */
static void lose(uintptr_t start, size_t bytes, enum loss loss)
{
    pthread_mutex_lock(&lock);
    for (struct host_range *r = ranges; r != NULL; r = r->next)
        if (r->start < start + bytes && start < r->end && !r->on_stack) atomic_store(&r->lost, (int)loss);
    pthread_mutex_unlock(&lock);
}

void free(void *memory)
{
    if (memory != NULL && atomic_load_explicit(&range_count, memory_order_relaxed) > 0)
        lose((uintptr_t)memory, malloc_usable_size(memory), LOSS_FREED);
    __libc_free(memory);
}

void *realloc(void *memory, size_t bytes)
{
    const int watched = memory != NULL && atomic_load_explicit(&range_count, memory_order_relaxed) > 0;
    const uintptr_t before = (uintptr_t)memory;
    const size_t usable = watched ? malloc_usable_size(memory) : 0;
    void *after = __libc_realloc(memory, bytes);
    if (watched && (uintptr_t)after != before && (after != NULL || bytes == 0))
        lose(before, usable, LOSS_MOVED);
    return after;
}
#endif
