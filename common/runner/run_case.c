/**
 * @file run_case.c
 * @brief Runs one case: two runs with different poison, on two streams and in two orders; then the timing.
 */
#include "run_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "call.h"
#include "runner.h"
#include "simt_only.h"

/* Where the time goes: what passed since the lap before is added to @p lap. */
static void end_lap(struct device_case *run, enum wire_lap lap)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
    if (lap < WIRE_LAPS) run->item->result.lap_ns[lap] += ns - run->lap_begin;
    run->lap_begin = ns;
}

/* A capture that a wait has broken: whatever is launched on its stream is refused, until it is ended. */
static int refuse_launches(struct device_case *run, cudaStream_t stream)
{
    cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    if (note_error(run->item, error, "making a stream refuse launches") != 0) return -1;
    (void)cudaStreamSynchronize(stream);
    (void)cudaGetLastError();
    return 0;
}

static void end_capture(cudaStream_t stream)
{
    cudaGraph_t graph = NULL;
    if (cudaStreamEndCapture(stream, &graph) == cudaSuccess) cudaGraphDestroy(graph);
    (void)cudaGetLastError();
}

/* While a capture is open, nothing of ours is copied or freed: what follows from that would be found here, and look
 * like this file's fault. */
static int close_left_capture(struct device_case *run, cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(stream, &status) == cudaSuccess && status == cudaStreamCaptureStatusNone)
        return 0;
    end_capture(stream);
    return note_error(run->item, cudaErrorStreamCaptureUnsupported,
                      "the entry point began a capture of its stream and did not end it");
}

/* Told where all else is right. */
static void note_left_running(struct wire_result *result)
{
    if (simt_left_running == NULL || simt_left_running() == 0 || result->cuda_error != 0) return;
    result->left_running = 1;
    snprintf(result->cuda_message, sizeof result->cuda_message,
             "%s (a kernel that was launched early waited for nothing: what follows in the stream may begin "
             "before the kernels in front of it are over)",
             cudaGetErrorString(cudaErrorNotReady));
}

/* The second run is on another stream and, on the software device, in another order of blocks and threads: whatever
 * an entry point keeps from call to call, or leaves to chance, shows as other bits or as a finding. */
static int call_case(struct device_case *run, int set, int index)
{
    struct wire_result *result = &run->item->result, described = {0};
    int refused = (run->item->flags & CASE_REFUSE_LAUNCHES) != 0;
    cudaStream_t stream = run->item->flags & CASE_DEFAULT_STREAM ? NULL : run->stream[index];
    if (refused && refuse_launches(run, run->stream[index]) != 0) return -1;
    if (simt_turn_order != NULL) simt_turn_order(index);
    if (simt_left_by_atomics != NULL) (void)simt_left_by_atomics();
    if (simt_caller_runs != NULL) simt_caller_runs(stream);
    result->status[index] = (int32_t)call_kernel(run, set, stream, index == 0 ? &described : NULL);
    if (simt_turn_order != NULL) simt_turn_order(0);
    if (call_was_seen() != NULL && result->cuda_error == 0)
        snprintf(result->cuda_message, sizeof result->cuda_message, "%s", call_was_seen());
    else if (simt_refused_launch != NULL && result->cuda_error == 0)
        simt_refused_launch(result->cuda_message, sizeof result->cuda_message);
    if (index == 0) {
        result->launches = described.launches;
        result->calls_counted = described.calls_counted;
        result->launches_eager = described.launches_eager;
        result->graph_launches = described.graph_launches;
        result->kernel_count = described.kernel_count;
        memcpy(result->kernel, described.kernel, sizeof result->kernel);
    }
    cudaError_t left = cudaGetLastError();
    if (refused)
        end_capture(run->stream[index]);
    else if (close_left_capture(run, run->stream[index]) != 0)
        return -1;
    int device = 0;
    if (run->item->flags & CASE_SECOND_DEVICE && cudaGetDevice(&device) == cudaSuccess && device != 1) {
        cudaSetDevice(1);
        return note_error(run->item, cudaErrorInvalidDevice,
                          "the entry point left another device than it found");
    }
    note_left_running(result);
    /* An expected error may be left in the runtime by the entry point that reports it. */
    if (refused) return 0;
    /* so is one of a launch that the software device has refused */
    if (result->status[index] == KERNEL_CUDA_ERROR && simt_refused_launch != NULL &&
        result->cuda_message[0] != '\0' && result->cuda_error == 0)
        return 0;
    char where[96] = "launching";
    if (result->status[index] != KERNEL_OK)
        snprintf(where, sizeof where, "left for cudaGetLastError() by a call that returned %s",
                 kernel_status_name((enum kernel_status)result->status[index]));
    return note_error(run->item, left, where);
}

