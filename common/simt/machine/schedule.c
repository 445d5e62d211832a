/**
 * @file schedule.c
 * @brief Runs one block: its warps in order, of each warp the lanes that can run, each until it must wait.
 *
 * Lanes hand over to each other directly; the scheduler, on the OS thread's own stack, gets the word back
 * when no lane of the warp is ready. A fiber that finished its thread takes the next fresh lane, so that a
 * kernel in which nobody waits runs on one fiber.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

SIMT_HOT struct simt_extent simt_thread_index, simt_block_index, simt_block_extent, simt_grid_extent;
static SIMT_HOT const struct simt_identity *simt_tls_self;

const struct simt_identity *simt_self(void)
{
    return simt_tls_self;
}

/* ---- a worker ----------------------------------------------------------------------------------------- */

static void open_space(struct space *s, uintptr_t base, size_t bytes)
{
    s->base = base;
    s->bytes = bytes;
    s->quiet = simt_reserve(2 * bytes + 64, "a worker's read marks");
    s->cells = simt_reserve((bytes / 4 + 1) * sizeof *s->cells, "a worker's race cells");
    s->ready = simt_reserve(bytes / SPACE_CHUNK + 1, "a worker's marks");
}

static void forget_cells(struct worker *w)
{
    for (int i = 0; i < PLACE_COUNT; i++) {
        simt_forget(w->space[i].quiet, 2 * w->space[i].bytes + 64);
        simt_forget(w->space[i].cells, (w->space[i].bytes / 4 + 1) * sizeof(struct cell));
        simt_forget(w->space[i].ready, w->space[i].bytes / SPACE_CHUNK + 1);
    }
    w->touched = 0;
}

struct worker *simt_worker_new(void)
{
    struct worker *w = simt_reserve(sizeof *w, "a worker");
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    w->stack_bytes = MAX_THREADS * (STACK_BYTES + page) + page;
    w->stack_base = (uintptr_t)simt_reserve(w->stack_bytes, "the threads' stacks");
    madvise((void *)w->stack_base, w->stack_bytes, MADV_NOHUGEPAGE);
    /* After the dynamic shared memory comes a red zone as large as it: a long step too far is still seen. */
    char *dynamic = simt_reserve(2 * DYNAMIC_SHARED_BYTES, "dynamic shared memory");
    open_space(&w->space[PLACE_ARENA], ARENA_BASE, ARENA_BYTES);
    open_space(&w->space[PLACE_DATA], simt_image.data, simt_image.data_end - simt_image.data);
    open_space(&w->space[PLACE_SHARED], 0, simt_image.tls_bytes);
    open_space(&w->space[PLACE_DYNAMIC], (uintptr_t)dynamic, 2 * DYNAMIC_SHARED_BYTES);
    if (simt_settings.counters != NULL)
        w->log = simt_reserve(WARP_LANES * sizeof *w->log, "the counters' logs");
    w->checking = simt_settings.check;
    w->counting = simt_settings.counters != NULL;
    return w;
}

void simt_worker_attach(struct worker *w)
{
    w->space[PLACE_SHARED].base = simt_image_tls();
    simt_trap_stack();
}

/* ---- fibers ------------------------------------------------------------------------------------------- */

static void fiber_main(void);

static void prepare(struct fiber *fiber)
{
    fiber->context = simt_fiber_prepare(fiber->stack + STACK_BYTES - 128 * fiber->colour, fiber_main);
}

static struct fiber *take_fiber(struct worker *w)
{
    struct fiber *fiber = w->free_fibers;
    if (fiber != NULL) {
        w->free_fibers = fiber->next_free;
        return fiber;
    }
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *guard = (char *)w->stack_base + w->fiber_count * (STACK_BYTES + page);
    mprotect(guard, page, PROT_NONE); /* if there are too many mappings, then without */
    fiber = &w->fiber[w->fiber_count];
    fiber->stack = guard + page;
    fiber->colour = w->fiber_count % 24;
    w->fiber_count++;
    prepare(fiber);
    return fiber;
}

static void give_fiber(struct worker *w, struct fiber *fiber)
{
    fiber->next_free = w->free_fibers;
    w->free_fibers = fiber;
}

/* ---- lanes -------------------------------------------------------------------------------------------- */

/* The next ready lane of the running warp in SIMT_ORDER, or -1. */
static int next_lane(const struct worker *w)
{
    const unsigned ready = w->warp->ready;
    if (ready == 0) return -1;
    if (simt_settings.order == ORDER_FORWARD) return __builtin_ctz(ready);
    if (simt_settings.order == ORDER_REVERSE) return 31 - __builtin_clz(ready);
    for (int i = 0;; i++)
        if (ready >> w->lane_order[i] & 1) return w->lane_order[i];
}

