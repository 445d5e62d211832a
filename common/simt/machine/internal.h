/**
 * @file internal.h
 * @brief What the parts of the machine know of each other.
 *
 *     launch.c ── blocks in order, to workers ──▶ schedule.c ── warps, lanes ──▶ fiber.c
 *        │                                           │ a lane meets others: meet.c
 *        │ in order: between.c, report.c             │ a lane touches memory: check.c ─▶ cells.c, counters.c
 *        ▼                                           ▼
 *     what a block leaves behind (struct result)   arena.c image.c: what memory there is
 *
 * Nothing a block finds is printed while it runs: it is kept in its struct result, and results are taken in
 * block order. That is what makes reports the same on any number of workers.
 */
#ifndef WARPWISE_SIMT_INTERNAL_H
#define WARPWISE_SIMT_INTERNAL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "machine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    WARP_LANES = 32,
    MAX_THREADS = 1024,
    MAX_WARPS = MAX_THREADS / WARP_LANES,
    STACK_BYTES = 64 << 10, /* local memory of a thread */
    DYNAMIC_SHARED_BYTES = 227 << 10,
    RED_ZONE_BYTES = 256,
    SPACE_CHUNK = 1 << 15, /* bytes whose marks and cells are populated together */
    FRAMES = 8,
    LOG_ENTRIES = 1024, /* a lane's memory accesses between two flushes: 512 KB a warp stays in cache */
};

/* ---- settings.c --------------------------------------------------------------------------------------- */

enum order { ORDER_FORWARD, ORDER_REVERSE, ORDER_RANDOM };

struct settings {
    enum order order;
    uint64_t seed; /**< of ORDER_RANDOM */
    int workers;
    bool check;
    int device;           /**< 75, 80 or 90 */
    const char *counters; /**< file name, "-", or NULL */
};
extern struct settings simt_settings;

/** @brief One sentence on stderr, then exit code 2. */
void simt_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* ---- small tools (tools.c) ---------------------------------------------------------------------------- */

/** @brief A growing array: bytes, so that one implementation serves all. */
struct vector {
    void *data;
    size_t count, capacity;
};
/** @brief Room for one more element of @p element_bytes; its address. Memory running out ends the program. */
void *simt_vector_grow(struct vector *v, size_t element_bytes);
void *simt_reserve(size_t bytes, const char *what); /**< zero pages that cost nothing until touched */
void simt_forget(void *pages, size_t bytes);        /**< makes them zero and free again */
/**
 * @brief Gives reserved pages that nobody has written yet memory, all at once.
 *
 * One by one they would cost two faults each, as cells are read before they are written, and the second one
 * stops every other worker for a moment.
 */
void simt_populate(void *pages, size_t bytes);
uint64_t simt_mix(uint64_t value);                  /**< a good 64-bit hash */
/** @brief Element @p index of a fixed permutation of 0..count-1, without storing it. */
uint64_t simt_permuted(uint64_t index, uint64_t count, uint64_t seed);

/* ---- fiber.c ------------------------------------------------------------------------------------------ */

/** @brief A context that will run @p function (which never returns) on the stack that ends at @p top. */
void *simt_fiber_prepare(void *top, void (*function)(void));
/** @brief Leaves the running context in *save and goes on with @p load. */
void simt_fiber_switch(void **save, void *load);

/* ---- image.c: the program's own file ------------------------------------------------------------------ */

struct symbol {
    uintptr_t start; /**< offset in the TLS block, or address */
    size_t bytes;
    const char *linker_name;
    char *name; /**< last component: "tile" */
};

enum owner { OWNER_NONE = 0, OWNER_MACHINE = UINT16_MAX - 1, OWNER_UNKNOWN = UINT16_MAX };

struct image {
    uintptr_t bias;           /**< load address minus link address */
    uintptr_t low, high;      /**< all segments */
    uintptr_t data, data_end; /**< the writable segments: `__device__` variables live here */
    size_t tls_bytes;
    uint16_t *tls_owner;            /**< a byte of the TLS block: 1 + index in shared, or enum owner */
    struct symbol *shared, *device; /**< sorted by start */
    size_t shared_count, device_count;
};
extern struct image simt_image;

