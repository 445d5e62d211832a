/**
 * @file parallel.c
 * @brief Threads that live for one piece of work.
 */
#include "parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { MOST_THREADS = 256, LARGE_PAGE = 1 << 21 };

static int limit;

struct job {
    size_t count, piece;
    atomic_size_t next;
    void (*work)(void *context, size_t first, size_t last);
    void *context;
};

void parallel_limit(int threads)
{
    limit = threads;
}

static size_t most_threads(void)
{
    cpu_set_t set;
    if (limit > 0) return (size_t)limit;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    int cores = CPU_COUNT(&set);
    return cores < MOST_THREADS ? (size_t)cores : MOST_THREADS;
}

static void *take_pieces(void *argument)
{
    struct job *job = argument;
    for (;;) {
        size_t first = atomic_fetch_add(&job->next, job->piece);
        if (first >= job->count) return NULL;
        job->work(job->context, first, job->count - first < job->piece ? job->count : first + job->piece);
    }
}

void parallel_for(size_t count, size_t piece, void (*work)(void *context, size_t first, size_t last),
                  void *context)
{
    pthread_t thread[MOST_THREADS];
    struct job job = {.count = count, .piece = piece, .work = work, .context = context};
    size_t pieces = count / piece + (count % piece != 0), helpers = 0;
    size_t wanted = pieces > 1 ? most_threads() : 1;
    if (wanted > pieces) wanted = pieces;
    while (helpers + 1 < wanted && pthread_create(&thread[helpers], NULL, take_pieces, &job) == 0) helpers++;
    take_pieces(&job);
    for (size_t i = 0; i < helpers; i++) pthread_join(thread[i], NULL);
}

void *parallel_memory(size_t bytes)
{
    if (bytes < 2 * LARGE_PAGE) return malloc(bytes + 1);
    size_t rounded = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    void *memory = aligned_alloc(LARGE_PAGE, rounded);
    if (memory != NULL) (void)madvise(memory, rounded, MADV_HUGEPAGE);
    return memory;
}
