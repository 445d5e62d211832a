/**
 * @file device_case.h
 * @brief One case in device memory: its buffers between guard zones, poison, and the way back.
 */
#pragma once

#include <cuda_runtime_api.h>
#include "protocol/wire.h"

/** @brief A buffer in device memory, between its guard zones. */
struct device_buffer {
    unsigned char *allocation;
    unsigned char *start; /**< what the kernel sees, no better aligned than asked */
    size_t bytes;         /**< what the kernel may use */
    size_t span;          /**< from the first of them to the end of the last: more where rows lie apart */
    size_t allocated;
};

/** @brief Everything a case holds in device memory. Input buffers are shared by the two runs unless they lie elsewhere. */
struct device_case {
    struct wire_header *image;
    struct wire_case *item;
    struct device_buffer buffer[2][WIRE_BUFFERS];
    cudaStream_t stream[2]; /**< of each run */
    int sets;               /**< 2 if each run has its own buffers, else 1 */
    uint64_t lap_begin;     /**< when what is under way began, in nanoseconds */
};

/**
 * @brief From now on, small buffers on a GPU stay allocated from case to case: several runners at once would wait for each other in
 *        the driver. They lie between guard zones like all others. Not for a sanitizer, which knows allocations and no guard zones,
 *        nor for somebody else's kernel, which could leave something behind them.
 */
void keep_small_buffers(void);

/** @brief Makes the streams and the buffers of a case; 0, or -1 with the error noted. */
int set_up(struct device_case *run);
void tear_down(struct device_case *run);

/** @brief Records @p error, with where it came from, unless an error is recorded already. */
int note_error(struct wire_case *item, cudaError_t error, const char *where);

/** @brief Puts the poison of run @p index, or the first contents, into the outputs of set @p set. */
int prepare_outputs(struct device_case *run, int set, int index, int first_contents);

/** @brief Copies what the outputs of @p set hold to the places of run @p index in the image. */
int copy_back(struct device_case *run, int set, int index);

/** @brief The same, which is over with the next prepare_outputs() or copy_inputs_back(). */
int order_copies_back(struct device_case *run, int set, int index);

/** @brief The same for the inputs, which must come back as they went. */
int copy_inputs_back(struct device_case *run);

/** @brief Pointers as the kernel is to see them. */
void kernel_pointers(const struct device_case *run, int set, void **pointers);
