/**
 * @file read.h
 * @brief Traces of the software device (simt/trace_format.h), read. What a trace says is not trusted: it may be any bytes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "simt/trace_format.h"

/** @brief Counters in the order of SIMT_COUNTERS' columns. */
struct trace_counters {
    uint64_t value[TRACE_COUNTED];
};

/** @brief A block whose events are there. */
struct trace_block {
    uint64_t index, left_out;       /**< its number in the grid; events for which there was no room */
    int why;                        /**< enum trace_why */
    struct trace_counters counters; /**< what the device counted for it */
    const unsigned char *events, *events_end;
    size_t begin, end; /**< its chunk in the file */
};

/** @brief A launch, with what the file has of it. */
struct trace_launch {
    char *kernel;
    uint64_t grid[3], block[3];
    struct trace_counters counters; /**< of all of its blocks */
    struct trace_block *blocks;
    size_t block_count, finding_count;
    size_t begin, end; /**< its chunks in the file, without those of sites, which come before */
};

/** @brief A whole trace. */
struct trace {
    const unsigned char *bytes;
    size_t size;
    struct trace_launch *launches;
    size_t launch_count;
    char **files; /**< source files that sites are in, each once */
    size_t file_count;
};

/** @brief Reads the trace in @p bytes, which must stay; 0, or -1 if it is none. */
int trace_read(const unsigned char *bytes, size_t size, struct trace *trace);
void trace_free(struct trace *trace);
/** @brief Adds up what the events of @p block cost; 0, or -1 if they are damaged. */
int trace_add_events(const struct trace_block *block, struct trace_counters *sum);
/** @brief How many blocks the launch had. */
uint64_t trace_blocks_of(const struct trace_launch *launch);
