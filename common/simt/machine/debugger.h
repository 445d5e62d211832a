/**
 * @file debugger.h
 * @brief Where a debugger finds the device's threads: which stack is which thread, and where a thread that does not run now
 *        goes on.
 *
 * A thread of the device is a stack of its own in the process. While it does not run, gdb sees nothing of it: the operating
 * system knows only its own threads. simt_debugger says where the machine keeps what gdb needs. It is constant: no kernel runs
 * slower for it. Who reads it is common/companion/debugger.py; docs/debug.md shows what comes of it.
 *
 * An OS thread runs the worker w for which w[local_stacks] <= its stack pointer < w[local_stacks] + w[local_bytes].
 */
#pragma once

#include <stdint.h>

/** @brief How the registers of a thread that does not run lie at its context (fiber.c). */
enum simt_debugger_registers {
    SIMT_DEBUGGER_UCONTEXT, /**< a ucontext_t: not read by the script */
    SIMT_DEBUGGER_X86_64,   /**< a stack pointer: r15, r14, r13, r12, rbx, rbp, the address to return to */
    SIMT_DEBUGGER_AARCH64   /**< a stack pointer: x19 to x30, d8 to d15, 160 bytes */
};

/** @brief Offsets in bytes, all of them in struct worker, struct warp or struct thread. */
struct simt_debugger {
    uint32_t version;      /**< 2; changes with this structure */
    uint32_t registers;    /**< enum simt_debugger_registers */
    uint32_t most;         /**< length of workers */
    uint32_t warp_lanes;   /**< 32 */
    uint32_t local_bytes;  /**< in a worker, uint64_t: of the stacks of all its threads */
    uint32_t local;        /**< in a worker, a pointer: the lowest of these stacks */
    uint32_t current;      /**< in a worker, a pointer: the running thread */
    uint32_t threads;      /**< in a worker, uint32_t: how many its block has */
    uint32_t thread;       /**< in a worker: the first of its threads */
    uint32_t thread_bytes; /**< from a thread to the next */
    /** in a thread: its index, its block's, the block's extent, the grid's: 12 uint32_t */
    uint32_t identity;
    uint32_t context;              /**< in a thread, a pointer: where it goes on */
    uint32_t wait;                 /**< in a thread, uint32_t: enum wait; 0: for nothing but its turn */
    uint32_t warp;                 /**< in a worker: the first of its warps */
    uint32_t warp_bytes;           /**< from a warp to the next */
    uint32_t exited;               /**< in a warp, uint32_t: a bit for each lane that has ended */
    uint32_t fresh;                /**< in a warp, uint32_t: a bit for each lane that has not begun */
    struct worker *const *workers; /**< those that are there; NULL behind the last */
    const uint64_t *launches;      /**< simt_debugger_launches */
};

/** @brief Of the thread at which simt_debugger_stop() is called. */
struct simt_debugger_place {
    uint64_t launch, block;
    uint64_t shared, shared_bytes;   /**< where the arrays in its block's shared memory are */
    uint64_t dynamic, dynamic_bytes; /**< and dynamic shared memory */
};
extern struct simt_debugger_place simt_debugger_place;
/** @brief Where a debugger stops: it does nothing. */
void simt_debugger_stop(void);

/**
 * @brief Lets a debugger see the variables of a thread at each entry of its log. In a traced block
 *        (trace.h), SIMT_TRACE_WATCHED=LAUNCH:BLOCK:THREAD names such threads, with commas between several; launches are
 *        counted from 0 on as in the trace, blocks and threads over x, then y, then z. What the lane does is about to happen.
 */
void simt_debugger_access(const struct simt_debugger_place *place);

extern uint64_t simt_debugger_launches;          /**< that have begun */
extern struct worker *simt_all_workers[];        /**< MAX_WORKERS of them, from 0 on */
extern const struct simt_debugger simt_debugger; /**< what the script reads */
