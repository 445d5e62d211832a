/**
 * @file window.c
 * @brief Shared memory as PTX addresses it: by an offset into a window of 32 bits, as on hardware.
 *
 *     0       1024                                                  256 K
 *     | kept  | dynamic shared memory ...   ... | __shared__ variables |
 *
 * The program's __shared__ variables, of all its kernels, need not fit: each is given its place when a thread of the launch
 * first asks for its offset, from the end of the window down, with a gap behind it. So all offsets have 18 bits, as the
 * descriptors of wgmma need, and are the same in all blocks. What finds no place, or is no variable that is known, lies at 512 K.
 *
 * In a cluster of several blocks each block's window is one of a row, 16 MB from the next: the bits from 24
 * on are the block's rank. So an offset says whose memory it is of, as on hardware, and is one of
 * `.shared::cluster` everywhere.
 *
 * An offset and the pointer it stands for agree in their last ten bits, so that what is aligned one way is aligned the
 * other way.
 */
#include "window.h"
#include "check.h"
#include "finding.h"
#include "image.h"
#include "machine.h"
#include "worker.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum {
    DYNAMIC_OFFSET = 1 << 10,
    WINDOW_END = 1 << 18,
    BEYOND = 1 << 19,
    ALIGNED = 1 << 10,
    GAP = 64,
    PLACED = 128,
    RANK_SHIFT = 24
};

/* Thread-local memory begins at a multiple of this in every thread of the host. */
static _Thread_local _Alignas(ALIGNED) __attribute__((used)) char aligned_as_the_window;

/** Variables that have a place in the window of the running launch. */
static struct {
    pthread_mutex_t lock;
    atomic_uint count;
    uint64_t lowest; /**< what is taken begins here */
    struct {
        uintptr_t start; /**< in the block's static shared memory */
        size_t bytes;
        uint64_t offset;
    } variable[PLACED];
} placed = {.lock = PTHREAD_MUTEX_INITIALIZER, .lowest = WINDOW_END};

void simt_window_begin(void)
{
    placed.count = 0;
    placed.lowest = WINDOW_END;
}

static bool is_shared(const struct worker *w, uintptr_t address)
{
    const enum place place = simt_place_of(w, address);
    return place == PLACE_SHARED || place == PLACE_DYNAMIC;
}

/* The index of the variable that begins at @p start, given its place if it has none; PLACED: there is none. */
static unsigned place_variable(const struct worker *w, uintptr_t start, size_t bytes)
{
    unsigned i = 0;
    pthread_mutex_lock(&placed.lock);
    const unsigned count = placed.count;
    while (i < count && placed.variable[i].start != start) i++;
    const uint64_t room = (bytes + GAP + ALIGNED - 1) & ~(uint64_t)(ALIGNED - 1);
    const uint64_t taken = DYNAMIC_OFFSET + w->launch->dynamic_shared_bytes + room + ALIGNED;
    if (i == count && (count == PLACED || placed.lowest < taken)) i = PLACED;
    if (i == count) {
        placed.lowest = (placed.lowest - room - ALIGNED) & ~(uint64_t)(ALIGNED - 1);
        placed.variable[i].start = start;
        placed.variable[i].bytes = bytes;
        placed.variable[i].offset = placed.lowest + (w->space[PLACE_SHARED].base + start) % ALIGNED;
        placed.count = count + 1;
    }
    pthread_mutex_unlock(&placed.lock);
    return i;
}

static uint64_t offset_of_variable(const struct worker *w, uintptr_t at)
{
    for (unsigned i = 0; i < placed.count; i++)
        if (at - placed.variable[i].start < placed.variable[i].bytes)
            return placed.variable[i].offset + (at - placed.variable[i].start);
    const struct symbol *s = simt_symbol_before(simt_image.shared, simt_image.shared_count, at);
    const unsigned i = s != NULL ? place_variable(w, s->start, s->bytes) : (unsigned)PLACED;
    return i < PLACED ? placed.variable[i].offset + (at - s->start) : BEYOND + at;
}

int simt_is_shared_pointer(const void *pointer)
{
    return simt_tls_worker != NULL && is_shared(simt_tls_worker, (uintptr_t)pointer);
}

