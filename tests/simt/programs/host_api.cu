/**
 * The host functions of the runtime that the other programs do not call: attributes, limits, streams, events,
 * copies in two dimensions, pinned memory, symbols, occupancy; and the C library in kernels. Good and bad
 * arguments.
 */
#include "../testing.h"

#include <cuda_profiler_api.h>

#include <assert.h>
#include <string.h>

enum { ROWS = 5, COLUMNS = 37, THREADS = 64 };

static __constant__ int table[8];
static __device__ int counter;

static __global__ void add_table_kernel(int *out, int n) /* [n] */
{
    __shared__ int copy[8];
    if (threadIdx.x < 8) copy[threadIdx.x] = table[threadIdx.x];
    __syncthreads(); /* the copy is complete */
    if ((int)threadIdx.x < n) out[threadIdx.x] += copy[threadIdx.x % 8];
    if (threadIdx.x == 0) counter++;
}

static __global__ void dynamic_kernel(int *out)
{
    extern __shared__ int rows[][4];
    rows[threadIdx.x][threadIdx.x % 4] = (int)threadIdx.x;
    out[threadIdx.x] = rows[threadIdx.x][threadIdx.x % 4];
}

static __global__ void library_kernel(int *out, const int *in) /* [8], [4] */
{
    memcpy(out, in, 4 * sizeof *in);
    memset(out + 4, 0xff, 2 * sizeof *out);
    memcpy(out + 6, out, 2 * sizeof *out);
    assert(out[5] == -1);
}

static void expect_code(const char *what, cudaError_t got, cudaError_t expected)
{
    if (got == expected) return;
    g_failures++;
    fprintf(stderr, "%s gives %s, not %s\n", what, cudaGetErrorName(got), cudaGetErrorName(expected));
}

/* ---- the device ---------------------------------------------------------------------------------------- */

static int attribute(cudaDeviceAttr which)
{
    int value = -1;
    require(cudaDeviceGetAttribute(&value, which, 0), "cudaDeviceGetAttribute");
    return value;
}

static void check_attributes(void)
{
    cudaDeviceProp p;
    require(cudaGetDeviceProperties(&p, 0), "cudaGetDeviceProperties");
    expect_equal("attribute", 0, attribute(cudaDevAttrMaxThreadsPerBlock), p.maxThreadsPerBlock);
    expect_equal("attribute", 1, attribute(cudaDevAttrMaxBlockDimX), p.maxThreadsDim[0]);
    expect_equal("attribute", 2, attribute(cudaDevAttrMaxBlockDimY), p.maxThreadsDim[1]);
    expect_equal("attribute", 3, attribute(cudaDevAttrMaxBlockDimZ), p.maxThreadsDim[2]);
    expect_equal("attribute", 4, attribute(cudaDevAttrMaxGridDimX), p.maxGridSize[0]);
    expect_equal("attribute", 5, attribute(cudaDevAttrMaxGridDimY), p.maxGridSize[1]);
    expect_equal("attribute", 6, attribute(cudaDevAttrMaxGridDimZ), p.maxGridSize[2]);
    expect_equal("attribute", 7, attribute(cudaDevAttrMaxSharedMemoryPerBlock),
                 (long long)p.sharedMemPerBlock);
    expect_equal("attribute", 8, attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
                 (long long)p.sharedMemPerBlockOptin);
    expect_equal("attribute", 9, attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor),
                 (long long)p.sharedMemPerMultiprocessor);
    expect_equal("attribute", 10, attribute(cudaDevAttrReservedSharedMemoryPerBlock),
                 (long long)p.reservedSharedMemPerBlock);
    expect_equal("attribute", 11, attribute(cudaDevAttrTotalConstantMemory), (long long)p.totalConstMem);
    expect_equal("attribute", 12, attribute(cudaDevAttrWarpSize), 32);
    expect_equal("attribute", 13, attribute(cudaDevAttrMaxPitch), (long long)p.memPitch);
    expect_equal("attribute", 14, attribute(cudaDevAttrMaxRegistersPerBlock), p.regsPerBlock);
    expect_equal("attribute", 15, attribute(cudaDevAttrMaxRegistersPerMultiprocessor),
                 p.regsPerMultiprocessor);
    expect_equal("attribute", 16, attribute(cudaDevAttrMultiProcessorCount), p.multiProcessorCount);
    expect_equal("attribute", 17, attribute(cudaDevAttrMaxThreadsPerMultiProcessor),
                 p.maxThreadsPerMultiProcessor);
    expect_equal("attribute", 18, attribute(cudaDevAttrMaxBlocksPerMultiprocessor),
                 p.maxBlocksPerMultiProcessor);
    expect_equal("attribute", 19, attribute(cudaDevAttrComputeCapabilityMajor), p.major);
    expect_equal("attribute", 20, attribute(cudaDevAttrComputeCapabilityMinor), p.minor);
    expect_equal("attribute", 21, attribute(cudaDevAttrGlobalMemoryBusWidth), p.memoryBusWidth);
    expect_equal("attribute", 22, attribute(cudaDevAttrL2CacheSize), p.l2CacheSize);
    expect_equal("attribute", 23, attribute(cudaDevAttrClockRate) > 0, 1);
    expect_equal("attribute", 24, attribute(cudaDevAttrUnifiedAddressing), 1);
    expect_equal("attribute", 25, attribute(cudaDevAttrKernelExecTimeout), 0);
}

