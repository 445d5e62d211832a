/**
 * @file device.c
 * @brief What the software device reports about itself. SIMT_DEVICE selects whose limits it has.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "graph.h"
#include "order.h"

enum { SM_90 = 4 }; /* its place below */
static const struct device_limits devices[] = {
    {75, 40, 1024, 16, 64 * 1024, 64 * 1024, 0, 4 << 20, 256},
    {80, 108, 2048, 32, 164 * 1024, 163 * 1024, 1024, 40 << 20, 5120},
    {86, 82, 1536, 16, 100 * 1024, 99 * 1024, 1024, 6 << 20, 384},
    {89, 128, 1536, 24, 100 * 1024, 99 * 1024, 1024, 72 << 20, 384},
    {90, 132, 2048, 32, 228 * 1024, 227 * 1024, 1024, 50 << 20, 5120},
    {100, 148, 2048, 32, 228 * 1024, 227 * 1024, 1024, 126 << 20,
     8192}, /* pretended: its instructions are those of another architecture */
};

/* limits reported while simt_pretend_multiprocessors() holds */
static struct device_limits pretended;
static int pretended_capability; /* capability reported while simt_pretend_capability() holds */

static const struct device_limits *true_limits(void)
{
    int capability = pretended_capability > 0 ? pretended_capability : simt_compute_capability();
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
        if (devices[i].capability == capability) return &devices[i];
    return &devices[SM_90];
}

const struct device_limits *device_limits(void)
{
    return pretended.multiprocessors > 0 ? &pretended : true_limits();
}

void simt_pretend_multiprocessors(int count)
{
    pretended = *true_limits();
    pretended.multiprocessors = count;
}

void simt_pretend_capability(int capability)
{
    pretended_capability = capability;
}

int device_is_valid(int device)
{
    return device >= 0 && device < simt_device_count();
}

cudaError_t cudaGetDeviceCount(int *count)
{
    if (count == NULL) return runtime_result(cudaErrorInvalidValue);
    *count = simt_device_count();
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    if (device == NULL) return runtime_result(cudaErrorInvalidValue);
    *device = simt_current_device();
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (!device_is_valid(device)) return runtime_result(cudaErrorInvalidDevice);
    simt_set_current_device(device);
    return runtime_lost();
}

static unsigned int device_flags[SIMT_MOST_DEVICES];

cudaError_t cudaInitDevice(int device, unsigned int scheduling, unsigned int flags)
{
    if (!device_is_valid(device)) return runtime_result(cudaErrorInvalidDevice);
    if (flags & cudaInitDeviceFlagsAreValid) device_flags[device] = scheduling;
    return runtime_device_lost(device);
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
    device_flags[simt_current_device()] = flags;
    return runtime_lost();
}

enum { CLOCK_KHZ = 1000000 }; /* times are measured with the host's clock */

/** The properties that are the same for every SIMT_DEVICE. */
static void describe_common(struct cudaDeviceProp *p)
{
    size_t free_bytes, total_bytes;
    simt_device_memory(&free_bytes, &total_bytes);
    p->totalGlobalMem = total_bytes;
    p->sharedMemPerBlock = SHARED_PER_BLOCK;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = WARP_THREADS;
    p->memPitch = 2147483647;
    p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = THREADS_PER_BLOCK;
    p->maxThreadsDim[2] = BLOCK_Z_LIMIT;
    p->maxGridSize[0] = (int)GRID_X_LIMIT;
    p->maxGridSize[1] = p->maxGridSize[2] = GRID_YZ_LIMIT;
    p->totalConstMem = 65536;
    p->textureAlignment = 512;
    p->texturePitchAlignment = 32;
    p->concurrentKernels = 1;
    p->asyncEngineCount = 1;
    p->unifiedAddressing = 1;
    p->canMapHostMemory = 1;
    p->managedMemory = 1;
    p->cooperativeLaunch = 1;
    p->concurrentManagedAccess = 1;
    p->canUseHostPointerForRegisteredMem = 0;
    p->memoryPoolsSupported = 1;
    p->streamPrioritiesSupported = 1;
    p->globalL1CacheSupported = p->localL1CacheSupported = 1;
    p->simt_clockRate = p->simt_memoryClockRate = CLOCK_KHZ;
    p->simt_deviceOverlap = 1;
    p->simt_singleToDoublePrecisionPerfRatio = 2;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    if (properties == NULL) return runtime_result(cudaErrorInvalidValue);
    if (!device_is_valid(device)) return runtime_result(cudaErrorInvalidDevice);
    const struct device_limits *limits = device_limits();
    memset(properties, 0, sizeof(*properties));
    snprintf(properties->name, sizeof(properties->name), "Warpwise software device (sm_%d)",
             limits->capability);
    describe_common(properties);
    properties->major = limits->capability / 10;
    properties->minor = limits->capability % 10;
    properties->clusterLaunch = limits->capability >= 90;
    properties->multiProcessorCount = limits->multiprocessors;
    properties->memoryBusWidth = limits->memory_bus_bits;
    properties->l2CacheSize = limits->l2_bytes;
    properties->maxThreadsPerMultiProcessor = limits->threads_per_multiprocessor;
    properties->maxBlocksPerMultiProcessor = limits->blocks_per_multiprocessor;
    properties->sharedMemPerMultiprocessor = limits->shared_per_multiprocessor;
    properties->sharedMemPerBlockOptin = limits->shared_per_block_optin;
    properties->reservedSharedMemPerBlock = limits->shared_reserved_per_block;
    return cudaSuccess;
}

