/**
 * @file freed.c
 * @brief The program's free() and realloc(), which look whether the memory is watched, and pass it on.
 *
 * A graph keeps addresses of host memory; nothing else tells that it has been freed.
 */
#include "freed.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct simt_watched {
    uintptr_t start, end;
    atomic_int loss; /**< enum simt_loss */
    struct simt_watched *next;
};

static struct simt_watched *first;
static atomic_int count; /* of the list: while it is 0, free() costs nothing more */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct simt_watched *simt_freed_watch(uintptr_t start, size_t bytes)
{
    struct simt_watched *watched = malloc(sizeof *watched);
    if (watched == NULL) return NULL;
    *watched = (struct simt_watched){.start = start, .end = start + bytes};
    pthread_mutex_lock(&lock);
    watched->next = first;
    first = watched;
    atomic_fetch_add(&count, 1);
    pthread_mutex_unlock(&lock);
    return watched;
}

void simt_freed_forget(struct simt_watched *watched)
{
    pthread_mutex_lock(&lock);
    struct simt_watched **link = &first;
    while (*link != watched) link = &(*link)->next;
    *link = watched->next;
    atomic_fetch_sub(&count, 1);
    pthread_mutex_unlock(&lock);
    free(watched);
}

enum simt_loss simt_freed_loss(const struct simt_watched *watched)
{
    return (enum simt_loss)atomic_load(&watched->loss);
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
extern void __libc_free(void *memory);
extern void *__libc_realloc(void *memory, size_t bytes);

static void lose(uintptr_t start, size_t bytes, enum simt_loss loss)
{
    pthread_mutex_lock(&lock);
    for (struct simt_watched *w = first; w != NULL; w = w->next)
        if (w->start < start + bytes && start < w->end) atomic_store(&w->loss, (int)loss);
    pthread_mutex_unlock(&lock);
}

static int is_looked_at(const void *memory)
{
    return memory != NULL && atomic_load_explicit(&count, memory_order_relaxed) > 0;
}

void free(void *memory)
{
    if (is_looked_at(memory)) lose((uintptr_t)memory, malloc_usable_size(memory), SIMT_LOSS_FREED);
    __libc_free(memory);
}

void *realloc(void *memory, size_t bytes)
{
    const uintptr_t before = (uintptr_t)memory;
    const size_t usable = is_looked_at(memory) ? malloc_usable_size(memory) : 0;
    void *after = __libc_realloc(memory, bytes);
    if (usable > 0 && (uintptr_t)after != before && (after != NULL || bytes == 0))
        lose(before, usable, SIMT_LOSS_MOVED);
    return after;
}
#endif
