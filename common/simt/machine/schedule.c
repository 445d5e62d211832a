/**
 * @file schedule.c
 * @brief Runs one block: its warps in order, of each warp the lanes that can run, each until it must wait.
 *
 * The scheduler runs on the OS thread's own stack. Lanes hand over to each other (lanes.c); the scheduler
 * runs again when no lane of the warp is ready.
 */
#include "schedule.h"
#include "arena.h"
#include "blocks.h"
#include "bulk_copies.h"
#include "cluster_barrier.h"
#include "cluster_schedule.h"
#include "convergence.h"
#include "counters.h"
#include "distributed_shared.h"
#include "finding.h"
#include "flags.h"
#include "frames.h"
#include "happens_before.h"
#include "image.h"
#include "lanes.h"
#include "machine.h"
#include "mbarrier.h"
#include "named_barrier.h"
#include "pages.h"
#include "products.h"
#include "registers.h"
#include "settings.h"
#include "shadow.h"
#include "sizes.h"
#include "tools.h"
#include "trace.h"
#include "trap.h"
#include "undefined.h"
#include "vector_clocks.h"
#include "worker.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- a worker ----------------------------------------------------------------------------------------- */

static void open_space(struct space *s, uintptr_t base, size_t bytes)
{
    s->base = base;
    s->bytes = bytes;
    s->read_mark = simt_reserve(2 * bytes + 64, "a worker's read marks");
    s->cells = simt_reserve((bytes / 4 + 1) * sizeof *s->cells, "a worker's race cells");
    s->ready = simt_reserve(bytes / SPACE_CHUNK + 1, "a worker's marks");
}

static void forget_cells(struct worker *w)
{
    simt_pages_forget(w);
    if (w->clocks.of != NULL) {
        simt_forget(w->clocks.of, (MAX_THREADS + NAMED_BARRIERS) * sizeof *w->clocks.of);
        simt_forget(w->clocks.block, sizeof *w->clocks.block);
    }
    if (w->mbarriers.at != NULL) simt_forget(w->mbarriers.at, MBARRIERS * sizeof *w->mbarriers.at);
    simt_flags_forget(w);
    simt_forget(w->used, (OWNER_UNKNOWN + 1) * sizeof *w->used);
    for (int i = PLACE_SHARED; i <= PLACE_DYNAMIC; i++) {
        simt_forget(w->space[i].read_mark, 2 * w->space[i].bytes + 64);
        simt_forget(w->space[i].cells, (w->space[i].bytes / 4 + 1) * sizeof(struct shadow_cell));
        simt_forget(w->space[i].ready, w->space[i].bytes / SPACE_CHUNK + 1);
    }
}

struct worker *simt_worker_new(void)
{
    struct worker *w = simt_reserve(sizeof *w, "a worker");
    w->local.stacks_bytes = MAX_THREADS * (STACK_BYTES + GUARD_BYTES) + GUARD_BYTES;
    /* Of constant arrays the compiler reports no reads, and looks for their end only: below them lie no more than other stacks. */
    w->local.stacks = (uintptr_t)simt_reserve_below(ARENA_BASE, w->local.stacks_bytes, "the threads' stacks");
    madvise((void *)w->local.stacks, w->local.stacks_bytes, MADV_NOHUGEPAGE);
    w->local.unreported = simt_frames_unreported();
    /*
     * After the dynamic shared memory comes a red zone of the same size, so that an access far past the end
     * is still found.
     */
    char *dynamic = simt_reserve(2 * DYNAMIC_SHARED_BYTES, "dynamic shared memory");
    w->space[PLACE_ARENA] = (struct space){.base = ARENA_BASE, .bytes = ARENA_BYTES};
    w->space[PLACE_DATA] =
        (struct space){.base = simt_image.data, .bytes = simt_image.data_end - simt_image.data};
    simt_pages_open(w);
    open_space(&w->space[PLACE_SHARED], 0, simt_image.tls_bytes);
    w->used = simt_reserve((OWNER_UNKNOWN + 1) * sizeof *w->used, "a worker's variables");
    open_space(&w->space[PLACE_DYNAMIC], (uintptr_t)dynamic, 2 * DYNAMIC_SHARED_BYTES);
    w->counting = simt_settings.counters != NULL || simt_settings.trace != NULL;
    if (w->counting) w->log = simt_reserve(WARP_LANES * sizeof *w->log, "the counters' logs");
    w->checking = simt_settings.check;
    w->time.clock = &w->time.own_clock;
    return w;
}

void simt_worker_attach(struct worker *w)
{
    w->space[PLACE_SHARED].base = simt_image_tls();
    simt_trap_stack();
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
    memset(w->bounds.live, 0, sizeof w->bounds.live); /* the host may have freed some since */
    w->threads = shape.x * shape.y * shape.z;
    w->warps = (w->threads + WARP_LANES - 1) / WARP_LANES;
    simt_block_extent = shape;
    simt_grid_extent = launch->grid;
    w->bounds.args = (uintptr_t)launch->args;
    w->bounds.args_bytes = launch->args_bytes > SIMT_ARGUMENT_ROOM ? launch->args_bytes : SIMT_ARGUMENT_ROOM;
    w->dynamic_name = NULL;
    for (unsigned i = 0; i < w->threads; i++) {
        struct simt_identity *id = &w->thread[i].identity;
        id->thread = (struct simt_extent){i % shape.x, i / shape.x % shape.y, i / shape.x / shape.y};
        id->block_dim = shape;
        id->grid_dim = launch->grid;
        id->lane = i % WARP_LANES;
        id->warp = i / WARP_LANES;
    }
}

