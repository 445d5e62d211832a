/**
 * @file worker.h
 * @brief What runs now: a worker, the block and the threads on it, and how the parts of the machine stand.
 *
 * From the top: a file may call those beside and below it, and none calls back (unit.rooms sees to it).
 *
 *     launch.c watchdog.c              a launch: its OS threads, its report, its time limit
 *     schedule.c                       a worker runs a block: its warps in order
 *     cluster_schedule.c               which block of a cluster runs
 *     atomics.c async_copies.c heap.c  what a thread does: atomics, asynchronous copies, malloc
 *     local.c check.c window.c         ... memory accesses; shared memory as PTX addresses it
 *     convergence.c output.c trap.c    ... barriers and warp operations; printf and assert; faults
 *     bulk_copies.c mbarrier.c         ... bulk copies; mbarriers
 *     named_barrier.c                  ... barriers of a part of the block
 *     cluster_barrier.c                ... the barrier of a cluster
 *     products.c registers.c           ... products of a warpgroup in flight; its registers
 *     distributed_shared.c             ... shared memory of other blocks of the cluster
 *     blocks.c inter_block.c report.c  in block order: results, races between blocks, reports
 *     launch_order.c                   ... what one launch read before a later one wrote it
 *     shadow_access.c shadow_async.c   shadow memory: an access on its way to its words; asynchronous operations
 *     shadow_words.c pages.c           ... one word; global memory, as long as accesses are regular
 *     shadow_findings.c                ... what is wrong with an access
 *     counters.c divergence.c          what a profiler counts; of lanes that went different ways
 *     trace_file.c trace.c             what a trace tells of a block; the file of it
 *     traffic.c                        ... what one instruction costs
 *     lanes.c                          one lane hands over to the next; the running one waits, or ends the block
 *     arena.c frames.c                 what memory there is; what a thread's pointers reach on its stack
 *     fences.c flags.c                 fences and atomics, between blocks and in one
 *     dependent_launch.c               launches that overlap
 *     happens_before.c                 whether one access happens before another
 *     vector_clocks.c                  ... and what threads know of each other by mbarriers
 *     finding.c                        what was found
 *     worker.c                         what runs now
 *     devices.c debugger.c             several devices; what a debugger finds here
 *     image.c lines.c names.c          the program's own file, lines and names of the source
 *     fiber.c settings.c tools.c       stacks, the environment, memory and numbers
 *
 * Nothing a block finds is printed while it runs: it is kept in its struct result, and results are taken in
 * block order. That is what makes reports the same on any number of workers.
 */
#pragma once

#include "cluster.h"
#include "counters.h"
#include "finding.h"
#include "image.h"
#include "machine.h"
#include "shadow.h"
#include "sizes.h"
#include "tools.h"
#include "vector_clocks.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What a block leaves behind. */
struct result {
    uint64_t order, block; /**< its number in the order in which blocks run, and its linear index */
    bool done;
    const struct simt_site *waits_at; /**< the barrier of the grid where it waits, or NULL */
    int error;                        /**< cudaError_t; the block stopped there */
    struct vector findings;           /**< struct finding */
    struct vector touches;            /**< struct touch */
    struct vector text;               /**< printf output */
    struct vector releases;           /**< struct fence: those that an atomic followed */
    struct vector fence_clocks;       /**< uint32_t, one for each thread of the block: struct fence's clock */
    struct vector turns;              /**< struct turn */
    struct vector locks;              /**< struct lock */
    struct {
        uint32_t first, last;
    } proxy_fence; /**< ticks of the block's fences fence.proxy.async for global memory; 0: none */
    /** uint32_t: the block's phase when a phase of its cluster's barrier was over */
    struct vector cluster_phases;
    uint64_t cluster;          /**< 1 + which cluster it is of; 0: of none with other blocks */
    bool grids_waited;         /**< some thread waited for the launch in front, or it is over anyway */
    bool triggered;            /**< the next launch may start, as far as this block is concerned */
    bool triggered_after_wait; /**< and the block had waited for the launch in front before */
    struct counters counters;
    struct vector events; /**< bytes: what the block did, if it is traced (trace.h) */
    uint64_t events_left_out;
    struct actor wrote; /**< who wrote SIMT_TRACE_ELEMENT last in it; access 0: nobody */
};

