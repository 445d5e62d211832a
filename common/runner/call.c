/**
 * @file call.c
 * @brief Calls the student's entry point, with nothing in reach that it is not given.
 */
#include "call.h"

#include <stdlib.h>
#ifdef __GLIBC__ /* known only after its other headers */
#include <malloc.h>
#endif

#include "args.h"
#include "image_view.h"
#include "runner.h"
#include "simt_only.h"

/* While untrusted code runs, the image (inputs, poison, nonce) is out of its reach, and so are copies
 * that would bring device memory to the host. */
static void hide_image(int hide)
{
    if (!runner_is_locked()) return;
    image_view_hide(hide);
    forbid_copies_to_host(hide);
}

/* What the kernel file is held to while it runs, as simt/machine.h has it. */
enum { NO_WAIT = 1, NO_MEMORY = 2, NO_OBJECTS = 4, ONE_STREAM = 8, ALL_PROMISES = 15 };

enum { ALSO_GIVEN = 16 };

static unsigned promises;
static cudaStream_t given, also_given[ALSO_GIVEN];
static int also;

static void hold_to(unsigned what)
{
    if (simt_promise == NULL) return;
    simt_promise(what, given);
    for (int i = 0; i < also; i++) simt_promise_also(also_given[i]);
}

void marshalling_may_look(int may)
{
    hold_to(may ? 0 : promises);
    if (runner_is_locked()) forbid_copies_to_host(!may);
}

void entry_point_makes_objects(void)
{
    promises &= ~(unsigned)NO_OBJECTS;
    hold_to(promises);
}

void entry_point_is_given(cudaStream_t stream)
{
    if (simt_promise_returned != NULL)
        simt_promise_returned(); /* what asked for the workspace may have left a group, too */
    given = stream;
    also = 0;
    hold_to(promises);
}

void entry_point_is_given_also(cudaStream_t stream)
{
    if (also < ALSO_GIVEN) also_given[also++] = stream;
    hold_to(promises);
}

static const char *saw; /* in the call under way */

void marshalling_saw(const char *what)
{
    saw = what;
}

const char *call_was_seen(void)
{
    return saw;
}

void entry_point_returned(enum kernel_status status)
{
    if (simt_promise_returned != NULL) simt_promise_returned();
    if (simt_promise_broken_off == NULL || status == KERNEL_OK || status == KERNEL_NOT_STARTED) return;
    simt_promise_broken_off(status !=
                            KERNEL_CUDA_ERROR); /* KERNEL_CUDA_ERROR alone may come after a launch */
}

/* A graded runner of the software device has the host code in another process, see boundary/boundary.h. */
extern uint64_t boundary_host_bytes(void) __attribute__((weak));

size_t host_bytes_in_use(void)
{
#if defined __GLIBC__ && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    if (simt_promise == NULL) return 0; /* a driver may keep memory */
    struct mallinfo2 info = mallinfo2();
    size_t elsewhere = boundary_host_bytes != NULL ? (size_t)boundary_host_bytes() : 0;
    return info.uordblks + info.hblkhd + elsewhere;
#else
    return 0;
#endif
}

/** A call of the lesson, for one that is captured. */
struct lesson_and_case {
    const struct wire_case *item;
    void *const *pointers;
};

static enum kernel_status call_lesson(void *context, cudaStream_t stream)
{
    const struct lesson_and_case *c = context;
    return lesson_call(c->item, c->pointers, stream);
}

void stray_workspace(const struct wire_case *item, void **workspace, size_t *bytes)
{
    if (item->flags & CASE_STRAY_WORKSPACE) {
        *workspace = (void *)(uintptr_t)3;
        *bytes = 5;
    }
    if (item->flags & CASE_NULL_WORKSPACE) {
        *workspace = item->flags & CASE_STRAY_WORKSPACE ? (void *)((uintptr_t)1 << 45) : NULL;
        *bytes = SIZE_MAX;
    }
}

