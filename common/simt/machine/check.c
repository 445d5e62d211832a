/**
 * @file check.c
 * @brief Every access that the compiler reports: whether it is allowed, and what has to be kept of it.
 *
 * `g++ -fsanitize=thread` puts a call to one of the functions at the end of this file before each load and
 * store. They are the hottest code of the machine: reads that can find nothing new end after a few
 * comparisons, see struct space. Local variables (on the fiber's stack) are nobody's business.
 */
#include "check.h"
#include "arena.h"
#include "counters.h"
#include "devices.h"
#include "distributed_shared.h"
#include "fences.h"
#include "finding.h"
#include "frames.h"
#include "image.h"
#include "lanes.h"
#include "machine.h"
#include "pages.h"
#include "products.h"
#include "settings.h"
#include "share.h"
#include "shadow.h"
#include "sizes.h"
#include "worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct finding finding_of_access(struct worker *w, enum record_kind kind, uintptr_t address,
                                        size_t bytes, int access, const void *pc, enum record_advice advice)
{
    const struct worker *owner = w->cluster != NULL ? simt_owner_of(w, address) : NULL;
    const bool distant = owner != NULL && owner != w;
    const struct worker *whose = distant ? owner : w;
    enum place place = simt_place_of(whose, address);
    uintptr_t where = address;
    if (place == PLACE_SHARED || place == PLACE_DYNAMIC) where -= whose->space[place].base;
    if (place == PLACE_ARENA) where -= ARENA_BASE;
    if (address - w->local.stacks < w->local.stacks_bytes) place = PLACE_LOCAL;
    struct finding f = simt_finding_about(kind, advice, place, where, bytes, simt_actor(w, pc, access));
    if (distant) simt_finding_owner(&f, owner);
    return f;
}

static __attribute__((noreturn)) void refuse(struct worker *w, struct finding *f)
{
    simt_found(w, f);
    simt_abandon(w, simt_error_of(f->kind));
}

void simt_refuse(struct worker *w, enum record_kind kind, uintptr_t address, size_t bytes, int access,
                 const void *pc, enum record_advice advice)
{
    struct finding f = finding_of_access(w, kind, address, bytes, access, pc, advice);
    if (w->trace != NULL) /* so that it shows what the other lanes did beside it */
        simt_count(w, address, bytes, access & ACCESS_KINDS, simt_place_of(w, address), pc);
    refuse(w, &f);
}

void simt_found_access(struct worker *w, enum record_kind kind, uintptr_t address, size_t bytes, int access,
                       const void *pc, enum record_advice advice)
{
    struct finding f = finding_of_access(w, kind, address, bytes, access, pc, advice);
    simt_found(w, &f);
}

void simt_refuse_access(enum record_kind kind, const void *address, size_t bytes, int access,
                        enum record_advice advice, const void *return_address)
{
    struct worker *w = simt_tls_worker;
    if (w != NULL && w->checking)
        simt_refuse(w, kind, (uintptr_t)address, bytes, access, return_address, advice);
}

/* ---- bounds ------------------------------------------------------------------------------------------- */

static bool in_live_range(const struct worker *w, uintptr_t offset, size_t bytes)
{
    for (unsigned i = 0; i < LIVE_RANGES; i++)
        if (simt_lies_in(w->bounds.live[i].start, w->bounds.live[i].end - w->bounds.live[i].start, offset,
                         bytes))
            return true;
    return false;
}

/* A kernel may use memory of another device if its own was given access to it; managed and pinned memory always. */
static void check_device(struct worker *w, uintptr_t address, size_t bytes, int access, const void *pc)
{
    const int mine = simt_working_device(), whose = simt_device_of((void *)address);
    if (whose == mine || simt_arena_host_may(address - ARENA_BASE) || simt_peer_is_enabled(mine, whose))
        return;
    struct finding f =
        finding_of_access(w, RECORD_WRONG_DEVICE, address, bytes, access, pc, RECORD_ADVICE_PEER_ACCESS);
    f.message = RECORD_SAYS_KERNEL_DEVICE;
    f.words.number[0] = mine;
    f.words.number[1] = whose;
    refuse(w, &f);
}

static struct simt_busy *busy;
static size_t busy_count;

void simt_set_busy(struct simt_busy *list, size_t count)
{
    busy = list;
    busy_count = count;
}

/*
 * A finding if another stream may still use these bytes. @p range shrinks to the part of the allocation
 * that needs no further check.
 */