/** From this phase on the block has had this turn (blocks.c). */
struct turn {
    uint32_t phase, number;
};

/** From this tick on the thread holds a lock, or none that is known. */
struct lock {
    uint32_t tick, id; /**< of its address and of the value that means free; 0: none */
    uint16_t thread;
};

/** A __threadfence: what it makes visible to whoever sees a later atomic of the block. */
struct fence {
    uint32_t start;   /**< block_start: of which block it is */
    uint32_t phase;   /**< what its thread did in phases before this one, */
    uint32_t known;   /**< what its warp did up to this tick, */
    uint32_t barrier; /**< and what the block did before this tick */
    uint32_t tick;    /**< when it was */
    uint32_t turn;    /**< in which turn of the block the atomic came */
    /** 1 + where in fence_clocks it says up to which tick it knew of each thread; 0: no more than that */
    uint32_t clock;
    uint16_t thread;
};

/** A lock that a thread holds, as flags.c has it: a compare-and-swap took it. */
struct hold {
    uintptr_t address; /**< 0: none */
    uint64_t before;   /**< what was there: the value that means free */
    uint32_t tick;     /**< since when */
    unsigned fences;   /**< that the thread has executed since then */
};

/** The last fence of a thread, as flags.c has it. */
struct flag_fence {
    uint32_t tick;  /**< when it was; 0: there was none */
    uint32_t known; /**< what its warp had done up to this tick was ordered before it */
};

enum { LIVE_RANGES = 8 };
/** Offsets in the arena. */
struct range {
    uintptr_t start, end;
};

struct fiber {
    void *context; /**< while no thread is on it, or before its first */
    char *stack;
    struct fiber *next_free;
    unsigned colour; /**< shifts the top of its stack, else all stacks share a few cache sets */
};

enum wait {
    WAIT_NONE,
    WAIT_GATHER,
    WAIT_WARP,
    WAIT_ACTIVE,
    WAIT_BLOCK,
    WAIT_NAMED,
    WAIT_MBARRIER,
    WAIT_PRODUCTS,
    WAIT_CLUSTER
};

