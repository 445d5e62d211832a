// Rates and latencies of each level of memory, from registers to the disk, and steps of one kernel: what pages say of a chip, in one go.
//
//   nvcc -O3 -std=c++17 -arch=native tests/gpu/time_levels.cu -o /tmp/time_levels && /tmp/time_levels FOLDER
//
// FOLDER lies on the disk that is asked about. Prints name,value,unit. Times are medians of 9. Rows of softmax: each step changes one
// thing (threads of a block, __restrict__, four elements at once, the reduction), and all must give the same sums.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cub/cub.cuh>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vector>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t error_ = (call);                                                                         \
        if (error_ != cudaSuccess) {                                                                         \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));                  \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

enum { RUNS = 9 };
#ifndef SMALL // 1: sizes for the software device
enum { SMALL = 0 };
#endif

static double now(void)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/** Median seconds of something that the host starts, until the device is idle. */
template <typename F> static double seconds(const F &call)
{
    double times[RUNS];
    call();
    CHECK(cudaDeviceSynchronize());
    for (double &t : times) {
        const double begin = now();
        call();
        CHECK(cudaDeviceSynchronize());
        t = now() - begin;
    }
    std::sort(times, times + RUNS);
    return times[RUNS / 2];
}

static void print(const char *name, double value, const char *unit)
{
    printf("%s,%.4g,%s\n", name, value, unit);
    fflush(stdout);
}

// ---- rates ------------------------------------------------------------------------------------------------------------

/** Every thread adds what it loads of the first @p count elements, @p turns times. */
static __global__ void read_kernel(const float4 *from, size_t count, int turns, float *out)
{
    float sum = 0.0f;
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (int t = 0; t < turns; t++)
        for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += step) {
            const float4 x = __ldcg(from + (i ^ (size_t)(t & 1))); // not the L1 cache
            sum += x.x + x.y + x.z + x.w;
        }
    if (sum == 12345.0f) *out = sum;
}

/** Words of shared memory, each warp a row of 32 in different banks. */
static __global__ void shared_kernel(int turns, float *out)
{
    __shared__ float tile[4096];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < 4096; i += blockDim.x) tile[i] = (float)i;
    __syncthreads();
    for (int t = 0; t < turns; t++)
        for (int i = 0; i < 4; i++) sum += ((volatile float *)tile)[(threadIdx.x + 32 * (t + i)) & 4095];
    if (sum == 12345.0f) *out = sum;
}

/** Eight chains of multiplications and additions: three words of registers read and one written by each. */
static __global__ void register_kernel(int turns, float a, float *out)
{
    float x[8];
    for (int i = 0; i < 8; i++) x[i] = (float)i;
    for (int t = 0; t < turns; t++)
#pragma unroll
        for (int i = 0; i < 8; i++) x[i] = fmaf(x[i], a, x[(i + 1) & 7]);
    for (int i = 0; i < 8; i++)
        if (x[i] == 12345.0f) *out = x[i];
}

/** One thread follows indices, from where the launch before ended: a run finds nothing in a cache that another run has put there. */
static __global__ void chase_kernel(const int *next, int steps, int *place)
{
    int at = *place;
    for (int i = 0; i < steps; i++) at = __ldcg(next + at);
    *place = at;
}

static void time_rates(int sms)
{
    const size_t most = SMALL ? 1u << 16 : 1u << 30;
    const int blocks = SMALL ? 2 : sms * 4, threads = SMALL ? 64 : 512, turns = SMALL ? 4 : 4000;
    float4 *memory;
    float *out;
    CHECK(cudaMalloc(&memory, most));
    CHECK(cudaMalloc(&out, sizeof *out));
    CHECK(cudaMemset(memory, 0, most));
    const double all = (double)blocks * threads * turns;
    double t = seconds([&] { register_kernel<<<blocks, threads>>>(turns, 0.5f, out); });
    print("registers", 8.0 * 16.0 * all / t / 1e9, "GB/s");
    t = seconds([&] { shared_kernel<<<blocks, threads>>>(turns, out); });
    print("shared memory", 4.0 * 4.0 * all / t / 1e9, "GB/s");
    const size_t in_l2 = most / 64, repeats = SMALL ? 2 : 64;
    t = seconds([&] { read_kernel<<<blocks, threads>>>(memory, in_l2 / 16, (int)repeats, out); });
    print("L2 cache", (double)(in_l2 * repeats) / t / 1e9, "GB/s");
    t = seconds([&] { read_kernel<<<blocks, threads>>>(memory, most / 16, 1, out); });
    print("device memory, read", (double)most / t / 1e9, "GB/s");
    t = seconds([&] { cudaMemcpyAsync(memory, memory + most / 32, most / 2, cudaMemcpyDeviceToDevice, 0); });
    print("device memory, copy, both ways", (double)most / t / 1e9, "GB/s");
    CHECK(cudaGetLastError());
    CHECK(cudaFree(memory));
    CHECK(cudaFree(out));
}

