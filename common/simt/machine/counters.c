/**
 * @file counters.c
 * @brief What a profiler counts: requests and sectors of global memory, wavefronts of shared memory.
 *
 * Lanes run one after another, so what a warp does at once must be put together afterwards. Each lane logs
 * its accesses. When no lane of the warp can go on, the logs are compared: entry by entry while all lanes did
 * the same, by divergence.c from where they diverged. Then the logs are empty, as the lanes have converged.
 * traffic.c says what an access costs.
 */
#include "counters.h"
#include "divergence.h"
#include "finding.h"
#include "image.h"
#include "lanes.h"
#include "machine.h"
#include "settings.h"
#include "shadow.h"
#include "sizes.h"
#include "trace.h"
#include "traffic.h"
#include "worker.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- constants ---------------------------------------------------------------------------------------- */

static bool constants_hold_data;

void simt_counters_see_copy(const void *to)
{
    constants_hold_data |= simt_settings.all_traffic && simt_image_constant((uintptr_t)to);
}

/* ---- logging ------------------------------------------------------------------------------------------ */

void simt_count(struct worker *w, uintptr_t address, size_t bytes, int access, enum place place,
                const void *pc)
{
    const unsigned lane = w->thread_index % WARP_LANES;
    if (place == PLACE_DATA && simt_image_constant(address) && !constants_hold_data)
        return; /* constant memory has a cache of its own */
    /* A struct that the compiler copies as a whole is aligned to less than its size: 4 bytes, as a rule. */
    const size_t widest = access & ACCESS_WHOLE ? 4 : 16;
    do {
        const size_t part = bytes < widest ? bytes : widest;
        if (w->log[lane].count == LOG_ENTRIES) {
            w->warp->paused |= 1u << lane; /* until the other lanes have come as far and the log is flushed */
            simt_suspend(w);
        }
        struct lane_log *log = &w->log[lane];
        log->entry[log->count++] = (struct log_entry){.address = address,
                                                      .pc = simt_pack_pc(pc),
                                                      .bytes = (uint16_t)part,
                                                      .access = (uint8_t)access,
                                                      .place = (uint8_t)place};
        if (place < PLACE_COUNT) {
            if (log->last_thread != w->thread_index) log->last_thread = w->thread_index, log->last_count = 0;
            log->last[log->last_count++ % LAST_ENTRIES] = log->entry[log->count - 1];
        }
        if (w->trace != NULL && place != PLACE_NONE) simt_trace_logged(w);
        address += part;
        bytes -= part;
    } while (bytes > 0);
}

void simt_mark(struct worker *w, enum trace_mark mark, uintptr_t value, const void *pc)
{
    if (w->trace != NULL) simt_count(w, value, 1, (int)mark, PLACE_MARK, pc);
}

void simt_mark_at(struct worker *w, enum trace_mark mark, const void *address, const void *pc)
{
    const enum place place = simt_place_of(w, (uintptr_t)address);
    simt_mark(w, mark, (uintptr_t)address - w->space[place < PLACE_COUNT ? place : 0].base, pc);
}

void simt_count_copy(struct worker *w, uintptr_t to, uintptr_t from, size_t bytes, size_t read,
                     const void *pc)
{
    const enum place target = simt_place_of(w, to);
    if (read > 0)
        simt_count(w, simt_pack_copy(from, to - w->space[target].base), bytes,
                   SIMT_READ | ACCESS_COPY | (target == PLACE_DYNAMIC ? COPY_TO_DYNAMIC : 0),
                   simt_place_of(w, from), pc);
    else
        simt_count(w, to, bytes, SIMT_WRITE | ACCESS_COPY, target, pc);
}

void simt_count_together(struct worker *w, const struct request *r, const struct log_entry *entry,
                         unsigned index)
{
    if (entry->place != PLACE_MARK) simt_count_request(&w->result->counters, r, entry->access, entry->place);
    if (w->trace != NULL) simt_trace_request(w, r, entry, index);
}

/* Counts the entries at one index of all logs, up to @p end, while all did the same. Returns the index reached. */
static unsigned flush_in_step(struct worker *w, unsigned end)
{
    const struct lane_log *log = w->log;
    struct request r = {.count = 0};
    unsigned i;
    for (unsigned lane = 0; lane < WARP_LANES; lane++) {
        if (log[lane].count == 0) continue;
        r.lane[r.count++] = (uint8_t)lane;
        if (log[lane].count < end) end = log[lane].count;
    }
    if (r.count == 0) return 0;
    for (i = 0; i < end; i++) {
        const struct log_entry *first = &log[r.lane[0]].entry[i];
        const uint64_t key = simt_log_key(first);
        uint64_t differs = 0;
        for (unsigned k = 0; k < r.count; k++) {
            const struct log_entry *entry = &log[r.lane[k]].entry[i];
            r.address[k] = entry->address;
            differs |= simt_log_key(entry) ^ key;
        }
        if (differs) break;
        r.bytes = first->bytes;
        simt_count_together(w, &r, first, i);
    }
    return i;
}