struct __attribute__((aligned(64))) thread {
    /* read and written whenever lanes change: two cache lines */
    struct simt_identity identity;
    void *context;
    struct fiber *fiber;
    uintptr_t stack; /**< of the fiber: its lowest address */
    uintptr_t open;  /**< where its pointers may lead, of the function that it is in (frames.c) */
    size_t open_bytes;
    enum wait wait;
    unsigned spins, pauses; /**< atomics in a row: a sign of a lock */
    unsigned turns;         /**< given to the other warps, before an atomic of its own */
    uint32_t changes;       /**< of struct grid_state, when it paused last */
    bool watched;           /**< from its last wgmma.fence on its local accesses are recorded in `touched` */
    int predicate;
    enum simt_vote vote;
    /* what it waits with */
    const struct simt_site *site;
    const void *pc;
    unsigned mask;
    unsigned operation; /**< number of a collective that lanes may reach from different source lines, or 0 */
    simt_warp_function function;
    void *argument, *operand, *result;
    unsigned named_id, named_threads; /**< which barrier of named_barrier.c, and for how many */
    unsigned mbarrier;                /**< index of the one that it waits for (mbarrier.c) */
    uint32_t mbarrier_phase;          /**< and the phase */
    bool mbarrier_relaxed;            /**< and whether without acquiring */
    uint64_t polled;                  /**< mbarrier and phase that it has asked for once */
    bool named_wait;
    bool aligned;             /**< it may wait at this barrier only where the others do */
    struct vector parameters; /**< struct simt_parameter: of its kernel, that can hold tensor maps */
    bool grids_waited;        /**< for the launch in front (dependent_launch.c) */
    struct fence fence;       /**< its last one that no atomic has followed yet */
    struct flag_fence flag_fence;
    struct hold hold;
    uintptr_t lock,
        unlocked; /**< the lock that it took by a compare-and-swap; the one that its last atomic released */
    bool saw_flag,
        saw_acquired; /**< since its last fence it has read a flag; one that a thread wrote which had acquired */
    bool met;         /**< it has read atomically what other blocks may have written, */
    bool acquired;    /**< and has fenced after that, or met at a barrier a thread that had */
    struct vector copies; /**< asynchronous copies that have not landed (async_copies.c) */
    uint32_t copy_group;  /**< number of the group that is open */
    unsigned prior;       /**< groups of products that it does not wait for (products.c) */
    /** has arrived at the cluster's barrier and not waited (cluster_barrier.c); in which phase */
    bool cluster_arrived;
    uint32_t cluster_phase;
    uint32_t grid_arrived;  /**< the tick of its arrival at the grid's barrier, if it has not waited there */
    uint32_t cluster_fence; /**< the tick before its last fence of the cluster's scope or a wider one */
    bool fenced;            /**< it has executed a wgmma.fence */
    uint8_t *touched; /**< if watched, a bit per word of its stack: accessed since its last wgmma.fence */
    uintptr_t touched_base; /**< where its stack begins */
    struct vector frames;   /**< of the functions that it is in (frames.c) */
    struct vector spans;    /**< registers of its products in flight */
    uint32_t copies_begun;  /**< how many it has begun */
    uint32_t bulk_group;    /**< the open group of bulk stores (bulk_copies.c) */
    long long cycles;       /**< its clock */
};

struct warp {
    unsigned lanes;                /**< lanes it began with */
    unsigned exited, ready, fresh; /**< fresh: ready and not yet started */
    unsigned gathering, at_barrier, asking, at_block_barrier;
    unsigned paused, spinning;
    uint32_t tick;  /**< what its current accesses carry */
    uint32_t known; /**< the last __syncwarp of all lanes: everything up to this tick is ordered */
    uint32_t read_mark;
    struct unshared unshared; /**< vector_clocks.c */
    bool partial;             /**< clock is in use: some __syncwarp named only some of the lanes */
    uint32_t clock[WARP_LANES][WARP_LANES]; /**< [lane][other]: ordered up to here */
    unsigned at_named;                      /**< lanes that have come to a barrier of named_barrier.c */
    bool arrived;                           /**< and has been counted there */
    uint32_t clock_of_warp[MAX_WARPS]; /**< of each other warp, by named barriers: ordered up to this tick */
    unsigned at_products;              /**< lanes that wait for products */
    uint32_t open_group;               /**< number of the group of products that is open */
    unsigned registers;                /**< of a thread, by setmaxnreg (registers.c); 0: as launched */
    const struct simt_site *registers_site;
};

enum { NAMED_BARRIERS = 16 };
/** A barrier that some warps have come to and others have not. */
struct named_barrier {
    unsigned arrived, expected;        /**< threads */
    uint32_t waiting;                  /**< warps that go on when it opens */
    bool acquired;                     /**< one of the threads has acquired from another block */
    uint32_t clock_of_warp[MAX_WARPS]; /**< what the waiting warps will know of each warp */
};

/** A race that may turn out to be none: it depends on what its thread does next. */
struct pending_race {
    bool open;
    struct finding finding;
    const void *address; /**< where it wrote */
    uint8_t before[16];  /**< what was there */
};

/* ---- what a worker is made of: each part belongs to the files that its comment names ------------------ */

