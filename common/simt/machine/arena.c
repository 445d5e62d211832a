/**
 * @file arena.c
 * @brief Device memory: one range of addresses, a bit for each byte that was written, allocations kept apart by red zones.
 *
 * The extents cover the arena from its beginning to the highest byte ever used, in order of address. Freed
 * memory rests in quarantine, so that a use after free is seen, and goes back in the order of freeing.
 */
#include "arena.h"
#include "devices.h"
#include "findings.h"
#include "image.h"
#include "launch_order.h"
#include "lines.h"
#include "machine.h"
#include "names.h"
#include "settings.h"
#include "tools.h"
#include "worker.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGNMENT = 256, RED_ZONE_BYTES = 256, CHUNK = 1 << 16 };
#define QUARANTINE_BYTES ((size_t)256 << 20)

enum state { STATE_FREE, STATE_LIVE, STATE_RESTING };

struct extent {
    size_t start, span; /* offset in the arena; bytes including the red zones */
    size_t lead;        /* what comes after the red zone and before the first byte, is nobody's either */
    size_t bytes;       /* as asked for, from start + RED_ZONE_BYTES + lead */
    enum state state;
    unsigned long freed; /* when */
    enum simt_memory memory;
    int device; /* whose it is */
    char *what;
    bool named; /* what is a name, not a call */
    struct simt_site site;
    struct simt_shape shape; /* element_bytes 0: unknown */
    pid_t owner;
};

uint8_t *simt_written, *simt_kept;
bool simt_any_kept, simt_variables_kept;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct vector extents; /* struct extent */
static size_t top, live_bytes, resting_bytes;
static unsigned long frees;

static struct extent *extent_at(size_t i)
{
    return (struct extent *)extents.data + i;
}