static void begin_block(struct worker *w)
{
    const struct simt_extent grid = w->launch->grid;
    if (w->cluster != NULL ? w->cluster->forget : w->time.own_clock > 0xf0000000u) { /* ticks run out */
        forget_cells(w);
        w->time.own_clock = 0;
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
        shuffle(w->schedule.lane_order, WARP_LANES, seed);
        shuffle(w->schedule.warp_order, w->warps, seed + 1);
    }
    simt_named_begin(w);
    simt_mbarriers_begin(w);
    simt_products_begin(w);
    simt_cluster_begin(w);
    simt_distributed_begin(w);
    simt_registers_begin(w);
    simt_bulk_begin(w);
    simt_flags_begin(w);
    w->shadow.split.count = 0;
    w->time.phase = 1;
    w->grid.fences = 0;
    w->grid.met = w->grid.acquired = false;
    w->grid.has_turn = w->abandoned = false;
    w->grid.last.address = NULL;
    w->grid.turn = w->grid.sharing = 0;
    w->warp = NULL;
    w->trace = simt_trace_begin(w);
    w->shadow.touch_tick = ++*w->time.clock;
    simt_order_block(w);
    w->time.block_start = w->time.all_ordered_before = w->time.last_barrier;
    if (w->cluster != NULL) simt_clocks_open(w);
}

/* Drops threads that will never go on. */
static void drop_lanes(struct worker *w)
{
    simt_lanes_drop(w);
    if (w->counting) simt_counters_drop(w);
}

/* Runs a warp until none of its lanes can go on. Returns whether anything ran. */
static bool run_warp(struct worker *w, struct warp *warp)
{
    bool ran = false;
    warp->ready |= warp->spinning;
    warp->spinning = 0;
    if (warp->ready == 0) return false;
    w->warp = warp;
    w->time.tick = warp->tick;
    w->shadow.warp_mark = simt_read_mark_pair(warp->read_mark);
    do {
        ran = true;
        simt_lanes_run(w);
        if (w->abandoned) break;
        if (w->counting) simt_counters_flush(w, warp->paused);
    } while (simt_resolve_warp(w, warp));
    return ran;
}

static unsigned warp_at(const struct worker *w, unsigned i)
{
    if (simt_settings.order == ORDER_FORWARD) return i;
    return simt_settings.order == ORDER_REVERSE ? w->warps - 1 - i : w->schedule.warp_order[i];
}

/* All blocks of a cluster are checked, or none. */
static bool is_checked(const struct worker *w)
{
    const uint64_t number = w->cluster != NULL ? w->result->cluster - 1 : w->block;
    return simt_settings.check && number % simt_settings.sample == 0;
}

void simt_begin_block(struct worker *w)
{
    simt_cluster_schedule_begin(w);
    begin_block(w);
    simt_cluster_schedule_begun(w);
    if (w->cluster != NULL) /* nothing a block does comes before the beginning of the others */
        for (unsigned i = 0; i < w->warps; i++) simt_new_tick(w, &w->warp_of[i]);
    w->checking = is_checked(w);
    w->schedule.rounds_spun = 0;
    simt_tls_worker = w;
    simt_tls_watch = w->checking || w->counting ? w : NULL;
}

bool simt_run_block(struct worker *w)
{
    enum { ROUNDS = 2 }; /* in the first one some threads may not yet have come to what others wait for */
    /* rounds in which the last warp of a random order runs only if the others wait: they get far ahead of it */
    enum { LATE = 64 };
    unsigned rounds = 0;
    bool ran;
    do {
        ran = false;
        for (unsigned i = 0; i < w->warps && !w->abandoned; i++) {
            const bool late = simt_settings.order == ORDER_RANDOM && i + 1 == w->warps && rounds < LATE;
            if (!late || !ran || w->schedule.spun) ran |= run_warp(w, &w->warp_of[warp_at(w, i)]);
        }
        rounds++;
        w->schedule.rounds_spun = w->schedule.spun ? w->schedule.rounds_spun + 1 : 0;
        if (w->schedule.spun && !w->abandoned) simt_cluster_schedule_yield(w);
        w->schedule.spun = false;
        if (!ran && !w->abandoned) ran = simt_resolve_block(w);
        if (w->schedule.rounds_spun >= ROUNDS && w->cluster == NULL && !w->abandoned) return true;
    } while (ran && !w->abandoned && !simt_launch_stopped(w));
    w->schedule.ran = ran;
    return false;
}

void simt_end_block(struct worker *w)
{
    simt_undefined_end_block(w);
    if (w->schedule.ran) drop_lanes(w);
    if (w->abandoned) simt_cluster_schedule_stop(w);
    simt_products_end(w);
    simt_registers_end(w);
    simt_bulk_end(w);
    simt_distributed_end(w);
    simt_pages_end_block(w);
    simt_tls_worker = simt_tls_watch = NULL;
    simt_tls_self = NULL;
    simt_cluster_schedule_end(w);
}
