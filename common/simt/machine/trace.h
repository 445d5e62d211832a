/**
 * @file trace.h
 * @brief SIMT_TRACE: what the warps of some blocks do, kept event by event; trace_file.c writes it.
 *
 * What lanes do goes through their logs (counters.c), which put together what a warp does at once; so a trace has exactly the
 * requests that are counted, with what each of them costs. What the scheduler decides, as barriers, is added between two
 * flushes of the logs, when all that came before has been added.
 */
#pragma once

#include "counters.h"
#include "finding.h"
#include "machine.h"
#include "tools.h"
#include "trace_format.h"
#include "traffic.h"

#include <stdbool.h>
#include <stdint.h>

struct result;
struct trace;
struct warp;

/** @brief A block that will be in the file. */
struct traced_block {
    uint64_t block, left_out; /**< its index; events for which there was no room */
    enum trace_why why;
    struct counters counters;
    struct vector events; /**< bytes */
};
/** @brief An allocation or a variable that traced blocks used. */
struct traced_range {
    enum trace_space space;
    uintptr_t start, end;        /**< as struct finding has places of that space */
    const struct symbol *symbol; /**< of a variable */
};
/** @brief A place of the program; the index in the list is its number in the file. */
struct traced_site {
    uint32_t pc;
    const struct simt_site *site; /**< where the source named itself: pc is 0 then */
};
/** @brief What the launch that runs will leave in the file. */
struct traced_launch {
    struct vector blocks, ranges;
    struct vector sites; /**< of all launches so far */
    bool found;          /**< one of the blocks has a finding */
    struct actor wrote;  /**< who wrote SIMT_TRACE_ELEMENT last; access 0: nobody */
    uintptr_t element;   /**< where that is, in the arena */
    size_t element_bytes;
    const char *dynamic_name; /**< what the source calls dynamic shared memory */
    size_t dynamic_element_bytes;
    uint64_t launches; /**< that are in the file already */
};
extern struct traced_launch simt_traced;

/** @brief The recorder for the block that begins, or NULL if it is not traced. */
struct trace *simt_trace_begin(struct worker *w);
/** @brief The running thread has logged an entry: a debugger that watches the thread stops (debugger.h). */
void simt_trace_logged(struct worker *w);
/** @brief One instruction of some lanes, entry @p index of their logs. */
void simt_trace_request(struct worker *w, const struct request *r, const struct log_entry *entry,
                        unsigned index);
/** @brief Forgets what was added since the last simt_trace_flushed(): it will be counted again. */
void simt_trace_again(struct worker *w);
/** @brief The logs have been flushed: what was added is put in order. @p counted: it is in the counters. */
void simt_trace_flushed(struct worker *w, bool counted);
/** @brief The number of a bulk copy that begins. */
uint64_t simt_trace_number(struct worker *w);
/** @brief What lanes do together at @p site. */
enum trace_meet simt_trace_gathered(const struct simt_site *site);
void simt_trace_meet(struct worker *w, const struct warp *warp, const struct simt_site *site, unsigned meet,
                     unsigned lanes);
void simt_trace_barrier(struct worker *w, const struct simt_site *site, uint32_t warps);
void simt_trace_named(struct worker *w, unsigned id, uint32_t warps);
/** @brief The bulk copy of this number, of @p bytes to @p target, has arrived. */
void simt_trace_landed(struct worker *w, uint64_t number, const void *target, uint64_t bytes);
/** @brief A bulk store that @p thread began at @p pc has put @p bytes to @p target. */
void simt_trace_stored(struct worker *w, unsigned thread, const void *pc, const void *target, size_t bytes);
/** @brief A block has ended, @p found with a finding: is it kept? Its events are gone from @p result. */
void simt_trace_take(struct result *result, bool found);
/** @brief The number of the site in the file. */
unsigned simt_trace_site(uint32_t pc, const struct simt_site *site);

void simt_trace_finding(const struct finding *f, const struct record *record);
/** @brief Writes what the launch left, and forgets it. */
void simt_trace_write(const struct simt_launch *launch, const struct counters *sum);
