/**
 * @file heap.c
 * @brief malloc() and free() in kernels: memory of the device, out of a heap of limited size.
 *
 * A block that comes to one of them waits until all blocks before it are done, as at an atomic: so addresses, and what is
 * said of them, do not depend on the number of workers.
 */
#include "arena.h"
#include "blocks.h"
#include "check.h"
#include "machine.h"
#include "worker.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

static atomic_size_t limit = 8 << 20, used;

void simt_heap_limit(size_t bytes)
{
    limit = bytes;
}

void simt_heap_close(void)
{
    used -= simt_arena_heap_close();
}

void *simt_heap_alloc(size_t bytes, const void *return_address)
{
    const struct simt_site site = {NULL, 0, "malloc", return_address};
    struct worker *w = simt_tls_worker;
    simt_wait_for_earlier(w);
    if (bytes == 0 || used > limit || bytes > limit - used) return NULL;
    void *pointer = simt_device_alloc(bytes, SIMT_MEMORY_HEAP, "memory from malloc", &site);
    if (pointer != NULL) used += bytes;
    return pointer;
}

void simt_heap_free(void *pointer, const void *return_address)
{
    struct worker *w = simt_tls_worker;
    if (pointer == NULL) return;
    simt_wait_for_earlier(w);
    const size_t bytes = simt_arena_heap_bytes(pointer);
    if (bytes > 0) {
        used -= bytes;
        (void)simt_device_free(pointer);
        memset(w->bounds.live, 0, sizeof w->bounds.live); /* the freed allocation may be among them */
        for (size_t i = 0; i < w->shadow.pages.count; i++) w->shadow.pages.page[i].live = false;
    } else if (simt_device_freed(pointer)) {
        simt_refuse_access(RECORD_USE_AFTER_FREE, pointer, 1, SIMT_WRITE, RECORD_ADVICE_FREED_BEFORE,
                           return_address);
    } else {
        simt_refuse_access(RECORD_OUT_OF_BOUNDS, pointer, 1, SIMT_WRITE, RECORD_ADVICE_KERNEL_HEAP,
                           return_address);
    }
}