enum { LOCAL_ROWS = 16, OPEN_UNIT = 8 };
/** Local memory (check.c, lanes.c, frames.c): the stacks of the block's threads, a page in front of each. */
struct local_memory {
    uintptr_t stacks; /**< of all threads */
    size_t stacks_bytes;
    uintptr_t base; /**< of the running thread's own stack */
    size_t bytes;   /**< how much of it may be read unseen: all, or none for a thread that is watched */
    /** and where it may be written unseen: the function's variables, in whole units (frames.c) */
    uintptr_t open;
    size_t open_bytes;
    size_t deepest;    /**< how far down functions have come on any of the stacks (frames.c), */
    size_t unreported; /**< with this much for what they do not report */
    const struct frame_row *row[LOCAL_ROWS]; /**< those of its table that were asked for last */
};

/** What the compiler has reported of structs last: it may make a call of the copy. */
enum { STRUCTS = 4 };
struct reported_structs {
    struct reported_struct {
        uintptr_t address;
        size_t bytes;
        int access;
    } last[STRUCTS];
    unsigned next;
};

/** Shadow memory beside struct space (shadow_*.c, pages.c). */
struct shadow_memory {
    struct pages pages; /**< of global memory */
    uint64_t block_mark,
        warp_mark;       /**< the read marks that hold now, each for two half words: see struct space */
    uint32_t touch_tick; /**< the phase began at it: touches are listed once per phase */
    struct vector split; /**< groups of four byte cells */
};

/** What bounds are known already (check.c). */
struct bounds {
    struct range live[LIVE_RANGES]; /**< allocations that were asked for last */
    unsigned next_live;
    unsigned operand_owner; /**< tls_owner of the matrix that a product reads */
    const struct symbol *last_variable;
    uintptr_t args; /**< of the kernel: a page at least */
    size_t args_bytes;
};

/** When it is now (happens_before.h). */
struct time {
    union {
        struct {
            uint32_t tick, phase; /**< tick of the running warp; phase of the block: fences.c */
        };
        uint64_t when; /**< both, for one comparison */
    };
    uint32_t block_start, last_barrier; /**< ticks */
    /** Every access to this block's memory before this tick happens before what any of its threads does now. */
    uint32_t all_ordered_before;
    uint32_t *clock; /**< the last tick given out: own_clock, or that of the cluster */
    uint32_t own_clock;
};

/** Vector clocks (vector_clocks.c). */
struct clocks {
    bool open;                  /**< this block keeps them */
    bool has_phases;            /**< some thread has waited at a cluster's barrier */
    struct vector_clock *of;    /**< of each thread, then one for each named barrier */
    struct vector_clock *block; /**< what all threads know since the last block barrier */
    struct vector_clock *scratch;
    struct vector_clock *pool; /**< of other blocks, not given out yet */
    unsigned pool_left;
};

enum { FLAGS = 1024 }; /* in a block that each have a clock of their own */
/** A place in memory by which a thread has released something. */
struct flag {
    uintptr_t address;
    uint32_t begun; /**< block_start of the block that uses it */
    bool acquired;  /**< of a thread that had acquired, from another block */
};
/** Flags of the block (flags.c). */
struct flags {
    struct flag *at; /**< a hash table */
    unsigned count;
    struct vector_clock *clock; /**< of each flag */
    struct vector_clock *seen;  /**< of each thread: of the flags that it has read since its last fence */
    struct {
        uint64_t before;       /**< what was at the address of the atomic that is being made */
        bool acquires, stores; /**< stores: it reads nothing */
    } atomic;
    /** What a thread is writing to a lock that it held without acquiring; flag NULL: nobody is. */
    struct {
        struct flag *flag;
        struct hold hold;
        unsigned thread;
        uint32_t known; /**< of the thread, by whom the flag was read until now */
    } handover;
};