/** Offset of an attribute in the properties, where sizes have type size_t. */
struct attribute_place {
    enum cudaDeviceAttr attribute;
    size_t offset;
    int is_size;
};
#define INT_AT(attribute, field)                                                                             \
    {                                                                                                        \
        attribute, offsetof(struct cudaDeviceProp, field), 0                                                 \
    }
#define SIZE_AT(attribute, field)                                                                            \
    {                                                                                                        \
        attribute, offsetof(struct cudaDeviceProp, field), 1                                                 \
    }
static const struct attribute_place attribute_places[] = {
    INT_AT(cudaDevAttrMaxThreadsPerBlock, maxThreadsPerBlock),
    INT_AT(cudaDevAttrMaxBlockDimX, maxThreadsDim[0]),
    INT_AT(cudaDevAttrMaxBlockDimY, maxThreadsDim[1]),
    INT_AT(cudaDevAttrMaxBlockDimZ, maxThreadsDim[2]),
    INT_AT(cudaDevAttrMaxGridDimX, maxGridSize[0]),
    INT_AT(cudaDevAttrMaxGridDimY, maxGridSize[1]),
    INT_AT(cudaDevAttrMaxGridDimZ, maxGridSize[2]),
    SIZE_AT(cudaDevAttrMaxSharedMemoryPerBlock, sharedMemPerBlock),
    SIZE_AT(cudaDevAttrMaxSharedMemoryPerBlockOptin, sharedMemPerBlockOptin),
    SIZE_AT(cudaDevAttrMaxSharedMemoryPerMultiprocessor, sharedMemPerMultiprocessor),
    SIZE_AT(cudaDevAttrReservedSharedMemoryPerBlock, reservedSharedMemPerBlock),
    SIZE_AT(cudaDevAttrTotalConstantMemory, totalConstMem),
    SIZE_AT(cudaDevAttrMaxPitch, memPitch),
    INT_AT(cudaDevAttrWarpSize, warpSize),
    INT_AT(cudaDevAttrMaxRegistersPerBlock, regsPerBlock),
    INT_AT(cudaDevAttrMaxRegistersPerMultiprocessor, regsPerMultiprocessor),
    INT_AT(cudaDevAttrMultiProcessorCount, multiProcessorCount),
    INT_AT(cudaDevAttrMaxThreadsPerMultiProcessor, maxThreadsPerMultiProcessor),
    INT_AT(cudaDevAttrMaxBlocksPerMultiprocessor, maxBlocksPerMultiProcessor),
    INT_AT(cudaDevAttrComputeCapabilityMajor, major),
    INT_AT(cudaDevAttrComputeCapabilityMinor, minor),
    INT_AT(cudaDevAttrGlobalMemoryBusWidth, memoryBusWidth),
    INT_AT(cudaDevAttrL2CacheSize, l2CacheSize),
    INT_AT(cudaDevAttrConcurrentKernels, concurrentKernels),
    INT_AT(cudaDevAttrAsyncEngineCount, asyncEngineCount),
    INT_AT(cudaDevAttrGpuOverlap, asyncEngineCount),
    INT_AT(cudaDevAttrUnifiedAddressing, unifiedAddressing),
    INT_AT(cudaDevAttrCanMapHostMemory, canMapHostMemory),
    INT_AT(cudaDevAttrManagedMemory, managedMemory),
    INT_AT(cudaDevAttrCooperativeLaunch, cooperativeLaunch),
    INT_AT(cudaDevAttrClusterLaunch, clusterLaunch),
    INT_AT(cudaDevAttrConcurrentManagedAccess, concurrentManagedAccess),
    INT_AT(cudaDevAttrMemoryPoolsSupported, memoryPoolsSupported),
    INT_AT(cudaDevAttrGlobalL1CacheSupported, globalL1CacheSupported),
    INT_AT(cudaDevAttrLocalL1CacheSupported, localL1CacheSupported),
    INT_AT(cudaDevAttrStreamPrioritiesSupported, streamPrioritiesSupported),
};