void simt_image_load(void);
/** @brief The calling OS thread's TLS block of the program. */
uintptr_t simt_image_tls(void);
/** @brief The last symbol that starts at or before @p address, or NULL. */
const struct symbol *simt_symbol_before(const struct symbol *symbols, size_t count, uintptr_t address);
/** @brief 1 if [address, address + bytes) lies in a `__device__` or `__constant__` variable. */
int simt_image_variable(uintptr_t address, size_t bytes);
int simt_image_constant(uintptr_t address);
/** @brief The object of that name in the program, or NULL. */
const void *simt_image_record(const char *linker_name);

/* ---- names.c: what the source calls it ---------------------------------------------------------------- */

/** @brief "tile" of a name as the linker has it, in memory of its own. */
char *simt_plain_name(const char *linker_name);
/** @brief The shape of a shared variable, or NULL. */
const struct simt_shape *simt_shape_of_symbol(const struct symbol *symbol);
/**
 * @brief Writes `tile[2][5] (4 bytes)` for an access at byte @p where; the first index may be past the end.
 *
 * Only a buffer of bytes may be accessed before its beginning.
 */
void simt_print_element(const char *name, const struct simt_shape *shape, ptrdiff_t where, size_t bytes,
                        char *text, size_t size);

/* ---- places and findings ------------------------------------------------------------------------------ */

enum place { PLACE_ARENA, PLACE_DATA, PLACE_SHARED, PLACE_DYNAMIC, PLACE_COUNT, PLACE_OTHER, PLACE_NONE };

/** @brief Return addresses are kept as 32-bit offsets from the image. */
static inline uint32_t simt_pack_pc(const void *pc)
{
    return (uint32_t)((uintptr_t)pc - simt_image.bias);
}

/** @brief Who did what where: one half of a race, or all of another finding. */
struct actor {
    uint64_t block; /**< linear index */
    uint32_t pc;    /**< packed return address, 0 if unknown */
    uint16_t thread;
    uint8_t access;               /**< enum simt_access, 0: this actor is not there */
    const struct simt_site *site; /**< instead of pc where the source named itself */
};

struct finding {
    const char *kind;
    enum place place;
    uint32_t bytes;
    uintptr_t where; /**< offset in the place, or the address itself */
    struct actor actor[2];
    const struct simt_running *earlier; /**< whose actor[0] is, if not this launch's */
    const char *remark; /**< what is missing or what to do; a constant string */
    char *text;         /**< replaces the description of the place; allocated */
    size_t element_bytes; /**< of dynamic shared memory, as declared; 0: unknown */
    uint32_t
        frame[FRAMES]; /**< where a fault happened in code that is not the student's: the calls to there */
    uint64_t seen;
};

/* ---- finding.c, report.c, lines.c ---------------------------------------------------------------------- */

/** @brief Adds a copy of @p finding (taking its text) to @p list, or counts it if one like it is there. */
void simt_finding_add(struct vector *list, const struct finding *finding);
void simt_finding_drop(struct vector *list);
/** @brief Begins the line of a finding on stderr. A kind that findings.h does not list ends the program. */
void simt_finding_begin(const char *kind);
/** @brief @p count more findings, which have been printed. */
void simt_finding_told(int count);
/** @brief Prints all findings of a launch and empties the list. */
void simt_report(struct vector *list, const struct simt_launch *launch);

/** @brief Looks up all packed addresses of @p findings at once. */
void simt_lines_load(const uint32_t *pcs, size_t count);
/** @brief A path as people want to read it: from the current folder, or only the name. */
const char *simt_short_path(const char *file);
/** @brief "softmax.cu:47", with the callers of an inlined function; never NULL. */
const char *simt_line_text(uint32_t pc);
bool simt_line_known(uint32_t pc);

/* ---- arena.c: device memory --------------------------------------------------------------------------- */

