/**
 * What the software device refuses or finds in calls of the host: each prints a finding and returns the right
 * code, and the program ends with 86 in spite of its own 0. simt_refused.test counts the findings by kind.
 */
#include "../simt/testing.h"

#include <string.h>

static __device__ int variable[4];
static int host_variable;

static __global__ void empty_kernel(int *) {}
static __global__ void large_kernel(int *out)
{
    __shared__ int too_much[13000];
    too_much[threadIdx.x] = 0;
    *out = too_much[blockDim.x];
}
static __global__ void parent_kernel(int *out)
{
    empty_kernel<<<1, 1>>>(out);
}
static __global__ void texture_kernel(cudaTextureObject_t texture, float *out)
{
    *out = tex1Dfetch<float>(texture, 0);
}
static __global__ void shuffle_kernel(int *out)
{
    *out = __shfl_sync(0xffffffffu, 1, 0, 12);
}

static void expect_code(const char *what, cudaError_t got, cudaError_t expected)
{
    if (got == expected) return;
    g_failures++;
    fprintf(stderr, "%s gives %s, not %s\n", what, cudaGetErrorName(got), cudaGetErrorName(expected));
}

/* unsupported: 2. What no launch may have is in simt/programs/early_launch.cu. */
static void refused_attributes(int *device)
{
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = {};
    void *pointer = device;
    config.gridDim = config.blockDim = dim3(1);
    config.attrs = attributes;
    config.numAttrs = 2;
    attributes[0].id = cudaLaunchAttributePriority;
    attributes[1].id = cudaLaunchAttributeCooperative;
    expect_code("not cooperative", cudaLaunchKernelEx(&config, empty_kernel, device), cudaSuccess);
    attributes[1].id = cudaLaunchAttributeClusterDimension;
    attributes[1].val.clusterDim = {1, 1, 1};
    expect_code("cluster of one", cudaLaunchKernelEx(&config, empty_kernel, device), cudaSuccess);
    attributes[1].val.clusterDim = {2, 1, 1};
    expect_code("half a cluster", cudaLaunchKernelEx(&config, empty_kernel, device),
                cudaErrorInvalidConfiguration);
    attributes[1].id = cudaLaunchAttributeProgrammaticEvent;
    expect_code("event", cudaLaunchKernelEx(&config, empty_kernel, device), cudaErrorNotSupported);
    expect_code("untyped", cudaLaunchKernelExC(&config, (const void *)empty_kernel, &pointer),
                cudaErrorInvalidDeviceFunction);
    config.attrs = NULL;
    expect_code("no attributes", cudaLaunchKernelEx(&config, empty_kernel, device), cudaErrorInvalidValue);
    (void)cudaGetLastError();
}

/* unsupported: 5 */
static void refused_calls(int *device)
{
    void *pointer = device;
    cudaTextureObject_t texture;
    cudaArray_t array;
    cudaResourceDesc resource = {};
    cudaTextureDesc description = {};
    cudaChannelFormatDesc channel = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    const cudaError_t refused = cudaErrorNotSupported;
    int *mapped;
    require(cudaHostRegister(&host_variable, sizeof host_variable, cudaHostRegisterMapped),
            "cudaHostRegister");
    expect_code("mapped", cudaHostGetDevicePointer(&mapped, &host_variable, 0), refused);
    require(cudaHostUnregister(&host_variable), "cudaHostUnregister");
    expect_code("texture", cudaCreateTextureObject(&texture, &resource, &description, NULL), refused);
    expect_code("no texture", cudaDestroyTextureObject(0), cudaSuccess);
    expect_code("array", cudaMallocArray(&array, &channel, 4), refused);
    expect_code("no array", cudaFreeArray(NULL), cudaSuccess);
    large_kernel<<<1, 32>>>(device);
    expect_code("more static shared memory than nvcc takes", cudaGetLastError(), cudaErrorInvalidValue);
    const void *untyped = (const void *)empty_kernel;
    expect_code("untyped", cudaLaunchKernel(untyped, dim3(1), dim3(1), &pointer),
                cudaErrorInvalidDeviceFunction);
    (void)cudaGetLastError();
}

