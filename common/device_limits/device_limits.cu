/*
 * device_limits: what this GPU can do, measured here and now, as lines "name,value".
 *
 *     device_limits --probe     only: is there a GPU that can be used, and what is it?   (exit 0, or 77 and a
 * reason) device_limits [CASE...]   measures too; takes a few seconds, fewer with peers of these cases alone
 *
 * Measured are the rates that kernels are set against: bytes copied and bytes read a second, the vendor's
 * matrix product, the cost of a launch; and, as "peer,CASE,LIBRARY,US", the time of a peer at the shape of a lesson's
 * case. The peak_ figures are computed from clocks and widths; nothing can be
 * faster. Each rate is the best of several repetitions: a limit is what the device reaches when nothing
 * disturbs it.
 */
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#ifdef WARPWISE_HAVE_CUBLAS
#include <cublas_v2.h>

#include "peers.h"
#endif

enum { REPETITIONS = 10, LAUNCHES = 2000, PRODUCTS = 20, BLOCK = 256, EXIT_NO_DEVICE = 77, EXIT_TROUBLE = 2 };

/* ---- is there a GPU? ---------------------------------------------------------------------------------- */

static int refuse(const char *reason)
{
    printf("reason,%s\n", reason);
    return EXIT_NO_DEVICE;
}

static int explain_error(cudaError_t error)
{
    int driver = 0, runtime = 0;
    char reason[256];
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (error == cudaErrorInsufficientDriver && driver == 0) {
        return refuse("no NVIDIA driver is installed, or this container was not given the GPU");
    }
    if (error == cudaErrorInsufficientDriver) {
        snprintf(
            reason, sizeof reason,
            "the NVIDIA driver is too old: it knows CUDA %d.%d and this build needs %d.%d; update the driver",
            driver / 1000, driver % 100 / 10, runtime / 1000, runtime % 100 / 10);
        return refuse(reason);
    }
    if (error == cudaErrorNoDevice) return refuse("no CUDA GPU was found");
    if (error == cudaErrorMemoryAllocation)
        return refuse("the GPU has no free memory; is another program using it?");
    if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction ||
        error == cudaErrorUnsupportedPtxVersion) {
        return refuse("this GPU, or its driver, is too old for the CUDA Toolkit that was used");
    }
    snprintf(reason, sizeof reason, "the GPU cannot be used: %s", cudaGetErrorString(error));
    return refuse(reason);
}

__global__ void set_kernel(int *out)
{
    *out = 1;
}

/* Memory, a launch and its result: what any kernel needs. */
static cudaError_t try_device(void)
{
    int *out = NULL, result = 0;
    cudaError_t error = cudaMalloc((void **)&out, 1 << 20);
    if (error == cudaSuccess) set_kernel<<<1, 1>>>(out);
    if (error == cudaSuccess) error = cudaGetLastError();
    if (error == cudaSuccess) error = cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost);
    if (out) cudaFree(out);
    return error;
}

static int probe(void)
{
    cudaDeviceProp properties;
    size_t free_bytes = 0, total_bytes = 0;
    int count = 0, driver = 0, runtime = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count == 0) error = cudaErrorNoDevice;
    if (error == cudaSuccess) error = cudaGetDeviceProperties(&properties, 0);
    if (error == cudaSuccess) error = try_device();
    if (error != cudaSuccess) return explain_error(error);
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    cudaMemGetInfo(&free_bytes, &total_bytes);
    printf("device,%s\n", properties.name);
    printf("arch,%d%d\n", properties.major, properties.minor);
    printf("driver,%d.%d\nruntime,%d.%d\n", driver / 1000, driver % 100 / 10, runtime / 1000,
           runtime % 100 / 10);
    printf("sms,%d\n", properties.multiProcessorCount);
    printf("memory_mib,%zu\nfree_mib,%zu\n", total_bytes >> 20, free_bytes >> 20);
    return 0;
}

/* ---- timing ------------------------------------------------------------------------------------------- */

