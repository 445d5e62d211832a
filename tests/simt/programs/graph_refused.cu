/**
 * Captures that hardware refuses: the code of the call that breaks the rule, what the capture is afterwards,
 * and what its end says.
 */
#include "../testing.h"

static __global__ void add_kernel(int *x, int value)
{
    *x += value;
}

static cudaStream_t stream, other, independent; /* the last does not wait for the legacy stream */
static cudaEvent_t event, joined, outside, unrecorded;
static cudaGraph_t small_graph;
static cudaGraphExec_t small_executable;
static int *device, host;

static void expect_code(const char *what, cudaError_t got, cudaError_t expected)
{
    if (got == expected) return;
    g_failures++;
    fprintf(stderr, "%s gives %s, not %s\n", what, cudaGetErrorName(got), cudaGetErrorName(expected));
}

static cudaError_t launch(cudaStream_t where, int threads)
{
    add_kernel<<<1, threads, 0, where>>>(device, 1);
    return cudaGetLastError();
}

static cudaError_t fork_to(cudaStream_t from, cudaStream_t to, cudaEvent_t by)
{
    require(cudaEventRecord(by, from), "cudaEventRecord");
    return cudaStreamWaitEvent(to, by, 0);
}

/* ---- one call in a capture ----------------------------------------------------------------------------- */

