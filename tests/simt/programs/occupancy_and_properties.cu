/**
 * What a program may ask of the device: properties, attributes, a kernel's attributes, occupancy. The
 * expected occupancy is worked out from the properties, so that the program is right on any device.
 */
#include "../testing.h"

#include <string.h>

enum { STATIC_BYTES = 4096 };

static __global__ void small_kernel(int *out)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

static __global__ void static_shared_kernel(int *out)
{
    __shared__ int tile[STATIC_BYTES / sizeof(int)];
    tile[threadIdx.x] = (int)threadIdx.x;
    __syncthreads(); /* the neighbour's value is there */
    out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

static __global__ void dynamic_shared_kernel(int *out)
{
    extern __shared__ int scratch[];
    scratch[threadIdx.x] = (int)threadIdx.x;
    out[threadIdx.x] = scratch[threadIdx.x];
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static void check_properties(const cudaDeviceProp *properties)
{
    int value = 0, major = 0, minor = 0;
    size_t free_bytes = 0, total_bytes = 0;
    expect_equal("warp size", 0, properties->warpSize, 32);
    expect_equal("threads per block", 0, properties->maxThreadsPerBlock, 1024);
    expect_equal("block depth", 0, properties->maxThreadsDim[2], 64);
    expect_equal("grid height", 0, properties->maxGridSize[1], 65535);
    expect_equal("grid width", 0, properties->maxGridSize[0], 2147483647);
    expect_equal("shared memory a block", 0, (long long)properties->sharedMemPerBlock, 48 * 1024);
    expect_equal("has a name", 0, strlen(properties->name) > 0, 1);
    expect_equal("has processors", 0, properties->multiProcessorCount > 0, 1);
    require(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0),
            "cudaDeviceGetAttribute");
    expect_equal("opt-in", 0, value, (long long)properties->sharedMemPerBlockOptin);
    require(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
    expect_equal("processors", 0, value, properties->multiProcessorCount);
    require(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "cudaDeviceGetAttribute");
    require(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0), "cudaDeviceGetAttribute");
    expect_equal("capability", 0, 10 * major + minor, 10 * properties->major + properties->minor);
    require(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    expect_equal("memory", 0, free_bytes > 0 && free_bytes <= total_bytes, 1);
}

static void check_occupancy(const cudaDeviceProp *properties)
{
    int blocks = 0, min_grid = 0, block_size = 0;
    size_t bytes = 0;
    const int warps = properties->maxThreadsPerMultiProcessor / 32,
              reserved = (int)properties->reservedSharedMemPerBlock;
    require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, small_kernel, 256, 0), "occupancy");
    expect_equal("blocks of 256", 0, blocks, least(warps / 8, properties->maxBlocksPerMultiProcessor));
    require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, small_kernel, 33, 0), "occupancy");
    expect_equal("blocks of 33", 0, blocks, least(warps / 2, properties->maxBlocksPerMultiProcessor));
    require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, small_kernel, 1024, 0), "occupancy");
    expect_equal("blocks of 1024", 0, blocks, warps / 32);
    require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, dynamic_shared_kernel, 32, 40 * 1024),
            "occupancy");
    expect_equal("blocks with 40 KB", 0, blocks,
                 least((int)properties->sharedMemPerMultiprocessor / (40 * 1024 + reserved),
                       properties->maxBlocksPerMultiProcessor));
    /* what is said to be left for 8 blocks is enough for 8, and 2 KB more are too much */
    require(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, dynamic_shared_kernel, 8, 128), "occupancy");
    expect_equal("8 blocks share the memory", 0,
                 bytes >= 1024 && bytes <= properties->sharedMemPerMultiprocessor / 8, 1);
    require(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, dynamic_shared_kernel, 128, bytes,
                                                                   cudaOccupancyDefault),
            "occupancy");
    require(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                &blocks, dynamic_shared_kernel, 128, bytes + 2048, cudaOccupancyDisableCachingOverride),
            "occupancy");
    expect_equal("blocks of 2 KB more", 0, blocks < 8, 1);
    require(cudaOccupancyMaxPotentialBlockSize(&min_grid, &block_size, small_kernel, 0, 0), "occupancy");
    expect_equal("block size", 0, block_size > 0 && block_size <= 1024 && block_size % 32 == 0, 1);
    expect_equal("grid size", 0, min_grid % properties->multiProcessorCount, 0);
}

static __global__ void bounded_kernel(int *out);
static __global__ void __launch_bounds__(96) bounded_kernel(int *out)
{
    out[threadIdx.x] = 1;
}

static void check_kernel_attributes(const cudaDeviceProp *properties)
{
    cudaFuncAttributes attributes;
    require(cudaFuncGetAttributes(&attributes, static_shared_kernel), "cudaFuncGetAttributes");
    expect_equal("static shared bytes", 0, (long long)attributes.sharedSizeBytes, STATIC_BYTES);
    expect_equal("threads per block", 0, attributes.maxThreadsPerBlock, 1024);
    require(cudaFuncGetAttributes(&attributes, bounded_kernel), "cudaFuncGetAttributes");
    expect_equal("threads per block, by __launch_bounds__", 0, attributes.maxThreadsPerBlock, 96);
    require(cudaFuncSetAttribute(dynamic_shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)properties->sharedMemPerBlockOptin),
            "cudaFuncSetAttribute");
    require(cudaFuncGetAttributes(&attributes, dynamic_shared_kernel), "cudaFuncGetAttributes");
    expect_equal("opt-in of the kernel", 0, attributes.maxDynamicSharedSizeBytes,
                 (long long)properties->sharedMemPerBlockOptin);
}

/* Its linker name is not mangled. */
extern "C" __global__ void unmangled_kernel(int *out)
{
    __shared__ int tile[10 << 10];
    tile[threadIdx.x] = (int)threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

/* 40 KB of each block's own: the shared memory of a multiprocessor decides. */
static void check_unmangled(void)
{
    int blocks, per_multiprocessor, reserved;
    require(cudaDeviceGetAttribute(&per_multiprocessor, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0),
            "attribute");
    require(cudaDeviceGetAttribute(&reserved, cudaDevAttrReservedSharedMemoryPerBlock, 0), "attribute");
    require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, unmangled_kernel, 32, 0), "occupancy");
    expect_equal("blocks of an extern C kernel", 0, blocks, per_multiprocessor / ((40 << 10) + reserved));
}

int main(void)
{
    check_unmangled();
    cudaDeviceProp properties;
    int count = 0, driver = 0, runtime = 0, host[64];
    require(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    expect_equal("devices", 0, count > 0, 1);
    require(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    require(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    require(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    expect_equal("driver is no older than the runtime", 0, driver >= runtime && runtime >= 12000, 1);
    check_properties(&properties);
    check_kernel_attributes(&properties);
    check_occupancy(&properties);

    int *out = device_array<int>(64);
    bounded_kernel<<<1, dim3(32, 2)>>>(out);
    finish_launch("bounded_kernel");
    static_shared_kernel<<<1, 64>>>(out);
    finish_launch("static_shared_kernel");
    download(host, out, 64);
    for (int i = 0; i < 64; i++) expect_equal("out", i, host[i], i ^ 1);
    release(out);
    return finish("occupancy_and_properties");
}