int simt_rank_of_pointer(const void *pointer)
{
    const struct worker *owner =
        simt_tls_worker != NULL ? simt_owner_of(simt_tls_worker, (uintptr_t)pointer) : NULL;
    return owner == NULL ? -1 : owner->cluster != NULL ? (int)owner->member.rank : 0;
}

static uint64_t offset_in(const struct worker *w, uintptr_t address)
{
    if (address - w->space[PLACE_DYNAMIC].base <= w->space[PLACE_DYNAMIC].bytes)
        return address - w->space[PLACE_DYNAMIC].base + DYNAMIC_OFFSET;
    return offset_of_variable(w, address - w->space[PLACE_SHARED].base);
}

uint64_t simt_shared_offset(const void *pointer)
{
    struct worker *w = simt_tls_worker;
    const uintptr_t address = (uintptr_t)pointer;
    if (w == NULL) return address;
    if (w->cluster == NULL) return offset_in(w, address);
    const struct worker *owner = simt_owner_of(w, address);
    if (owner == NULL) return offset_in(w, address);
    return offset_in(owner, address) | (uint64_t)owner->member.rank << RANK_SHIFT;
}

static void *address_in(const struct worker *w, uint64_t offset)
{
    if (offset >= BEYOND) return (void *)(uintptr_t)(w->space[PLACE_SHARED].base + offset - BEYOND);
    for (unsigned i = 0; i < placed.count; i++)
        if (offset - placed.variable[i].offset < placed.variable[i].bytes + GAP)
            return (void *)(uintptr_t)(w->space[PLACE_SHARED].base + placed.variable[i].start + offset -
                                       placed.variable[i].offset);
    return (void *)(uintptr_t)(w->space[PLACE_DYNAMIC].base + offset - DYNAMIC_OFFSET);
}

/* The worker of the block that an offset names, or NULL. */
static const struct worker *worker_of(const struct worker *w, uint64_t offset)
{
    if (w->cluster == NULL) return w;
    return offset >> RANK_SHIFT < w->cluster->size ? w->cluster->block[offset >> RANK_SHIFT] : NULL;
}

void *simt_shared_address(uint64_t offset)
{
    const struct worker *w = simt_tls_worker;
    if (w == NULL) return (void *)(uintptr_t)offset;
    const struct worker *owner = worker_of(w, offset);
    if (owner == NULL) return address_in(w, offset);
    return address_in(owner, w->cluster != NULL ? offset & ((1u << RANK_SHIFT) - 1) : offset);
}

/* ---- ranks -------------------------------------------------------------------------------------------- */

static unsigned size_of_cluster(const struct worker *w)
{
    return w->cluster != NULL ? w->cluster->size : 1;
}

static struct worker *running(const struct simt_site *site)
{
    if (simt_tls_worker == NULL)
        simt_stop(site, RECORD_UNSUPPORTED, RECORD_SAYS_HOST_CODE, SIMT_SAYS(.name = {site->what}));
    return simt_tls_worker;
}

static void check_rank(const struct simt_site *site, const struct worker *w, unsigned rank)
{
    if (rank < size_of_cluster(w)) return;
    simt_stop(site, RECORD_OUT_OF_BOUNDS, RECORD_SAYS_CLUSTER_RANK,
              SIMT_SAYS(.name = {site->what}, .number = {rank, size_of_cluster(w)}));
}

void *simt_pointer_of_rank(const struct simt_site *site, void *pointer, unsigned rank)
{
    struct worker *w = running(site);
    const struct worker *owner = simt_owner_of(w, (uintptr_t)pointer);
    check_rank(site, w, rank);
    if (owner == NULL)
        simt_stop(site, RECORD_OUT_OF_BOUNDS, RECORD_SAYS_NO_SHARED_POINTER, SIMT_SAYS(.name = {site->what}));
    if (w->cluster == NULL) return pointer;
    const enum place place = simt_place_of(owner, (uintptr_t)pointer);
    return (void *)((uintptr_t)pointer - owner->space[place].base +
                    w->cluster->block[rank]->space[place].base);
}