static cudaError_t allocate(void)
{
    int *memory = NULL;
    cudaError_t error = cudaMalloc(&memory, sizeof *memory);
    if (error == cudaSuccess) require(cudaFree(memory), "cudaFree");
    return error;
}
static cudaError_t allocate_pinned(void)
{
    void *memory = NULL;
    cudaError_t error = cudaMallocHost(&memory, sizeof(int));
    if (error == cudaSuccess) require(cudaFreeHost(memory), "cudaFreeHost");
    return error;
}
static cudaError_t free_nothing(void)
{
    return cudaFree(NULL);
}
static cudaError_t wait_for_device(void)
{
    return cudaDeviceSynchronize();
}
static cudaError_t wait_for_itself(void)
{
    return cudaStreamSynchronize(stream);
}
static cudaError_t ask_itself(void)
{
    return cudaStreamQuery(stream);
}
static cudaError_t wait_for_other(void)
{
    return cudaStreamSynchronize(other);
}
static cudaError_t copy_and_wait(void)
{
    return cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost);
}
static cudaError_t fill(void)
{
    return cudaMemset(device, 0, sizeof *device);
}
static cudaError_t launch_in_legacy(void)
{
    return launch(NULL, 1);
}
static cudaError_t launch_in_other(void)
{
    return launch(other, 1);
}
static cudaError_t wait_for_captured_event(void)
{
    require(cudaEventRecord(event, stream), "cudaEventRecord");
    return cudaEventSynchronize(event);
}
static cudaError_t depend_on_outside(void)
{
    return cudaStreamWaitEvent(stream, outside, 0);
}
static cudaError_t depend_on_nothing(void)
{
    return cudaStreamWaitEvent(stream, unrecorded, 0);
}
static cudaError_t ask_outside(void)
{
    return cudaEventQuery(outside);
}
static cudaError_t make_executable(void)
{
    cudaGraphExec_t executable = NULL;
    cudaError_t error = cudaGraphInstantiate(&executable, small_graph, 0);
    if (error == cudaSuccess) require(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
    return error;
}
static cudaError_t launch_graph(void)
{
    return cudaGraphLaunch(small_executable, stream);
}
static cudaError_t launch_graph_in_other(void)
{
    return cudaGraphLaunch(small_executable, other);
}
static cudaError_t launch_too_many(void)
{
    cudaError_t error = launch(stream, 2048); /* the older code is the manual's */
    return error == cudaErrorInvalidConfiguration ? cudaErrorInvalidValue : error;
}
static cudaError_t time_of_captured_event(void)
{
    float milliseconds;
    require(cudaEventRecord(event, stream), "cudaEventRecord");
    return cudaEventElapsedTime(&milliseconds, outside, event);
}
static cudaError_t ask_memory(void)
{
    size_t free_bytes, all_bytes;
    return cudaMemGetInfo(&free_bytes, &all_bytes);
}
static cudaError_t begin_again(void)
{
    return cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
}
static cudaError_t create_stream(void)
{
    cudaStream_t created;
    cudaError_t error = cudaStreamCreate(&created);
    if (error == cudaSuccess) require(cudaStreamDestroy(created), "cudaStreamDestroy");
    return error;
}

enum { STRICT = 1, LOCAL = 2, RELAXED = 4, ANY = 7 };

/** A call, the modes of capture it is made in, its code there, and whether the capture survives it. */
static const struct rule {
    const char *name;
    cudaError_t (*call)(void);
    int modes;
    cudaError_t code;
    int survives;
} rules[] = {
    {"cudaMalloc", allocate, STRICT | LOCAL, cudaErrorStreamCaptureUnsupported, 0},
    {"cudaMalloc", allocate, RELAXED, cudaSuccess, 1},
    {"cudaMallocHost", allocate_pinned, STRICT | LOCAL, cudaErrorStreamCaptureUnsupported, 0},
    {"cudaMallocHost", allocate_pinned, RELAXED, cudaSuccess, 1},
    {"cudaFree(NULL)", free_nothing, STRICT | LOCAL, cudaErrorStreamCaptureUnsupported, 0},
    {"cudaFree(NULL)", free_nothing, RELAXED, cudaSuccess, 1},
    {"cudaDeviceSynchronize", wait_for_device, ANY, cudaErrorStreamCaptureUnsupported, 0},
    {"cudaStreamSynchronize", wait_for_itself, ANY, cudaErrorStreamCaptureUnsupported, 0},
    {"cudaStreamQuery", ask_itself, ANY, cudaErrorStreamCaptureUnsupported, 0},
    {"cudaStreamSynchronize of another stream", wait_for_other, STRICT | LOCAL,
     cudaErrorStreamCaptureUnsupported, 0},
    {"cudaStreamSynchronize of another stream", wait_for_other, RELAXED, cudaSuccess, 1},
    {"cudaEventQuery of an event from outside", ask_outside, STRICT | LOCAL,
     cudaErrorStreamCaptureUnsupported, 0},
    {"cudaEventQuery of an event from outside", ask_outside, RELAXED, cudaSuccess, 1},
    {"cudaGraphInstantiate", make_executable, STRICT | LOCAL, cudaErrorStreamCaptureUnsupported, 0},
    {"cudaGraphInstantiate", make_executable, RELAXED, cudaSuccess, 1},
    {"launch of a graph", launch_graph, ANY, cudaErrorStreamCaptureUnsupported, 0},
    {"launch of a graph in another stream", launch_graph_in_other, ANY, cudaSuccess, 1},
    {"launch of 2048 threads", launch_too_many, ANY, cudaErrorInvalidValue, 0},
    {"cudaEventElapsedTime", time_of_captured_event, ANY, cudaErrorCapturedEvent, 1},
    {"wait for an event never recorded", depend_on_nothing, ANY, cudaSuccess, 1},
    {"cudaMemGetInfo", ask_memory, ANY, cudaSuccess, 1},
    {"cudaMemcpy", copy_and_wait, ANY, cudaErrorStreamCaptureImplicit, 0},
    {"cudaMemset", fill, ANY, cudaErrorStreamCaptureImplicit, 0},
    {"launch in the legacy stream", launch_in_legacy, ANY, cudaErrorStreamCaptureImplicit, 0},
    {"launch in another stream", launch_in_other, ANY, cudaSuccess, 1},
    {"cudaEventSynchronize", wait_for_captured_event, ANY, cudaErrorCapturedEvent, 0},
    {"wait for an event from outside", depend_on_outside, ANY, cudaErrorStreamCaptureIsolation, 0},
    {"cudaStreamBeginCapture", begin_again, ANY, cudaErrorIllegalState, 1},
    {"cudaStreamCreate", create_stream, ANY, cudaSuccess, 1},
};

/** Ends the capture of `from`, which gives `code`, and a graph only if that is success. */
static void end(const char *what, cudaStream_t from, cudaError_t code)
{
    cudaGraph_t graph = NULL;
    cudaStreamCaptureStatus status;
    expect_code(what, cudaStreamEndCapture(from, &graph), code);
    expect_equal(what, 0, graph != NULL, code == cudaSuccess);
    if (graph != NULL) require(cudaGraphDestroy(graph), "cudaGraphDestroy");
    require(cudaStreamIsCapturing(from, &status), "cudaStreamIsCapturing");
    expect_equal(what, 1, status, cudaStreamCaptureStatusNone);
    (void)cudaGetLastError();
}

static void check_rule(const struct rule *rule, cudaStreamCaptureMode mode)
{
    cudaStreamCaptureStatus status;
    require(cudaStreamBeginCapture(stream, mode), "cudaStreamBeginCapture");
    expect_code(rule->name, rule->call(), rule->code);
    (void)cudaGetLastError();
    require(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
    expect_equal(rule->name, (size_t)mode, status,
                 rule->survives ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusInvalidated);
    expect_code("a launch then", launch(stream, 1),
                rule->survives ? cudaSuccess : cudaErrorStreamCaptureInvalidated);
    end(rule->name, stream, rule->survives ? cudaSuccess : cudaErrorStreamCaptureInvalidated);
}

/* ---- several streams ----------------------------------------------------------------------------------- */

static void streams_not_joined(void)
{
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    require(fork_to(stream, other, event), "fork");
    require(launch(other, 1), "launch");
    end("no join", stream, cudaErrorStreamCaptureUnjoined);
    expect_code("the other stream is free", launch(other, 1), cudaSuccess);

    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    require(fork_to(stream, other, event), "fork");
    require(launch(other, 1), "launch");
    require(fork_to(other, stream, joined), "join");
    require(launch(other, 1), "launch");
    end("work after the join", stream, cudaErrorStreamCaptureUnjoined);
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

/** An event of a capture means nothing when that has ended, until it is recorded anew. */
static void events_of_old_captures(void)
{
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    require(cudaEventRecord(event, stream), "cudaEventRecord");
    end("short", stream, cudaSuccess);
    expect_code("old event, asked", cudaEventQuery(event), cudaErrorInvalidValue);
    expect_code("old event, waited for", cudaStreamWaitEvent(other, event, 0), cudaErrorInvalidValue);
    (void)cudaGetLastError();
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    expect_code("old event in a new capture", cudaStreamWaitEvent(stream, event, 0), cudaErrorInvalidValue);
    (void)cudaGetLastError();
    end("with an old event", stream, cudaErrorStreamCaptureInvalidated);
    require(cudaEventRecord(event, other), "cudaEventRecord");
    expect_code("recorded anew", cudaEventSynchronize(event), cudaSuccess);
}

static void destroyed_stream(void)
{
    cudaStream_t short_lived;
    require(cudaStreamCreate(&short_lived), "cudaStreamCreate");
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    require(fork_to(stream, short_lived, event), "fork");
    require(launch(short_lived, 1), "launch");
    require(cudaStreamDestroy(short_lived), "cudaStreamDestroy");
    end("stream destroyed before it was joined", stream, cudaErrorStreamCaptureUnjoined);
}

static void wrong_ends(void)
{
    cudaGraph_t graph = NULL;
    expect_code("end of nothing", cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
    (void)cudaGetLastError();
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    require(launch(stream, 1), "launch");
    require(fork_to(stream, other, event), "fork");
    expect_code("end in another stream", cudaStreamEndCapture(other, &graph),
                cudaErrorStreamCaptureUnmatched);
    (void)cudaGetLastError();
    end("end after that", stream, cudaErrorStreamCaptureInvalidated);
}

static void two_captures(void)
{
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    require(cudaStreamBeginCapture(independent, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    require(launch(stream, 1), "launch");
    require(launch(independent, 1), "launch");
    expect_code("merge", fork_to(independent, stream, event), cudaErrorStreamCaptureMerge);
    (void)cudaGetLastError();
    end("first of two", stream, cudaErrorStreamCaptureInvalidated);
    end("second of two", independent, cudaErrorStreamCaptureInvalidated);
}

/** A capture of a stream that does not wait for the legacy stream leaves that one usable. */
static void independent_stream(void)
{
    require(cudaStreamBeginCapture(independent, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    expect_code("legacy beside it", launch(NULL, 1), cudaSuccess);
    end("independent", independent, cudaSuccess);
    expect_code("capture of the legacy stream", cudaStreamBeginCapture(NULL, cudaStreamCaptureModeGlobal),
                cudaErrorStreamCaptureUnsupported);
    expect_code("mode 9", cudaStreamBeginCapture(stream, (cudaStreamCaptureMode)9), cudaErrorInvalidValue);
    expect_code("no graph", cudaGraphInstantiate((cudaGraphExec_t *)NULL, NULL, 0), cudaErrorInvalidValue);
    expect_code("no graph", cudaGraphDestroy(NULL), cudaErrorInvalidValue);
    (void)cudaGetLastError();
}

int main(void)
{
    device = device_array<int>(1);
    require(cudaMemset(device, 0, sizeof *device), "cudaMemset");
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    require(cudaStreamCreate(&other), "cudaStreamCreate");
    require(cudaStreamCreateWithFlags(&independent, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    require(cudaEventCreate(&event), "cudaEventCreate");
    require(cudaEventCreate(&joined), "cudaEventCreate");
    require(cudaEventCreate(&outside), "cudaEventCreate");
    require(cudaEventCreate(&unrecorded), "cudaEventCreate");
    require(cudaEventRecord(outside, other), "cudaEventRecord");
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    require(launch(stream, 1), "launch");
    require(cudaStreamEndCapture(stream, &small_graph), "cudaStreamEndCapture");
    require(cudaGraphInstantiate(&small_executable, small_graph, 0), "cudaGraphInstantiate");
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].modes & STRICT) check_rule(&rules[i], cudaStreamCaptureModeGlobal);
        if (rules[i].modes & LOCAL) check_rule(&rules[i], cudaStreamCaptureModeThreadLocal);
        if (rules[i].modes & RELAXED) check_rule(&rules[i], cudaStreamCaptureModeRelaxed);
    }
    streams_not_joined();
    events_of_old_captures();
    destroyed_stream();
    wrong_ends();
    two_captures();
    independent_stream();
    require(cudaDeviceSynchronize(), "the device is usable");
    require(cudaEventDestroy(event), "cudaEventDestroy");
    require(cudaEventDestroy(joined), "cudaEventDestroy");
    require(cudaEventDestroy(outside), "cudaEventDestroy");
    require(cudaEventDestroy(unrecorded), "cudaEventDestroy");
    require(cudaGraphExecDestroy(small_executable), "cudaGraphExecDestroy");
    require(cudaGraphDestroy(small_graph), "cudaGraphDestroy");
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    require(cudaStreamDestroy(other), "cudaStreamDestroy");
    require(cudaStreamDestroy(independent), "cudaStreamDestroy");
    release(device);
    return finish("graph_refused");
}