static int finish(struct device_case *run, int index)
{
    const int failed = note_error(run->item, cudaDeviceSynchronize(), "running the kernels");
    if (simt_heap_close != NULL) simt_heap_close();
    if (simt_left_by_atomics != NULL) run->item->result.left_by_atomics[index] = simt_left_by_atomics();
    end_lap(run, WIRE_LAP_KERNEL);
    return failed;
}

static int prepare(struct device_case *run, int set, int index)
{
    const int failed = prepare_outputs(run, set, index, 1);
    end_lap(run, WIRE_LAP_POISON);
    return failed;
}

static int take_back(struct device_case *run, int set, int index)
{
    const int failed = order_copies_back(run, set, index);
    end_lap(run, WIRE_LAP_BACK);
    return failed;
}

static int run_both_at_once(struct device_case *run)
{
    for (int index = 0; index < 2; index++)
        if (prepare(run, index, index) != 0) return -1;
    if (call_case(run, 0, 0) != 0 || call_case(run, 1, 1) != 0 || finish(run, 1) != 0) return -1;
    return take_back(run, 0, 0) != 0 || take_back(run, 1, 1) != 0 ? -1 : 0;
}

/* Of a problem of which parts were filled, the software device runs their share. */
static void run_share(struct device_case *run, const struct wire_parts *parts)
{
    struct device_buffer workspace = {0};
    if (simt_run_share == NULL) return;
    for (unsigned i = 0; i < run->item->buffer_count; i++)
        if (run->item->buffer[i].role == WIRE_WORKSPACE) workspace = run->buffer[0][i];
    simt_run_share(parts->total, parts->step, parts->each, workspace.start, workspace.bytes);
    for (unsigned i = 0; i < run->item->buffer_count; i++)
        if (run->item->buffer[i].role == WIRE_OUT)
            simt_share_output(i, run->buffer[0][i].start, run->buffer[0][i].span);
}

/* The same inputs never come again: what a kernel remembers of them is of no use. */
static int run_once(struct device_case *run)
{
    run->item->result.status[1] = KERNEL_OK;
    const struct wire_parts none = {0};
    if (prepare(run, 0, 0) != 0) return -1;
    run_share(run, &run->item->parts);
    const int failed = call_case(run, 0, 0) != 0 || finish(run, 0) != 0;
    if (simt_share_left != NULL && run->item->parts.total > 0) {
        run->item->result.not_told = (uint32_t)simt_share_left();
        run->item->result.ended = simt_share_ended();
    }
    run_share(run, &none);
    if (failed) return -1;
    run->item->result.status[1] = run->item->result.status[0];
    return take_back(run, 0, 0) != 0 || take_back(run, 0, 1) != 0 ? -1 : 0;
}

static int run_one_by_one(struct device_case *run)
{
    if (run->item->flags & CASE_ONE_CALL) return run_once(run);
    for (int index = 0; index < 2; index++) {
        int set = run->sets == 2 ? index : 0;
        if (prepare(run, set, index) != 0) return -1;
        if (call_case(run, set, index) != 0 || finish(run, index) != 0 || take_back(run, set, index) != 0)
            return -1;
    }
    return 0;
}

enum { FEW_SMS = 2 /* of a small device */ };

enum { REUSED_ROOM = 1 << 20 /* bytes for a buffer of cases that have the same addresses */ };