static void check_busy(struct worker *w, uintptr_t address, size_t bytes, int access, const void *pc,
                       struct range *range)
{
    for (size_t i = 0; i < busy_count; i++) {
        const uintptr_t start = (uintptr_t)busy[i].start - ARENA_BASE,
                        end = (uintptr_t)busy[i].end - ARENA_BASE, offset = address - ARENA_BASE;
        if (offset >= end && range->start < end) range->start = end;
        if (offset + bytes <= start && range->end > start) range->end = start;
        if (offset >= end || offset + bytes <= start) continue;
        range->start = range->end = offset;
        if (!busy[i].written && !(access & (SIMT_WRITE | SIMT_ATOMIC))) continue;
        struct finding f = simt_finding_about(RECORD_STREAM_RACE, RECORD_ADVICE_STREAM_IN_USE, PLACE_ARENA,
                                              offset, bytes, simt_actor(w, pc, access));
        f.message = RECORD_SAYS_OTHER_USE;
        f.words.name[0] = busy[i].site.what;
        f.words.other = &busy[i].site;
        simt_found(w, &f);
        return;
    }
}

static void check_arena(struct worker *w, uintptr_t address, size_t bytes, int access, const void *pc)
{
    const uintptr_t offset = address - ARENA_BASE;
    struct range range;
    if (in_live_range(w, offset, bytes)) return;
    if (simt_arena_live(offset, bytes, &range.start, &range.end)) {
        if (simt_device_count() > 1) check_device(w, address, bytes, access, pc);
        if (busy_count > 0) check_busy(w, address, bytes, access, pc, &range);
        w->bounds.live[w->bounds.next_live++ % LIVE_RANGES] = range;
        return;
    }
    if (simt_device_freed((void *)address))
        simt_refuse(w, RECORD_USE_AFTER_FREE, address, bytes, access, pc, RECORD_ADVICE_FREED_BEFORE_LAUNCH);
    simt_refuse(w, RECORD_OUT_OF_BOUNDS, address, bytes, access, pc, RECORD_NO_ADVICE);
}

/* What writes as well is no read. */
static bool only_reads(int access)
{
    return (access & (SIMT_READ | SIMT_WRITE | SIMT_ATOMIC)) == SIMT_READ;
}

static bool is_argument(const struct worker *w, uintptr_t address, size_t bytes, int access)
{
    return only_reads(access) && simt_lies_in(w->bounds.args, w->bounds.args_bytes, address, bytes);
}

/* A graded runner keeps the arguments of a launch among its own variables. */
static void check_variable(struct worker *w, uintptr_t address, size_t bytes, int access, const void *pc)
{
    const struct symbol *symbol = w->bounds.last_variable;
    if (!simt_image.named || is_argument(w, address, bytes, access)) return;
    if (symbol == NULL || address - symbol->start >= symbol->bytes)
        symbol = simt_symbol_before(simt_image.device, simt_image.device_count, address);
    if (symbol == NULL || !simt_lies_in(symbol->start, symbol->bytes, address, bytes))
        simt_refuse(w, RECORD_OUT_OF_BOUNDS, address, bytes, access, pc, RECORD_NO_ADVICE);
    w->bounds.last_variable = symbol;
    if (!only_reads(access) && simt_image_constant(address))
        simt_refuse(w, RECORD_OUT_OF_BOUNDS, address, bytes, access, pc, RECORD_ADVICE_CONSTANT);
}

static bool is_mapped(uintptr_t address)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    unsigned char resident;
    return mincore((void *)(address & ~(page - 1)), 1, &resident) == 0 || errno != ENOMEM;
}

/* Of memory that is not device memory a kernel may read the program's constants, its own arguments and simt_self(). */
static bool is_readable(const struct worker *w, uintptr_t address, size_t bytes)
{
    return simt_lies_in(simt_image.low, simt_image.data - simt_image.low, address, bytes) ||
           is_argument(w, address, bytes, SIMT_READ) ||
           simt_lies_in((uintptr_t)w->thread, sizeof w->thread, address, bytes);
}

static void check_foreign(struct worker *w, uintptr_t address, size_t bytes, int access, const void *pc)
{
    if (only_reads(access) && is_readable(w, address, bytes)) return;
    if (address < 4096) simt_refuse(w, RECORD_OUT_OF_BOUNDS, address, bytes, access, pc, RECORD_ADVICE_NULL);
    if (is_mapped(address))
        simt_refuse(w, RECORD_HOST_POINTER, address, bytes, access, pc, RECORD_ADVICE_HOST_MEMORY);
    simt_refuse(w, RECORD_OUT_OF_BOUNDS, address, bytes, access, pc, RECORD_ADVICE_NO_MEMORY);
}

/* Beside a block's variables lie the machine's own of the same thread. Of those a kernel reads four, and writes none. */
static bool is_index(uintptr_t address, size_t bytes, int access)
{
    const void *const variables[] = {&simt_thread_index, &simt_block_index, &simt_block_extent,
                                     &simt_grid_extent};
    if (!only_reads(access) || bytes > sizeof simt_thread_index) return false;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        if (address - (uintptr_t)variables[i] <= sizeof simt_thread_index - bytes) return true;
    return false;
}

