/**
 * Graphs by stream capture: what is captured does not run until it is launched, launches keep the arguments
 * they had, memory is read when the graph runs; fork and join by events; update; a graph outlives its source.
 */
#include "../testing.h"

enum { THREADS = 64, COUNT = 200, BLOCKS = (COUNT + THREADS - 1) / THREADS };

static __global__ void add_kernel(float *x, /* [COUNT] */
                                  float value)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < COUNT) x[i] += value;
}

static __global__ void scale_kernel(const float *x,      /* [COUNT] */
                                    float *y,            /* [COUNT] */
                                    const float *factor) /* [1] */
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < COUNT) y[i] = *factor * x[i];
}

static __global__ void sum_kernel(const float *x, const float *y, float *sum) /* [COUNT] each */
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < COUNT) sum[i] = x[i] + y[i];
}

static void CUDART_CB count_call(void *calls)
{
    ++*(int *)calls;
}

static cudaStream_t stream, second;
static float host[COUNT];

static void expect_array(const char *what, const float *device, float expected)
{
    download(host, device, COUNT);
    for (int i = 0; i < COUNT; i++) expect_close(what, (size_t)i, host[i], expected, 0.0);
}

static void begin(void)
{
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
}

/** Ends the capture, expects this many nodes of which `roots` wait for nothing. */
static cudaGraph_t end(size_t nodes, size_t roots)
{
    cudaGraph_t graph = NULL;
    size_t count = 0;
    require(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    require(cudaGraphGetNodes(graph, NULL, &count), "cudaGraphGetNodes");
    expect_equal("nodes", 0, (long long)count, (long long)nodes);
    require(cudaGraphGetRootNodes(graph, NULL, &count), "cudaGraphGetRootNodes");
    expect_equal("roots", 0, (long long)count, (long long)roots);
    return graph;
}

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
    cudaGraphExec_t executable = NULL;
    require(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    return executable;
}

static void launch(cudaGraphExec_t executable)
{
    require(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

static void one_stream(float *x, float *y, float *factor)
{
    float value = 1.0f, two = 2.0f, three = 3.0f;
    int calls = 0;
    unsigned long long id = 0;
    size_t count = 0;
    cudaStreamCaptureStatus status;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaGraph_t captured = NULL;
    const cudaGraphNode_t *last = NULL;
    require(cudaMemset(x, 0, COUNT * sizeof *x), "cudaMemset");
    require(cudaMemcpy(factor, &two, sizeof two, cudaMemcpyHostToDevice), "cudaMemcpy");
    begin();
    add_kernel<<<BLOCKS, THREADS, 0, stream>>>(x, value);
    value = 100.0f; /* the launch above has its own copy */
    scale_kernel<<<BLOCKS, THREADS, 0, stream>>>(x, y, factor);
    require(cudaLaunchHostFunc(stream, count_call, &calls), "cudaLaunchHostFunc");
    require(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
    expect_equal("status", 0, status, cudaStreamCaptureStatusActive);
    require(cudaStreamGetCaptureInfo(stream, &status, &id, &captured, &last, NULL, &count),
            "cudaStreamGetCaptureInfo");
    expect_equal("status", 2, status, cudaStreamCaptureStatusActive);
    expect_equal("number of the capture", 0, id != 0, 1);
    expect_equal("the next node waits for one", 0, (long long)count, 1);
    expect_equal("which is there", 0, last != NULL && last[0] != NULL, 1);
    require(cudaThreadExchangeStreamCaptureMode(&mode), "cudaThreadExchangeStreamCaptureMode");
    expect_equal("mode before", 0, mode, cudaStreamCaptureModeGlobal);
    release(device_array<float>(1)); /* a relaxed thread may do that while it captures */
    require(cudaThreadExchangeStreamCaptureMode(&mode), "cudaThreadExchangeStreamCaptureMode");
    expect_equal("mode between", 0, mode, cudaStreamCaptureModeRelaxed);
    cudaGraph_t graph = end(3, 1);
    expect_equal("graph of the capture", 0, captured == graph, 1);
    require(cudaStreamGetCaptureInfo(stream, &status), "cudaStreamGetCaptureInfo");
    expect_equal("status", 3, status, cudaStreamCaptureStatusNone);
    require(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
    expect_equal("status", 1, status, cudaStreamCaptureStatusNone);
    expect_array("x before any launch", x, 0.0f);
    cudaGraphExec_t executable = instantiate(graph);
    require(cudaGraphDestroy(graph), "cudaGraphDestroy");
    for (int round = 1; round <= 3; round++) launch(executable);
    expect_array("x", x, 3.0f);
    expect_array("y", y, 6.0f);
    require(cudaMemcpy(factor, &three, sizeof three, cudaMemcpyHostToDevice), "cudaMemcpy");
    require(cudaGraphUpload(executable, stream), "cudaGraphUpload");
    launch(executable);
    expect_array("y, new factor", y, 12.0f);
    expect_equal("calls of the host function", 0, calls, 4);
    require(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
}

/** The types of the nodes, in the order of a capture in one stream. */
static void copies_and_fills(float *x, float *y, float *pinned)
{
    const cudaGraphNodeType expected[] = {cudaGraphNodeTypeMemset, cudaGraphNodeTypeMemcpy,
                                          cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeMemcpy};
    cudaGraphNode_t nodes[8];
    size_t count = 8;
    int seen[8] = {0};
    begin();
    require(cudaMemsetAsync(x, 0, COUNT * sizeof *x, stream), "cudaMemsetAsync");
    require(cudaMemcpyAsync(x, pinned, sizeof *x, cudaMemcpyHostToDevice, stream), "to the device");
    require(cudaMemcpyAsync(y, x, COUNT * sizeof *x, cudaMemcpyDeviceToDevice, stream), "on the device");
    require(cudaMemcpyAsync(pinned + 1, y, 2 * sizeof *x, cudaMemcpyDeviceToHost, stream), "to the host");
    cudaGraph_t graph = end(4, 1);
    require(cudaGraphGetNodes(graph, nodes, &count), "cudaGraphGetNodes");
    expect_equal("nodes given", 0, (long long)count, 4);
    for (size_t i = 0; i < count; i++) {
        cudaGraphNodeType type;
        require(cudaGraphNodeGetType(nodes[i], &type), "cudaGraphNodeGetType");
        seen[type]++;
    }
    for (size_t i = 0; i < 4; i++) seen[expected[i]]--;
    for (size_t i = 0; i < 8; i++) expect_equal("nodes of a type", i, seen[i], 0);
    cudaGraphExec_t executable = NULL;
    require(cudaGraphInstantiate(&executable, graph, NULL, NULL, 0), "cudaGraphInstantiate, old form");
    for (int round = 0; round < 2; round++) {
        pinned[0] = 7.0f + (float)round; /* read when the graph runs */
        launch(executable);
        expect_close("first element", (size_t)round, pinned[1], pinned[0], 0.0);
        expect_close("second element", (size_t)round, pinned[2], 0.0, 0.0);
    }
    require(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
    require(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

/** x and y on two streams, then their sum. */
static void fork_and_join(float *x, float *y, float *sum, float *factor)
{
    cudaEvent_t forked, joined;
    require(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming), "cudaEventCreate");
    require(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming), "cudaEventCreate");
    begin();
    require(cudaMemsetAsync(x, 0, COUNT * sizeof *x, stream), "cudaMemsetAsync");
    add_kernel<<<BLOCKS, THREADS, 0, stream>>>(x, 5.0f);
    require(cudaEventRecord(forked, stream), "cudaEventRecord");
    require(cudaStreamWaitEvent(second, forked, 0), "cudaStreamWaitEvent");
    scale_kernel<<<BLOCKS, THREADS, 0, second>>>(x, y, factor);
    require(cudaEventRecord(joined, second), "cudaEventRecord");
    require(cudaMemsetAsync(sum, 0, COUNT * sizeof *x, stream), "cudaMemsetAsync");
    require(cudaStreamWaitEvent(stream, joined, 0), "cudaStreamWaitEvent");
    sum_kernel<<<BLOCKS, THREADS, 0, stream>>>(x, y, sum);
    cudaGraph_t graph = end(5, 1);
    cudaGraphExec_t executable = instantiate(graph);
    for (int round = 0; round < 2; round++) launch(executable);
    expect_array("sum", sum, 20.0f);
    add_kernel<<<BLOCKS, THREADS, 0, second>>>(sum, 1.0f); /* the stream is free again */
    require(cudaStreamSynchronize(second), "cudaStreamSynchronize");
    expect_array("sum and one", sum, 21.0f);
    require(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
    require(cudaGraphDestroy(graph), "cudaGraphDestroy");
    require(cudaEventDestroy(forked), "cudaEventDestroy");
    require(cudaEventDestroy(joined), "cudaEventDestroy");
}

static cudaGraph_t capture_adds(float *x, float first, float other, int fill)
{
    begin();
    if (fill)
        require(cudaMemsetAsync(x, 0, COUNT * sizeof *x, stream), "cudaMemsetAsync");
    else
        add_kernel<<<BLOCKS, THREADS, 0, stream>>>(x, first);
    add_kernel<<<BLOCKS, THREADS, 0, stream>>>(x, other);
    return end(2, 1);
}

/** New parameters in an executable graph; a graph of another shape is refused and changes nothing. */
static void update(float *x)
{
    cudaGraph_t before = capture_adds(x, 1.0f, 2.0f, 0), after = capture_adds(x, 10.0f, 20.0f, 0);
    cudaGraph_t other = capture_adds(x, 0.0f, 20.0f, 1);
    cudaGraphExec_t executable = instantiate(before);
    cudaGraphExecUpdateResultInfo info;
    require(cudaMemset(x, 0, COUNT * sizeof *x), "cudaMemset");
    launch(executable);
    require(cudaGraphExecUpdate(executable, after, &info), "cudaGraphExecUpdate");
    expect_equal("result", 0, info.result, cudaGraphExecUpdateSuccess);
    launch(executable);
    expect_array("x, updated", x, 33.0f);
    expect_equal("other nodes", 0, cudaGraphExecUpdate(executable, other, &info),
                 cudaErrorGraphExecUpdateFailure);
    expect_equal("other nodes are found", 0, info.result != cudaGraphExecUpdateSuccess, 1);
    (void)cudaGetLastError();
    launch(executable);
    expect_array("x, not updated", x, 63.0f);
    require(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
    require(cudaGraphDestroy(before), "cudaGraphDestroy");
    require(cudaGraphDestroy(after), "cudaGraphDestroy");
    require(cudaGraphDestroy(other), "cudaGraphDestroy");
}

static void empty_graphs(void)
{
    cudaGraph_t graph;
    begin();
    graph = end(0, 0);
    cudaGraphExec_t executable = instantiate(graph);
    launch(executable);
    require(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
    require(cudaGraphDestroy(graph), "cudaGraphDestroy");
    require(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
    require(cudaGraphInstantiateWithFlags(&executable, graph, 0), "cudaGraphInstantiateWithFlags");
    require(cudaGraphLaunch(executable, NULL), "cudaGraphLaunch");
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    require(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
    require(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

extern "C" void simt_calls(unsigned long *launches, unsigned long *graph_launches) __attribute__((weak));

/** The software device counts what is launched, and not what a capture keeps. */
static void counted_calls(float *x)
{
    unsigned long launches[2] = {0, 0}, graphs[2] = {0, 0};
    if (simt_calls == NULL) return;
    simt_calls(&launches[0], &graphs[0]);
    cudaGraph_t graph = capture_adds(x, 1.0f, 2.0f, 0);
    cudaGraphExec_t executable = instantiate(graph);
    launch(executable);
    launch(executable);
    add_kernel<<<BLOCKS, THREADS, 0, stream>>>(x, 1.0f);
    finish_launch("add_kernel");
    simt_calls(&launches[1], &graphs[1]);
    expect_equal("launches", 0, (int)(launches[1] - launches[0]), 1);
    expect_equal("graph launches", 0, (int)(graphs[1] - graphs[0]), 2);
    require(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
    require(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

int main(void)
{
    float *x = device_array<float>(COUNT), *y = device_array<float>(COUNT), *sum = device_array<float>(COUNT);
    float *factor = device_array<float>(1), *pinned;
    require(cudaMallocHost((void **)&pinned, COUNT * sizeof *pinned), "cudaMallocHost");
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    require(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    one_stream(x, y, factor);
    copies_and_fills(x, y, pinned);
    fork_and_join(x, y, sum, factor);
    update(x);
    empty_graphs();
    counted_calls(x);
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    require(cudaStreamDestroy(second), "cudaStreamDestroy");
    require(cudaFreeHost(pinned), "cudaFreeHost");
    release(x);
    release(y);
    release(sum);
    release(factor);
    return finish("graph_replay");
}
