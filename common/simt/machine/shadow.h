/**
 * @file shadow.h
 * @brief Shadow memory: what is kept of each word to find races within a block, and the list of what the block touched.
 */
#pragma once

#include "finding.h"
#include "machine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct worker;

enum { SPACE_CHUNK = 1 << 15 }; /* bytes whose marks and cells are populated together */

/**
 * @brief The last accesses of one word, or byte, in this block.
 *
 * Ticks never go back on a worker, so a cell that an earlier block left is recognised by its age, and
 * nothing is ever cleared. Two readers are kept, of different warps if there are any, so that one of them
 * is not the thread that writes next.
 */
struct shadow_cell {
    uint32_t write_tick, write_pc;
    uint32_t read_tick[2], read_pc[2];
    uint16_t reader[2], writer; /**< a reader with enum reader_flag */
    bool write_atomic : 1;
    bool write_async : 1; /**< to global memory, through the asynchronous proxy */
    union {
        /** of global memory: what the block's list has of it since touch_tick (shadow_words.c) */
        uint8_t touched;
        uint8_t copy; /**< of shared memory: enum copy_state of the last write, begun at copy_tick */
    };
    union {
        uint32_t touch_tick, copy_tick;
    };
    uint32_t split; /**< index of four byte cells, 0: the word is one cell */
    union {
        uint32_t serial;   /**< of the last write to shared memory: products.c compares it */
        uint32_t observed; /**< of global memory: the tick of the last read by an atomic, or a volatile */
    };
};

enum copy_state {
    COPY_NONE,
    COPY_IN_FLIGHT,
    COPY_LANDED,
    COPY_REPORTED, /**< it has landed; the writer is its mbarrier's column (vector_clocks.h) */
    COPY_BULK_IN_FLIGHT,
    COPY_BULK_REPORTED, /**< the last two through the asynchronous proxy */
};

/** What a cell's `reader` says besides the number of the thread. */
enum reader_flag {
    VOLATILE_READER = 0x8000,
    BUSY_READER = 0x4000,  /**< a bulk copy that has not read yet */
    ASYNC_READER = 0x2000, /**< through the asynchronous proxy */
    READER_FLAGS = 0xe000
};

enum { PAGE_BYTES = 128, PAGE_RUNS = 4 };

/**
 * @brief Plain accesses of one source line by threads of one warp, of @p unit bytes each, side by side: the
 * same number by each thread.
 */
struct run {
    union {
        struct {
            uint32_t tick, phase;
        };
        uint64_t when;
    };
    uint32_t pc;
    union {
        struct {
            uint16_t kind; /**< enum touch_kind */
            uint8_t unit, end;
        };
        /** kind, unit and end in one: compared with an access of this kind and size that begins at the end */
        uint32_t next;
    };
    uint16_t thread, last; /**< the first and the last thread */
    uint8_t first, count;  /**< first and end: bytes in the page */
    uint8_t each;          /**< accesses of a thread; 0 while there is one thread */
    uint8_t left;          /**< how many accesses the last thread has still to make */
};

/** @brief The shadow cells of a page, and its read marks, as in struct space. */
struct shadow_page {
    uint32_t read_mark[PAGE_BYTES / 2];
    struct shadow_cell cells[PAGE_BYTES / 4];
};

/** @brief A piece of global memory that the running block touched. */
struct page {
    uint32_t number;
    uint32_t slot;                 /**< of the hash table: shows that the page is this block's */
    uint32_t phase, read, written; /**< the phase, and which words the block's list of touches has in it */
    uint8_t runs;
    bool live; /**< all of it lies in one allocation */
    struct shadow_page *cells;
    struct run run[PAGE_RUNS];
};

/** @brief All pages of the running block. */
struct pages {
    struct page *page;
    size_t count, capacity;
    uint32_t *slot; /**< indices of pages, by a hash of their numbers */
    uint32_t mask, shift;
    struct shadow_page *pool;
    size_t pool_size, pool_used;
    uint32_t *pool_owner; /**< which page has it */
};

/**
 * @brief Shared memory and its shadow cells.
 *
 * read_mark has a number per half word. If it is the current mark of the running block or warp (struct
 * shadow_memory), a further read there can find nothing new and is over after one comparison.
 */
struct space {
    uintptr_t base;
    size_t bytes;
    uint32_t *read_mark;
    struct shadow_cell *cells; /**< one per word */
    uint8_t *ready;            /**< a byte for SPACE_CHUNK bytes: 1 if their marks and cells are populated */
};

/**
 * @brief A range that the block touched for the first time in this phase and in this way, as in struct run;
 * for inter_block.c.
 */
struct touch {
    uint64_t word : 38, first : 2; /**< the word, and the byte of it */
    uint64_t unit : 8, count : 8, each : 8;
    uint32_t pc, phase, tick;
    uint16_t thread;
    uint16_t kind; /**< enum touch_kind, and TOUCH_DATA */
};
enum touch_kind {
    TOUCH_READ = 1,
    TOUCH_WRITE = 2,
    TOUCH_ATOMIC = 4,
    TOUCH_BLOCK_ATOMIC = 8, /**< of block scope: for other blocks, a read and a write */
    TOUCH_DATA = 16,
    TOUCH_VOLATILE = 32,
    TOUCH_WHOLE = 64,
    TOUCH_PADDED = 128,
    TOUCH_EARLY = 256,     /**< the launch in front may not be over yet */
    TOUCH_ASYNC = 512,     /**< through the asynchronous proxy */
    TOUCH_ACQUIRED = 1024, /**< the thread had acquired what earlier blocks released (fences.h) */
    TOUCH_CONSTANT = 2048, /**< a read of what the kernel does not write */
    TOUCH_STORED = 4096,   /**< an atomic that only stores */
    TOUCH_OBSERVED = 8192  /**< a write, and the block has read the word by an atomic or a volatile */
};