/*
 * The static shared memory of a kernel is that of all functions it calls and of the file, as ptxas adds it up; what a block uses is
 * part of that. (CUDA C++ Programming Guide, "Shared Memory" of each compute capability: static arrays are limited to 48 KB, and all
 * of it to what the launch may have.)
 */
static __attribute__((noinline)) void take_variable(struct worker *w, uintptr_t offset, uintptr_t address,
                                                    size_t bytes, int access, const void *pc)
{
    enum { MOST_STATIC = 48 << 10 };
    const unsigned owner = simt_image.tls_owner[offset];
    const uint32_t block = w->time.block_start;
    if (owner > simt_image.shared_count || w->used[owner] == block) return;
    if (w->used[0] != block) w->used_bytes = 0;
    w->used[0] = w->used[owner] = block;
    w->used_bytes += simt_image.shared[owner - 1].bytes;
    const bool fits = w->used_bytes <= MOST_STATIC;
    const size_t room = w->launch->shared_room;
    if (fits && w->used_bytes + w->launch->dynamic_shared_bytes <= room) return;
    struct finding f = finding_of_access(w, RECORD_UNSUPPORTED, address, bytes, access, pc,
                                         fits ? RECORD_ADVICE_SHARED_ROOM : RECORD_ADVICE_STATIC_SHARED);
    f.message = RECORD_SAYS_SHARED_USED;
    f.words.number[0] = fits ? (int64_t)room : MOST_STATIC;
    f.words.number[1] = fits;
    refuse(w, &f);
}

static void check_bounds(struct worker *w, enum place place, uintptr_t address, size_t bytes, int access,
                         const void *pc)
{
    const uintptr_t offset = address - w->space[place < PLACE_COUNT ? place : 0].base;
    switch (place) {
    case PLACE_ARENA:
        check_arena(w, address, bytes, access, pc);
        break;
    case PLACE_DATA:
        check_variable(w, address, bytes, access, pc);
        break;
    case PLACE_SHARED:
    case PLACE_DYNAMIC:
        if (!simt_shared_holds(w, place, offset, bytes))
            simt_refuse(w, RECORD_OUT_OF_BOUNDS, address, bytes, access, pc,
                        place == PLACE_DYNAMIC ? RECORD_ADVICE_DYNAMIC_BYTES : RECORD_NO_ADVICE);
        if (place == PLACE_SHARED && w->used[simt_image.tls_owner[offset]] != w->time.block_start)
            take_variable(w, offset, address, bytes, access, pc);
        break;
    default:
        check_foreign(w, address, bytes, access, pc);
    }
}

void simt_check_beyond(struct worker *w, uintptr_t address, int access, const void *pc)
{
    const enum place place = simt_place_of(w, address);
    if (place < PLACE_COUNT) check_bounds(w, place, address, 1, access, pc); /* it names the variable */
    simt_refuse(w, RECORD_OUT_OF_BOUNDS, address, 1, access, pc,
                place < PLACE_COUNT ? RECORD_ADVICE_VARIABLE_ENDS : RECORD_ADVICE_LOCAL_ENDS);
}

/* ---- the host ----------------------------------------------------------------------------------------- */

/* Host code touched device memory. It works here, and would not on a GPU. */
static void found_on_host(uintptr_t address, size_t bytes, int access, const void *pc)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const void *seen[64];
    static int count;
    const struct simt_site site = {"unknown", 0, NULL, pc};
    bool known = false;
    if (simt_tls_worker != NULL || !simt_settings.check || simt_written == NULL) return;
    if (address - ARENA_BASE < ARENA_BYTES && simt_arena_host_may(address - ARENA_BASE)) return;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count; i++) known |= seen[i] == pc;
    if (!known && count < 64) seen[count++] = pc;
    known |= count == 64;
    pthread_mutex_unlock(&lock);
    if (known) { /* printed once, but every case that does it has to answer for it */
        simt_finding_again();
        return;
    }
    simt_finding(
        RECORD_HOST_POINTER, &site, RECORD_SAYS_HOST_TOUCHES,
        SIMT_SAYS(.number = {!(access & SIMT_READ)}, .memory = (const void *)address, .bytes = bytes));
}

/* The ends of the section that `__device__` variables lie in; NULL without any. On a GPU the host has none of them. */
extern char __start_simt_device[] __attribute__((weak)), __stop_simt_device[] __attribute__((weak));

static inline bool is_device_memory(uintptr_t address)
{
    return address - ARENA_BASE < ARENA_BYTES ||
           address - (uintptr_t)__start_simt_device < (uintptr_t)(__stop_simt_device - __start_simt_device);
}