/** Attributes that are not in the table: the device lacks the feature, so they are 0. */
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    struct cudaDeviceProp properties;
    if (value == NULL) return runtime_result(cudaErrorInvalidValue);
    cudaError_t error = cudaGetDeviceProperties(&properties, device);
    if (error != cudaSuccess) return error;
    *value = 0;
    if (attribute == cudaDevAttrClockRate || attribute == cudaDevAttrMemoryClockRate) *value = CLOCK_KHZ;
    for (size_t i = 0; i < sizeof(attribute_places) / sizeof(attribute_places[0]); i++) {
        const struct attribute_place *place = &attribute_places[i];
        const char *field = (const char *)&properties + place->offset;
        if (place->attribute != attribute) continue;
        *value =
            place->is_size ? (int)*(const size_t *)(const void *)field : *(const int *)(const void *)field;
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least != NULL) *least = 0;
    if (greatest != NULL) *greatest = -5;
    return runtime_lost();
}

static size_t limit_values[] = {1024, 1 << 20, 8 << 20, 2, 2048};

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
    RETURN_IF_LOST();
    if (value == NULL) return runtime_result(cudaErrorInvalidValue);
    if ((size_t)limit >= sizeof(limit_values) / sizeof(limit_values[0]))
        return runtime_result(cudaErrorUnsupportedLimit);
    *value = limit_values[limit];
    return cudaSuccess;
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    RETURN_IF_LOST();
    RETURN_IF_UNSAFE();
    if ((size_t)limit >= sizeof(limit_values) / sizeof(limit_values[0]))
        return runtime_result(cudaErrorUnsupportedLimit);
    limit_values[limit] = value;
    if (limit == cudaLimitMallocHeapSize) simt_heap_limit(value);
    return cudaSuccess;
}

static enum cudaFuncCache cache_config = cudaFuncCachePreferNone;

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config)
{
    RETURN_IF_LOST();
    if (config == NULL) return runtime_result(cudaErrorInvalidValue);
    *config = cache_config;
    return cudaSuccess;
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
    RETURN_IF_LOST();
    cache_config = config;
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can_access, int device, int peer)
{
    if (can_access == NULL) return runtime_result(cudaErrorInvalidValue);
    if (!device_is_valid(device) || !device_is_valid(peer)) return runtime_result(cudaErrorInvalidDevice);
    *can_access = device != peer;
    return cudaSuccess;
}

/* Every device can access every other one. A device is not a peer of itself, nor of one that does not
 * exist. */

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
    const int device = simt_current_device();
    RETURN_IF_LOST();
    if (flags != cudaPeerAccessDefault) return runtime_result(cudaErrorInvalidValue);
    if (!device_is_valid(peer) || peer == device) return runtime_result(cudaErrorInvalidDevice);
    if (simt_peer_is_enabled(device, peer)) return runtime_result(cudaErrorPeerAccessAlreadyEnabled);
    simt_peer_enable(device, peer, 1);
    return cudaSuccess;
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    const int device = simt_current_device();
    RETURN_IF_LOST();
    if (!device_is_valid(peer)) return runtime_result(cudaErrorInvalidDevice);
    if (!simt_peer_is_enabled(device, peer)) return runtime_result(cudaErrorPeerAccessNotEnabled);
    simt_peer_enable(device, peer, 0);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int device, int peer)
{
    RETURN_IF_LOST();
    if (value == NULL || attribute < cudaDevP2PAttrPerformanceRank ||
        attribute > cudaDevP2PAttrCudaArrayAccessSupported)
        return runtime_result(cudaErrorInvalidValue);
    if (!device_is_valid(device) || !device_is_valid(peer) || device == peer)
        return runtime_result(cudaErrorInvalidDevice);
    *value = attribute == cudaDevP2PAttrAccessSupported || attribute == cudaDevP2PAttrNativeAtomicSupported;
    return cudaSuccess;
}

