// with: SIMT_DEVICES=4
/*
 * Several devices: each has memory, variables, streams and a default stream of its own. Host threads choose theirs;
 * kernels use a peer's memory where they may, copies go across, a stream waits for another device's event. With one
 * device, as on most machines, what needs two is left out.
 */
#include "../testing.h"

#include <pthread.h>
#include <string.h>

enum { THREADS = 128, COUNT = 1000, BLOCKS = (COUNT + THREADS - 1) / THREADS, MOST = 4 };

static __device__ int launches = 100;
static __constant__ int offset;

static int g_devices;

static __global__ void fill_kernel(int *out, /* [COUNT] */
                                   int base)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i == 0) launches++;
    if (i < COUNT) out[i] = base + offset + i;
}

static __global__ void add_peer_kernel(int *out,        /* [COUNT] */
                                       const int *peer) /* [COUNT], of another device */
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < COUNT) out[i] += peer[i];
}

static __global__ void large_kernel(int *out)
{
    extern __shared__ int scratch[];
    scratch[threadIdx.x] = (int)threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) *out = scratch[31];
}

static void expect_code(const char *what, cudaError_t got, cudaError_t expected)
{
    (void)cudaGetLastError();
    if (got == expected) return;
    g_failures++;
    fprintf(stderr, "%s gives %s, not %s\n", what, cudaGetErrorName(got), cudaGetErrorName(expected));
}

static int current_device(void)
{
    int device = -1;
    require(cudaGetDevice(&device), "cudaGetDevice");
    return device;
}

/* ---- what each device has of its own ------------------------------------------------------------------- */

struct rank {
    int device, first, last; /* before and after cudaSetDevice */
    int *data;
};

static void *fill_on_own_device(void *argument)
{
    struct rank *rank = (struct rank *)argument;
    const int base = 1000 * rank->device;
    rank->first = current_device();
    require(cudaSetDevice(rank->device), "cudaSetDevice");
    rank->data = device_array<int>(COUNT);
    require(cudaMemcpyToSymbol(offset, &base, sizeof base), "cudaMemcpyToSymbol");
    for (int round = 0; round <= rank->device; round++) fill_kernel<<<BLOCKS, THREADS>>>(rank->data, round);
    finish_launch("fill_kernel");
    rank->last = current_device();
    return NULL;
}

static void check_rank(const struct rank *rank)
{
    static int host[COUNT];
    struct cudaPointerAttributes attributes;
    int counted = 0;
    expect_equal("a thread's first device", (size_t)rank->device, rank->first, 0);
    expect_equal("a thread's own device", (size_t)rank->device, rank->last, rank->device);
    require(cudaPointerGetAttributes(&attributes, rank->data), "cudaPointerGetAttributes");
    expect_equal("device of a pointer", (size_t)rank->device, attributes.device, rank->device);
    download(host, rank->data, COUNT);
    for (int i = 0; i < COUNT; i++) expect_equal("filled", (size_t)i, host[i], 1001 * rank->device + i);
    require(cudaSetDevice(rank->device), "cudaSetDevice");
    require(cudaMemcpyFromSymbol(&counted, launches, sizeof counted), "cudaMemcpyFromSymbol");
    expect_equal("a device's own variable", (size_t)rank->device, counted, 101 + rank->device);
}

/** A device is found by each form of its name on the bus. */
static void check_bus_ids(void)
{
    char id[32], *function;
    int found = -1;
    for (int device = 0; device < g_devices; device++) {
        require(cudaDeviceGetPCIBusId(id, sizeof id, device), "cudaDeviceGetPCIBusId");
        require(cudaDeviceGetByPCIBusId(&found, id), "cudaDeviceGetByPCIBusId");
        expect_equal("by domain, bus, device and function", (size_t)device, found, device);
        found = -1;
        if (strncmp(id, "0000:", 5) == 0)
            require(cudaDeviceGetByPCIBusId(&found, id + 5), "cudaDeviceGetByPCIBusId");
        if (strncmp(id, "0000:", 5) == 0)
            expect_equal("by bus, device and function", (size_t)device, found, device);
        function = strrchr(id, '.');
        expect_equal("has a function", (size_t)device, function != NULL, 1);
        if (function != NULL) *function = '\0';
        found = -1;
        require(cudaDeviceGetByPCIBusId(&found, id), "cudaDeviceGetByPCIBusId");
        expect_equal("by domain, bus and device", (size_t)device, found, device);
    }
    expect_code("the name of no device", cudaDeviceGetPCIBusId(id, sizeof id, g_devices),
                cudaErrorInvalidDevice);
    expect_code("a bus without a device", cudaDeviceGetByPCIBusId(&found, "0000:fe:1e.0"),
                cudaErrorInvalidDevice);
}

