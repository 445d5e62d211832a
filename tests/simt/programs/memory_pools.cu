// with: SIMT_DEVICES=2
/*
 * The pool that cudaMallocAsync takes memory from: which one it is, its attributes, memory taken from it, given back
 * and trimmed. What needs a second device is left out where there is one.
 */
#include "../testing.h"

enum { THREADS = 128, COUNT = 5000, BLOCKS = (COUNT + THREADS - 1) / THREADS };

static int g_devices;

static __global__ void fill_kernel(int *out, int base) /* [COUNT] */
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < COUNT) out[i] = base + 3 * i;
}

static void expect_code(const char *what, cudaError_t got, cudaError_t expected)
{
    (void)cudaGetLastError();
    if (got == expected) return;
    g_failures++;
    fprintf(stderr, "%s gives %s, not %s\n", what, cudaGetErrorName(got), cudaGetErrorName(expected));
}

static cudaMemPool_t pool_of(int device)
{
    cudaMemPool_t pool = NULL;
    require(cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool");
    return pool;
}

static unsigned long long wide_attribute(cudaMemPool_t pool, cudaMemPoolAttr attribute)
{
    unsigned long long value = 0x5a5a5a5a5a5a5a5aull;
    require(cudaMemPoolGetAttribute(pool, attribute, &value), "cudaMemPoolGetAttribute");
    return value;
}

static int flag(cudaMemPool_t pool, cudaMemPoolAttr attribute)
{
    int value[2] = {-7, -7};
    require(cudaMemPoolGetAttribute(pool, attribute, value), "cudaMemPoolGetAttribute");
    expect_equal("what lies after a flag", attribute, value[1], -7);
    return value[0];
}

/* ---- which pool it is ---------------------------------------------------------------------------------- */

static void check_which(void)
{
    cudaMemPool_t current = NULL;
    int supported = 0;
    require(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0), "cudaDeviceGetAttribute");
    expect_equal("pools are supported", 0, supported, 1);
    require(cudaDeviceGetMemPool(&current, 0), "cudaDeviceGetMemPool");
    expect_equal("current pool is the default one", 0, current == pool_of(0), 1);
    require(cudaDeviceSetMemPool(0, current), "cudaDeviceSetMemPool");
    require(cudaDeviceGetMemPool(&current, 0), "cudaDeviceGetMemPool");
    expect_equal("current pool is the default one", 1, current == pool_of(0), 1);
    expect_code("default pool of no device", cudaDeviceGetDefaultMemPool(&current, g_devices),
                cudaErrorInvalidDevice);
    expect_code("default pool of device -1", cudaDeviceGetDefaultMemPool(&current, -1),
                cudaErrorInvalidDevice);
    expect_code("current pool of no device", cudaDeviceGetMemPool(&current, g_devices),
                cudaErrorInvalidValue);
    expect_code("pool set for no device", cudaDeviceSetMemPool(g_devices, pool_of(0)), cudaErrorInvalidValue);
}

/* ---- attributes ---------------------------------------------------------------------------------------- */

static void check_flags(void)
{
    const cudaMemPoolAttr flags[] = {cudaMemPoolReuseFollowEventDependencies,
                                     cudaMemPoolReuseAllowOpportunistic,
                                     cudaMemPoolReuseAllowInternalDependencies};
    const cudaMemPool_t pool = pool_of(0);
    int off = 0, on = 1;
    for (int i = 0; i < 3; i++) expect_equal("flag at first", (size_t)i, flag(pool, flags[i]), 1);
    for (int i = 0; i < 3; i++) {
        require(cudaMemPoolSetAttribute(pool, flags[i], &off), "cudaMemPoolSetAttribute");
        for (int j = 0; j < 3; j++)
            expect_equal("flag, one of them off", (size_t)(3 * i + j), flag(pool, flags[j]), i != j);
        require(cudaMemPoolSetAttribute(pool, flags[i], &on), "cudaMemPoolSetAttribute");
    }
    for (int i = 0; i < 3; i++) expect_equal("flag on again", (size_t)i, flag(pool, flags[i]), 1);
}

static void check_threshold(void)
{
    const unsigned long long values[] = {1ull << 20, (5ull << 32) + 4096, ~0ull, 0};
    const cudaMemPool_t pool = pool_of(0);
    expect_equal("threshold at first", 0, (long long)wide_attribute(pool, cudaMemPoolAttrReleaseThreshold),
                 0);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        unsigned long long value = values[i];
        require(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &value),
                "cudaMemPoolSetAttribute");
        expect_equal("threshold", i, (long long)wide_attribute(pool, cudaMemPoolAttrReleaseThreshold),
                     (long long)values[i]);
    }
}

