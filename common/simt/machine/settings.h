/**
 * @file settings.h
 * @brief The SIMT_ variables of the environment.
 */
#pragma once

#include "machine.h"

#include <stdbool.h>

enum traced { TRACED_SOME, TRACED_ONE, TRACED_ALL };
enum order { ORDER_FORWARD, ORDER_REVERSE, ORDER_RANDOM };

struct __attribute__((aligned(4096))) settings { /* a page of their own, see simt_seal_settings() */
    enum order order;
    uint64_t seed; /**< of ORDER_RANDOM */
    bool turned;   /**< by simt_turn_order(): the other order, in which warps take turns at atomics */
    int workers;
    bool check;
    unsigned sample;      /**< every so many blocks one is checked; 1: all */
    bool early;           /**< asynchronous operations happen as soon as they may; else as late */
    bool all;             /**< kinds that seldom matter are reported, too */
    int device;           /**< 75, 80 or 90 */
    int devices;          /**< how many there are */
    const char *counters; /**< file name, "-", or NULL */
    const char *trace;    /**< file name, or NULL */
    enum traced traced;   /**< which blocks: the first and the first with a finding; one; all */
    struct simt_extent traced_block;
    const char *watched; /**< threads that a debugger watches (debugger.h), or NULL */
    const char *element; /**< whose last write is to be in the trace, as "out:0,3", or NULL */
    bool all_traffic;    /**< counters have what goes other ways than loads and stores, too */
};
extern struct settings simt_settings;

/** @brief After simt_seal_settings(): this is the device of untrusted code. */
bool simt_settings_are_sealed(void);
/** @brief One sentence on stderr, then exit code 2. */
void simt_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