static unsigned scheduling_of(int device)
{
    unsigned flags = 0;
    require(cudaSetDevice(device), "cudaSetDevice");
    require(cudaGetDeviceFlags(&flags), "cudaGetDeviceFlags");
    return flags & cudaDeviceScheduleMask;
}

static void check_flags(void)
{
    static const unsigned flags[] = {cudaDeviceScheduleBlockingSync, cudaDeviceScheduleSpin,
                                     cudaDeviceScheduleYield};
    for (int device = 0; device < g_devices; device++) {
        require(cudaSetDevice(device), "cudaSetDevice");
        require(cudaSetDeviceFlags(flags[device % 3]), "cudaSetDeviceFlags");
    }
    for (int device = 0; device < g_devices; device++)
        expect_equal("flags", (size_t)device, scheduling_of(device), flags[device % 3]);
    require(cudaInitDevice(0, cudaDeviceScheduleYield, cudaInitDeviceFlagsAreValid), "cudaInitDevice");
    expect_equal("flags with which it begins", 0, scheduling_of(0), cudaDeviceScheduleYield);
    require(cudaInitDevice(0, cudaDeviceScheduleSpin, 0), "cudaInitDevice");
    expect_equal("flags that do not count", 0, scheduling_of(0), cudaDeviceScheduleYield);
    expect_code("no device begun", cudaInitDevice(g_devices, 0, 0), cudaErrorInvalidDevice);
    require(cudaSetDeviceFlags(cudaDeviceScheduleAuto), "cudaSetDeviceFlags");
}

/* ---- from one device to another ------------------------------------------------------------------------ */