typedef void (*work_function)(void *context);

/* Shortest time in microseconds of one call of @p work, after one to warm up; 0 if something failed. */
static float best_us(work_function work, void *context)
{
    cudaEvent_t start, stop;
    float best = 0;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    for (int i = 0; i <= REPETITIONS; i++) {
        float ms = 0;
        cudaEventRecord(start);
        work(context);
        cudaEventRecord(stop);
        cudaEventSynchronize(stop);
        if (cudaGetLastError() != cudaSuccess || cudaEventElapsedTime(&ms, start, stop) != cudaSuccess) break;
        if (i > 0 && (best == 0 || ms < best)) best = ms;
    }
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return best * 1000;
}

/* ---- memory ------------------------------------------------------------------------------------------- */

struct buffers {
    float4 *from, *to;
    size_t bytes;
    int blocks;
};

__global__ void copy_kernel(const float4 *from, float4 *to, size_t count)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += step) to[i] = from[i];
}

/* Adds up all it reads and writes only what cannot be: the loads stay, stores do not count. Four loads of a
 * thread are on their way at a time. */
__global__ void read_kernel(const float4 *from, float4 *to, size_t count)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    float sum = 0;
    for (; i + 3 * step < count; i += 4 * step) {
        float4 a = from[i], b = from[i + step], c = from[i + 2 * step], d = from[i + 3 * step];
        sum += a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w;
        sum += c.x + c.y + c.z + c.w + d.x + d.y + d.z + d.w;
    }
    for (; i < count; i += step) sum += from[i].x + from[i].y + from[i].z + from[i].w;
    if (sum == -1.0f) to[0].x = sum;
}

static void copy_by_driver(void *context)
{
    struct buffers *buffers = (struct buffers *)context;
    cudaMemcpyAsync(buffers->to, buffers->from, buffers->bytes, cudaMemcpyDeviceToDevice);
}

static void copy_by_kernel(void *context)
{
    struct buffers *buffers = (struct buffers *)context;
    size_t count = buffers->bytes / sizeof(float4);
    copy_kernel<<<(unsigned)((count + BLOCK - 1) / BLOCK), BLOCK>>>(buffers->from, buffers->to, count);
}

static void read_by_kernel(void *context)
{
    struct buffers *buffers = (struct buffers *)context;
    read_kernel<<<buffers->blocks, BLOCK>>>(buffers->from, buffers->to, buffers->bytes / sizeof(float4));
}

/* Buffers far larger than any L2: 1 GiB each, or a quarter of what is free. */
static int measure_memory(int sms)
{
    struct buffers buffers = {NULL, NULL, (size_t)1 << 30, sms * 32};
    size_t free_bytes = 0, total_bytes = 0;
    cudaMemGetInfo(&free_bytes, &total_bytes);
    if (buffers.bytes > free_bytes / 4) buffers.bytes = free_bytes / 4 / 4096 * 4096;
    cudaMalloc((void **)&buffers.from, buffers.bytes);
    cudaMalloc((void **)&buffers.to, buffers.bytes);
    if (buffers.from) cudaMemset(buffers.from, 0, buffers.bytes);
    int ready = cudaDeviceSynchronize() == cudaSuccess && buffers.from && buffers.to;
    if (ready) {
        float driver_us = best_us(copy_by_driver, &buffers), kernel_us = best_us(copy_by_kernel, &buffers);
        float read_us = best_us(read_by_kernel, &buffers);
        float copy_us = driver_us < kernel_us ? driver_us : kernel_us;
        ready = driver_us > 0 && kernel_us > 0 && read_us > 0;
        if (ready) printf("copy_gbps,%.1f\n", 2.0 * buffers.bytes / copy_us * 1e-3);
        if (ready) printf("read_gbps,%.1f\n", (double)buffers.bytes / read_us * 1e-3);
    }
    cudaFree(buffers.from);
    cudaFree(buffers.to);
    return ready ? 0 : EXIT_TROUBLE;
}