static const char bus_id[] = "0000:00:00.0"; /* for device 0; the others increment the middle number */

/** Reads a bus id as CUDA accepts it, DOMAIN:BUS:DEVICE.FUNCTION without the first or the last part; -1 if
 *  it is invalid. */
static int bus_of(const char *text)
{
    unsigned number[3] = {0};
    int end = 0, function_end = 0;
    unsigned function = 0;
    if (sscanf(text, "%x:%x:%x%n.%x%n", &number[0], &number[1], &number[2], &end, &function, &function_end) <
        3) {
        memset(number, 0, sizeof(number));
        end = 0; /* without a domain the function must be given */
        if (sscanf(text, "%x:%x.%x%n", &number[1], &number[2], &function, &function_end) != 3) return -1;
    }
    if (text[function_end > 0 ? function_end : end] != '\0') return -1;
    return number[0] == 0 && number[2] == 0 && function == 0 ? (int)(number[1] & 0xff) : -1;
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int bytes, int device)
{
    RETURN_IF_LOST();
    if (text == NULL || bytes < (int)sizeof(bus_id)) return runtime_result(cudaErrorInvalidValue);
    if (!device_is_valid(device)) return runtime_result(cudaErrorInvalidDevice);
    memcpy(text, bus_id, sizeof(bus_id));
    text[strlen("0000:0")] = "0123456789abcdef"[device];
    return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *text)
{
    RETURN_IF_LOST();
    if (device == NULL || text == NULL) return runtime_result(cudaErrorInvalidValue);
    const int bus = bus_of(text);
    if (!device_is_valid(bus)) return runtime_result(cudaErrorInvalidDevice);
    *device = bus;
    return cudaSuccess;
}

cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted)
{
    if (device == NULL || wanted == NULL) return runtime_result(cudaErrorInvalidValue);
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetValidDevices(int *wanted, int count)
{
    if (count > 0 && wanted == NULL) return runtime_result(cudaErrorInvalidValue);
    for (int i = 0; i < count; i++)
        if (!device_is_valid(wanted[i])) return runtime_result(cudaErrorInvalidDevice);
    return cudaSuccess;
}

cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
    RETURN_IF_LOST();
    if (flags == NULL) return runtime_result(cudaErrorInvalidValue);
    *flags = device_flags[simt_current_device()] |
             cudaDeviceMapHost; /* with unified addressing this flag is always set */
    return cudaSuccess;
}

/* Banks are four bytes wide from sm_50 on: asking for another width succeeds and changes nothing. */

cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config)
{
    RETURN_IF_LOST();
    if (config == NULL) return runtime_result(cudaErrorInvalidValue);
    *config = cudaSharedMemBankSizeFourByte;
    return cudaSuccess;
}

cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
    RETURN_IF_LOST();
    return runtime_result(config <= cudaSharedMemBankSizeEightByte ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaFuncSetSharedMemConfig(const void *function, enum cudaSharedMemConfig config)
{
    RETURN_IF_LOST();
    if (function == NULL) return runtime_result(cudaErrorInvalidDeviceFunction);
    return cudaDeviceSetSharedMemConfig(config);
}

cudaError_t cudaCtxResetPersistingL2Cache(void)
{
    return runtime_result(runtime_lost());
}

/** All work has been done already; only its result is left to report. */
cudaError_t cudaDeviceSynchronize(void)
{
    runtime_waits(CALLER_SITE("cudaDeviceSynchronize"));
    RETURN_IF_LOST();
    runtime_settled();
    order_host_waits_device(simt_current_device());
    return runtime_result(capture_check_device());
}

cudaError_t cudaDeviceReset(void)
{
    simt_device_reset(); /* of the current device */
    captures_forget();
    graphs_forget();
    runtime_forget_errors();
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    if (version == NULL) return runtime_result(cudaErrorInvalidValue);
    *version = CUDART_VERSION / 10 * 10;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    return cudaDriverGetVersion(version);
}

cudaError_t cudaProfilerStart(void)
{
    return cudaSuccess;
}

cudaError_t cudaProfilerStop(void)
{
    return cudaSuccess;
}