/** How the block stands to other blocks and launches (fences.c, blocks.c, dependent_launch.c). */
struct grid_state {
    /** The last atomic on memory that other blocks can see: its address, and the value before it. */
    struct {
        const void *address;
        uint64_t before;
        unsigned bytes;
    } last;
    /** atomics of this block that changed a value, as far as they were examined: a block that has none only spins */
    uint32_t changes;
    uint32_t changes_told;   /**< changes when it passed its turn on last */
    uint32_t turn;           /**< the number of the turn that it has, or had last; 0: it had none yet */
    unsigned sharing;        /**< blocks with which it takes turns */
    bool met;                /**< some thread has, */
    bool acquired;           /**< and then the block met at a barrier: all its threads have acquired */
    unsigned fences;         /**< that no atomic has followed yet, or more */
    bool updates;            /**< the atomic that is being made may change what other blocks see */
    bool has_turn;           /**< earlier blocks are known to be finished, or wait for what this one does */
    bool launch_before_over; /**< a thread had waited for the launch in front, before the last barrier */
};

/** mbarriers of the block (mbarrier.c). */
struct mbarriers {
    struct mbarrier *at;
    unsigned count;
    unsigned idle; /**< how often all waits timed out with nothing happening between */
};

/** Where a block of a cluster is while its threads wait at the barrier of the grid. */
enum grid_wait { NOT_AT_GRID_BARRIER, AT_GRID_BARRIER, PAST_GRID_BARRIER };

/** The block as a member of its cluster (cluster_schedule.c). */
struct member {
    unsigned position, rank; /**< in which order it runs, and its rank */
    enum grid_wait grid_wait;
    bool over; /**< it has ended */
};

/** Accesses of other blocks of the cluster to its shared memory (distributed_shared.c): the last of each of their threads. */
struct remote {
    struct remote_access *accesses;
    bool any;
};

/** The cluster's barrier (cluster_barrier.c); of a block in no cluster, all of it. */
struct cluster_barrier {
    struct vector_clock *clock; /**< of the two last phases */
    uint32_t phase;
    unsigned arrivals;
};

/** Named barriers (named_barrier.c). */
struct named_barriers {
    bool used; /**< some thread of this block came to one */
    struct named_barrier barrier[NAMED_BARRIERS];
};

/** Products of warpgroups in flight (products.c). */
struct products {
    struct product *queue[MAX_WARPS / 4]; /**< of each warpgroup */
    uint32_t serial; /**< of writes to shared memory, advanced when a product is issued */
};

/** How the block's threads are run (schedule.c, lanes.c). */
struct schedule {
    void *context;        /**< of the OS thread itself */
    bool spun;            /**< some thread spins on memory */
    unsigned rounds_spun; /**< in how many rounds in a row */
    bool ran;             /**< in the last round some thread */
    uint8_t lane_order[WARP_LANES], warp_order[MAX_WARPS];
};

/** Stacks to run threads on (lanes.c). */
struct fibers {
    struct fiber *free;
    struct fiber fiber[MAX_THREADS];
    unsigned count;
};

struct worker {
    /* read at every access */
    struct local_memory local;
    struct space space[PLACE_COUNT]; /**< those of global memory are bounds only */
    struct shadow_memory shadow;
    struct bounds bounds;
    bool counting, checking;
    unsigned thread_index; /**< of the running thread */
    struct reported_structs structs;
    struct time time;

    /* what runs */
    struct thread *current;
    struct warp *warp;
    struct result *result;
    const struct simt_launch *launch;
    uint64_t block; /**< linear index */
    unsigned threads, warps;
    bool abandoned;          /**< the block ended at a finding */
    int index;               /**< of the worker: 0 is whoever launches */
    struct cluster *cluster; /**< that the block is in, with others; else NULL */

    /* what orders */
    struct clocks clocks;
    struct grid_state grid;
    struct flags flags;
    struct mbarriers mbarriers;
    struct member member;
    struct remote remote;
    struct cluster_barrier cluster_barrier;
    struct named_barriers named;

