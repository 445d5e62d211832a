/**
 * @file runner.h
 * @brief What a lesson's marshalling (lessons/) and the runner know of each other.
 */
#pragma once

#include <cuda_runtime_api.h>

#include "contracts/kernel_status.h"
#include "lock.h"
#include "protocol/wire.h"

/* ---- given by the lesson (runner/lessons/NN_topic.c, or a family's in runner/families/) --------------- */

/** @brief Calls the student's entry point that @p item stands for. */
enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream);

/** @brief What the student's ..._workspace_bytes() says of @p item. */
size_t lesson_workspace_bytes(const struct wire_case *item);

/** @brief A lesson whose library may be missing defines it: why there is no device for it; NULL if there is. */
extern const char *lesson_lacks(void) __attribute__((weak));

/** @brief A lesson whose library needs more of the system for its first calls than a locked runner has makes those calls here, on a GPU. */
extern void lesson_warm_up(void) __attribute__((weak));

/** @brief In lesson_call(): between 1 and 0 the marshalling may wait, allocate, use any stream and copy to the host. The
 *         kernel file itself may not (found on `simt`), nor make such copies where it is untrusted. */
void marshalling_may_look(int may);

/** @brief In lesson_call(), for an entry point that may make streams, events and graphs. Memory it may not. */
void entry_point_makes_objects(void);

/** @brief In lesson_call(): what is called next is given @p stream, not the one that lesson_call() was. */
void entry_point_is_given(cudaStream_t stream);

/** @brief The same, besides: a stream of another device. */
void entry_point_is_given_also(cudaStream_t stream);

/** @brief In lesson_call(), before marshalling_may_look(1): what it returned. One that failed need not have joined its streams; one
 *         that refused the call must have given no work to any. */
void entry_point_returned(enum kernel_status status);

/** @brief In lesson_call(), before it returns an error: what the marshalling saw go wrong, in words that outlive the call. */
void marshalling_saw(const char *what);

/** @brief The number of the capture that @p stream is in; 0: none that goes on. Whoever is called with a stream under capture leaves
 *         that capture as it is: what it ended and began anew would be another one. */
unsigned long long capture_of(cudaStream_t stream);

#define CAPTURE_ENDED "the entry point ended its caller's capture"

/** @brief Makes @p call once, into a graph, and launches that: what is judged is what the launch does. @p context is
 *         handed on to @p call. Returns what @p call did, or ::KERNEL_CUDA_ERROR. */
enum kernel_status captured_call(enum kernel_status (*call)(void *context, cudaStream_t stream),
                                 void *context, cudaStream_t stream);

/** @brief Where no workspace is needed and the case wants one given that is none: sets @p workspace and @p bytes. */
void stray_workspace(const struct wire_case *item, void **workspace, size_t *bytes);

/** @brief Bytes that malloc() has given out and not got back; 0 where that is unknown, as on a GPU. */
size_t host_bytes_in_use(void);

/** @brief What was handed to the device since the process began; a launch into a capture is not. The difference of
 *         two of these is what happened between them. */
struct device_calls {
    int counted; /**< 0 where nothing is counted: on `gpu` in every call but the first of a case */
    uint32_t launches, graph_launches;
};
struct device_calls device_calls(void);