void simt_host_access(const void *pointer, size_t bytes, int access, const void *pc)
{
    if (bytes > 0 && is_device_memory((uintptr_t)pointer))
        found_on_host((uintptr_t)pointer, bytes, access, pc);
}

/* ---- the way of an access ----------------------------------------------------------------------------- */

/*
 * If the whole page of the access lies in a live allocation, its bounds are not checked again in this
 * block.
 */
static void note_live(struct worker *w, uintptr_t offset)
{
    struct page *page = simt_page_find(w, simt_page_number(PLACE_ARENA, offset));
    if (page != NULL && !page->live)
        page->live = in_live_range(w, offset / PAGE_BYTES * PAGE_BYTES, PAGE_BYTES);
}

enum { MUST_BE_ALIGNED = 1 << 16 }; /* beside the kinds of access: six arguments fit in registers */

static __attribute__((noinline)) void look_closely(struct worker *w, enum place place, uintptr_t address,
                                                   size_t bytes, int how, const void *pc)
{
    const int access = how & ~MUST_BE_ALIGNED;
    if (w->shadow.pages.count > WHOLE_PAGES && simt_share_overworks(w->shadow.pages.count))
        simt_abandon(w, 0);
    if (place == PLACE_OTHER && w->cluster != NULL &&
        simt_distributed_access(w, address, bytes, access, pc)) {
        const struct worker *owner = simt_owner_of(w, address);
        if (w->checking && simt_place_of(owner, address) == PLACE_SHARED)
            take_variable(w, address - owner->space[PLACE_SHARED].base, address, bytes, access, pc);
        if (w->counting && simt_settings.all_traffic) simt_count(w, address, bytes, access, PLACE_SHARED, pc);
        return;
    }
    if (place == PLACE_SHARED && is_index(address, bytes, access)) return;
    if (w->checking) {
        if (how & MUST_BE_ALIGNED && address % bytes != 0 && !is_argument(w, address, bytes, access))
            simt_refuse(w, RECORD_MISALIGNED, address, bytes, access, pc, RECORD_ADVICE_ALIGN);
        check_bounds(w, place, address, bytes, access, pc);
        if (place < PLACE_COUNT && !(place == PLACE_DATA && simt_image_constant(address)))
            simt_shadow_access(w, place, address - w->space[place].base, bytes, access, simt_pack_pc(pc));
        if (place == PLACE_ARENA) note_live(w, address - ARENA_BASE);
    }
    if (w->counting && place < PLACE_COUNT &&
        !(access & (ACCESS_COPY |
                    ACCESS_PRODUCT))) /* async_copies.c counts those; wgmma reads past the load-store units */
        simt_count(w, address, bytes, access & ACCESS_STORE ? SIMT_WRITE : access, place, pc);
}

static inline bool pair_is_quiet(const struct worker *w, const uint32_t *read_mark)
{
    uint64_t pair;
    memcpy(&pair, read_mark, sizeof pair);
    return pair == w->shadow.block_mark || pair == w->shadow.warp_mark;
}

static inline bool has_read_mark(const struct worker *w, const uint32_t *read_mark, size_t bytes)
{
    if (bytes == 2)
        return *read_mark == (uint32_t)w->shadow.block_mark || *read_mark == (uint32_t)w->shadow.warp_mark;
    for (size_t i = 0; i < bytes / 2; i += 2)
        if (!pair_is_quiet(w, read_mark + i)) return false;
    return true;
}

/* Whether the block's list has the words as read by loads for what the kernel does not write. */
static bool is_listed_constant(const struct worker *w, const struct shadow_cell *c, size_t bytes)
{
    for (size_t i = 0; 4 * i < bytes; i++)
        if (c[i].touch_tick != w->shadow.touch_tick ||
            !(c[i].touched & simt_touched_bit(TOUCH_READ | TOUCH_CONSTANT)))
            return false;
    return true;
}

/* Whether all there is to be said of an access to device memory is that it is the next of a run, or one more of many reads. */
static inline __attribute__((always_inline)) bool is_next(struct worker *w, uintptr_t offset, size_t bytes,
                                                          int access, const void *pc)
{
    struct page *page = simt_page_find(w, simt_page_number(PLACE_ARENA, offset));
    if (page == NULL || !page->live) return false;
    const unsigned first = (unsigned)(offset % PAGE_BYTES);
    if (page->cells != NULL)
        return (access & ~SIMT_CONSTANT) == SIMT_READ && bytes >= 2 &&
               has_read_mark(w, page->cells->read_mark + first / 2, bytes) &&
               (access == SIMT_READ || is_listed_constant(w, &page->cells->cells[first / 4], bytes));
    return page->runs == 1 && simt_run_extend(w, &page->run[0], first, (unsigned)bytes,
                                              simt_run_kind(w, access), simt_pack_pc(pc));
}