#define ARENA_BASE ((uintptr_t)0x10000000000)
#define ARENA_BYTES ((size_t)16 << 30)

/**
 * Shadow of a device byte. LIVE is set a chunk at a time on the first access there, so that the shadow of a
 * large allocation costs memory only where it is used; without it, the extents know. INPUT and PADDING are not to be
 * written (simt_device_keep()).
 */
enum { SHADOW_LIVE = 1, SHADOW_WRITTEN = 2, SHADOW_INPUT = 4, SHADOW_PADDING = 8 };
extern uint8_t *simt_shadow;
/** @brief Whether all these bytes are in one live allocation; then their shadow says so from now on. */
bool simt_arena_live(uintptr_t offset, size_t bytes);
bool simt_arena_host_may(uintptr_t offset); /**< managed or pinned memory */

void simt_arena_open(void);
/** @brief Writes what an arena address is, for a report: `scores[12]`, or how far from which allocation. */
void simt_arena_describe(uintptr_t offset, size_t bytes, char *text, size_t size);

/* ---- cells.c: races within a block -------------------------------------------------------------------- */

/**
 * @brief The last accesses of one word (or byte) in this block.
 *
 * Ticks never go back on a worker, so a cell left by an earlier block is recognised by its age and nothing
 * is ever cleared. Two readers are kept, of different warps where there are, so that a later writer meets
 * one that is not itself.
 */
struct cell {
    uint32_t write_tick, write_pc;
    uint32_t read_tick[2], read_pc[2];
    uint16_t reader[2], writer; /**< a reader's highest bit: it read a volatile */
    uint8_t write_atomic;
    union {
        uint8_t touched; /**< of global memory: enum touch_kind in the block's list, since touch_tick */
        uint8_t copy;    /**< of shared memory: enum copy_state of the last write, begun at copy_tick */
    };
    union {
        uint32_t touch_tick, copy_tick;
    };
    uint32_t split; /**< index of four byte cells, 0: the word is one cell */
};

enum copy_state { COPY_NONE, COPY_IN_FLIGHT, COPY_LANDED };

/**
 * @brief Memory whose races are watched. quiet has a number a half word: if that is the running block's or warp's
 *        current one, then a further read there can find nothing new, and is over after one comparison.
 */
struct space {
    uintptr_t base;
    size_t bytes;
    uint32_t *quiet;
    struct cell *cells; /**< one a word */
    uint8_t *ready;     /**< a byte for SPACE_CHUNK bytes: 1 if their marks and cells are populated */
};

/** @brief A word this block touched for the first time (in this phase, in this way); for between.c. */
struct touch {
    uint32_t word, pc, phase;
    uint16_t thread;
    uint8_t kind; /**< enum touch_kind, and TOUCH_DATA */
    uint8_t mask; /**< of its four bytes */
};
enum touch_kind {
    TOUCH_READ = 1,
    TOUCH_WRITE = 2,
    TOUCH_ATOMIC = 4,
    TOUCH_DATA = 8,
    TOUCH_VOLATILE = 16,
    TOUCH_WHOLE = 32,
    TOUCH_PADDED = 64,
    TOUCH_EARLY = 128 /**< the launch in front may not be over yet */
};

/** Further kinds of access, beside enum simt_access. */
enum {
    ACCESS_VOLATILE = 8, /**< does not race with atomics */
    ACCESS_WHOLE = 16,   /**< a copy of a struct: a word with padding is written if any byte of it is */
    ACCESS_PADDED = 32,  /**< one that may hold whole words of padding, which nobody ever writes */
    ACCESS_COPY = 64,    /**< of an asynchronous copy: a write begins now, lands later */
    ACCESS_KINDS = SIMT_READ | SIMT_WRITE | SIMT_ATOMIC,
};

/* ---- counters.c, apart.c, traffic.c --------------------------------------------------------------------- */

struct counters {
    uint64_t load_requests, load_sectors, store_requests, store_sectors;
    uint64_t load_wavefronts, store_wavefronts, conflicts;
    uint64_t atomics, barriers;
    uint64_t traced, traced_lanes;
};