/* What only the software device can be made to be. */
static void pretend(uint32_t flags, int capability)
{
    if (simt_pretend_devices != NULL && flags & CASE_SECOND_DEVICE) simt_pretend_devices(2);
    if (flags & CASE_SECOND_DEVICE) cudaSetDevice(1);
    if (flags == 0) cudaSetDevice(0);
    if (simt_pretend_devices != NULL && flags == 0) simt_pretend_devices(0);
    /* before the SMs, since a device of few is otherwise as this says */
    if (simt_pretend_capability != NULL) simt_pretend_capability(capability);
    if (simt_pretend_multiprocessors != NULL)
        simt_pretend_multiprocessors(flags & CASE_SMALL_DEVICE ? FEW_SMS : 0);
    if (simt_launch_only != NULL) simt_launch_only((flags & CASE_LAUNCH_ONLY) != 0);
    if (simt_keep_variables != NULL) simt_keep_variables(1);
    if (simt_watch_streams != NULL) simt_watch_streams((flags & CASE_TWO_STREAMS) != 0);
    if (simt_reuse_addresses != NULL && (flags & CASE_SAME_ADDRESSES)) simt_reuse_addresses(REUSED_ROOM);
    if (simt_reuse_addresses != NULL && flags == 0) simt_reuse_addresses(0);
}

static int findings(void)
{
    return simt_finding_count != NULL ? simt_finding_count() : 0;
}

/* Memory beside what the contract gives: variables, and what kernels take with malloc(). */
static void measure_own_memory(struct wire_result *result)
{
    size_t variables = 0, constants = 0;
    if (simt_static_device_bytes != NULL) simt_static_device_bytes(&variables, &constants);
    if (simt_heap_limit != NULL) simt_heap_limit(WIRE_OWN_BYTES);
    result->variable_bytes = variables;
    result->constant_bytes = constants;
}

/* Returns 1 if the case can be timed. */
static int run_calls(struct device_case *run)
{
    struct wire_case *item = run->item;
    item->result.setup_failed = set_up(run) != 0;
    end_lap(run, WIRE_LAP_PLACE);
    for (unsigned i = 0; i < item->buffer_count && item->result.setup_failed; i++)
        item->result.not_told |= item->buffer[i].row_bytes > 0; /* over more memory than the device has */
    if (item->result.setup_failed) return 0;
    if ((item->flags & CASE_TWO_STREAMS ? run_both_at_once(run) : run_one_by_one(run)) != 0) return 0;
    const int failed = copy_inputs_back(run) != 0;
    end_lap(run, WIRE_LAP_BACK);
    return !failed && item->timed > 0 && item->result.status[0] == KERNEL_OK;
}

static void time_in_turn(struct device_case *run, int can_be_timed, void (*take_turn)(int begins))
{
    const int waits = (run->item->flags & WIRE_TAKES_TURNS) != 0;
    if (waits) take_turn(1);
    end_lap(run, WIRE_LAPS);
    if (can_be_timed) time_case(run);
    end_lap(run, WIRE_LAP_TIMING);
    if (waits) take_turn(0);
}

void run_case(struct wire_header *image, struct wire_case *item, void (*take_turn)(int begins))
{
    struct device_case *run = calloc(1, sizeof *run);
    if (run == NULL) return;
    int before = findings();
    pretend(item->flags, (int)item->capability);
    *run = (struct device_case){
        .image = image, .item = item, .sets = item->flags & (CASE_TWO_STREAMS | WIRE_TWO_PLACES) ? 2 : 1};
    measure_own_memory(&item->result);
    item->result.workspace_asked = ask_workspace(item);
    end_lap(run, WIRE_LAPS);
    if (item->flags & CASE_ASK_ONLY)
        item->result.status[0] = item->result.status[1] = KERNEL_OK;
    else
        time_in_turn(run, run_calls(run), take_turn);
    tear_down(run);
    end_lap(run, WIRE_LAP_FREE);
    pretend(0, 0);
    item->result.findings = (uint32_t)(findings() - before);
    free(run);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    memcpy(item->result.stamp, item->nonce, sizeof item->nonce);
}