/* ---- launches ----------------------------------------------------------------------------------------- */

__global__ void empty_kernel(void) {}

static void launch_many(void *context)
{
    cudaStream_t stream = *(cudaStream_t *)context;
    for (int i = 0; i < LAUNCHES; i++) empty_kernel<<<1, 1, 0, stream>>>();
}

struct replay {
    cudaGraphExec_t graph;
    cudaStream_t stream;
};

static void replay_graph(void *context)
{
    struct replay *replay = (struct replay *)context;
    cudaGraphLaunch(replay->graph, replay->stream);
}

/* Captured into the default stream's time line: events are recorded on stream 0, which waits for
 * the others. */
static int measure_launches(void)
{
    cudaStream_t stream;
    cudaGraph_t graph = NULL;
    struct replay replay = {NULL, NULL};
    if (cudaStreamCreate(&stream) != cudaSuccess) return EXIT_TROUBLE;
    replay.stream = stream;
    float eager_us = best_us(launch_many, &stream);
    printf("launch_us,%.3f\n", eager_us / LAUNCHES);
    if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess) {
        launch_many(&stream);
        cudaStreamEndCapture(stream, &graph);
    }
    if (graph && cudaGraphInstantiate(&replay.graph, graph, 0) == cudaSuccess) {
        printf("graph_node_us,%.3f\n", best_us(replay_graph, &replay) / LAUNCHES);
        cudaGraphExecDestroy(replay.graph);
    }
    if (graph) cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    return 0;
}

/* ---- matrix products ---------------------------------------------------------------------------------- */

#ifdef WARPWISE_HAVE_CUBLAS
struct product {
    cublasHandle_t handle;
    cudaDataType_t type;
    cublasComputeType_t compute;
    void *a, *b, *c;
    int n;
};

static void multiply(void *context)
{
    struct product *p = (struct product *)context;
    const float one = 1, zero = 0;
    for (int i = 0; i < PRODUCTS; i++) {
        cublasGemmEx(p->handle, CUBLAS_OP_N, CUBLAS_OP_N, p->n, p->n, p->n, &one, p->a, p->type, p->n, p->b,
                     p->type, p->n, &zero, p->c, p->type, p->n, p->compute, CUBLAS_GEMM_DEFAULT);
    }
}

/* TFLOP/s of an n x n x n product, 0 if it cannot be measured here. */
static double product_tflops(cublasHandle_t handle, cudaDataType_t type, int n)
{
    size_t count = (size_t)n * n, bytes = count * (type == CUDA_R_16F ? 2 : 4);
    struct product product = {handle, type, CUBLAS_COMPUTE_32F, NULL, NULL, NULL, n};
    double tflops = 0;
    cudaMalloc(&product.a, bytes);
    cudaMalloc(&product.b, bytes);
    cudaMalloc(&product.c, bytes);
    if (product.a && product.b && product.c) {
        fill(product.a, type, count);
        fill(product.b, type, count);
        float us = best_us(multiply, &product);
        if (us > 0) tflops = 2.0 * PRODUCTS * n * n * n / us * 1e-6;
    }
    cudaFree(product.a);
    cudaFree(product.b);
    cudaFree(product.c);
    cudaGetLastError();
    return tflops;
}

/* ---- attention of the vendor's products --------------------------------------------------------------- */

enum { ROW_BLOCK = 256, ROW_VALUES = 16, ROW_MAX = ROW_BLOCK * ROW_VALUES };

/* What is timed: the case of a lesson, and its shape. At most ROW_MAX keys, a multiple of 4. */
static const struct attention_shape {
    const char *test_case;
    int heads, len, head_dim;
} attention_shapes[] = {
    {"f32/heads_16_len_2048", 16, 2048, 64},
    {"f32/heads_16_len_4096", 16, 4096, 64},
};

struct attention {
    cublasHandle_t handle;
    const struct attention_shape *shape;
    float *q, *k, *v, *out, *scores;
};