struct log_entry {
    uintptr_t address;
    uint32_t pc;
    uint16_t bytes;
    uint8_t access, place; /**< place PLACE_NONE: a basic block, no memory */
};
struct lane_log {
    unsigned count;
    struct log_entry entry[LOG_ENTRIES];
};

/** What makes two entries the same instruction: everything but the address. */
static inline uint64_t simt_log_key(const struct log_entry *entry)
{
    uint64_t key;
    memcpy(&key, (const char *)entry + sizeof entry->address, sizeof key);
    return key;
}

/** The lanes of one instruction of a warp, in ascending order. */
struct request {
    unsigned count;
    uintptr_t address[WARP_LANES]; /**< of an asynchronous copy both, as simt_pack_copy() has them */
    uint8_t lane[WARP_LANES];
    size_t bytes;
};

struct worker;
/** Adds what one instruction costs. */
void simt_count_request(struct counters *c, const struct request *r, int access, enum place place);
/** Both addresses of an asynchronous copy in one: the global one, and the offset @p to in shared memory. */
uintptr_t simt_pack_copy(uintptr_t from, uintptr_t to);
/** Counts what logs hold from index @p from on, site by site; leaves what lanes that only paused must complete. */
void simt_flush_apart(struct worker *w, unsigned from, unsigned paused);
/**
 * The first of the @p reached entries common to all lanes that is of a site which lanes execute unequally often
 * behind them: had some left a loop early there, it would look the same. @p reached if there is none.
 */
unsigned simt_certain_until(const struct worker *w, unsigned reached);
void simt_count(struct worker *w, uintptr_t address, size_t bytes, int access, enum place place,
                const void *pc);
/** An asynchronous copy of @p bytes to shared memory, of which @p read are read and the rest are zeros. */
void simt_count_copy(struct worker *w, uintptr_t to, uintptr_t from, size_t bytes, size_t read, const void *pc);
void simt_counters_flush(struct worker *w, unsigned paused);
void simt_counters_add(struct counters *sum, const struct counters *part);
void simt_counters_write(const struct simt_launch *launch, const struct counters *sum);

/* ---- what a block leaves behind ----------------------------------------------------------------------- */

struct result {
    uint64_t order;
    bool done;
    int error;                /**< cudaError_t; the block stopped there */
    struct vector findings;   /**< struct finding */
    struct vector touches;    /**< struct touch */
    struct vector text;       /**< printf output */
    uint32_t acquired_from;   /**< phase of the first atomic; UINT32_MAX: none */
    uint32_t released_before; /**< phases before it were fenced, then followed by an atomic */
    bool grids_waited;        /**< some thread waited for the launch in front, or it is over anyway */
    bool let_go;              /**< the next launch may start, as far as this block is concerned */
    bool let_go_waited;       /**< and that was after it had waited */
    struct counters counters;
};

/* ---- worker.c: what runs now --------------------------------------------------------------------------- */

struct fiber {
    void *context; /**< while no thread is on it, or before its first */
    char *stack;
    struct fiber *next_free;
    unsigned colour; /**< shifts the top of its stack, else all stacks share a few cache sets */
};

enum wait { WAIT_NONE, WAIT_GATHER, WAIT_WARP, WAIT_ACTIVE, WAIT_BLOCK };

struct thread {
    struct simt_identity identity;
    void *context;
    struct fiber *fiber;
    enum wait wait;
    /* what it waits with */
    const struct simt_site *site;
    const void *pc;
    unsigned mask;
    simt_warp_function function;
    void *argument, *operand, *result;
    int predicate;
    enum simt_vote vote;
    unsigned spins, pauses; /**< atomics in a row: a sign of a lock */
    bool grids_waited;      /**< for the launch in front (early.c) */
    struct vector copies;   /**< asynchronous copies that have not landed (copies.c) */
    uint32_t copy_group;    /**< number of the group that is open */
};

