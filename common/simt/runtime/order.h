/**
 * @file order.h
 * @brief Which operations of different streams are ordered. The software device carries everything out at the
 *        call; this finds what a GPU might do in another order.
 *
 * Each stream counts its operations and knows how many of each other stream come before its next one: from events that it waits
 * for, from the default stream of its device, and from what the host has waited for. Nothing is kept with one device.
 */
#pragma once

#include "graph.h"

/** @brief Part of the device memory that an operation uses. */
struct order_use {
    const void *start;
    size_t bytes;
    int written;
};

/** @brief Call it before @p operation is carried out: a finding if it uses what another stream may still
 *         be using. */
void order_begin(const struct operation *operation);
/** @brief After it: a launch learns what it met. */
void order_end(const struct operation *operation);
/** @brief The same for a library call: it is the next operation of @p operation's stream, and uses this
 *         memory. */
void order_call(const struct operation *operation, const struct order_use *use, size_t count);
/** @brief The next operation of stream @p to comes after everything in @p from so far. */
void order_join(cudaStream_t to, int to_device, cudaStream_t from, int from_device);
/** @brief The host has waited for a stream, an event, a device. */
void order_host_waits(cudaStream_t stream, int device);
void order_host_waits_event(cudaEvent_t event);
void order_host_waits_device(int device);
/** @brief A stream is created or destroyed. */
void order_stream_made(struct CUstream_st *stream);
void order_stream_lost(const struct CUstream_st *stream);