static inline __attribute__((always_inline)) void
see_device(struct worker *w, uintptr_t address, size_t bytes, int access, bool aligned, const void *pc)
{
    if (((access & ~SIMT_CONSTANT) == SIMT_READ || access == SIMT_WRITE) && bytes <= 16 &&
        address % bytes == 0 && w->checking && is_next(w, address - ARENA_BASE, bytes, access, pc)) {
        if (w->counting) simt_count(w, address, bytes, access, PLACE_ARENA, pc);
        return;
    }
    look_closely(w, PLACE_ARENA, address, bytes, access | (aligned ? MUST_BE_ALIGNED : 0), pc);
}

static inline __attribute__((always_inline)) void see_shared(struct worker *w, enum place place,
                                                             uintptr_t address, size_t bytes, int access,
                                                             bool aligned, const void *pc)
{
    if (access == SIMT_READ && bytes >= 2 && bytes <= 16 && address % bytes == 0 &&
        has_read_mark(w, w->space[place].read_mark + (address - w->space[place].base) / 2, bytes)) {
        if (w->counting) simt_count(w, address, bytes, access, place, pc);
        return;
    }
    const uintptr_t offset = address - w->space[place].base;
    const bool words = bytes >= 4 && bytes <= 16 && address % bytes == 0 && w->checking && !w->counting;
    if (words && access == SIMT_READ && simt_shadow_read_words(w, place, offset, bytes, simt_pack_pc(pc)))
        return;
    if (words && access == SIMT_WRITE && simt_shadow_write_words(w, place, offset, bytes, simt_pack_pc(pc)))
        return;
    look_closely(w, place, address, bytes, access | (aligned ? MUST_BE_ALIGNED : 0), pc);
}

/* What lies in front of the thread's own stack is for those that overflow: trap.c has a word for them. */
static bool is_on_stack(const struct worker *w, uintptr_t address, size_t bytes)
{
    return simt_lies_in(w->local.base - GUARD_BYTES, STACK_BYTES + GUARD_BYTES, address, bytes);
}

/* What an address in local memory must be a multiple of, less 1: a struct of 16 bytes is one access for the compiler even if 8 are enough. */
static inline __attribute__((always_inline)) uintptr_t local_mask(size_t bytes)
{
    return (bytes < 8 ? bytes : 8) - 1;
}

static inline __attribute__((always_inline)) void see(const void *pointer, size_t bytes, int access,
                                                      bool aligned, const void *pc)
{
    struct worker *w = simt_tls_watch;
    const uintptr_t address = (uintptr_t)pointer;
    if (w == NULL) {
        if (__builtin_expect(is_device_memory(address), 0)) found_on_host(address, bytes, access, pc);
        return;
    }
    if (address - w->local.stacks <
        w->local.stacks_bytes) { /* local memory is the thread's own, but must be aligned, too */
        if (w->checking && !is_on_stack(w, address, bytes))
            simt_refuse(w, RECORD_OUT_OF_BOUNDS, address, bytes, access, pc, RECORD_ADVICE_OTHERS_LOCAL);
        if (access & (SIMT_WRITE | SIMT_ATOMIC) && w->checking &&
            !simt_frames_open(w->current, address, bytes))
            simt_refuse(w, RECORD_OUT_OF_BOUNDS, address, bytes, access, pc, RECORD_ADVICE_LOCAL_ENDS);
        if (aligned && w->checking && (address & local_mask(bytes)) != 0)
            simt_refuse(w, RECORD_MISALIGNED, address, bytes, access, pc, RECORD_ADVICE_ALIGN_LOCAL);
        if (w->local.bytes == 0 && w->checking) simt_product_touch(w, address, bytes, access, pc);
        return;
    }
    if (address - ARENA_BASE < ARENA_BYTES) {
        see_device(w, address, bytes, access, aligned, pc);
        return;
    }
    if (address - w->space[PLACE_SHARED].base < w->space[PLACE_SHARED].bytes) {
        see_shared(w, PLACE_SHARED, address, bytes, access, aligned, pc);
        return;
    }
    if (address - w->space[PLACE_DYNAMIC].base < w->space[PLACE_DYNAMIC].bytes) {
        see_shared(w, PLACE_DYNAMIC, address, bytes, access, aligned, pc);
        return;
    }
    if (is_argument(w, address, bytes, access)) return; /* each thread reads all of them */
    const bool data = address - w->space[PLACE_DATA].base < w->space[PLACE_DATA].bytes;
    look_closely(w, data ? PLACE_DATA : PLACE_OTHER, address, bytes, access | (aligned ? MUST_BE_ALIGNED : 0),
                 pc);
}

/*
 * Most accesses of many kernels are to local memory and well aligned: these are over before anything else
 * is set up.
 */