/* Makes a lane the running one; a fresh one begins here. */
static void enter_lane(struct worker *w, unsigned lane)
{
    struct warp *warp = w->warp;
    struct thread *t = &w->thread[(unsigned)(warp - w->warp_of) * WARP_LANES + lane];
    if (warp->fresh >> lane & 1) {
        t->identity.block = simt_block_index;
        t->fiber = NULL;
        t->wait = WAIT_NONE;
        t->spins = t->pauses = 0;
        t->grids_waited = false;
        t->copies.count = 0;
        t->copy_group = 0;
    }
    warp->ready &= ~(1u << lane);
    w->current = t;
    w->thread_index = (unsigned)(t - w->thread);
    simt_tls_self = &t->identity;
    simt_thread_index = t->identity.thread;
}

/* The context to go on with after this one has nothing to do. */
static void *next_context(struct worker *w)
{
    const int lane = next_lane(w);
    if (lane < 0) return w->scheduler;
    enter_lane(w, (unsigned)lane);
    struct thread *t = w->current;
    if (!(w->warp->fresh >> lane & 1)) return t->context;
    w->warp->fresh &= ~(1u << lane);
    t->fiber = take_fiber(w);
    return t->fiber->context;
}

void simt_suspend(struct worker *w)
{
    struct thread *t = w->current;
    t->spins = 0;
    simt_fiber_switch(&t->context, next_context(w));
}

static void fiber_main(void)
{
    struct worker *w = simt_tls_worker;
    for (;;) {
        struct thread *t = w->current;
        struct fiber *fiber = t->fiber;
        w->launch->entry(w->launch->args);
        t->fiber = NULL;
        w->warp->exited |= 1u << w->thread_index % WARP_LANES;
        const int lane = next_lane(w);
        if (lane >= 0 && w->warp->fresh >> lane & 1) {
            enter_lane(w, (unsigned)lane);
            w->warp->fresh &= ~(1u << lane);
            w->current->fiber = fiber;
            continue;
        }
        give_fiber(w, fiber);
        simt_fiber_switch(&fiber->context, next_context(w));
    }
}

void simt_abandon(struct worker *w, int error)
{
    void *nowhere;
    w->abandoned = true;
    w->result->error = error;
    simt_fiber_switch(&nowhere, w->scheduler);
    abort(); /* nobody returns to an abandoned thread */
}

/* A lock another thread holds is only released if that one gets to run. */
void simt_spin(struct worker *w, const void *pc)
{
    enum { SPINS = 4096, PAUSES = 4000 };
    struct thread *t = w->current;
    if (++t->spins < SPINS) return;
    if (++t->pauses == PAUSES) {
        struct finding f = {.kind = "deadlock",
                            .place = PLACE_OTHER,
                            .seen = 1,
                            .text = strdup("a thread waits for ever for a value to change,"),
                            .remark =
                                "a block must not wait for what a later block does: it may not have begun"};
        f.actor[0] = (struct actor){w->block, simt_pack_pc(pc), (uint16_t)w->thread_index, SIMT_ATOMIC, NULL};
        simt_found(w, &f);
        simt_abandon(w, 702);
    }
    w->warp->spinning |= 1u << w->thread_index % WARP_LANES;
    simt_suspend(w);
}

void simt_found(struct worker *w, struct finding *finding)
{
    if (finding->place == PLACE_DYNAMIC && w->dynamic_name != NULL) {
        finding->text = strdup(w->dynamic_name);
        finding->element_bytes = w->dynamic_element_bytes;
    }
    simt_finding_add(&w->result->findings, finding);
}

void *simt_dynamic_shared(const char *name, size_t element_bytes)
{
    struct worker *w = simt_tls_worker;
    if (w == NULL) return NULL;
    w->dynamic_name = name;
    w->dynamic_element_bytes = element_bytes;
    return (void *)w->space[PLACE_DYNAMIC].base;
}

/* ---- a block ------------------------------------------------------------------------------------------ */

static void shuffle(uint8_t *order, unsigned count, uint64_t seed)
{
    for (unsigned i = 0; i < count; i++) order[i] = (uint8_t)simt_permuted(i, count, seed);
}