/** Indices 128 bytes or more apart, in a cycle through @p bytes. */
static void time_latency(const char *name, size_t bytes)
{
    const int count = (int)(bytes / 128), steps = SMALL ? 20 : 20000;
    std::vector<int> next(bytes / 4, 0);
    const int stride = (int)(count * 0.618) | 1; // odd: through all, for count is a power of 2
    for (int i = 0; i < count; i++) next[(size_t)i * 32] = (int)(((size_t)i + stride) % count * 32);
    int *device, *place;
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaMalloc(&place, sizeof *place));
    CHECK(cudaMemset(place, 0, sizeof *place));
    CHECK(cudaMemcpy(device, next.data(), bytes, cudaMemcpyHostToDevice));
    const double t = seconds([&] { chase_kernel<<<1, 1>>>(device, steps, place); });
    const double none = seconds([&] { chase_kernel<<<1, 1>>>(device, 0, place); });
    print(name, (t - none) / steps * 1e9, "ns");
    CHECK(cudaFree(device));
    CHECK(cudaFree(place));
}

// ---- beside the device --------------------------------------------------------------------------------------------------

/** Host memory, and blocks of a cache swapped out and in: 16 positions of Qwen3-8B in one layer are 64 KB. */
static void time_host(void)
{
    const size_t bytes = SMALL ? 1 << 16 : 256 << 20, block = SMALL ? 1 << 12 : 64 << 10;
    char *device, *pinned, *plain = (char *)malloc(bytes);
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaMallocHost(&pinned, bytes));
    memset(plain, 1, bytes);
    memset(pinned, 1, bytes);
    const auto rate = [&](const char *name, char *to, const char *from, size_t piece) {
        const double t = seconds([&] {
            for (size_t at = 0; at < bytes; at += piece)
                CHECK(cudaMemcpyAsync(to + at, from + at, piece, cudaMemcpyDefault, 0));
        });
        print(name, (double)bytes / t / 1e9, "GB/s");
    };
    rate("host to device, page-locked", device, pinned, bytes);
    rate("device to host, page-locked", pinned, device, bytes);
    rate("host to device, pageable", device, plain, bytes);
    rate("blocks swapped out, one copy each", pinned, device, block);
    rate("blocks swapped in, one copy each", device, pinned, block);
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(pinned));
    free(plain);
}

static void time_disk(const char *folder)
{
    const size_t bytes = SMALL ? 1 << 16 : 1u << 30, piece = SMALL ? 1 << 12 : 8 << 20;
    std::vector<char> data(piece, 1);
    char path[4096];
    snprintf(path, sizeof path, "%s/time_levels.tmp", folder);
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0) {
        perror(path);
        exit(1);
    }
    unlink(path);
    double begin = now();
    for (size_t at = 0; at < bytes; at += piece)
        if (write(file, data.data(), piece) != (ssize_t)piece) exit(1);
    fsync(file);
    print("disk, written and synchronised", (double)bytes / (now() - begin) / 1e9, "GB/s");
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED); // out of the host's memory
    lseek(file, 0, SEEK_SET);
    begin = now();
    for (size_t at = 0; at < bytes; at += piece)
        if (read(file, data.data(), piece) != (ssize_t)piece) exit(1);
    print("disk, read", (double)bytes / (now() - begin) / 1e9, "GB/s");
    close(file);
}