static inline __attribute__((always_inline)) bool is_aligned_in(uintptr_t start, size_t size,
                                                                const void *pointer, size_t bytes)
{
    /* start and size are whole units: of an aligned unit, its first byte is enough */
    return ((uintptr_t)pointer & local_mask(bytes)) == 0 &&
           (bytes <= OPEN_UNIT ? (uintptr_t)pointer - start < size
                               : simt_lies_in(start, size, (uintptr_t)pointer, bytes));
}

static inline __attribute__((always_inline)) bool is_plain_local_read(const void *pointer, size_t bytes)
{
    const struct worker *w = simt_tls_watch;
    return w != NULL && is_aligned_in(w->local.base, w->local.bytes, pointer, bytes);
}

static inline __attribute__((always_inline)) bool is_plain_local_write(const void *pointer, size_t bytes)
{
    const struct worker *w = simt_tls_watch;
    return w != NULL && is_aligned_in(w->local.open, w->local.open_bytes, pointer, bytes);
}

/*
 * Most reads of shared memory are of words that the block, or the warp, has read since its last barrier:
 * these are over after one comparison.
 */
static inline __attribute__((always_inline)) bool is_usual_read(const void *pointer, size_t bytes)
{
    const struct worker *w = simt_tls_watch;
    if (w == NULL || bytes < 4) return false;
    const uintptr_t offset = (uintptr_t)pointer - w->space[PLACE_SHARED].base;
    return offset < w->space[PLACE_SHARED].bytes && offset % bytes == 0 && !w->counting &&
           has_read_mark(w, w->space[PLACE_SHARED].read_mark + offset / 2, bytes);
}

/* Volatile is how flags were read before there were atomics: the thread may be waiting for one. */
static void see_volatile(const void *pointer, size_t bytes, int access, bool aligned, const void *pc)
{
    struct worker *w = simt_tls_worker;
    if (w != NULL && (uintptr_t)pointer - w->local.stacks >= w->local.stacks_bytes) {
        if (access == SIMT_READ) simt_spin(w, pc);
        w->grid.changes += access == SIMT_WRITE;
        simt_note_volatile(w, pointer, access);
    }
    see(pointer, bytes, access | ACCESS_VOLATILE, aligned, pc);
}

void simt_check(const void *pointer, size_t bytes, int access, bool aligned, const void *pc)
{
    const bool plain = access & (SIMT_WRITE | SIMT_ATOMIC) ? is_plain_local_write(pointer, bytes)
                                                           : is_plain_local_read(pointer, bytes);
    if (bytes > 0 && (aligned || !plain)) see(pointer, bytes, access, aligned, pc);
}

/* The image's writable part is in the arena's question: of it only variables of the program count. */
int simt_is_own_stack(const void *pointer, size_t bytes)
{
    const struct worker *w = simt_tls_worker;
    return w == NULL || is_on_stack(w, (uintptr_t)pointer, bytes);
}

int simt_is_passed(const void *pointer, size_t bytes, const void *low)
{
    const struct worker *w = simt_tls_worker;
    return w == NULL || (simt_is_own_stack(pointer, bytes) &&
                         simt_frames_passed(w->current, (uintptr_t)low, (uintptr_t)pointer, bytes));
}

int simt_is_own_local(const void *pointer, size_t bytes)
{
    const struct worker *w = simt_tls_worker;
    return w == NULL ||
           (simt_is_own_stack(pointer, bytes) && simt_frames_open(w->current, (uintptr_t)pointer, bytes));
}

int simt_reaches(const void *pointer, size_t bytes, int access)
{
    const struct worker *w = simt_tls_worker;
    const uintptr_t address = (uintptr_t)pointer;
    if (w == NULL || bytes > ARENA_BYTES) return w == NULL;
    if (address - w->local.stacks < w->local.stacks_bytes)
        return is_on_stack(w, address, bytes) &&
               (access == SIMT_READ || simt_frames_open(w->current, address, bytes));
    const struct worker *owner = simt_owner_of(simt_tls_worker, address);
    if (owner != NULL) {
        const enum place place = simt_place_of(owner, address);
        return simt_shared_holds(owner, place, address - owner->space[place].base, bytes);
    }
    if (simt_device_contains(pointer, bytes)) return !simt_image_constant(address) || access == SIMT_READ;
    return access == SIMT_READ && is_readable(w, address, bytes);
}

static enum simt_space space_of(struct worker *w, uintptr_t address, size_t bytes)
{
    if (address - w->local.stacks < w->local.stacks_bytes) return SIMT_LOCAL_SPACE;
    if (simt_owner_of(w, address) != NULL) return SIMT_SHARED_SPACE;
    if (is_argument(w, address, bytes, SIMT_READ)) return SIMT_PARAM_SPACE;
    if (simt_image_constant(address) ||
        simt_lies_in(simt_image.low, simt_image.data - simt_image.low, address, bytes))
        return SIMT_CONST_SPACE;
    return simt_is_on_device((const void *)address) ? SIMT_GLOBAL_SPACE : SIMT_ANY_SPACE;
}

