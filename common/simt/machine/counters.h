/**
 * @file counters.h
 * @brief What a profiler counts: what a lane notes for it, and the sums.
 */
#pragma once

#include "finding.h"
#include "machine.h"
#include "trace_format.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct worker;
struct request;

enum { LOG_ENTRIES = 1024 }; /* a lane's memory accesses between two flushes: 512 KB a warp stays in cache */

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
enum { COPY_TO_DYNAMIC = 128 }; /* beside the access of a logged copy: it goes to dynamic shared memory */
enum { LAST_ENTRIES = 4 };
struct lane_log {
    unsigned count;
    unsigned last_thread, last_count;
    struct log_entry last[LAST_ENTRIES]; /**< what that thread has touched last, one after the other */
    struct log_entry entry[LOG_ENTRIES];
};

/** What makes two entries the same instruction: everything but the address. */
static inline uint64_t simt_log_key(const struct log_entry *entry)
{
    uint64_t key;
    memcpy(&key, (const char *)entry + sizeof entry->address, sizeof key);
    return key;
}

void simt_count(struct worker *w, uintptr_t address, size_t bytes, int access, enum place place,
                const void *pc);
/** Whether these bytes are among those that the running thread has just touched, and that was counted. */
bool simt_just_counted(const struct worker *w, uintptr_t address, size_t bytes, int access);
/** What the running thread does that is no access: an entry of its log for a trace. Nothing without one. It may suspend the thread. */
void simt_mark(struct worker *w, enum trace_mark mark, uintptr_t value, const void *pc);
/** The same for something in shared memory, whose address is the value. */
void simt_mark_at(struct worker *w, enum trace_mark mark, const void *address, const void *pc);
/** An asynchronous copy of @p bytes to shared memory, of which @p read are read and the rest are zeros. */
void simt_count_copy(struct worker *w, uintptr_t to, uintptr_t from, size_t bytes, size_t read,
                     const void *pc);
void simt_counters_flush(struct worker *w, unsigned paused);
/** The running warp will never go on: what its logs hold is in no counter, and a trace tells it. */
void simt_counters_drop(struct worker *w);
/** Counts one instruction of some lanes, entry @p index of their logs; a trace receives it. */
void simt_count_together(struct worker *w, const struct request *r, const struct log_entry *entry,
                         unsigned index);
void simt_counters_add(struct counters *sum, const struct counters *part);
void simt_counters_write(const struct simt_launch *launch, const struct counters *sum);