/* Tells the entry point of a smaller workspace than there is, or of one at an address that is none, if the case asks for that. */
static void tell_workspace(struct wire_case *told, void **pointers)
{
    for (unsigned i = 0; i < told->buffer_count; i++) {
        struct wire_buffer *buffer = &told->buffer[i];
        if (buffer->role != WIRE_WORKSPACE) continue;
        const uint64_t fewer = told->workspace_more < 0 ? (uint64_t)-told->workspace_more : 0;
        buffer->bytes -= fewer < buffer->bytes ? fewer : buffer->bytes;
        size_t bytes = buffer->bytes;
        if (pointers[i] == NULL && !buffer->null) stray_workspace(told, &pointers[i], &bytes);
        buffer->bytes = bytes;
    }
}

size_t ask_workspace(const struct wire_case *item)
{
    const unsigned long objects = simt_objects_made != NULL ? simt_objects_made() : 0;
    promises = ALL_PROMISES;
    entry_point_is_given(NULL);
    const size_t bytes = lesson_workspace_bytes(item);
    hold_to(0);
    if (simt_report_left_since != NULL) simt_report_left_since(objects);
    return bytes;
}

enum kernel_status call_kernel(struct device_case *run, int set, cudaStream_t stream,
                               struct wire_result *described)
{
    struct wire_case told = *run->item;
    void *pointers[WIRE_BUFFERS];
    /* The marshalling sees the workspace as large as it is, and none of the secrets. */
    for (unsigned i = 0; i < told.buffer_count; i++) {
        told.buffer[i].bytes = run->buffer[set][i].bytes;
        told.buffer[i].poison[0] = told.buffer[i].poison[1] = 0;
    }
    told.nonce[0] = told.nonce[1] = told.guard_seed = 0;
    kernel_pointers(run, set, pointers);
    tell_workspace(&told, pointers);
    struct lesson_and_case call = {&told, pointers};
    hide_image(1);
    describe_launches(described);
    promises = ALL_PROMISES;
    entry_point_is_given(stream);
    saw = NULL;
    struct device_calls before = device_calls();
    unsigned long objects = simt_objects_made != NULL ? simt_objects_made() : 0;
    enum kernel_status status =
        told.flags & CASE_CAPTURED ? captured_call(call_lesson, &call, stream) : call_lesson(&call, stream);
    struct device_calls after = device_calls();
    entry_point_returned(status);
    hold_to(0);
    if (simt_report_left_since != NULL) simt_report_left_since(objects);
    describe_launches(NULL);
    if (described != NULL) {
        described->calls_counted = (uint32_t)after.counted;
        described->launches_eager = after.launches - before.launches;
        described->graph_launches = after.graph_launches - before.graph_launches;
    }
    hide_image(0);
    run->item->result.args_written |= (uint32_t)args_changed();
    return status;
}

unsigned long long capture_of(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
#if CUDART_VERSION >= 13000
    cudaStreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL, NULL);
#else
    cudaStreamGetCaptureInfo_v2(stream, &status, &id, NULL, NULL, NULL);
#endif
    return status == cudaStreamCaptureStatusActive ? id : 0;
}

enum kernel_status captured_call(enum kernel_status (*call)(void *context, cudaStream_t stream),
                                 void *context, cudaStream_t stream)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable = NULL;
    if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) != cudaSuccess) return KERNEL_CUDA_ERROR;
    const unsigned long long own = capture_of(stream);
    enum kernel_status status = call(context, stream);
    const int kept = capture_of(stream) == own;
    if (cudaStreamEndCapture(stream, &graph) != cudaSuccess) return KERNEL_CUDA_ERROR;
    marshalling_may_look(1);
    if (!kept) {
        marshalling_saw(CAPTURE_ENDED);
        status = KERNEL_CUDA_ERROR;
    }
    if (status == KERNEL_OK && cudaGraphInstantiate(&executable, graph, 0) != cudaSuccess)
        status = KERNEL_CUDA_ERROR;
    hold_to(promises & ~(unsigned)(NO_OBJECTS | NO_WAIT)); /* what is captured is the kernel file's */
    if (status == KERNEL_OK &&
        (cudaGraphLaunch(executable, stream) != cudaSuccess || cudaStreamSynchronize(stream) != cudaSuccess))
        status = KERNEL_CUDA_ERROR;
    marshalling_may_look(1);
    if (executable != NULL) cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    marshalling_may_look(0);
    return status;
}
