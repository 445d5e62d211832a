/**
 * @file read.h
 * @brief Traces of the software device (simt/trace_format.h), read. What a trace says is not trusted: it may be any bytes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "simt/trace_format.h"

enum { TRACE_LANES_OF_A_WARP = 32 };

/** @brief Counters in the order of SIMT_COUNTERS' columns. */
struct trace_counters {
    uint64_t value[TRACE_COUNTED]; /**< one for each column */
};

/** @brief A block whose events are there. */
struct trace_block {
    uint64_t index;                  /**< its number in the grid */
    uint64_t left_out;               /**< events for which there was no room */
    int why;                         /**< enum trace_why */
    struct trace_counters counters;  /**< what the device counted for it */
    const unsigned char *events;     /**< where its events begin */
    const unsigned char *events_end; /**< and where they end */
    size_t begin;                    /**< of its chunk in the file */
    size_t end;                      /**< of that chunk */
};

/** @brief A thread of a launch. */
struct trace_thread {
    uint64_t block;  /**< its index */
    uint64_t thread; /**< and its index there */
};

/** @brief A launch, with what the file has of it. */
struct trace_launch {
    char *kernel;                   /**< its name */
    uint64_t grid[3];               /**< blocks */
    uint64_t block[3];              /**< threads of a block */
    struct trace_counters counters; /**< of all of its blocks */
    struct trace_block *blocks;     /**< those that are traced */
    size_t block_count;             /**< how many of them */
    size_t finding_count;           /**< how many findings it has */
    /** who is in them, in their order; of each first the thread that acted last */
    struct trace_thread *found;
    size_t found_count;        /**< how many threads */
    int is_written;            /**< it writes the element that was asked for */
    struct trace_thread wrote; /**< who does that last */
    size_t begin;              /**< of its chunks in the file, without those of sites, which come before */
    size_t end;                /**< of the last of them */
};

/** @brief Where in the source something is done. */
struct trace_site {
    size_t file;   /**< of the trace's files */
    uint64_t line; /**< counted from 1; 0: nobody knows */
};

/** @brief An access of a warp's lanes. */
struct trace_request {
    uint64_t site;                           /**< of the trace's sites */
    unsigned access;                         /**< enum trace_access, several */
    unsigned space;                          /**< enum trace_space */
    unsigned bytes;                          /**< of a lane */
    uint32_t mask;                           /**< lanes that are active */
    uint64_t address[TRACE_LANES_OF_A_WARP]; /**< of the active lanes, one after the other */
    struct trace_counters cost;              /**< what the device counted for it */
};

/** @brief A whole trace. */
struct trace {
    const unsigned char *bytes;    /**< the whole file */
    size_t size;                   /**< of it */
    struct trace_launch *launches; /**< in the order of the file */
    size_t launch_count;           /**< how many launches */
    char **files;                  /**< source files that sites are in, each once */
    size_t file_count;             /**< how many files */
    struct trace_site *sites;      /**< by their numbers */
    size_t site_count;             /**< how many sites */
};

/** @brief Reads the trace in @p bytes, which must stay; 0, or -1 if it is none. */
int trace_read(const unsigned char *bytes, size_t size, struct trace *trace);
/** @brief Frees what trace_read() has allocated. */
void trace_free(struct trace *trace);
/** @brief Adds up what the events of @p block cost; 0, or -1 if they are damaged. */
int trace_add_events(const struct trace_block *block, struct trace_counters *sum);
/** @brief Tells @p see of every access in @p block, in order; 0, or -1 if its events are damaged. */
int trace_each_request(const struct trace_block *block,
                       void (*see)(void *context, const struct trace_request *request), void *context);
/** @brief How many blocks the launch had. */
uint64_t trace_blocks_of(const struct trace_launch *launch);
