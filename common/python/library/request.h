/**
 * @file request.h
 * @brief What libwarpwise_simt.so and the process that has the software device say to each other.
 *
 * Both have mapped the same memory, in which the library lays the inputs and finds the outputs. A request tells where, and
 * which pointer of the arguments each of them is. The pointers themselves mean nothing to the other process.
 */
#pragma once

#include <stdint.h>

#include "attention_backward_args.h"
#include "gemm_args.h"

/** @brief File descriptors that the process finds open. */
enum { REQUEST_SOCKET = 3, REQUEST_MEMORY = 4 };

/** @brief Most buffers of a request: q, k, v, out, dout, lse, dq, dk, dv and the workspace. */
enum { REQUEST_BUFFERS = 10 };

/** @brief One of the buffers that the arguments point to. */
struct request_buffer {
    size_t pointer_at; /**< offset of the pointer in the arguments */
    size_t bytes;      /**< how large the buffer is */
    size_t at;         /**< where it lies in the memory that both see */
    int in;            /**< 1: the kernel reads it */
    int out;           /**< 1: the kernel writes it */
};

/** @brief One call. */
struct request {
    int only_workspace;  /**< 1: is asked how much workspace there must be, and no more */
    enum dtype dtype;    /**< whose entry point is called */
    size_t memory_bytes; /**< how much memory both see by now */
    int buffer_count;    /**< how many of the next are used */
    struct request_buffer buffer[REQUEST_BUFFERS]; /**< those that are not NULL */
    union {
        struct attention_args attention;
        struct attention_backward_args backward;
        struct gemm_args gemm;
    } args; /**< of the lesson; pointers to buffers are set by whoever receives it */
};

/** @brief What comes back. */
struct reply {
    enum kernel_status status; /**< of the entry point, or KERNEL_CUDA_ERROR */
    int is_last;               /**< 1: the device met an error or a finding, and the process ends */
    size_t size;               /**< if only that was asked */
};