// ---- steps of one kernel ------------------------------------------------------------------------------------------------

enum reduction { XOR, DOWN, CUB };

/** Sum of a block's values, for all of its threads. */
template <int THREADS, reduction HOW> static __device__ float block_sum(float x)
{
    if constexpr (HOW == CUB) {
        typedef cub::BlockReduce<float, THREADS> reduce;
        __shared__ typename reduce::TempStorage storage;
        __shared__ float all;
        const float sum = reduce(storage).Sum(x);
        if (threadIdx.x == 0) all = sum;
        __syncthreads();
        return all;
    } else {
        __shared__ float of_warp[THREADS / 32];
        float sum = 0.0f;
        for (int d = 16; d > 0; d /= 2)
            x += HOW == XOR ? __shfl_xor_sync(~0u, x, d) : __shfl_down_sync(~0u, x, d);
        if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = x;
        __syncthreads();
        for (int i = 0; i < THREADS / 32; i++) sum += of_warp[i];
        return sum;
    }
}

/** out = exp(x) over its sum, a row per block; small x, so no maximum. */
template <int THREADS, int UNROLL, reduction HOW>
static __device__ void scale_row(const float *x, float *out, int columns)
{
    float sum = 0.0f;
    x += (size_t)blockIdx.x * columns;
    out += (size_t)blockIdx.x * columns;
#pragma unroll UNROLL
    for (int i = threadIdx.x; i < columns; i += THREADS) sum += __expf(x[i]);
    const float factor = 1.0f / block_sum<THREADS, HOW>(sum);
#pragma unroll UNROLL
    for (int i = threadIdx.x; i < columns; i += THREADS) out[i] = __expf(x[i]) * factor;
}

template <int THREADS, int UNROLL, reduction HOW>
static __global__ void plain_kernel(const float *x, float *out, int columns)
{
    scale_row<THREADS, UNROLL, HOW>(x, out, columns);
}

template <int THREADS, int UNROLL, reduction HOW>
static __global__ void restrict_kernel(const float *__restrict__ x, float *__restrict__ out, int columns)
{
    scale_row<THREADS, UNROLL, HOW>(x, out, columns);
}

static void time_steps(void)
{
    const int rows = SMALL ? 2 : 16384, columns = SMALL ? 512 : 8192;
    const size_t bytes = (size_t)rows * columns * sizeof(float);
    float *x, *out, last;
    CHECK(cudaMalloc(&x, bytes));
    CHECK(cudaMalloc(&out, bytes));
    CHECK(cudaMemset(x, 0, bytes)); // so every result is 1 / columns
    const auto step = [&](const char *name, void (*kernel)(const float *, float *, int), int threads) {
        CHECK(cudaMemset(out, 255, bytes));
        print(name, 1e6 * seconds([&] { kernel<<<rows, threads>>>(x, out, columns); }), "us");
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(&last, out + (size_t)rows * columns - 1, sizeof last, cudaMemcpyDeviceToHost));
        if (last != 1.0f / (float)columns) {
            fprintf(stderr, "%s: %g\n", name, (double)last);
            exit(1);
        }
    };
    step("rows, 128 threads", plain_kernel<128, 1, XOR>, 128);
    step("rows, 256 threads", plain_kernel<256, 1, XOR>, 256);
    step("rows, 256 threads, __restrict__", restrict_kernel<256, 1, XOR>, 256);
    step("rows, 256 threads, __restrict__, unrolled by 4", restrict_kernel<256, 4, XOR>, 256);
    step("the last, by shfl_down", restrict_kernel<256, 4, DOWN>, 256);
    step("the last, by cub::BlockReduce", restrict_kernel<256, 4, CUB>, 256);
    CHECK(cudaFree(x));
    CHECK(cudaFree(out));
}

int main(int count, char **words)
{
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    time_rates(properties.multiProcessorCount);
    time_latency("latency of the L2 cache", SMALL ? 1 << 13 : 4 << 20);
    time_latency("latency of device memory", SMALL ? 1 << 14 : 256 << 20);
    time_host();
    if (count > 1) time_disk(words[1]);
    time_steps();
    return 0;
}
