/**
 * @file boundary.h
 * @brief The graded runner on the software device is two processes: this is the wall between them.
 *
 *     device process   runner, device, image, findings, counters; of the student's file only the kernels run here
 *          │  calls an entry point of the contract           ▲
 *          ▼                                                 │  calls of CUDA: numbers and bytes, each one checked
 *     host process     the student's host code; it has no inputs, no device memory, no files
 *
 * Both are the same program, so that a function has the same address on both sides. What the student's object file calls
 * (cudaMemsetAsync, fprintf) the linker finds under another name, gate_cudaMemsetAsync (build/object_gates.c); the gate sends
 * the call to the other side, and refuses it in a kernel. What the student's file defines for the contract is likewise called
 * student_NAME; NAME is in entries.c, and calls the other side.
 */
#pragma once

#include <stdint.h>

/** @brief How a parameter of an entry point reaches the host process. */
enum boundary_kind {
    BOUNDARY_PLAIN,  /**< a number, or a pointer that only the device dereferences */
    BOUNDARY_STREAM, /**< a stream: the host process may use it from now on */
    BOUNDARY_REAL,   /**< a float or a double */
    BOUNDARY_GIVEN,  /**< a pointer to a host struct, which is copied; or NULL */
    BOUNDARY_HANDLE  /**< a pointer to a pointer of the host process, which it may change; or NULL */
};

/** @brief A parameter on its way to the host process. */
struct boundary_word {
    enum boundary_kind kind; /**< how it goes */
    uint32_t bytes;          /**< size of what a GIVEN pointer points to */
    uint64_t value;          /**< the number, the pointer, or the bits of a real number */
};

enum {
    BOUNDARY_PARAMETERS = 10, /**< the most parameters of an entry point */
    BOUNDARY_REALS = 4        /**< the most of them that are real */
};

/** @brief Bits of a float, as the lower half of a register holds them. */
static inline uint64_t boundary_float(float x)
{
    union {
        float real;
        uint64_t bits;
    } both = {.bits = 0};
    both.real = x;
    return both.bits;
}
/** @brief Bits of a double. */
static inline uint64_t boundary_double(double x)
{
    union {
        double real;
        uint64_t bits;
    } both = {.real = x};
    return both.bits;
}

/** @brief Calls @p function, one of the student's, in the host process, and serves its calls of CUDA until it returns. */
uint64_t boundary_call(void (*function)(void), const struct boundary_word *word, unsigned count);

/** @brief Allows the host process to use @p handle, which lies in a struct that it receives; @p kind as in
 *         calls.h. */
void boundary_may_use(char kind, const void *handle);

/**
 * @brief Makes the host process, before anything exists that it must not have; returns only in the device
 *        process.
 * @return 0, or -1 with errno set
 */
int boundary_open(void);

/** @brief From now on the host process may use @p seconds of CPU time, all calls together; see simt_watch(). */
void boundary_watch(double seconds);

/** @brief Bytes that the host process has got from malloc() and not freed. */
uint64_t boundary_host_bytes(void);

/** @brief 1 if the host process has changed a struct that it was given, since the last time that this was asked. */
int boundary_args_changed(void);