/* unsupported: 2. What hardware refuses itself is in simt/programs/graph_refused.cu. */
static void refused_in_graphs(int *device)
{
    cudaStream_t stream;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable = NULL;
    int *allocated;
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
    expect_code("memory of a graph", cudaMallocAsync(&allocated, 4, stream), cudaErrorNotSupported);
    expect_code("memory not of the graph", cudaFreeAsync(device, stream), cudaErrorInvalidValue);
    expect_code("end", cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    require(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
    expect_code("launch by a kernel",
                cudaGraphInstantiate(&executable, graph, cudaGraphInstantiateFlagDeviceLaunch),
                cudaErrorNotSupported);
    expect_code("unknown flag", cudaGraphInstantiate(&executable, graph, 64), cudaErrorInvalidValue);
    require(cudaGraphDestroy(graph), "cudaGraphDestroy");
    expect_code("destroyed twice", cudaGraphDestroy(graph), cudaErrorInvalidValue);
    expect_code("destroyed graph", cudaGraphInstantiate(&executable, graph, 0), cudaErrorInvalidValue);
    expect_code("no graph", cudaGraphLaunch(executable, stream), cudaErrorInvalidValue);
    expect_code("no graph", cudaGraphExecDestroy(executable), cudaErrorInvalidValue);
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    (void)cudaGetLastError();
}

/* host-pointer: 5, out-of-bounds: 4, use-after-free: 2 */
static void wrong_pointers(int *device)
{
    int host[8] = {0};
    const cudaError_t invalid = cudaErrorInvalidValue;
    expect_code("host as device", cudaMemcpy(host, &host_variable, 4, cudaMemcpyHostToDevice), invalid);
    expect_code("device as host", cudaMemcpy(device, device + 4, 4, cudaMemcpyHostToDevice), cudaSuccess);
    expect_code("memset of the host", cudaMemset(host, 0, 4), invalid);
    expect_code("free of the host", cudaFree(host), invalid);
    expect_code("no symbol", cudaMemcpyToSymbol(host_variable, host, 4), cudaErrorInvalidSymbol);
    expect_code("beyond the end", cudaMemcpy(device, host, 32 + 4, cudaMemcpyHostToDevice), invalid);
    expect_code("beyond the symbol", cudaMemcpyToSymbol(variable, host, 8, 12), invalid);
    expect_code("beyond the symbol", cudaMemcpyFromSymbol(host, variable, 4, 16), invalid);
    expect_code("free of the middle", cudaFree(device + 1), invalid);
    int *freed = device_array<int>(4);
    release(freed);
    expect_code("freed twice", cudaFree(freed), invalid);
    expect_code("used when freed", cudaMemset(freed, 0, 4), invalid);
    (void)cudaGetLastError();
}

static void bad_handles(int *device)
{
    cudaStream_t stream;
    cudaEvent_t event;
    const cudaError_t invalid = cudaErrorInvalidResourceHandle;
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    require(cudaEventCreate(&event), "cudaEventCreate");
    require(cudaEventDestroy(event), "cudaEventDestroy");
    expect_code("stream destroyed twice", cudaStreamDestroy(stream), invalid);
    expect_code("event destroyed twice", cudaEventDestroy(event), invalid);
    expect_code("record", cudaEventRecord(event, NULL), invalid);
    expect_code("wait", cudaStreamWaitEvent(stream, event), invalid);
    expect_code("copy", cudaMemcpyAsync(device, device + 1, 4, cudaMemcpyDeviceToDevice, stream), invalid);
    expect_code("set", cudaMemsetAsync(device, 0, 4, stream), invalid);
    expect_code("free", cudaFreeAsync(device, stream), invalid);
    empty_kernel<<<1, 1, 0, stream>>>(device);
    expect_code("launch", cudaGetLastError(), invalid);
    expect_code("no event", cudaEventCreate(NULL), cudaErrorInvalidValue);
    expect_code("no stream", cudaStreamCreate(NULL), cudaErrorInvalidValue);
}

/* A kernel that does what is refused ends as hardware's kernels do: every later call gives the error. */
template <typename Launch> static void refused_in_kernel(const char *what, Launch launch)
{
    int *out = device_array<int>(32);
    launch(out);
    expect_code(what, cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    expect_code(what, cudaMemset(out, 0, 4), cudaErrorLaunchFailure);
    expect_code(what, cudaFree(out), cudaErrorLaunchFailure);
    expect_code(what, cudaGetLastError(), cudaErrorLaunchFailure);
    expect_code(what, cudaPeekAtLastError(), cudaErrorLaunchFailure);
    expect_code(what, cudaDeviceReset(), cudaSuccess);
    expect_code(what, cudaGetLastError(), cudaSuccess);
}

int main(void)
{
    int *device = device_array<int>(8);
    require(cudaMemset(device, 0, 8 * sizeof *device), "cudaMemset");
    refused_attributes(device);
    refused_calls(device);
    refused_in_graphs(device);
    wrong_pointers(device);
    bad_handles(device);
    release(device);
    /* unsupported: 3 more */
    refused_in_kernel("dynamic parallelism", [](int *out) { parent_kernel<<<1, 1>>>(out); });
    refused_in_kernel("texture", [](int *out) { texture_kernel<<<1, 1>>>(0, (float *)out); });
    refused_in_kernel("shuffle of width 12", [](int *out) { shuffle_kernel<<<1, 32>>>(out); });
    return finish("simt_refused");
}
