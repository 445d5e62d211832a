/**
 * Programmatic dependent launch: cudaLaunchKernelEx with and without attributes, a chain of kernels that start before
 * the one in front is over, eager and captured, and configurations that are refused. On a device that cannot start
 * kernels early the chain is launched in the usual way.
 */
#include "../testing.h"

enum { N = 20011, THREADS = 128, KERNELS = 12 };

static __device__ void start_next(void)
{
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

static __device__ void wait_for_last(void)
{
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}

static __global__ void fill_kernel(int *x, int value)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    start_next();
    if (i < N) x[i] = value + i % 7;
}

/** to[i] = from[i'] * factor[i % 64] + 1, where i' is an element that another block wrote. */
static __global__ void step_kernel(const int *from, int *to, const int *factor)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    start_next();
    const int f = factor[i % 64]; // nobody writes it: it may be read early
    wait_for_last();
    if (i < N) to[i] = from[(i + N / 2) % N] * f + 1;
}

/** One thread waits for its whole block. */
static __global__ void copy_kernel(const int *from, int *to)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (threadIdx.x == 0) wait_for_last();
    __syncthreads(); // the others know by it
    if (i < N) to[i] = from[i];
}

template <int OFFSET> static __global__ void add_kernel(int *x, long long more, const int *unused)
{
    if (threadIdx.x == 0 && unused == NULL) *x += OFFSET + (int)more;
}

static int *a, *b, *factors;
static cudaStream_t stream;

/** Whether the code for this device waits: attributes that a kernel does not know of must not be set. */
static int can_start_early(void)
{
    struct cudaFuncAttributes attributes;
    require(cudaFuncGetAttributes(&attributes, fill_kernel), "cudaFuncGetAttributes");
    return attributes.ptxVersion >= 90;
}

static cudaLaunchConfig_t configuration(cudaLaunchAttribute *attribute)
{
    cudaLaunchConfig_t config = {};
    *attribute = {};
    attribute->id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute->val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3((N + THREADS - 1) / THREADS);
    config.blockDim = dim3(THREADS);
    config.stream = stream;
    config.attrs = attribute;
    config.numAttrs = can_start_early() ? 1 : 0;
    return config;
}

/** KERNELS steps there and back between two arrays; the last result lies in a. */
static void put_chain(int value)
{
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config = configuration(&attribute);
    fill_kernel<<<(N + THREADS - 1) / THREADS, THREADS, 0, stream>>>(a, value);
    for (int k = 0; k < KERNELS; k += 2) {
        require(cudaLaunchKernelEx(&config, step_kernel, a, b, factors), "there");
        require(cudaLaunchKernelEx(&config, step_kernel, b, a, factors), "back");
    }
    require(cudaLaunchKernelEx(&config, copy_kernel, a, b), "copy");
    require(cudaLaunchKernelEx(&config, copy_kernel, (const int *)b, a), "copy back");
}

static void check_chain(const char *what, int value)
{
    int *x = host_array<int>(N), *y = host_array<int>(N), *got = host_array<int>(N);
    for (int i = 0; i < N; i++) x[i] = value + i % 7;
    for (int k = 0; k < KERNELS; k++) {
        for (int i = 0; i < N; i++) y[i] = (int)((unsigned)x[(i + N / 2) % N] * (unsigned)(i % 64 % 3 + 1) + 1u);
        int *swap = x;
        x = y;
        y = swap;
    }
    download(got, a, N);
    for (int i = 0; i < N; i++) expect_equal(what, (size_t)i, got[i], x[i]);
    free(x);
    free(y);
    free(got);
}

static void eager_and_captured(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    size_t nodes = 0;
    for (int value = 1; value < 4; value++) put_chain(value);
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    check_chain("eager", 3);
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    put_chain(5);
    require(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    require(cudaGraphGetNodes(graph, NULL, &nodes), "cudaGraphGetNodes");
    expect_equal("nodes", 0, (long long)nodes, KERNELS + 3);
    require(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    require(cudaGraphDestroy(graph), "cudaGraphDestroy");
    check_chain("a capture runs nothing", 3);
    for (int k = 0; k < 3; k++) require(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    check_chain("replayed", 5);
    require(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
}

/** Without attributes it is a launch like any other; arguments become what the kernel's parameters are. */
static void without_attributes(void)
{
    cudaLaunchConfig_t config = {};
    int got;
    config.gridDim = config.blockDim = dim3(1);
    config.stream = stream;
    require(cudaMemsetAsync(a, 0, sizeof *a, stream), "cudaMemsetAsync");
    require(cudaLaunchKernelEx(&config, add_kernel<40>, a, 2, (const int *)NULL), "cudaLaunchKernelEx");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    download(&got, a, 1);
    expect_equal("sum", 0, got, 42);
}

/** What is refused launches nothing, is the last error, and leaves the stream usable. */
static void refused(const char *what, const cudaLaunchConfig_t *config)
{
    const cudaError_t error = cudaLaunchKernelEx(config, add_kernel<1>, a, 0, (const int *)NULL);
    int got;
    if (error != cudaErrorInvalidValue && error != cudaErrorInvalidConfiguration) { /* the latter before CUDA 13 */
        g_failures++;
        fprintf(stderr, "%s gives %s\n", what, cudaGetErrorName(error));
    }
    expect_equal(what, 1, cudaGetLastError(), error);
    require(cudaStreamSynchronize(stream), what);
    download(&got, a, 1);
    expect_equal(what, 2, got, 42);
}

static void wrong_configurations(void)
{
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t config = configuration(&attribute);
    config.blockDim = dim3(2048);
    refused("2048 threads", &config);
    config = configuration(&attribute);
    config.gridDim = dim3(0);
    refused("no block", &config);
    config = configuration(&attribute);
    config.dynamicSmemBytes = 1 << 20;
    refused("a megabyte of shared memory", &config);
    config = configuration(&attribute);
    attribute.id = cudaLaunchAttributeSynchronizationPolicy; // of streams
    config.numAttrs = 1;
    refused("an attribute of streams", &config);
    attribute.id = (cudaLaunchAttributeID)999;
    refused("an attribute that there is not", &config);
}

int main(void)
{
    int host_factors[64];
    for (int i = 0; i < 64; i++) host_factors[i] = i % 3 + 1;
    a = device_array<int>(N);
    b = device_array<int>(N);
    factors = upload(host_factors, 64);
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    eager_and_captured();
    without_attributes();
    wrong_configurations();
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    release(a);
    release(b);
    release(factors);
    return finish("early_launch");
}