static void check_refused(void)
{
    const cudaMemPool_t pool = pool_of(0);
    unsigned long long value = 0, one = 1;
    require(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &value), "reserved memory reset");
    require(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &value), "used memory reset");
    expect_code("high reserved memory set to 1",
                cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &one), cudaErrorInvalidValue);
    expect_code("high used memory set to 1", cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &one),
                cudaErrorInvalidValue);
    expect_code("reserved memory set",
                cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &value),
                cudaErrorInvalidValue);
    expect_code("used memory set", cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &value),
                cudaErrorInvalidValue);
    expect_code("attribute 99 set", cudaMemPoolSetAttribute(pool, (cudaMemPoolAttr)99, &value),
                cudaErrorInvalidValue);
    expect_code("attribute 99", cudaMemPoolGetAttribute(pool, (cudaMemPoolAttr)99, &value),
                cudaErrorInvalidValue);
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static void expect_filled(const char *what, const int *device_values, int base)
{
    int *got = host_array<int>(COUNT);
    download(got, device_values, COUNT);
    for (int i = 0; i < COUNT; i++) expect_equal(what, (size_t)i, got[i], base + 3 * i);
    free(got);
}

/** What is still held keeps its values when what was given back is trimmed. */
static void check_memory(void)
{
    const cudaMemPool_t pool = pool_of(0);
    int *kept = NULL, *passing = NULL, *by_pool = NULL;
    void *untyped = NULL;
    cudaStream_t stream;
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    require(cudaMallocAsync(&kept, COUNT * sizeof(int), stream), "cudaMallocAsync");
    require(cudaMallocFromPoolAsync(&by_pool, COUNT * sizeof(int), pool, stream), "cudaMallocFromPoolAsync");
    fill_kernel<<<BLOCKS, THREADS, 0, stream>>>(kept, 11);
    fill_kernel<<<BLOCKS, THREADS, 0, stream>>>(by_pool, 22);
    require(cudaGetLastError(), "fill_kernel");
    for (int i = 0; i < 4; i++) {
        require(cudaMallocAsync(&passing, COUNT * sizeof(int), pool, stream), "cudaMallocAsync from a pool");
        fill_kernel<<<BLOCKS, THREADS, 0, stream>>>(passing, 1000 * i);
        require(cudaGetLastError(), "fill_kernel");
        require(cudaFreeAsync(passing, stream), "cudaFreeAsync");
    }
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    const unsigned long long reserved = wide_attribute(pool, cudaMemPoolAttrReservedMemCurrent);
    expect_equal("reserved holds what is in use", 0, reserved >= 2 * COUNT * sizeof(int), 1);
    expect_equal("most reserved", 0, wide_attribute(pool, cudaMemPoolAttrReservedMemHigh) >= reserved, 1);
    require(cudaMemPoolTrimTo(pool, 1 << 20), "cudaMemPoolTrimTo");
    require(cudaMemPoolTrimTo(pool, 0), "cudaMemPoolTrimTo");
    expect_filled("kept", kept, 11);
    expect_filled("from the pool", by_pool, 22);
    require(cudaMallocFromPoolAsync(&untyped, COUNT * sizeof(int), pool, stream), "cudaMallocFromPoolAsync");
    fill_kernel<<<BLOCKS, THREADS, 0, stream>>>((int *)untyped, 33);
    require(cudaGetLastError(), "fill_kernel");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    expect_filled("after trimming", (int *)untyped, 33);
    require(cudaFreeAsync(untyped, stream), "cudaFreeAsync");
    require(cudaFreeAsync(by_pool, stream), "cudaFreeAsync");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    require(cudaFree(kept), "cudaFree"); /* it takes such memory, too */
    require(cudaMemPoolTrimTo(pool, 0), "cudaMemPoolTrimTo");
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

/* ---- two devices --------------------------------------------------------------------------------------- */

static void check_two_devices(void)
{
    unsigned long long value = 12345678, zero = 0;
    cudaPointerAttributes about;
    cudaStream_t stream;
    int *memory = NULL, off = 0, on = 1;
    const cudaMemPool_t first = pool_of(0), second = pool_of(1);
    expect_equal("each device has its pool", 0, first != second, 1);
    require(cudaMemPoolSetAttribute(second, cudaMemPoolAttrReleaseThreshold, &value), "threshold");
    require(cudaMemPoolSetAttribute(second, cudaMemPoolReuseAllowOpportunistic, &off), "flag");
    expect_equal("threshold of the first", 0,
                 (long long)wide_attribute(first, cudaMemPoolAttrReleaseThreshold), 0);
    expect_equal("flag of the first", 0, flag(first, cudaMemPoolReuseAllowOpportunistic), 1);
    require(cudaMemPoolSetAttribute(second, cudaMemPoolAttrReleaseThreshold, &zero), "threshold");
    require(cudaMemPoolSetAttribute(second, cudaMemPoolReuseAllowOpportunistic, &on), "flag");
    expect_code("another device's pool", cudaDeviceSetMemPool(0, second), cudaErrorInvalidValue);
    require(cudaStreamCreate(&stream), "cudaStreamCreate"); /* of device 0 */
    require(cudaMallocFromPoolAsync(&memory, 64, second, stream), "cudaMallocFromPoolAsync");
    require(cudaPointerGetAttributes(&about, memory), "cudaPointerGetAttributes");
    expect_equal("device of the pool's memory", 0, about.device, 1);
    require(cudaFreeAsync(memory, stream), "cudaFreeAsync");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

int main(void)
{
    require(cudaGetDeviceCount(&g_devices), "cudaGetDeviceCount");
    check_which();
    check_flags();
    check_threshold();
    check_refused();
    check_memory();
    if (g_devices > 1) check_two_devices();
    return finish("memory_pools");
}