/** Further kinds of access, beside enum simt_access. */
enum {
    ACCESS_VOLATILE = 8, /**< does not race with atomics */
    /** copies a whole struct: a word with padding counts as written if any byte of it is */
    ACCESS_WHOLE = 16,
    ACCESS_PADDED = 32,   /**< may include whole words of padding, which nobody ever writes */
    ACCESS_COPY = 64,     /**< by an asynchronous copy: begins now, lands later */
    ACCESS_BLOCK = 128,   /**< an atomic that is one for its block only */
    ACCESS_BULK = 256,    /**< through the asynchronous proxy: begins now */
    ACCESS_PRODUCT = 512, /**< through the asynchronous proxy, by a product of a warpgroup */
    ACCESS_ASYNC = 1024,  /**< of global memory, through the asynchronous proxy */
    ACCESS_STORE = 2048,  /**< an atomic that only stores */
    /* 4096 is SIMT_CONSTANT */
    ACCESS_KINDS = SIMT_READ | SIMT_WRITE | SIMT_ATOMIC,
};

/** @brief The bit of a cell's `touched` for a touch: those of threads that have acquired have bits of their own, as they say less. */
static inline unsigned simt_touched_bit(unsigned kind)
{
    enum { READ_ACQUIRED = 16, WRITE_ACQUIRED = 32, READ_CONSTANT = 64, ATOMIC_ACQUIRED = 128 };
    if (kind & TOUCH_CONSTANT) return READ_CONSTANT;
    if (!(kind & TOUCH_ACQUIRED) || kind & TOUCH_BLOCK_ATOMIC)
        return kind & (TOUCH_READ | TOUCH_WRITE | TOUCH_ATOMIC | TOUCH_BLOCK_ATOMIC);
    return kind & TOUCH_READ ? READ_ACQUIRED : kind & TOUCH_WRITE ? WRITE_ACQUIRED : ATOMIC_ACQUIRED;
}
/** @brief The bits of touches that say all that one of this kind could add. */
static inline unsigned simt_touched_enough(unsigned kind)
{
    const unsigned plain = kind & (TOUCH_READ | TOUCH_WRITE | TOUCH_ATOMIC | TOUCH_BLOCK_ATOMIC);
    if (kind & TOUCH_CONSTANT) return simt_touched_bit(kind);
    return simt_touched_bit(kind) | plain |
           (kind & TOUCH_READ ? TOUCH_WRITE | simt_touched_bit(TOUCH_READ | TOUCH_CONSTANT) : 0u);
}

void simt_shadow_access(struct worker *w, enum place place, uintptr_t offset, size_t bytes, int access,
                        uint32_t pc);
/**
 * @brief The same for a plain read of 4, 8 or 16 bytes of shared memory, aligned to as many, in the usual case. False: it is
 * another case, and nothing was done.
 */
bool simt_shadow_read_words(struct worker *w, enum place place, uintptr_t offset, size_t bytes, uint32_t pc);
/** @brief The same for a plain write. */
bool simt_shadow_write_words(struct worker *w, enum place place, uintptr_t offset, size_t bytes, uint32_t pc);
/** @brief The running thread waited for its copy to these bytes of shared memory. */
void simt_shadow_copy_landed(struct worker *w, enum place place, uintptr_t offset, size_t bytes);
/**
 * @brief Whether one of these bytes was written in this block since the worker's serial was @p serial, and
 * by whom.
 */
bool simt_shadow_written_since(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                               uint32_t serial, struct actor *writer);
/** @brief These bytes were read by the products of warpgroup @p group that completed at @p tick. */
void simt_shadow_product_read(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                              unsigned group, uint32_t tick, uint32_t pc);
/** @brief Thread @p thread's copy to these bytes has landed and reported to the mbarrier of @p column at @p tick. */
void simt_shadow_copy_reported(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                               unsigned thread, unsigned column, uint32_t tick);
/** @brief The same for the bulk copy that was begun at tick @p begun. */
void simt_shadow_bulk_reported(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                               uint32_t begun, unsigned column, uint32_t tick);
/**
 * @brief Calls @p what for each shadow cell of these bytes of shared memory, for an access of another block
 * (distributed_shared.c).
 */
void simt_shadow_for_each(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                          void (*what)(void *context, struct shadow_cell *c), void *context);
/** @brief The copy from these bytes that was begun at tick @p begun has been made. */
void simt_shadow_read_complete(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                               uint32_t begun);
/** @brief The running thread has waited until the bulk copy it began at tick @p begun has read these bytes. */
void simt_shadow_read_awaited(struct worker *w, enum place place, uintptr_t offset, size_t bytes,
                              uint32_t begun);