struct warp {
    unsigned lanes;                /**< lanes it was born with */
    unsigned exited, ready, fresh; /**< fresh: ready and not yet started */
    unsigned gathering, at_barrier, asking, at_block_barrier;
    unsigned paused, spinning;
    uint32_t tick;  /**< of the accesses it makes now */
    uint32_t known; /**< __syncwarp of all lanes: everything up to here is ordered */
    uint32_t quiet;
    bool partial; /**< clock is in use: some __syncwarp named only a part of the lanes */
    uint32_t clock[WARP_LANES][WARP_LANES]; /**< [lane][other]: ordered up to here */
};

struct worker {
    /* read at every access */
    uintptr_t stack_base;
    size_t stack_bytes;
    struct space space[PLACE_COUNT];
    uint32_t block_quiet, warp_quiet;
    bool counting, checking;
    unsigned thread_index;
    uint32_t tick; /**< tick of the running warp */
    uint32_t block_start, last_barrier;
    uint32_t touch_tick, phase;

    struct thread *current;
    struct warp *warp;
    struct result *result;
    const struct simt_launch *launch;
    void *scheduler; /**< context of the OS thread itself */
    bool abandoned;  /**< the block ended at a finding */

    uint32_t clock;       /**< the last tick given out */
    uint32_t fence_phase; /**< of a fence no atomic has followed yet; 0: none */
    bool waited;          /**< earlier blocks are known to be finished */
    bool grids_over;      /**< a thread had waited for the launch in front, before the last barrier */
    size_t touched;       /**< words since the cells were last given back */
    uint64_t block;       /**< linear index of the running block */
    unsigned threads, warps;
    struct vector split; /**< groups of four byte cells */
    const char *dynamic_name;
    size_t dynamic_element_bytes;
    uintptr_t args;
    const struct symbol *last_variable;

    struct fiber *free_fibers;
    struct fiber fiber[MAX_THREADS];
    unsigned fiber_count;
    uint8_t lane_order[WARP_LANES], warp_order[MAX_WARPS];
    struct thread thread[MAX_THREADS];
    struct warp warp_of[MAX_WARPS];
    struct lane_log *log; /**< 32 of them, of the running warp */
};

#define SIMT_HOT _Thread_local __attribute__((tls_model("local-exec")))
/** The worker while it runs a kernel and somebody wants to know of accesses; NULL otherwise. */
extern SIMT_HOT struct worker *simt_tls_watch;
/** The worker while it runs a kernel. */
extern SIMT_HOT struct worker *simt_tls_worker;
/** What simt_self() gives. */
extern SIMT_HOT const struct simt_identity *simt_tls_self;
extern SIMT_HOT struct simt_extent simt_thread_index, simt_block_index, simt_block_extent, simt_grid_extent;

enum { MAX_WORKERS = 256 };

/** The OS threads that were started. */
struct pool {
    pthread_t thread[MAX_WORKERS]; /**< of worker i; 0 is whoever launches */
    int started;                   /**< workers 1 .. started */
};
extern struct pool simt_pool;
extern bool simt_broken; /**< a launch failed: as on hardware, the program cannot even free its memory */

enum place simt_place_of(const struct worker *w, uintptr_t address);

/* ---- schedule.c, lanes.c, meet.c, phases.c --------------------------------------------------------------- */

struct worker *simt_worker_new(void);
void simt_worker_attach(struct worker *w); /**< the calling OS thread will run it */
void simt_worker_begin(struct worker *w, const struct simt_launch *launch);
void simt_run_block(struct worker *w);
void simt_lanes_run(struct worker *w);  /**< lanes of the running warp, until none of them is ready */
void simt_lanes_drop(struct worker *w); /**< takes back the fibers of threads that will never go on */
/** @brief Another lane, or the scheduler, goes on; returns when this lane is made ready. */
void simt_suspend(struct worker *w);
/** @brief Ends the running block at the running thread. */
void simt_abandon(struct worker *w, int error) __attribute__((noreturn));
/** @brief Adds @p finding about the running thread, filling in who and where. */
void simt_found(struct worker *w, struct finding *finding);
void simt_spin(struct worker *w, const void *pc); /**< the running thread may be waiting for another one */
void simt_new_phase(struct worker *w);
bool simt_is_global(const struct worker *w, const void *address);
/** @brief The running thread is at an atomic operation on global memory: it acquires, and releases what was fenced. */
void simt_note_atomic(struct worker *w);
/** @brief A flag may be read and set through a volatile as well. */
void simt_note_volatile(struct worker *w, const void *address, int access);