bool simt_just_counted(const struct worker *w, uintptr_t address, size_t bytes, int access)
{
    const struct lane_log *log = &w->log[w->thread_index % WARP_LANES];
    if (log->last_thread != w->thread_index) return false;
    for (unsigned i = 0; i < LAST_ENTRIES && i < log->last_count; i++) {
        const struct log_entry *last = &log->last[i];
        if (last->access & access && !(last->access & ACCESS_COPY) && address - last->address < last->bytes &&
            bytes <= last->bytes - (address - last->address))
            return true;
    }
    return false;
}

/* After a barrier, or the end of its warp, a thread has touched nothing yet. */
static void forget_last(struct worker *w)
{
    for (unsigned lane = 0; lane < WARP_LANES; lane++) w->log[lane].last_count = 0;
}

static void flush(struct worker *w, unsigned paused)
{
    const struct counters before = w->result->counters;
    unsigned reached = flush_in_step(w, LOG_ENTRIES), longest = 0;
    for (unsigned lane = 0; lane < WARP_LANES; lane++)
        if (w->log[lane].count > longest) longest = w->log[lane].count;
    if (reached < longest) {
        const unsigned converged = paused == 0 ? simt_converged_until(w, reached) : reached;
        if (converged <
            reached) { /* lanes may have diverged before, though their entries look alike: count again up to there */
            w->result->counters = before;
            if (w->trace != NULL) simt_trace_again(w);
            reached = flush_in_step(w, converged);
        }
        simt_count_divergent(w, reached, paused);
        return;
    }
    for (unsigned lane = 0; lane < WARP_LANES; lane++) w->log[lane].count = 0;
}

void simt_counters_flush(struct worker *w, unsigned paused)
{
    flush(w, paused);
    if (paused == 0) forget_last(w);
    if (w->trace != NULL) simt_trace_flushed(w, true);
}

void simt_counters_drop(struct worker *w)
{
    if (w->trace != NULL && w->warp != NULL) {
        const struct counters before = w->result->counters;
        flush(w, 0);
        w->result->counters = before;
        simt_trace_flushed(w, false);
    }
    forget_last(w);
    for (unsigned lane = 0; lane < WARP_LANES; lane++) w->log[lane].count = 0;
}

/* ---- sums and the file -------------------------------------------------------------------------------- */

void simt_counters_add(struct counters *sum, const struct counters *part)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)part;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++) to[i] += from[i];
}

static FILE *open_counters(bool traced)
{
    FILE *file = strcmp(simt_settings.counters, "-") == 0 ? stderr : fopen(simt_settings.counters, "we");
    if (file == NULL) simt_die("cannot write the counters to %s.", simt_settings.counters);
    fprintf(file,
            "launch,kernel,grid,block,global_load_requests,global_load_sectors,global_store_requests,"
            "global_store_sectors,shared_load_wavefronts,shared_store_wavefronts,shared_bank_conflicts,"
            "atomics,barriers%s\n",
            traced ? ",active_lanes_per_instruction" : "");
    return file;
}

/* A name is what the source says: in it a comma, a quote or the end of a line would be read as more than a name. */
static void write_name(FILE *file, const char *name)
{
    const char *quote = strpbrk(name, ",\"") != NULL ? "\"" : "";
    fputs(quote, file);
    for (; *name != '\0'; name++) {
        if (*name == '"') fputc('"', file);
        fputc((unsigned char)*name < ' ' || *name == 0x7f ? '?' : *name, file);
    }
    fputs(quote, file);
}

void simt_counters_write(const struct simt_launch *launch, const struct counters *sum)
{
    static FILE *file;
    static unsigned long number;
    static bool traced; /* built for it; decides on the header */
    if (file == NULL) {
        traced = sum->traced > 0;
        file = open_counters(traced);
    }
    const uint64_t *value = (const uint64_t *)sum;
    fprintf(file, "%lu,", number++);
    write_name(file, launch->kernel);
    fprintf(file, ",%ux%ux%u,%ux%ux%u", launch->grid.x, launch->grid.y, launch->grid.z, launch->block.x,
            launch->block.y, launch->block.z);
    for (int i = 0; i < 9; i++) fprintf(file, ",%llu", (unsigned long long)value[i]);
    if (traced) fprintf(file, ",%.2f", sum->traced ? (double)sum->traced_lanes / (double)sum->traced : 0.0);
    fputc('\n', file);
    fflush(file);
}

void simt_counters_see_moved(const char *what, uint64_t read, uint64_t written)
{
    const struct simt_launch none = {.kernel = what};
    const struct counters moved = {.load_sectors = read, .store_sectors = written};
    if (simt_settings.counters != NULL && simt_settings.all_traffic) simt_counters_write(&none, &moved);
}