static void check_device(void)
{
    int least = 1, greatest = 1, driver = 0, runtime = 0, peer = 7;
    size_t value = 0, free_bytes = 0, total_bytes = 0;
    cudaFuncCache cache;
    require(cudaSetDevice(0), "cudaSetDevice");
    require(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    expect_equal("priorities", 0, least >= greatest, 1);
    require(cudaDeviceSetLimit(cudaLimitStackSize, 2048), "cudaDeviceSetLimit");
    require(cudaDeviceGetLimit(&value, cudaLimitStackSize), "cudaDeviceGetLimit");
    expect_equal("stack limit", 0, value >= 2048, 1);
    require(cudaDeviceSetCacheConfig(cudaFuncCachePreferShared), "cudaDeviceSetCacheConfig");
    require(cudaDeviceGetCacheConfig(&cache), "cudaDeviceGetCacheConfig");
    require(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    require(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    expect_equal("version", 0, driver >= 12000 && runtime >= 12000, 1);
    require(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    expect_equal("memory", 0, free_bytes > 0 && free_bytes <= total_bytes, 1);
    require(cudaDeviceCanAccessPeer(&peer, 0, 0), "cudaDeviceCanAccessPeer");
    expect_equal("peer of itself", 0, peer, 0);
    require(cudaProfilerStart(), "cudaProfilerStart");
    require(cudaProfilerStop(), "cudaProfilerStop");
    expect_code("attribute of device 9", cudaDeviceGetAttribute(&driver, cudaDevAttrWarpSize, 9),
                cudaErrorInvalidDevice);
    expect_code("properties of device 9", cudaDeviceCanAccessPeer(&peer, 9, 0), cudaErrorInvalidDevice);
    expect_equal("unknown error", 0, strcmp(cudaGetErrorName((cudaError_t)12345), "unrecognized error code"),
                 0);
    expect_equal("unknown error", 1,
                 strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code"), 0);
    (void)cudaGetLastError();
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static void check_two_dimensions(void)
{
    static unsigned char in[ROWS][COLUMNS], out[ROWS][COLUMNS + 3];
    unsigned char *device;
    size_t pitch = 0;
    for (int i = 0; i < ROWS * COLUMNS; i++) in[i / COLUMNS][i % COLUMNS] = (unsigned char)(3 * i + 1);
    require(cudaMallocPitch(&device, &pitch, COLUMNS, ROWS), "cudaMallocPitch");
    expect_equal("pitch", 0, pitch >= COLUMNS, 1);
    require(cudaMemcpy2D(device, pitch, in, COLUMNS, COLUMNS, ROWS, cudaMemcpyHostToDevice), "cudaMemcpy2D");
    require(cudaMemset2D(device + pitch, pitch, 9, 4, 2), "cudaMemset2D");
    require(cudaMemset2DAsync(device + 3 * pitch, pitch, 8, 4, 1), "cudaMemset2DAsync");
    require(cudaMemcpy2DAsync(out, COLUMNS + 3, device, pitch, COLUMNS, ROWS, cudaMemcpyDeviceToHost),
            "cudaMemcpy2DAsync");
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        const int row = i / COLUMNS, column = i % COLUMNS;
        const int expected = column >= 4 || row == 0 || row == 4 ? in[row][column] : row == 3 ? 8 : 9;
        expect_equal("2D", (size_t)i, out[row][column], expected);
    }
    expect_code("row wider than the pitch",
                cudaMemcpy2D(device, 8, in, COLUMNS, 16, 2, cudaMemcpyHostToDevice),
                cudaErrorInvalidPitchValue);
    (void)cudaGetLastError();
    release(device);
}

static void check_pinned(void)
{
    int *pinned, *plain = host_array<int>(THREADS), *device = device_array<int>(THREADS),
                 *other = device_array<int>(THREADS);
    unsigned flags = 0;
    cudaPointerAttributes about;
    require(cudaMallocHost(&pinned, THREADS * sizeof *pinned), "cudaMallocHost");
    for (int i = 0; i < THREADS; i++) pinned[i] = i * i;
    require(cudaMemcpy(device, pinned, THREADS * sizeof *pinned, cudaMemcpyDefault), "host to device");
    require(cudaMemcpy(other, device, THREADS * sizeof *pinned, cudaMemcpyDefault), "device to device");
    require(cudaMemcpy(plain, other, THREADS * sizeof *plain, cudaMemcpyDefault), "device to host");
    for (int i = 0; i < THREADS; i++) expect_equal("pinned", (size_t)i, plain[i], i * i);
    require(cudaPointerGetAttributes(&about, pinned), "cudaPointerGetAttributes");
    expect_equal("kind of pinned memory", 0, about.type, cudaMemoryTypeHost);
    require(cudaPointerGetAttributes(&about, device), "cudaPointerGetAttributes");
    expect_equal("kind of device memory", 0, about.type, cudaMemoryTypeDevice);
    require(cudaPointerGetAttributes(&about, plain), "cudaPointerGetAttributes");
    expect_equal("kind of plain memory", 0, about.type, cudaMemoryTypeUnregistered);
    require(cudaHostRegister(plain, THREADS * sizeof *plain, cudaHostRegisterDefault), "cudaHostRegister");
    require(cudaPointerGetAttributes(&about, plain), "cudaPointerGetAttributes");
    expect_equal("kind of registered memory", 0, about.type, cudaMemoryTypeHost);
    expect_code("registered twice", cudaHostRegister(plain, THREADS * sizeof *plain, 0),
                cudaErrorHostMemoryAlreadyRegistered);
    require(cudaHostUnregister(plain), "cudaHostUnregister");
    expect_code("unregistered twice", cudaHostUnregister(plain), cudaErrorHostMemoryNotRegistered);
    require(cudaFreeHost(pinned), "cudaFreeHost");
    require(cudaHostAlloc(&pinned, 64, cudaHostAllocPortable | cudaHostAllocWriteCombined), "cudaHostAlloc");
    require(cudaHostGetFlags(&flags, pinned), "cudaHostGetFlags");
    expect_equal("flags of pinned memory", 0, flags & (cudaHostAllocPortable | cudaHostAllocWriteCombined),
                 cudaHostAllocPortable | cudaHostAllocWriteCombined);
    require(cudaFreeHost(pinned), "cudaFreeHost");
    require(cudaHostAlloc(&pinned, 64, cudaHostAllocDefault), "cudaHostAlloc");
    require(cudaHostGetFlags(&flags, pinned), "cudaHostGetFlags");
    expect_equal("flags of pinned memory", 1, flags & cudaHostAllocWriteCombined, 0);
    require(cudaFreeHost(pinned), "cudaFreeHost");
    expect_code("flags of plain memory", cudaHostGetFlags(&flags, plain), cudaErrorInvalidValue);
    expect_code("cudaFreeHost(NULL)", cudaFreeHost(NULL), cudaSuccess);
    (void)cudaGetLastError();
    free(plain);
    release(device);
    release(other);
}

static void check_symbols(void)
{
    int values[8] = {1, 2, 3, 4, 5, 6, 7, 8}, got[THREADS], count = -1, *out = device_array<int>(THREADS);
    void *address = NULL;
    size_t bytes = 0;
    require(cudaMemcpyToSymbol(table, values, 4 * sizeof(int)), "cudaMemcpyToSymbol");
    require(cudaMemcpyToSymbolAsync(table, values + 4, 4 * sizeof(int), 4 * sizeof(int)),
            "cudaMemcpyToSymbolAsync");
    require(cudaMemset(out, 0, THREADS * sizeof *out), "cudaMemset");
    add_table_kernel<<<1, THREADS>>>(out, THREADS);
    finish_launch("add_table_kernel");
    download(got, out, THREADS);
    for (int i = 0; i < THREADS; i++) expect_equal("table", (size_t)i, got[i], i % 8 + 1);
    require(cudaMemcpyFromSymbol(&count, counter, sizeof count), "cudaMemcpyFromSymbol");
    expect_equal("counter", 0, count, 1);
    require(cudaGetSymbolAddress(&address, counter), "cudaGetSymbolAddress");
    require(cudaGetSymbolSize(&bytes, table), "cudaGetSymbolSize");
    expect_equal("size of table", 0, (long long)bytes, sizeof table);
    count = 41;
    require(cudaMemcpy(address, &count, sizeof count, cudaMemcpyHostToDevice), "cudaMemcpy to a symbol");
    add_table_kernel<<<1, THREADS>>>(out, 0);
    finish_launch("add_table_kernel");
    require(cudaMemcpyFromSymbolAsync(&count, counter, sizeof count, 0, cudaMemcpyDeviceToHost),
            "cudaMemcpyFromSymbolAsync");
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    expect_equal("counter", 1, count, 42);
    expect_code("symbol written the wrong way",
                cudaMemcpyToSymbol(counter, &count, 4, 0, cudaMemcpyDeviceToHost),
                cudaErrorInvalidMemcpyDirection);
    (void)cudaGetLastError();
    release(out);
}

/* ---- streams and events -------------------------------------------------------------------------------- */

static void CUDART_CB add_one(void *value)
{
    ++*(int *)value;
}
static void CUDART_CB add_two(cudaStream_t, cudaError_t status, void *value)
{
    *(int *)value += status == cudaSuccess ? 2 : 0;
}

static void check_streams(void)
{
    cudaStream_t stream, urgent;
    cudaEvent_t start, stop, untimed;
    unsigned flags = 7;
    int priority = 9, value = 0, least, greatest, *out;
    float milliseconds = -1.0f;
    require(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    require(cudaStreamCreateWithPriority(&urgent, cudaStreamDefault, greatest),
            "cudaStreamCreateWithPriority");
    require(cudaStreamGetFlags(stream, &flags), "cudaStreamGetFlags");
    expect_equal("flags", 0, flags, cudaStreamNonBlocking);
    require(cudaStreamGetPriority(urgent, &priority), "cudaStreamGetPriority");
    expect_equal("priority", 0, priority, greatest);
    require(cudaStreamGetPriority(NULL, &priority), "cudaStreamGetPriority");
    require(cudaEventCreate(&start), "cudaEventCreate");
    require(cudaEventCreateWithFlags(&stop, cudaEventBlockingSync), "cudaEventCreateWithFlags");
    require(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    require(cudaMallocAsync(&out, THREADS * sizeof *out, stream), "cudaMallocAsync");
    require(cudaEventRecord(start, stream), "cudaEventRecord");
    require(cudaMemsetAsync(out, 0, THREADS * sizeof *out, stream), "cudaMemsetAsync");
    add_table_kernel<<<1, THREADS, 0, stream>>>(out, THREADS);
    require(cudaEventRecordWithFlags(stop, stream), "cudaEventRecordWithFlags");
    require(cudaEventRecord(untimed, stream), "cudaEventRecord");
    require(cudaStreamWaitEvent(urgent, untimed), "cudaStreamWaitEvent");
    require(cudaLaunchHostFunc(urgent, add_one, &value), "cudaLaunchHostFunc");
    require(cudaStreamAddCallback(urgent, add_two, &value, 0), "cudaStreamAddCallback");
    require(cudaStreamSynchronize(urgent), "cudaStreamSynchronize");
    require(cudaEventSynchronize(stop), "cudaEventSynchronize");
    require(cudaEventQuery(stop), "cudaEventQuery");
    require(cudaStreamQuery(urgent), "cudaStreamQuery");
    expect_equal("host functions", 0, value, 3);
    require(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
    expect_equal("time", 0, milliseconds >= 0.0f, 1);
    expect_code("time of an event without", cudaEventElapsedTime(&milliseconds, start, untimed),
                cudaErrorInvalidResourceHandle);
    require(cudaFreeAsync(out, stream), "cudaFreeAsync");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    require(cudaEventDestroy(start), "cudaEventDestroy");
    require(cudaEventDestroy(stop), "cudaEventDestroy");
    require(cudaEventDestroy(untimed), "cudaEventDestroy");
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    require(cudaStreamDestroy(urgent), "cudaStreamDestroy");
    (void)cudaGetLastError();
}

/* ---- kernels ------------------------------------------------------------------------------------------- */

static size_t four_words_a_thread(int threads)
{
    return (size_t)threads * 4 * sizeof(int);
}

static void check_functions(void)
{
    int blocks = -1, threads = -1, grid = -1, n = THREADS, got[THREADS], *out = device_array<int>(THREADS);
    cudaFuncAttributes about;
    require(cudaFuncGetAttributes(&about, add_table_kernel), "cudaFuncGetAttributes");
    expect_equal("static shared bytes", 0, (long long)about.sharedSizeBytes, 32);
    require(cudaFuncSetAttribute(dynamic_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000),
            "opt-in");
    require(cudaFuncSetAttribute(dynamic_kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 50),
            "carveout");
    require(cudaFuncSetCacheConfig(dynamic_kernel, cudaFuncCachePreferShared), "cudaFuncSetCacheConfig");
    require(cudaFuncGetAttributes(&about, dynamic_kernel), "cudaFuncGetAttributes");
    expect_equal("opt-in", 0, about.maxDynamicSharedSizeBytes, 60000);
    dynamic_kernel<<<1, THREADS, 60000>>>(out);
    finish_launch("dynamic_kernel");
    download(got, out, THREADS);
    for (int i = 0; i < THREADS; i++) expect_equal("rows", (size_t)i, got[i], i);
    require(cudaMemset(out, 0, THREADS * sizeof *out), "cudaMemset");
    void *arguments[] = {&out, &n};
    require(cudaLaunchKernel((const void *)add_table_kernel, dim3(1), dim3(THREADS), arguments, 0, NULL),
            "cudaLaunchKernel");
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    download(got, out, THREADS);
    for (int i = 0; i < THREADS; i++) expect_equal("by array", (size_t)i, got[i], i % 8 + 1);
    require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add_table_kernel, 1024, 0), "occupancy");
    expect_equal("blocks of 1024", 0, blocks >= 1 && blocks <= 2, 1);
    require(cudaOccupancyMaxPotentialBlockSize(&grid, &threads, add_table_kernel),
            "cudaOccupancyMaxPotentialBlockSize");
    expect_equal("block size", 0, grid > 0 && threads > 0 && threads <= 1024 && threads % 32 == 0, 1);
    require(
        cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &threads, dynamic_kernel, four_words_a_thread),
        "cudaOccupancyMaxPotentialBlockSizeVariableSMem");
    expect_equal("block size", 1, grid > 0 && threads > 0, 1);
    expect_code("attribute 77", cudaFuncSetAttribute(dynamic_kernel, (cudaFuncAttribute)77, 1),
                cudaErrorInvalidValue);
    (void)cudaGetLastError();
    release(out);
}

static void check_library(void)
{
    const int in[4] = {5, 6, 7, 8}, expected[8] = {5, 6, 7, 8, -1, -1, 5, 6};
    int got[8], *device_in = upload(in, 4), *out = device_array<int>(8);
    library_kernel<<<1, 1>>>(out, device_in);
    finish_launch("library_kernel");
    download(got, out, 8);
    for (int i = 0; i < 8; i++) expect_equal("library", (size_t)i, got[i], expected[i]);
    release(device_in);
    release(out);
}

int main(void)
{
    check_attributes();
    check_device();
    check_two_dimensions();
    check_pinned();
    check_symbols();
    check_streams();
    check_functions();
    check_library();
    require(cudaDeviceReset(), "cudaDeviceReset");
    return finish("host_api");
}