/* PTX ISA, "Generic Addressing": what names a state space takes addresses of that space only. Constants have addresses in global memory,
 * too: cudaGetSymbolAddress tells them. */
void simt_demand_space(const void *pointer, size_t bytes, int access, enum simt_space space,
                       const void *return_address)
{
    struct worker *w = simt_tls_worker;
    if (space == SIMT_ANY_SPACE ||
        (space == SIMT_GLOBAL_SPACE && (uintptr_t)pointer - ARENA_BASE < ARENA_BYTES))
        return;
    if (w == NULL || !w->checking) return;
    const enum simt_space found = space_of(w, (uintptr_t)pointer, bytes);
    if (found == space || found == SIMT_ANY_SPACE) return;
    if (space == SIMT_GLOBAL_SPACE && found == SIMT_CONST_SPACE) return;
    struct finding f = finding_of_access(w, RECORD_OUT_OF_BOUNDS, (uintptr_t)pointer, bytes, access,
                                         return_address, RECORD_NO_ADVICE);
    f.message = RECORD_SAYS_STATE_SPACE;
    f.words.number[0] = found;
    f.words.number[1] = space;
    refuse(w, &f);
}

/* Apart, so that the usual way saves no registers. */
static __attribute__((noinline)) void access_outside(const void *address, size_t bytes, int access,
                                                     const void *pc)
{
    simt_demand_space(address, bytes, access, SIMT_GLOBAL_SPACE, pc);
    simt_check(address, bytes, access, false, pc);
}

void simt_access(const void *address, size_t bytes, int access, const void *return_address)
{
    if (simt_tls_watch == NULL) return;
    if (return_address == NULL) return_address = __builtin_return_address(0);
    if (access & SIMT_GLOBAL && (uintptr_t)address - ARENA_BASE >= ARENA_BYTES) {
        access_outside(address, bytes, access & ~SIMT_GLOBAL, return_address);
        return;
    }
    simt_check(address, bytes, access & ~SIMT_GLOBAL, false, return_address);
}

void simt_operand_begin(const void *pointer)
{
    struct worker *w = simt_tls_watch;
    if (w == NULL) return;
    const uintptr_t offset = (uintptr_t)pointer - w->space[PLACE_SHARED].base;
    w->bounds.operand_owner = offset < w->space[PLACE_SHARED].bytes ? simt_image.tls_owner[offset] : 0;
}

void simt_operand_read(const void *address, size_t bytes, const void *return_address)
{
    struct worker *w = simt_tls_watch;
    if (w == NULL) return;
    const uintptr_t at = (uintptr_t)address, offset = at - w->space[PLACE_SHARED].base;
    const enum place place = simt_place_of(w, at);
    if (w->checking && place != PLACE_SHARED && place != PLACE_DYNAMIC)
        simt_refuse(w, RECORD_OUT_OF_BOUNDS, at, bytes, SIMT_READ, return_address, RECORD_ADVICE_MATRIX_ENDS);
    if (w->checking && place == PLACE_SHARED && simt_image.tls_owner[offset] != w->bounds.operand_owner)
        simt_refuse(w, RECORD_OUT_OF_BOUNDS, at, bytes, SIMT_READ, return_address, RECORD_ADVICE_MATRIX_ENDS);
    look_closely(w, place, at, bytes, SIMT_READ | ACCESS_PRODUCT, return_address);
}

void simt_access_own(const void *pointer, size_t bytes, int access, const void *pc)
{
    enum { MOST = 16 };
    /* the compiler has reported it, and machine_code.c could not see that */
    if (simt_tls_watch != NULL && simt_tls_watch->counting &&
        simt_just_counted(simt_tls_watch, (uintptr_t)pointer, bytes, access))
        return;
    for (size_t done = 0; done < bytes; done += MOST)
        see((const char *)pointer + done, bytes - done < MOST ? bytes - done : MOST, access, false, pc);
}

void simt_access_volatile(const void *address, size_t bytes, int access, const void *return_address)
{
    see_volatile(address, bytes, access, true, return_address);
}

/* ---- what the compiler calls -------------------------------------------------------------------------- */

#define CALLER __builtin_return_address(0)

#define READ_AND_WRITE(kind, bytes, look, is_aligned)                                                        \
    void __tsan_##kind##read##bytes(void *p)                                                                 \
    {                                                                                                        \
        look(p, bytes, SIMT_READ, is_aligned, CALLER);                                                       \
    }                                                                                                        \
    void __tsan_##kind##write##bytes(void *p)                                                                \
    {                                                                                                        \
        look(p, bytes, SIMT_WRITE, is_aligned, CALLER);                                                      \
    }

