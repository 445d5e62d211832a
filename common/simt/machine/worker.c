/**
 * @file worker.c
 * @brief What runs now: the worker of the calling OS thread, the CUDA thread on it, the pool of OS threads. Everybody
 *        reads it, so it stands below all others.
 */
#include "worker.h"
#include "arena.h"
#include "finding.h"
#include "machine.h"

#include <stdbool.h>

SIMT_HOT struct worker *simt_tls_watch;
SIMT_HOT struct worker *simt_tls_worker;
SIMT_HOT const struct simt_identity *simt_tls_self;
SIMT_HOT struct simt_extent simt_thread_index, simt_block_index, simt_block_extent, simt_grid_extent;

struct pool simt_pool;
bool simt_broken;

void simt_device_is_broken(void)
{
    simt_broken = true;
}

int simt_pool_threads(void)
{
    return simt_pool.started;
}

const struct simt_identity *simt_self(void)
{
    return simt_tls_self;
}

/* The device has no timing: its clock advances when it is read, so that loops that wait for it end soon. Each thread has one of
 * its own: a clock of all would be memory, from which one thread reads how long another one slept (PTX: nanosleep t takes between 0
 * and 2 t, so on a GPU nothing can be read there). */
enum { CYCLES_A_CALL = 100, CYCLES_A_NANOSECOND = 2 };

long long simt_clock(void)
{
    struct worker *w = simt_tls_worker;
    return w != NULL ? w->current->cycles += CYCLES_A_CALL : 0;
}

void simt_sleep(unsigned nanoseconds)
{
    struct worker *w = simt_tls_worker;
    if (w != NULL) w->current->cycles += (long long)CYCLES_A_NANOSECOND * nanoseconds;
}

void *simtcc_dynamic_shared(const char *name, size_t element_bytes)
{
    struct worker *w = simt_tls_worker;
    if (w == NULL) return NULL;
    w->dynamic_name = simt_image_text(name) ? name : "unknown";
    w->dynamic_element_bytes = element_bytes;
    return (void *)w->space[PLACE_DYNAMIC].base;
}

bool simt_shared_holds(const struct worker *w, enum place place, uintptr_t offset, size_t bytes)
{
    const size_t dynamic = w->launch->dynamic_shared_bytes;
    return place == PLACE_DYNAMIC
               ? simt_lies_in(0, dynamic < DYNAMIC_SHARED_BYTES ? dynamic : DYNAMIC_SHARED_BYTES, offset,
                              bytes)
               : simt_image_shared(offset, bytes);
}

enum place simt_place_of(const struct worker *w, uintptr_t address)
{
    if (address - ARENA_BASE < ARENA_BYTES) return PLACE_ARENA;
    for (enum place place = PLACE_DYNAMIC; place >= PLACE_DATA; place--)
        if (address - w->space[place].base < w->space[place].bytes) return place;
    return PLACE_OTHER;
}

unsigned simt_foreign_actor(const struct worker *w, unsigned thread)
{
    return FOREIGN + (w->member.rank * w->threads + thread) / w->cluster->grain;
}

struct actor simt_foreign(const struct worker *w, unsigned actor, uint32_t pc, int access)
{
    const unsigned thread = (actor - FOREIGN) * w->cluster->grain;
    return (struct actor){w->cluster->block[thread / w->threads]->block, pc, (uint16_t)(thread % w->threads),
                          (uint8_t)access, NULL};
}

static bool has_shared(const struct worker *w, uintptr_t address)
{
    return address - w->space[PLACE_SHARED].base < w->space[PLACE_SHARED].bytes ||
           address - w->space[PLACE_DYNAMIC].base < w->space[PLACE_DYNAMIC].bytes;
}

struct worker *simt_owner_of(struct worker *w, uintptr_t address)
{
    const struct cluster *c = w->cluster;
    if (has_shared(w, address)) return w;
    for (unsigned i = 0; c != NULL && i < c->size; i++)
        if (has_shared(c->at[i], address)) return c->at[i];
    return NULL;
}