bool simt_resolve_warp(struct worker *w, struct warp *warp);
bool simt_resolve_block(struct worker *w);
void simt_order_all(struct worker *w); /**< a block barrier, or the beginning of a block, as cells see it */

/* ---- blocks.c ------------------------------------------------------------------------------------------ */

enum { RESULTS = 64 };

/** The launch that is running; one at a time. */
struct running_launch {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool running; /**< workers may join */
    unsigned long number;
    int busy; /**< pool threads at work */
    uint64_t blocks, next, retired;
    bool retiring;       /**< somebody is taking up results */
    atomic_bool stopped; /**< a block ended at a finding: later ones do not count */
    int error;
    bool waited, let_go_early; /**< some block waited for the launch in front; all let the next start before */
    const struct simt_launch *launch;
    struct result ring[RESULTS];
    struct vector findings;
    struct counters counters;
};
extern struct running_launch simt_now;

/** @brief A launch behind those in @p before begins; returns its number. */
uint32_t simt_blocks_begin(const struct simt_launch *launch, const struct simt_overlap *before);
bool simt_take_block(struct worker *w); /**< false: there is none left */
void simt_finish_block(struct worker *w);
/** @brief Waits until all blocks before the running one are finished; abandons the block if one stopped. */
void simt_wait_for_earlier(struct worker *w);
bool simt_launch_stopped(const struct worker *w);
bool simt_launch_runs(void);
bool simt_runs_first_block(const struct worker *w); /**< of those that have not ended */

/* ---- between.c, trap.c --------------------------------------------------------------------------------- */

/** @brief Takes up what a block touched, after all earlier blocks: races between blocks, unwritten memory. */
void simt_between(struct result *result, uint64_t block, struct vector *findings);
/** @brief A launch behind those in @p before begins; returns its number. */
uint32_t simt_between_begin(const struct simt_overlap *before);

/* ---- early.c: launches that start before the one in front is over ------------------------------------- */

/** @brief Whether the running thread may still meet the launch in front. */
static inline bool simt_is_early(const struct worker *w)
{
    return !w->grids_over && !w->current->grids_waited;
}
/** @brief The lanes of a warp barrier: who has waited has done so for all of them. */
void simt_grids_share(struct worker *w, const struct warp *warp, unsigned lanes);
/** @brief After launch @p number: what the next one is behind, from what this one was. */
void simt_overlap_next(struct simt_overlap *overlap, const struct simt_launch *launch, uint32_t number,
                       bool waited, bool let_go_early);

void simt_watch_prepare(void); /**< ready for the timer (watch.c) */

void simt_trap_install(void);
/** @brief In a signal handler: the calls that led to what was interrupted. */
void simt_note_frames(struct finding *finding, void *context);
void simt_trap_stack(void); /**< an alternate signal stack for the calling OS thread */

/* ---- check.c ------------------------------------------------------------------------------------------ */

void simt_check(const void *pointer, size_t bytes, int access, bool aligned, const void *pc);
void simt_cells_access(struct worker *w, enum place place, uintptr_t offset, size_t bytes, int access,
                       uint32_t pc);
/** @brief The running thread waited for its copy to these bytes of shared memory. */
void simt_cells_land(struct worker *w, enum place place, uintptr_t offset, size_t bytes);
/** @brief Ends the block at an access that hardware would refuse. */
void simt_refuse(struct worker *w, const char *kind, uintptr_t address, size_t bytes, int access,
                 const void *pc, const char *remark) __attribute__((noreturn));

#endif