uint64_t simt_offset_of_rank(const struct simt_site *site, uint64_t offset, unsigned rank)
{
    struct worker *w = running(site);
    check_rank(site, w, rank);
    if (w->cluster == NULL) return offset;
    return (offset & ((1u << RANK_SHIFT) - 1)) | (uint64_t)rank << RANK_SHIFT;
}

uint64_t simt_own_window(void)
{
    const struct worker *w = simt_tls_worker;
    return w == NULL || w->cluster == NULL ? 0 : (uint64_t)w->member.rank << RANK_SHIFT;
}

int simt_rank_of_offset(uint64_t offset)
{
    const struct worker *w = simt_tls_worker;
    return w == NULL || w->cluster == NULL ? 0 : (int)(offset >> RANK_SHIFT);
}

/* What an address that lies in no shared memory looks like. */
static enum record_advice look_of(const struct worker *w, uint64_t offset)
{
    for (enum place place = PLACE_SHARED; place <= PLACE_DYNAMIC; place++) {
        const struct space *s = &w->space[place];
        if (offset - s->base < s->bytes) return RECORD_ADVICE_GENERIC;
        if (offset >> 32 == 0 && (uint32_t)(offset - s->base) < s->bytes) return RECORD_ADVICE_GENERIC_CUT;
    }
    return RECORD_ADVICE_NO_SHARED;
}

void *simt_shared_checked(uint64_t offset, size_t bytes, int access, const void *return_address)
{
    struct worker *w = simt_tls_worker;
    void *address = simt_shared_address(offset);
    if (w == NULL || !w->checking) return address;
    if (w->cluster != NULL && offset >> RANK_SHIFT != w->member.rank && worker_of(w, offset) != NULL &&
        simt_owner_of(w, (uintptr_t)address) != NULL)
        simt_refuse(w, RECORD_OUT_OF_BOUNDS, (uintptr_t)address, bytes, access, return_address,
                    RECORD_ADVICE_OTHER_BLOCK);
    if (!is_shared(w, (uintptr_t)address))
        simt_refuse(w, RECORD_OUT_OF_BOUNDS, (uintptr_t)offset, bytes, access, return_address,
                    look_of(w, offset));
    return address;
}

void *simt_cluster_checked(uint64_t offset, size_t bytes, int access, const void *return_address)
{
    struct worker *w = simt_tls_worker;
    if (w == NULL || w->cluster == NULL) return simt_shared_checked(offset, bytes, access, return_address);
    void *address = simt_shared_address(offset);
    if (w->checking && (worker_of(w, offset) == NULL || simt_owner_of(w, (uintptr_t)address) == NULL))
        simt_refuse(w, RECORD_OUT_OF_BOUNDS, (uintptr_t)offset, bytes, access, return_address,
                    RECORD_ADVICE_NO_CLUSTER_SHARED);
    return address;
}

struct simt_cluster_place simt_cluster_place(void)
{
    const struct worker *w = simt_tls_worker;
    struct simt_cluster_place p = {.blocks = {1, 1, 1}, .size = 1};
    if (w == NULL) return p;
    const struct simt_extent asked = w->launch->cluster, grid = w->launch->grid, at = simt_block_index;
    p.is_explicit = asked.x != 0;
    if (p.is_explicit) p.blocks = asked;
    p.size = p.blocks.x * p.blocks.y * p.blocks.z;
    p.block = (struct simt_extent){at.x % p.blocks.x, at.y % p.blocks.y, at.z % p.blocks.z};
    p.cluster = (struct simt_extent){at.x / p.blocks.x, at.y / p.blocks.y, at.z / p.blocks.z};
    p.clusters = (struct simt_extent){grid.x / p.blocks.x, grid.y / p.blocks.y, grid.z / p.blocks.z};
    p.rank = p.block.x + p.blocks.x * (p.block.y + p.blocks.y * p.block.z);
    return p;
}

size_t simt_dynamic_shared_bytes(void)
{
    return simt_tls_worker != NULL ? simt_tls_worker->launch->dynamic_shared_bytes : 0;
}