void simt_worker_begin(struct worker *w, const struct simt_launch *launch)
{
    const struct simt_extent shape = launch->block;
    w->launch = launch;
    w->threads = shape.x * shape.y * shape.z;
    w->warps = (w->threads + WARP_LANES - 1) / WARP_LANES;
    simt_block_extent = shape;
    simt_grid_extent = launch->grid;
    w->args = (uintptr_t)launch->args;
    w->dynamic_name = NULL;
    for (unsigned i = 0; i < w->threads; i++) {
        struct simt_identity *id = &w->thread[i].identity;
        id->thread = (struct simt_extent){i % shape.x, i / shape.x % shape.y, i / shape.x / shape.y};
        id->block_dim = shape;
        id->grid_dim = launch->grid;
        id->lane = i % WARP_LANES;
        id->warp = i / WARP_LANES;
        id->dynamic_shared = (void *)w->space[PLACE_DYNAMIC].base;
    }
}

static void begin_block(struct worker *w)
{
    const struct simt_extent grid = w->launch->grid;
    if (w->clock > 0xf0000000u ||
        w->touched > (8u << 20)) { /* ticks run out, or memory is better given back */
        forget_cells(w);
        if (w->clock > 0xf0000000u) w->clock = 0;
    }
    simt_block_index =
        (struct simt_extent){(unsigned)(w->block % grid.x), (unsigned)(w->block / grid.x % grid.y),
                             (unsigned)(w->block / grid.x / grid.y)};
    for (unsigned i = 0; i < w->warps; i++) {
        struct warp *warp = &w->warp_of[i];
        const unsigned lanes = w->threads - i * WARP_LANES;
        warp->lanes = warp->ready = warp->fresh = lanes >= WARP_LANES ? UINT32_MAX : (1u << lanes) - 1;
        warp->exited = warp->gathering = warp->at_barrier = warp->asking = warp->at_block_barrier = 0;
        warp->paused = warp->spinning = 0;
    }
    if (simt_settings.order == ORDER_RANDOM) {
        const uint64_t seed = simt_mix(simt_settings.seed ^ simt_mix(w->block));
        shuffle(w->lane_order, WARP_LANES, seed);
        shuffle(w->warp_order, w->warps, seed + 1);
    }
    w->split.count = 0;
    w->phase = 1;
    w->fence_phase = 0;
    w->waited = w->abandoned = false;
    w->warp = NULL;
    w->touch_tick = ++w->clock;
    simt_order_all(w);
    w->block_start = w->last_barrier;
}

/* The fibers of threads that will never go on. */
static void take_back_fibers(struct worker *w)
{
    for (unsigned i = 0; i < w->threads; i++) {
        struct thread *t = &w->thread[i];
        const struct warp *warp = &w->warp_of[i / WARP_LANES];
        if (warp->fresh >> i % WARP_LANES & 1 || t->fiber == NULL) continue;
        prepare(t->fiber);
        give_fiber(w, t->fiber);
        t->fiber = NULL;
    }
    for (unsigned lane = 0; w->counting && lane < WARP_LANES; lane++) w->log[lane].count = 0;
}

/* Runs a warp until none of its lanes can go on. Returns whether anything ran. */
static bool run_warp(struct worker *w, struct warp *warp)
{
    bool ran = false;
    warp->ready |= warp->spinning;
    warp->spinning = 0;
    if (warp->ready == 0) return false;
    w->warp = warp;
    w->tick = warp->tick;
    w->warp_quiet = warp->quiet;
    do {
        ran = true;
        simt_fiber_switch(&w->scheduler, next_context(w));
        if (w->abandoned) break;
        if (w->counting) simt_counters_flush(w, warp->paused);
    } while (simt_resolve_warp(w, warp));
    return ran;
}

static unsigned warp_at(const struct worker *w, unsigned i)
{
    if (simt_settings.order == ORDER_FORWARD) return i;
    return simt_settings.order == ORDER_REVERSE ? w->warps - 1 - i : w->warp_order[i];
}

void simt_run_block(struct worker *w)
{
    bool ran;
    begin_block(w);
    simt_tls_worker = w;
    simt_tls_watch = w->checking || w->counting ? w : NULL;
    do {
        ran = false;
        for (unsigned i = 0; i < w->warps && !w->abandoned; i++)
            ran |= run_warp(w, &w->warp_of[warp_at(w, i)]);
        if (!ran && !w->abandoned) ran = simt_resolve_block(w);
    } while (ran && !w->abandoned && !simt_launch_stopped(w));
    if (ran) take_back_fibers(w);
    simt_tls_worker = simt_tls_watch = NULL;
    simt_tls_self = NULL;
}