/* What is not over ends with a jump to the next function: so none of the first ones saves a register. */
#define CALLBACKS(bytes)                                                                                     \
    static __attribute__((noinline)) void seldom_read##bytes(void *p, const void *pc)                        \
    {                                                                                                        \
        see(p, bytes, SIMT_READ, true, pc);                                                                  \
    }                                                                                                        \
    static __attribute__((noinline)) void read##bytes(void *p, const void *pc)                               \
    {                                                                                                        \
        if (!is_usual_read(p, bytes)) seldom_read##bytes(p, pc);                                             \
    }                                                                                                        \
    static __attribute__((noinline)) void write##bytes(void *p, const void *pc)                              \
    {                                                                                                        \
        see(p, bytes, SIMT_WRITE, true, pc);                                                                 \
    }                                                                                                        \
    void __tsan_read##bytes(void *p)                                                                         \
    {                                                                                                        \
        if (!is_plain_local_read(p, bytes)) read##bytes(p, CALLER);                                          \
    }                                                                                                        \
    void __tsan_write##bytes(void *p)                                                                        \
    {                                                                                                        \
        if (!is_plain_local_write(p, bytes)) write##bytes(p, CALLER);                                        \
    }                                                                                                        \
    READ_AND_WRITE(unaligned_, bytes, see, false)                                                            \
    READ_AND_WRITE(volatile_, bytes, see_volatile, true)                                                     \
    READ_AND_WRITE(unaligned_volatile_, bytes, see_volatile, false)

/* ---- structs ------------------------------------------------------------------------------------------------ */

static void note_struct(const void *address, size_t bytes, int access)
{
    struct worker *w = simt_tls_worker;
    if (w != NULL)
        w->structs.last[w->structs.next++ % STRUCTS] =
            (struct reported_struct){(uintptr_t)address, bytes, access};
}

int simt_struct_is_reported(const void *address, size_t bytes, int access)
{
    struct worker *w = simt_tls_worker;
    for (unsigned i = 0; w != NULL && i < STRUCTS; i++) {
        struct reported_struct *one = &w->structs.last[i];
        if (one->address != (uintptr_t)address || one->bytes != bytes || one->access != access) continue;
        *one = (struct reported_struct){0};
        return 1;
    }
    return 0;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
CALLBACKS(1)
CALLBACKS(2)
CALLBACKS(4)
CALLBACKS(8)
CALLBACKS(16)

void __tsan_read_range(void *p, size_t bytes)
{
    const struct worker *w = simt_tls_watch;
    note_struct(p, bytes, SIMT_READ);
    if (w != NULL && is_argument(w, (uintptr_t)p, bytes, SIMT_READ))
        return; /* each thread reads its kernel's */
    /* a 4-byte member before an 8-byte one */
    const bool padded = bytes > 8 && ((uintptr_t)p | bytes) % 8 == 0;
    simt_check(p, bytes, SIMT_READ | ACCESS_WHOLE | (padded ? ACCESS_PADDED : 0), false, CALLER);
}
void __tsan_write_range(void *p, size_t bytes)
{
    note_struct(p, bytes, SIMT_WRITE);
    simt_check(p, bytes, SIMT_WRITE | ACCESS_WHOLE, false, CALLER);
}
void __tsan_vptr_update(void **p, void *value)
{
    (void)value;
    see(p, sizeof *p, SIMT_WRITE, true, CALLER);
}
void __tsan_vptr_read(void **p)
{
    see(p, sizeof *p, SIMT_READ, true, CALLER);
}
void __tsan_init(void) {}

void *__tsan_memcpy(void *to, const void *from, size_t bytes)
{
    simt_check(from, bytes, SIMT_READ, false, CALLER);
    simt_check(to, bytes, SIMT_WRITE, false, CALLER);
    return memcpy(to, from, bytes);
}

void *__tsan_memmove(void *to, const void *from, size_t bytes)
{
    simt_check(from, bytes, SIMT_READ, false, CALLER);
    simt_check(to, bytes, SIMT_WRITE, false, CALLER);
    return memmove(to, from, bytes);
}

void *__tsan_memset(void *to, int value, size_t bytes)
{
    simt_check(to, bytes, SIMT_WRITE, false, CALLER);
    return memset(to, value, bytes);
}

/* From -fsanitize-coverage=trace-pc: a basic block was entered. Lanes that enter it together are active lanes. */
void __sanitizer_cov_trace_pc(void)
{
    struct worker *w = simt_tls_watch;
    if (w != NULL && w->counting) simt_count(w, 0, 0, SIMT_READ, PLACE_NONE, CALLER);
}
#pragma GCC diagnostic pop