/* The largest @p value of the block, or the sum of all; every thread gets it. */
__device__ float reduce_block(float value, bool largest)
{
    __shared__ float of_warp[ROW_BLOCK / 32];
    for (int pass = 0; pass < 2; pass++) {
        for (int distance = 16; distance > 0; distance /= 2) {
            float other = __shfl_xor_sync(0xffffffffu, value, distance);
            value = largest ? fmaxf(value, other) : value + other;
        }
        if (pass == 1) break;
        if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
        __syncthreads(); // every warp's value is there before anybody reads it
        bool mine = threadIdx.x % 32 < ROW_BLOCK / 32;
        value = mine ? of_warp[threadIdx.x % 32] : largest ? -INFINITY : 0.0f;
    }
    __syncthreads(); // everybody has read before the next call writes
    return value;
}

/* Softmax in place, one block per row, every value in a register between its one load and its one store. */
__global__ void softmax_kernel(float *scores, int cols)
{
    float4 *row = (float4 *)(scores + (size_t)blockIdx.x * cols), x[ROW_VALUES / 4];
    float largest = -INFINITY, sum = 0.0f;
    for (int i = 0; i < ROW_VALUES / 4; i++) {
        int at = (int)threadIdx.x + i * ROW_BLOCK;
        x[i] = at < cols / 4 ? row[at] : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
        largest = fmaxf(largest, fmaxf(fmaxf(x[i].x, x[i].y), fmaxf(x[i].z, x[i].w)));
    }
    largest = reduce_block(largest, true);
    for (int i = 0; i < ROW_VALUES / 4; i++) {
        x[i] = make_float4(__expf(x[i].x - largest), __expf(x[i].y - largest), __expf(x[i].z - largest),
                           __expf(x[i].w - largest));
        sum += x[i].x + x[i].y + x[i].z + x[i].w;
    }
    float factor = 1.0f / reduce_block(sum, false);
    for (int i = 0; i < ROW_VALUES / 4; i++) {
        int at = (int)threadIdx.x + i * ROW_BLOCK;
        float4 p = make_float4(x[i].x * factor, x[i].y * factor, x[i].z * factor, x[i].w * factor);
        if (at < cols / 4) row[at] = p;
    }
}

/* Two batched products with the score matrix between them in memory: how one computes attention without a
 * kernel made for it. cuBLAS stores columns first, so it is told of S^T = K Q^T and of O^T = V^T P^T. */
static void attend(void *context)
{
    const struct attention *a = (const struct attention *)context;
    int n = a->shape->len, d = a->shape->head_dim, heads = a->shape->heads;
    long long rows = (long long)n * d, matrix = (long long)n * n;
    const float one = 1, zero = 0, scale = 1.0f / sqrtf((float)d);
    cublasSgemmStridedBatched(a->handle, CUBLAS_OP_T, CUBLAS_OP_N, n, n, d, &scale, a->k, d, rows, a->q, d,
                              rows, &zero, a->scores, n, matrix, heads);
    softmax_kernel<<<(unsigned)(heads * n), ROW_BLOCK>>>(a->scores, n);
    cublasSgemmStridedBatched(a->handle, CUBLAS_OP_N, CUBLAS_OP_N, d, n, n, &one, a->v, d, rows, a->scores, n,
                              matrix, &zero, a->out, d, rows, heads);
}

static void measure_attention(cublasHandle_t handle, const struct attention_shape *shape)
{
    size_t rows = (size_t)shape->heads * shape->len, count = rows * shape->head_dim;
    struct attention a = {handle, shape, NULL, NULL, NULL, NULL, NULL};
    float **tensors[] = {&a.q, &a.k, &a.v, &a.out};
    int ready = cudaMalloc((void **)&a.scores, rows * shape->len * sizeof(float)) == cudaSuccess;
    for (int i = 0; i < 4; i++) {
        ready = ready && cudaMalloc((void **)tensors[i], count * sizeof(float)) == cudaSuccess;
        if (ready) fill(*tensors[i], CUDA_R_32F, count);
    }
    float us = ready ? best_us(attend, &a) : 0;
    if (us > 0) printf("peer,%s,cuBLAS unfused attention,%.1f\n", shape->test_case, us);
    for (int i = 0; i < 4; i++) cudaFree(*tensors[i]);
    cudaFree(a.scores);
    cudaGetLastError();
}

