/**
 * @file sizes.h
 * @brief How large a warp, a block and their memory are.
 */
#pragma once

enum {
    WARP_LANES = 32,
    MAX_THREADS = 1024,
    MAX_WARPS = MAX_THREADS / WARP_LANES,
    STACK_BYTES = 64 << 10,    /* local memory of a thread, */
    GUARD_BYTES = STACK_BYTES, /* and what lies below and above it: arguments that nobody gave end there */
    DYNAMIC_SHARED_BYTES = 227 << 10,
    MAX_CLUSTER = 16, /* blocks of a cluster */
};
