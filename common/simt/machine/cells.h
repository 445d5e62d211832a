/**
 * @file cells.h
 * @brief Races within a block: what is kept of each word, and of what a block touched.
 */
#ifndef WARPWISE_SIMT_CELLS_H
#define WARPWISE_SIMT_CELLS_H

#include "finding.h"
#include "machine.h"

#include <stddef.h>
#include <stdint.h>

struct worker;

enum { SPACE_CHUNK = 1 << 15 }; /* bytes whose marks and cells are populated together */

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
    uint32_t word, pc, phase, tick;
    uint16_t thread;
    uint16_t kind; /**< enum touch_kind, and TOUCH_DATA */
    uint8_t mask;  /**< of its four bytes */
};
enum touch_kind {
    TOUCH_READ = 1,
    TOUCH_WRITE = 2,
    TOUCH_ATOMIC = 4,
    TOUCH_BLOCK_ATOMIC = 8, /**< one of block scope: to other blocks, a read and a write */
    TOUCH_DATA = 16,
    TOUCH_VOLATILE = 32,
    TOUCH_WHOLE = 64,
    TOUCH_PADDED = 128,
    TOUCH_EARLY = 256 /**< the launch in front may not be over yet */
};

/** Further kinds of access, beside enum simt_access. */
enum {
    ACCESS_VOLATILE = 8, /**< does not race with atomics */
    ACCESS_WHOLE = 16,   /**< a copy of a struct: a word with padding is written if any byte of it is */
    ACCESS_PADDED = 32,  /**< one that may hold whole words of padding, which nobody ever writes */
    ACCESS_COPY = 64,    /**< of an asynchronous copy: a write begins now, lands later */
    ACCESS_BLOCK = 128,  /**< an atomic that is one for its block only */
    ACCESS_KINDS = SIMT_READ | SIMT_WRITE | SIMT_ATOMIC,
};

void simt_cells_access(struct worker *w, enum place place, uintptr_t offset, size_t bytes, int access,
                       uint32_t pc);
/** @brief The running thread waited for its copy to these bytes of shared memory. */
void simt_cells_land(struct worker *w, enum place place, uintptr_t offset, size_t bytes);
void simt_order_all(struct worker *w); /**< a block barrier, or the beginning of a block, as cells see it */

#endif