static void measure_products(void)
{
    cublasHandle_t handle;
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return;
    cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH); /* no TF32 */
    double f32 = product_tflops(handle, CUDA_R_32F, 4096);
    double f16_4096 = product_tflops(handle, CUDA_R_16F, 4096),
           f16_8192 = product_tflops(handle, CUDA_R_16F, 8192);
    if (f32 > 0) printf("f32_tflops,%.2f\n", f32);
    if (f16_4096 > 0) printf("f16_4096_tflops,%.1f\n", f16_4096);
    if (f16_8192 > 0) printf("f16_8192_tflops,%.1f\n", f16_8192);
    if (f16_4096 > 0) printf("f16_tflops,%.1f\n", f16_4096 > f16_8192 ? f16_4096 : f16_8192);
    for (size_t i = 0; i < sizeof attention_shapes / sizeof attention_shapes[0]; i++)
        if (is_asked_for(attention_shapes[i].test_case)) measure_attention(handle, &attention_shapes[i]);
    measure_gemm_peers(handle);
    cublasDestroy(handle);
}
#else
static void measure_products(void) {}
#endif

/* ---- theory ------------------------------------------------------------------------------------------- */

/* Multiply-adds per clock of one SM: in f32, and in f16 on its tensor cores (0: not known). */
static void rates_of(int arch, int *f32, int *f16)
{
    *f32 = arch == 70 || arch == 75 || arch == 80 ? 64 : 128;
    switch (arch) {
    case 80:
        *f16 = 1024;
        break;
    case 90:
        *f16 = 2048;
        break;
    case 100:
    case 103:
        *f16 = 4096;
        break;
    default:
        *f16 = arch < 90 || arch == 120 ? 512 : 0;
        break;
    }
}

static void print_peaks(void)
{
    int clock_khz = 0, memory_khz = 0, width_bits = 0, sms = 0, major = 0, minor = 0, f32, f16;
    cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0);
    cudaDeviceGetAttribute(&memory_khz, cudaDevAttrMemoryClockRate, 0);
    cudaDeviceGetAttribute(&width_bits, cudaDevAttrGlobalMemoryBusWidth, 0);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0);
    rates_of(10 * major + minor, &f32, &f16);
    /* Two transfers a memory clock; two operations a multiply-add. */
    if (memory_khz) printf("peak_gbps,%.1f\n", 2.0 * memory_khz * 1e3 * width_bits / 8 * 1e-9);
    if (clock_khz) printf("peak_tflops,%.2f\n", 2.0 * f32 * sms * clock_khz * 1e3 * 1e-12);
    if (clock_khz && f16) printf("peak_f16_tflops,%.1f\n", 2.0 * f16 * sms * clock_khz * 1e3 * 1e-12);
}

int main(int argc, char **argv)
{
    int only_probe = argc == 2 && strcmp(argv[1], "--probe") == 0, sms = 0;
#ifdef WARPWISE_HAVE_CUBLAS
    ask_for(argv + 1);
#endif
    if (argc > 1 && argv[1][0] == '-' && !only_probe) {
        fprintf(stderr, "usage: device_limits [--probe | CASE...]\n");
        return EXIT_TROUBLE;
    }
    int code = probe();
    if (code != 0 || only_probe) return code;
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
    code = measure_memory(sms);
    if (code == 0) code = measure_launches();
    if (code != 0) {
        printf("reason,the GPU failed while it was measured: %s\n", cudaGetErrorString(cudaGetLastError()));
        return code;
    }
    measure_products();
    print_peaks();
    return 0;
}