    /* what is asynchronous */
    struct vector bulks; /**< bulk copies that are under way (bulk_copies.c) */
    struct products products;

    /* findings */
    const char *dynamic_name; /**< what the source calls dynamic shared memory */
    size_t dynamic_element_bytes;
    struct pending_race pending_race;

    /* threads */
    struct schedule schedule;
    struct fibers fibers;
    struct thread thread[MAX_THREADS];
    struct warp warp_of[MAX_WARPS];
    struct lane_log *log; /**< 32 of them, of the running warp (counters.c) */
    struct trace *trace;  /**< of the running block, or NULL: it is not traced (trace.c) */
    uint32_t *used;       /**< by tls_owner: block_start of the last block that used the variable; [0]: any */
    size_t used_bytes;    /**< of all variables that the running block has used */
};

/** Where the stack of a thread on @p fiber begins; it grows down from there. */
static inline uintptr_t simt_fiber_top(const struct fiber *fiber)
{
    return (uintptr_t)fiber->stack + STACK_BYTES - 128 * fiber->colour;
}

/** The read marks of two half words that are both @p read_mark. */
static inline uint64_t simt_read_mark_pair(uint32_t read_mark)
{
    return read_mark * UINT64_C(0x100000001);
}

/** @brief The last tick of another lane of this warp that the running lane is ordered after. */
static inline uint32_t simt_lane_known(const struct worker *w, unsigned lane)
{
    const struct warp *warp = w->warp;
    if (!warp->partial) return warp->known;
    const uint32_t clock = warp->clock[w->thread_index % WARP_LANES][lane];
    return clock > warp->known ? clock : warp->known;
}

/** @brief What @p clock, one of @p w's block, knows of the block of @p rank, or NULL. */
static inline const struct vector_clock *simt_clock_of_rank(const struct worker *w,
                                                            const struct vector_clock *clock, unsigned rank)
{
    return rank == w->member.rank ? clock : clock->peer[rank];
}

#define SIMT_HOT _Thread_local __attribute__((tls_model("local-exec")))
/** The worker while it runs a kernel and somebody wants to know of accesses; NULL otherwise. */
extern SIMT_HOT struct worker *simt_tls_watch;
/** The worker while it runs a kernel. */
extern SIMT_HOT struct worker *simt_tls_worker;
/** What simt_self() gives. */
extern SIMT_HOT const struct simt_identity *simt_tls_self;
extern SIMT_HOT struct simt_extent simt_thread_index, simt_block_index, simt_block_extent, simt_grid_extent;

enum { MAX_WORKERS = 1024 };

/** The OS threads that were started. */
struct pool {
    pthread_t thread[MAX_WORKERS]; /**< of worker i; 0 is whoever launches */
    int started;                   /**< workers 1 .. started */
};
extern struct pool simt_pool;
extern bool simt_broken; /**< a launch failed: as on hardware, the program cannot even free its memory */

/**
 * @brief The number of thread @p thread of @p w's block, which is in a cluster, in shadow cells of other
 * blocks; at least FOREIGN.
 */
unsigned simt_foreign_actor(const struct worker *w, unsigned thread);
/** @brief Who that is, for a finding. */
struct actor simt_foreign(const struct worker *w, unsigned actor, uint32_t pc, int access);
/** @brief Whose shared memory an address lies in: @p w itself, a worker whose block is of the same cluster, or NULL. */
struct worker *simt_owner_of(struct worker *w, uintptr_t address);
/** @brief Whether the bytes from @p offset on in the block's PLACE_SHARED or PLACE_DYNAMIC are a kernel's: of one variable, or of
 * what the launch has asked for. */
bool simt_shared_holds(const struct worker *w, enum place place, uintptr_t offset, size_t bytes);
/** @brief In which of the worker's spaces an address lies. */
enum place simt_place_of(const struct worker *w, uintptr_t address);