void simt_arena_open(void)
{
    if (simt_written != NULL) return;
    void *arena = mmap((void *)ARENA_BASE, ARENA_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (arena != (void *)ARENA_BASE)
        simt_die(
            "cannot reserve %zu GiB of address space at 0x%zx for the device; is there a limit (ulimit -v)?",
            ARENA_BYTES >> 30, (size_t)ARENA_BASE);
    simt_written = simt_reserve(ARENA_BYTES / 8, "what was written on the device");
    simt_kept = simt_reserve(ARENA_BYTES, "what is kept on the device");
}

/* While the arena is sealed no instruction of this process reaches it: for untrusted host code. */
static size_t sealed_bytes;

void simt_arena_seal(int seal)
{
    pthread_mutex_lock(&lock);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (top + page - 1) / page * page;
    if (seal && sealed_bytes == 0 && bytes > 0 && mprotect((void *)ARENA_BASE, bytes, PROT_NONE) == 0)
        sealed_bytes = bytes;
    if (!seal && sealed_bytes > 0 && mprotect((void *)ARENA_BASE, sealed_bytes, PROT_READ | PROT_WRITE) == 0)
        sealed_bytes = 0;
    pthread_mutex_unlock(&lock);
}

/* Index of the extent that covers an offset, or the count. */
static size_t covering(size_t offset)
{
    size_t low = 0, high = extents.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (extent_at(middle)->start <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && offset - extent_at(low - 1)->start < extent_at(low - 1)->span ? low - 1 : extents.count;
}

static size_t user_start(const struct extent *e)
{
    return e->start + RED_ZONE_BYTES + e->lead;
}

/* Sets or clears the bits of these bytes. */
static void mark_written(size_t start, size_t bytes, bool written)
{
    size_t at = start;
    const size_t end = start + bytes;
    simt_launch_order_forget(start, bytes);
    for (; at < end && at % 8 != 0; at++)
        simt_written[at / 8] =
            (uint8_t)((simt_written[at / 8] & ~(1u << at % 8)) | (unsigned)written << at % 8);
    if (end - at >= 8) {
        memset(simt_written + at / 8, written ? 0xff : 0, (end - at) / 8);
        at = end & ~(size_t)7;
    }
    for (; at < end; at++)
        simt_written[at / 8] =
            (uint8_t)((simt_written[at / 8] & ~(1u << at % 8)) | (unsigned)written << at % 8);
}

static bool is_written(size_t at)
{
    return simt_written[at / 8] >> at % 8 & 1;
}

/* Whole pages of a map go back to the operating system; of the rest, the contents are cleared. */
static void give_back_pages(uint8_t *map, size_t start, size_t bytes)
{
    const size_t page = 4096, first = (start + page - 1) & ~(page - 1), last = (start + bytes) & ~(page - 1);
    if (first >= last || sysconf(_SC_PAGESIZE) != (long)page) {
        memset(map + start, 0, bytes);
        return;
    }
    memset(map + start, 0, first - start);
    memset(map + last, 0, start + bytes - last);
    simt_forget(map + first, last - first);
}

/* The memory itself and what is known of it. */
static void give_back(size_t start, size_t bytes)
{
    const size_t page = 4096, first = (start + page - 1) & ~(page - 1), last = (start + bytes) & ~(page - 1);
    const size_t end = start + bytes, whole = (start + 7) & ~(size_t)7, last_whole = end & ~(size_t)7;
    if (whole < last_whole) {
        mark_written(start, whole - start, false);
        simt_launch_order_forget(start, bytes);
        give_back_pages(simt_written, whole / 8, (last_whole - whole) / 8);
        mark_written(last_whole, end - last_whole, false);
    } else {
        mark_written(start, bytes, false);
    }
    if (simt_any_kept) give_back_pages(simt_kept, start, bytes);
    if (first < last && sysconf(_SC_PAGESIZE) == (long)page)
        simt_forget((char *)ARENA_BASE + first, last - first);
}

static void remove_extent(size_t i)
{
    memmove(extent_at(i), extent_at(i + 1), (extents.count - i - 1) * sizeof(struct extent));
    extents.count--;
}

static void make_free(size_t i)
{
    struct extent *e = extent_at(i);
    resting_bytes -= e->span;
    e->state = STATE_FREE;
    free(e->what);
    e->what = NULL;
    if (i + 1 < extents.count && extent_at(i + 1)->state == STATE_FREE) {
        e->span += extent_at(i + 1)->span;
        remove_extent(i + 1);
    }
    if (i > 0 && extent_at(i - 1)->state == STATE_FREE) {
        extent_at(i - 1)->span += extent_at(i)->span;
        remove_extent(i);
    }
}

/* Ends the quarantine of what was freed first, until no more than limit bytes rest. */
static void end_quarantine(size_t limit)
{
    while (resting_bytes > limit) {
        size_t oldest = extents.count;
        for (size_t i = 0; i < extents.count; i++)
            if (extent_at(i)->state == STATE_RESTING &&
                (oldest == extents.count || extent_at(i)->freed < extent_at(oldest)->freed))
                oldest = i;
        make_free(oldest);
    }
}

/* An extent of at least span bytes, or NULL. */
static struct extent *take_extent(size_t span)
{
    for (size_t i = 0; i < extents.count; i++) {
        struct extent *e = extent_at(i);
        if (e->state != STATE_FREE || e->span < span) continue;
        if (e->span == span) return e;
        simt_vector_grow(&extents, sizeof *e);
        memmove(extent_at(i + 1), extent_at(i), (extents.count - 1 - i) * sizeof *e);
        e = extent_at(i);
        e->span = span;
        extent_at(i + 1)->start += span;
        extent_at(i + 1)->span -= span;
        return e;
    }
    if (span > ARENA_BYTES - top) return NULL;
    struct extent *e = simt_vector_grow(&extents, sizeof *e);
    *e = (struct extent){.start = top, .span = span};
    top += span;
    return e;
}

/* ---- the host's memory -------------------------------------------------------------------------------- */

/* What a file says in its first number, or in the number behind a word; SIZE_MAX: nothing. */
static size_t number_in(const char *path, const char *word)
{
    char line[256];
    size_t value = SIZE_MAX;
    FILE *file = fopen(path, "re");
    while (file != NULL && value == SIZE_MAX && fgets(line, sizeof line, file) != NULL) {
        char *end;
        const size_t skip = strlen(word);
        if (strncmp(line, word, skip) != 0) continue;
        const unsigned long long found = strtoull(line + skip, &end, 10);
        if (end != line + skip) value = (size_t)found;
    }
    if (file != NULL) fclose(file);
    return value;
}

/* The memory that the host, or the container, has left: asked once. */
static size_t host_memory(void)
{
    static size_t memory;
    if (memory != 0) return memory;
    const size_t kilobytes = number_in("/proc/meminfo", "MemAvailable:");
    const size_t most = number_in("/sys/fs/cgroup/memory.max", ""),
                 used = number_in("/sys/fs/cgroup/memory.current", "");
    memory = kilobytes == SIZE_MAX ? SIZE_MAX : kilobytes * 1024;
    if (most != SIZE_MAX && used != SIZE_MAX && most - used < memory) memory = most > used ? most - used : 1;
    return memory;
}

static bool trusted;

void simt_trust_allocations(void)
{
    trusted = true;
}

/*
 * Whether the host can hold this many more bytes and their shadow memory, with an eighth to spare. A
 * trusted caller knows that little of its memory is touched.
 */
static bool host_has_room(size_t bytes)
{
    const double each = simt_settings.check ? 3.25 : 1.0;
    return trusted || (live_bytes + bytes <= DEVICE_BYTES &&
                       each * (double)(live_bytes + bytes) <= 0.875 * (double)host_memory());
}

/*
 * Memory that a kernel frees keeps its contents until it is allocated again: accesses made before the free
 * are still to be checked.
 */
static bool heap_rests;

static _Thread_local size_t next_lead;

void simt_lead_next_allocation(size_t bytes)
{
    next_lead = bytes;
}

static _Thread_local struct simt_shape next_shape;

void simt_shape_next_allocation(size_t element_bytes, int rank, const size_t *extent, size_t row_bytes)
{
    next_shape = (struct simt_shape){
        .element_bytes = element_bytes, .row_bytes = row_bytes, .rank = rank, .is_buffer = 1};
    memcpy(next_shape.extent, extent, (size_t)rank * sizeof *extent);
}

static size_t least_room;

void simt_reuse_addresses(size_t room)
{
    pthread_mutex_lock(&lock);
    if (room > 0) end_quarantine(0);
    least_room = room;
    pthread_mutex_unlock(&lock);
}

void *simt_device_alloc(size_t bytes, enum simt_memory memory, const char *name, const struct simt_site *site)
{
    const size_t lead = next_lead;
    const struct simt_shape shape = next_shape;
    next_lead = 0;
    next_shape = (struct simt_shape){0};
    if (bytes > ARENA_BYTES || lead > ARENA_BYTES) return NULL;
    pthread_mutex_lock(&lock);
    simt_arena_open();
    const size_t asked = lead + bytes < least_room ? least_room : lead + bytes;
    const size_t span = (asked + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + 2 * RED_ZONE_BYTES;
    struct extent *e = host_has_room(span) ? take_extent(span) : NULL;
    if (e == NULL && host_has_room(span)) {
        end_quarantine(0);
        e = take_extent(span);
    }
    void *pointer = NULL;
    if (e != NULL) {
        e->state = STATE_LIVE;
        e->lead = lead;
        e->bytes = bytes;
        e->memory = memory;
        e->named = name != NULL || site == NULL;
        e->what = strdup(name != NULL ? name : site != NULL ? site->what : "device memory");
        e->site = site != NULL ? *site : (struct simt_site){0};
        e->shape = shape;
        e->owner = getpid();
        live_bytes += span;
        if (heap_rests) give_back(user_start(e), bytes);
        e->device = simt_tls_worker != NULL ? simt_working_device() : simt_current_device();
        if (memory >= SIMT_MEMORY_MANAGED) mark_written(user_start(e), bytes, true);
        pointer = (char *)ARENA_BASE + user_start(e);
    }
    pthread_mutex_unlock(&lock);
    return pointer;
}

static bool is_heap(const struct extent *e)
{
    return e->memory == SIMT_MEMORY_HEAP;
}

static void rest(struct extent *e)
{
    if (is_heap(e))
        heap_rests = true;
    else
        give_back(user_start(e), e->bytes);
    e->state = STATE_RESTING;
    e->freed = __atomic_fetch_add(&frees, 1, __ATOMIC_RELEASE);
    live_bytes -= e->span;
    resting_bytes += e->span;
}

int simt_device_free(void *pointer)
{
    int status = -1;
    pthread_mutex_lock(&lock);
    const size_t offset = (uintptr_t)pointer - ARENA_BASE;
    const size_t i = covering(offset);
    if (i < extents.count && extent_at(i)->state == STATE_LIVE && user_start(extent_at(i)) == offset) {
        rest(extent_at(i));
        end_quarantine(QUARANTINE_BYTES);
        status = 0;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- questions ---------------------------------------------------------------------------------------- */

int simt_is_device_pointer(const void *pointer)
{
    return (uintptr_t)pointer - ARENA_BASE < ARENA_BYTES;
}

int simt_is_on_device(const void *pointer)
{
    return simt_is_device_pointer(pointer) || simt_is_device_variable(pointer);
}

static bool is_inside(const struct extent *e, size_t offset, size_t bytes)
{
    return e->state == STATE_LIVE && offset >= user_start(e) && offset - user_start(e) <= e->bytes &&
           bytes <= e->bytes - (offset - user_start(e));
}

int simt_device_contains(const void *pointer, size_t bytes)
{
    if (!simt_is_device_pointer(pointer)) return simt_image_variable((uintptr_t)pointer, bytes);
    const size_t offset = (uintptr_t)pointer - ARENA_BASE;
    pthread_mutex_lock(&lock);
    const size_t i = covering(offset);
    int inside = i < extents.count && is_inside(extent_at(i), offset, bytes);
    /* memory of a kernel's malloc() is nothing that a call of the host can name */
    inside = inside && (simt_self() != NULL || extent_at(i)->memory != SIMT_MEMORY_HEAP);
    pthread_mutex_unlock(&lock);
    return inside;
}

bool simt_arena_live(uintptr_t offset, size_t bytes, uintptr_t *start, uintptr_t *end)
{
    pthread_mutex_lock(&lock);
    const size_t i = covering(offset);
    const bool live = i < extents.count && is_inside(extent_at(i), offset, bytes);
    if (live) {
        *start = user_start(extent_at(i));
        *end = *start + extent_at(i)->bytes;
    }
    pthread_mutex_unlock(&lock);
    return live;
}

int simt_device_of(const void *pointer)
{
    if (!simt_is_device_pointer(pointer)) return -1;
    pthread_mutex_lock(&lock);
    const size_t i = covering((uintptr_t)pointer - ARENA_BASE);
    const int device = i < extents.count && extent_at(i)->state != STATE_FREE ? extent_at(i)->device : -1;
    pthread_mutex_unlock(&lock);
    return device;
}

size_t simt_arena_heap_bytes(const void *pointer)
{
    const uintptr_t offset = (uintptr_t)pointer - ARENA_BASE;
    pthread_mutex_lock(&lock);
    const size_t i = simt_is_device_pointer(pointer) ? covering(offset) : extents.count;
    const struct extent *e = i < extents.count ? extent_at(i) : NULL;
    const bool begins = e != NULL && e->state == STATE_LIVE && user_start(e) == offset && is_heap(e);
    const size_t bytes = begins ? e->bytes : 0;
    pthread_mutex_unlock(&lock);
    return bytes;
}

/* Loops of the host over managed memory ask this at every access: each thread remembers the range it asked for last, until
 * something is freed. */
bool simt_arena_host_may(uintptr_t offset)
{
    static _Thread_local size_t start, bytes;
    static _Thread_local unsigned long asked;
    if (offset - start < bytes && asked == __atomic_load_n(&frees, __ATOMIC_ACQUIRE)) return true;
    pthread_mutex_lock(&lock);
    const size_t i = covering(offset);
    const bool may =
        i < extents.count && extent_at(i)->state == STATE_LIVE && extent_at(i)->memory >= SIMT_MEMORY_MANAGED;
    start = may ? user_start(extent_at(i)) : 0;
    bytes = may ? extent_at(i)->bytes : 0;
    asked = frees;
    pthread_mutex_unlock(&lock);
    return may;
}

int simt_host_may(const void *pointer)
{
    return simt_is_device_pointer(pointer) && simt_arena_host_may((uintptr_t)pointer - ARENA_BASE);
}

void simt_device_written(void *pointer, size_t bytes)
{
    if (simt_is_device_pointer(pointer)) mark_written((uintptr_t)pointer - ARENA_BASE, bytes, true);
}

void simt_device_forget(void *pointer, size_t bytes)
{
    if (simt_is_device_pointer(pointer)) mark_written((uintptr_t)pointer - ARENA_BASE, bytes, false);
}

void simt_device_keep(void *pointer, size_t bytes, enum simt_kept kept)
{
    static const uint8_t marks[] = {0, KEPT_INPUT, KEPT_PADDING};
    if (!simt_is_device_pointer(pointer)) return;
    if (kept != SIMT_FREE) simt_any_kept = true;
    if (simt_any_kept) memset(simt_kept + ((uintptr_t)pointer - ARENA_BASE), marks[kept], bytes);
}

ptrdiff_t simt_device_first_kept(const void *pointer, size_t bytes, enum simt_kept *kept)
{
    if (!simt_is_device_pointer(pointer) || !simt_settings.check || !simt_any_kept) return -1;
    const uint8_t *marks = simt_kept + ((uintptr_t)pointer - ARENA_BASE);
    for (size_t i = 0; i < bytes; i++) {
        if (marks[i] == 0) continue;
        *kept = marks[i] & KEPT_INPUT ? SIMT_INPUT : SIMT_PADDING;
        return (ptrdiff_t)i;
    }
    return -1;
}

void simt_keep_variables(int keep)
{
    simt_variables_kept = keep != 0;
}

int simt_is_kept_variable(const void *pointer, size_t bytes)
{
    return simt_variables_kept && simt_settings.check && simt_image_variable((uintptr_t)pointer, bytes);
}

void simt_device_copied(void *to, const void *from, size_t bytes)
{
    if (!simt_is_device_pointer(to)) return;
    const size_t target = (uintptr_t)to - ARENA_BASE, source = (uintptr_t)from - ARENA_BASE;
    if (!simt_is_device_pointer(from) || simt_device_first_uninitialized(from, bytes) < 0) {
        mark_written(target, bytes, true);
        return;
    }
    const bool backwards = source < target; /* overlapping ranges copy like memmove */
    for (size_t n = 0; n < bytes; n++) {
        const size_t i = backwards ? bytes - 1 - n : n;
        mark_written(target + i, 1, is_written(source + i));
    }
}

ptrdiff_t simt_device_first_uninitialized(const void *pointer, size_t bytes)
{
    if (!simt_is_device_pointer(pointer) || !simt_settings.check || simt_settings.sample > 1) return -1;
    const size_t start = (uintptr_t)pointer - ARENA_BASE, end = start + bytes;
    for (size_t at = start; at < end; at++) {
        uint64_t all;
        while (at % 64 == 0 && end - at >= 64 &&
               (memcpy(&all, simt_written + at / 8, sizeof all), all == UINT64_MAX))
            at += 64;
        if (at < end && !is_written(at)) return (ptrdiff_t)(at - start);
    }
    return -1;
}

int simt_device_any_written(const void *pointer, size_t bytes)
{
    const size_t start = (uintptr_t)pointer - ARENA_BASE;
    for (size_t at = start; at < start + bytes; at++) {
        if (at % 8 == 0 && start + bytes - at >= 8 && simt_written[at / 8] == 0)
            at += 7;
        else if (is_written(at))
            return 1;
    }
    return 0;
}

void simt_device_memory(size_t *free_bytes, size_t *total_bytes)
{
    pthread_mutex_lock(&lock);
    const double each = simt_settings.check ? 3.25 : 1.0;
    const double host = 0.875 * (double)host_memory() / each;
    const size_t most = host < (double)DEVICE_BYTES ? (size_t)host : DEVICE_BYTES;
    *free_bytes = most > live_bytes ? most - live_bytes : 0;
    *total_bytes = DEVICE_BYTES;
    pthread_mutex_unlock(&lock);
}

/* ---- reports ------------------------------------------------------------------------------------------ */

static ptrdiff_t rounded_down(ptrdiff_t from, size_t unit)
{
    return from >= 0 ? from / (ptrdiff_t)unit : -((-from + (ptrdiff_t)unit - 1) / (ptrdiff_t)unit);
}

/* How far outside an access is, or that it is partly. */
static void resolve_border(const struct extent *e, ptrdiff_t from, size_t bytes, struct record_memory *memory)
{
    memory->state = e->state == STATE_RESTING ? RECORD_STATE_FREED : RECORD_STATE_LIVE;
    memory->size = e->bytes;
    memory->before = from < 0 ? (uint64_t)-from : 0;
    memory->past = from >= 0 && (size_t)from >= e->bytes ? (size_t)from - e->bytes + 1 : 0;
    memory->crossing = from >= 0 && memory->past == 0 && (size_t)from + bytes > e->bytes;
}

/* A buffer that has a shape names the element: out[0,1,5,17]; outside of it, how many elements from its start. */
static void resolve_buffer(const struct extent *e, ptrdiff_t from, size_t bytes, struct record_memory *memory)
{
    record_copy_text(memory->buffer, sizeof memory->buffer, e->what);
    if ((memory->before == 0 && memory->past == 0) || e->shape.rank == 0) {
        simt_resolve_element(&e->shape, from, bytes, memory);
        return;
    }
    memory->bytes = bytes;
    memory->rank = 1;
    memory->index[0] = rounded_down(from, e->shape.element_bytes);
}

/* Memory without a shape: the index counts what is accessed. The name of an allocation is a variable if the caller knew one. */
static void resolve_plain(const struct extent *e, uintptr_t address, ptrdiff_t from, size_t bytes,
                          struct record_memory *memory)
{
    record_copy_text(memory->buffer, sizeof memory->buffer, e->named ? e->what : "");
    memory->bytes = bytes;
    memory->index[0] = rounded_down(from, bytes);
    memory->address = address;
    if (simt_device_count() > 1) memory->device = 1 + e->device;
    if (e->site.file != NULL) memory->made = simt_site_line(&e->site);
}

/* Bytes at @p offset, as a place in or near @p e. */
static void resolve_by(const struct extent *e, uintptr_t offset, size_t bytes, struct record_memory *memory)
{
    const ptrdiff_t from = (ptrdiff_t)(offset - user_start(e));
    resolve_border(e, from, bytes, memory);
    if (e->shape.element_bytes > 0)
        resolve_buffer(e, from, bytes, memory);
    else
        resolve_plain(e, ARENA_BASE + offset, from, bytes, memory);
}

void simt_arena_resolve(uintptr_t offset, size_t bytes, struct record_memory *memory)
{
    *memory = (struct record_memory){.space = RECORD_SPACE_GLOBAL};
    pthread_mutex_lock(&lock);
    size_t i = covering(offset);
    if (i < extents.count && extent_at(i)->state == STATE_FREE) i = extents.count;
    if (i == extents.count) {
        memory->state = RECORD_STATE_NOWHERE;
        memory->bytes = bytes;
        memory->address = ARENA_BASE + offset;
        pthread_mutex_unlock(&lock);
        return;
    }
    resolve_by(extent_at(i), offset, bytes, memory);
    pthread_mutex_unlock(&lock);
}

/* The index of an element of @p e whose offset, kept in 32 bits, leads to @p offset; -1 if there is none. */
static int64_t wrapped_index(const struct extent *e, uintptr_t offset, size_t bytes)
{
    const size_t element = e->shape.element_bytes > 0 ? e->shape.element_bytes : bytes;
    const ptrdiff_t whole = (ptrdiff_t)(offset - user_start(e)) + (ptrdiff_t)((uint64_t)element << 32);
    return whole >= 0 && (size_t)whole + bytes <= e->bytes ? (int64_t)((size_t)whole / element) : -1;
}

int simt_arena_resolve_near(uintptr_t offset, size_t bytes, struct record_memory *memory, int64_t *meant)
{
    const struct extent *nearest = NULL;
    ptrdiff_t least = (ptrdiff_t)((uint64_t)bytes << 31);
    *meant = -1;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < extents.count && *meant < 0; i++) {
        const struct extent *e = extent_at(i);
        const ptrdiff_t from = (ptrdiff_t)(offset - user_start(e));
        const ptrdiff_t away = from < 0 ? -from : from;
        if (e->state != STATE_LIVE) continue;
        *meant = wrapped_index(e, offset, bytes);
        if (*meant < 0 && away > least) continue;
        least = away;
        nearest = e;
    }
    if (nearest != NULL) {
        *memory = (struct record_memory){.space = RECORD_SPACE_GLOBAL};
        resolve_by(nearest, offset, bytes, memory);
    }
    pthread_mutex_unlock(&lock);
    return nearest != NULL;
}

const char *simt_arena_beside(uintptr_t offset, int after, size_t *distance)
{
    const char *name = NULL;
    pthread_mutex_lock(&lock);
    const size_t i = covering(offset);
    const size_t beside = after ? i + 1 : i - 1;
    if (i < extents.count && beside < extents.count && extent_at(beside)->state == STATE_LIVE) {
        const struct extent *e = extent_at(beside);
        *distance = after ? user_start(e) - offset : offset - user_start(e) - e->bytes;
        name = e->what;
    }
    pthread_mutex_unlock(&lock);
    return name;
}

const char *simt_arena_describe(uintptr_t offset, struct simt_shape *shape)
{
    const char *name = "memory that was freed";
    *shape = (struct simt_shape){.element_bytes = 0};
    pthread_mutex_lock(&lock);
    const size_t i = covering(offset);
    if (i < extents.count && extent_at(i)->state == STATE_LIVE) {
        name = extent_at(i)->what;
        *shape = extent_at(i)->shape;
    }
    pthread_mutex_unlock(&lock);
    return name;
}

void simt_device_resolve(const void *pointer, size_t bytes, struct record_memory *memory)
{
    const uintptr_t address = (uintptr_t)pointer;
    simt_image_load();
    if (simt_is_device_pointer(pointer)) {
        simt_arena_resolve(address - ARENA_BASE, bytes, memory);
        return;
    }
    *memory = (struct record_memory){
        .space = RECORD_SPACE_UNKNOWN, .state = RECORD_STATE_NOWHERE, .address = address};
    const struct symbol *symbol = simt_symbol_before(simt_image.device, simt_image.device_count, address);
    if (symbol == NULL || address - symbol->start >= symbol->bytes) return;
    *memory = (struct record_memory){.space = RECORD_SPACE_VARIABLE,
                                     .rank = 1,
                                     .subscripts = 1,
                                     .index = {(int64_t)((address - symbol->start) / bytes)},
                                     .bytes = bytes,
                                     .size = symbol->bytes};
    record_copy_text(memory->buffer, sizeof memory->buffer, symbol->name);
}

int simt_device_freed(const void *pointer)
{
    if (!simt_is_device_pointer(pointer)) return 0;
    pthread_mutex_lock(&lock);
    const size_t i = covering((uintptr_t)pointer - ARENA_BASE);
    const int freed = i < extents.count && extent_at(i)->state == STATE_RESTING;
    pthread_mutex_unlock(&lock);
    return freed;
}

enum { REPORTERS = 4 };
static void (*report_other_leaks[REPORTERS])(void); /* the runtime's graphs and captures */

void simt_report_leaks_with(void (*report)(void))
{
    int at = 0;
    pthread_mutex_lock(&lock);
    while (at < REPORTERS - 1 && report_other_leaks[at] != NULL && report_other_leaks[at] != report) at++;
    report_other_leaks[at] = report;
    pthread_mutex_unlock(&lock);
}

/* What is live and this process's own of @p device, or of all (-1): what kernels took with malloc(), or everything else but the
 * host's. Returns the first, and counts. */
static struct extent live_of(int device, bool heap, int64_t *count, int64_t *bytes)
{
    struct extent first = {0};
    *count = *bytes = 0;
    for (size_t i = 0; i < extents.count; i++) {
        const struct extent *e = extent_at(i);
        if (e->state != STATE_LIVE || e->owner != getpid() || is_heap(e) != heap)
            continue; /* a parent's memory is the parent's */
        if (device >= 0 && e->device != device) continue;
        if (e->memory == SIMT_MEMORY_PINNED) continue;
        if ((*count)++ == 0) first = *e;
        *bytes += (int64_t)e->bytes;
    }
    return first;
}

static void report_live(const struct extent *first, int64_t count, int64_t bytes)
{
    if (count > 0)
        simt_finding(RECORD_LEAK, first->site.file != NULL ? &first->site : NULL,
                     RECORD_SAYS_ALLOCATIONS_LEFT,
                     SIMT_SAYS(.name = {first->what}, .number = {count, bytes, (int64_t)first->bytes}));
}

static void report_leaks(int device)
{
    int64_t count, bytes;
    pthread_mutex_lock(&lock);
    const struct extent first = live_of(device, false, &count, &bytes);
    pthread_mutex_unlock(&lock);
    if (!simt_settings.check || simt_broken) return;
    for (int i = 0; i < REPORTERS && report_other_leaks[i] != NULL; i++) report_other_leaks[i]();
    report_live(&first, count, bytes);
}

size_t simt_arena_heap_close(void)
{
    int64_t count, bytes;
    pthread_mutex_lock(&lock);
    const struct extent first = live_of(-1, true, &count, &bytes);
    for (size_t i = 0; i < extents.count && count > 0; i++)
        if (extent_at(i)->state == STATE_LIVE && is_heap(extent_at(i))) rest(extent_at(i));
    pthread_mutex_unlock(&lock);
    if (simt_settings.check && !simt_broken) report_live(&first, count, bytes);
    return (size_t)bytes;
}

void simt_device_reset(void)
{
    const int device = simt_current_device();
    report_leaks(device);
    for (int peer = 0; peer < simt_device_count(); peer++) simt_peer_enable(device, peer, 0);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < extents.count; i++)
        if (extent_at(i)->state == STATE_LIVE && extent_at(i)->device == device) rest(extent_at(i));
    pthread_mutex_unlock(&lock);
}

/*
 * The end of the process. A program that ignored a finding must still fail, whatever it returned; leaving by
 * _exit() skips what would come after, so the things people need are done here.
 */
extern void __gcov_dump(void) __attribute__((weak));

__attribute__((destructor)) static void end_process(void)
{
    report_leaks(-1);
    if (simt_finding_count() == 0) return;
    fflush(NULL);
    if (__gcov_dump) __gcov_dump();
    _exit(SIMT_EXIT_FINDINGS);
}