static void check_copies(const struct rank *from, const struct rank *to)
{
    static int host[COUNT];
    cudaStream_t stream;
    require(cudaSetDevice(from->device), "cudaSetDevice");
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    require(cudaMemcpyPeerAsync(to->data, to->device, from->data, from->device, COUNT * sizeof(int), stream),
            "cudaMemcpyPeerAsync");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    download(host, to->data, COUNT);
    for (int i = 0; i < COUNT; i++) expect_equal("copied", (size_t)i, host[i], 1001 * from->device + i);
    require(cudaMemset(from->data, 0, COUNT * sizeof(int)), "cudaMemset");
    require(cudaMemcpy(from->data, to->data, COUNT * sizeof(int), cudaMemcpyDefault), "cudaMemcpy");
    require(cudaMemcpyPeer(from->data, from->device, to->data, to->device, COUNT * sizeof(int)),
            "cudaMemcpyPeer");
    download(host, from->data, COUNT);
    for (int i = 0; i < COUNT; i++) expect_equal("and back", (size_t)i, host[i], 1001 * from->device + i);
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

static void check_peers(const struct rank *mine, const struct rank *other)
{
    static int host[COUNT];
    int can = 0, linked = -1;
    require(cudaSetDevice(mine->device), "cudaSetDevice");
    require(cudaDeviceCanAccessPeer(&can, mine->device, other->device), "cudaDeviceCanAccessPeer");
    require(cudaDeviceGetP2PAttribute(&linked, cudaDevP2PAttrAccessSupported, mine->device, other->device),
            "cudaDeviceGetP2PAttribute");
    expect_equal("access by the link", 0, linked, can);
    expect_code("a link to itself",
                cudaDeviceGetP2PAttribute(&linked, cudaDevP2PAttrAccessSupported, mine->device, mine->device),
                cudaErrorInvalidDevice);
    expect_code("attribute 99 of a link",
                cudaDeviceGetP2PAttribute(&linked, (cudaDeviceP2PAttr)99, mine->device, other->device),
                cudaErrorInvalidValue);
    if (!can) return;
    expect_code("a peer that was not enabled", cudaDeviceDisablePeerAccess(other->device),
                cudaErrorPeerAccessNotEnabled);
    expect_code("oneself as a peer", cudaDeviceEnablePeerAccess(mine->device, 0), cudaErrorInvalidDevice);
    require(cudaDeviceEnablePeerAccess(other->device, 0), "cudaDeviceEnablePeerAccess");
    expect_code("a peer twice", cudaDeviceEnablePeerAccess(other->device, 0),
                cudaErrorPeerAccessAlreadyEnabled);
    require(cudaMemset(mine->data, 0, COUNT * sizeof(int)), "cudaMemset");
    add_peer_kernel<<<BLOCKS, THREADS>>>(mine->data, other->data);
    finish_launch("add_peer_kernel");
    download(host, mine->data, COUNT);
    for (int i = 0; i < COUNT; i++) expect_equal("read from a peer", (size_t)i, host[i], i);
    require(cudaDeviceDisablePeerAccess(other->device), "cudaDeviceDisablePeerAccess");
}

static void check_events(const struct rank *first, const struct rank *second)
{
    cudaStream_t of_first, of_second;
    cudaEvent_t event, other;
    float milliseconds;
    int *wrong, whose = -1;
    require(cudaSetDevice(second->device), "cudaSetDevice");
    require(cudaStreamCreate(&of_second), "cudaStreamCreate");
    require(cudaEventCreate(&other), "cudaEventCreate");
    require(cudaEventRecord(other, of_second), "cudaEventRecord");
    require(cudaSetDevice(first->device), "cudaSetDevice");
    require(cudaStreamCreate(&of_first), "cudaStreamCreate");
    require(cudaStreamGetDevice(of_second, &whose), "cudaStreamGetDevice");
    expect_equal("device of another's stream", 0, whose, second->device);
    require(cudaStreamGetDevice(NULL, &whose), "cudaStreamGetDevice");
    expect_equal("device of the default stream", 0, whose, first->device);
    require(cudaEventCreate(&event), "cudaEventCreate");
    fill_kernel<<<BLOCKS, THREADS, 0, of_first>>>(first->data, 7);
    require(cudaEventRecord(event, of_first), "cudaEventRecord");
    require(cudaStreamWaitEvent(of_second, event, 0), "cudaStreamWaitEvent");
    require(cudaMemcpyPeerAsync(second->data, second->device, first->data, first->device, COUNT * sizeof(int),
                                of_second),
            "cudaMemcpyPeerAsync");
    require(cudaStreamSynchronize(of_second), "cudaStreamSynchronize");
    require(cudaEventSynchronize(event), "cudaEventSynchronize");
    expect_code("a launch in another device's stream",
                (fill_kernel<<<BLOCKS, THREADS, 0, of_second>>>(first->data, 7), cudaGetLastError()),
                cudaErrorInvalidResourceHandle);
    expect_code("an event in another device's stream", cudaEventRecord(event, of_second),
                cudaErrorInvalidResourceHandle);
    expect_code("the time between two devices", cudaEventElapsedTime(&milliseconds, other, event),
                cudaErrorInvalidResourceHandle);
    /* What a kernel may use is said for each device. */
    wrong = device_array<int>(1);
    require(cudaFuncSetAttribute(large_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000),
            "attribute");
    large_kernel<<<1, 32, 60000>>>(wrong);
    finish_launch("large_kernel");
    release(wrong);
    require(cudaSetDevice(second->device), "cudaSetDevice");
    wrong = device_array<int>(1);
    large_kernel<<<1, 32, 60000>>>(wrong);
    expect_code("an attribute of another device", cudaGetLastError(), cudaErrorInvalidValue);
    release(wrong);
    require(cudaStreamDestroy(of_second), "cudaStreamDestroy");
    require(cudaEventDestroy(other), "cudaEventDestroy");
    require(cudaSetDevice(first->device), "cudaSetDevice");
    require(cudaStreamDestroy(of_first), "cudaStreamDestroy");
    require(cudaEventDestroy(event), "cudaEventDestroy");
}

int main(void)
{
    struct rank rank[MOST];
    pthread_t thread[MOST];
    require(cudaGetDeviceCount(&g_devices), "cudaGetDeviceCount");
    if (getenv("SIMT_DEVICES") != NULL) expect_equal("devices", 0, g_devices, atoi(getenv("SIMT_DEVICES")));
    expect_code("a device that is not there", cudaSetDevice(g_devices), cudaErrorInvalidDevice);
    if (g_devices > MOST) g_devices = MOST;
    check_bus_ids();
    check_flags();
    require(cudaSetDevice(0), "cudaSetDevice");
    for (int i = 0; i < g_devices; i++) {
        rank[i].device = i;
        pthread_create(&thread[i], NULL, fill_on_own_device, &rank[i]);
    }
    for (int i = 0; i < g_devices; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < g_devices; i++) check_rank(&rank[i]);
    for (int i = 1; i < g_devices; i++) check_copies(&rank[i], &rank[0]);
    if (g_devices > 1) {
        require(cudaSetDevice(0), "cudaSetDevice");
        require(cudaMemset(rank[0].data, 0, COUNT * sizeof(int)), "cudaMemset");
        fill_kernel<<<BLOCKS, THREADS>>>(rank[0].data, 0);
        finish_launch("fill_kernel");
        check_peers(&rank[1], &rank[0]);
        check_events(&rank[0], &rank[1]);
    }
    for (int i = 0; i < g_devices; i++) release(rank[i].data);
    return finish("several_devices");
}
