/**
 * @file runner.h
 * @brief What the runner's own files and the lesson's marshalling know of each other.
 */
#ifndef WARPWISE_RUNNER_RUNNER_H
#define WARPWISE_RUNNER_RUNNER_H

#include <cuda_runtime_api.h>

#include "contracts/kernel_status.h"
#include "lock.h"
#include "protocol/wire.h"

/* ---- given by the lesson (runner/lessons/NN_topic.c) ----------------------------------------------- */

/** @brief Calls the student's entry point that @p item stands for. */
enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream);

/** @brief What the student's ..._workspace_bytes() says of @p item. */
size_t lesson_workspace_bytes(const struct wire_case *item);

/** @brief In lesson_call(): between 1 and 0 the marshalling may wait, allocate, use any stream and copy to the host. The
 *         kernel file itself may not (found on `simt`), nor make such copies where it is a stranger's. */
void marshalling_may_look(int may);

/** @brief In lesson_call(), for an entry point that may make streams, events and graphs. Memory it may not. */
void entry_point_makes_objects(void);

/** @brief In lesson_call(): what is called next is given @p stream, not the one that lesson_call() was. */
void entry_point_is_given(cudaStream_t stream);

/** @brief Bytes that malloc() has given out and not got back; 0 where nobody can tell, as on a GPU. */
size_t host_bytes_in_use(void);

/* ---- one case (device_case.c) -------------------------------------------------------------------------- */

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
};

/** @brief Runs @p item of @p image and writes its result, the stamp last. */
void run_case(struct wire_header *image, struct wire_case *item);

/** @brief Records @p error, with where it came from, unless an error is recorded already. */
int note_error(struct wire_case *item, cudaError_t error, const char *where);

/** @brief Puts the poison of run @p index, or the first contents, into the outputs of set @p set. */
int prepare_outputs(struct device_case *run, int set, int index, int first_contents);

/** @brief Copies what the outputs of @p set hold to the places of run @p index in the image. */
int copy_back(struct device_case *run, int set, int index);

/** @brief Calls the student's entry point on buffer set @p set and @p stream; launches are described in @p described,
 *         or NULL. */
enum kernel_status call_kernel(struct device_case *run, int set, cudaStream_t stream, struct wire_result *described);

/** @brief Pointers as the kernel is to see them. */
void kernel_pointers(const struct device_case *run, int set, void **pointers);

/** @brief From now on (1) a copy from the device to the host is refused, until 0 (launch_info.c). */
void forbid_copies_to_host(int forbid);

/* ---- timing (timing.c) --------------------------------------------------------------------------------- */

/** @brief Times item->timed calls, one event pair each; outputs are poisoned before and copied back after. */
int time_case(struct device_case *run);

/* ---- launches (launch_info.c; an empty version where the linker cannot wrap them) ---------------------- */

/** @brief From now on launches are described in @p result; NULL stops it. */
void describe_launches(struct wire_result *result);

/** @brief What was handed to the device since the process began; a launch into a capture is not. The difference of
 *         two of these is what happened between them. */
struct device_calls {
    int counted; /**< 0 where nobody counts: on `gpu` in every call but the first of a case */
    uint32_t launches, graph_launches;
};
struct device_calls device_calls(void);

#endif
