/**
 * Mistakes of the host that a launch or a call refuses: each gives the code that hardware gives, runs
 * nothing, and leaves the device usable. (What a kernel does wrong is tested under detectors/.)
 */
#include "../testing.h"

#include <string.h>

/* What an impossible grid or block gives: CUDA 13.0 was asked on an H200, the older code is the manual's. */
static const cudaError_t BAD_LAUNCH =
    CUDART_VERSION >= 13000 ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration;

static __global__ void write_kernel(int *out)
{
    *out = 1;
}

template <int THREADS>
static __global__ void __launch_bounds__(THREADS, THREADS <= 64 ? 2 : 1) bounded_kernel(int *out)
{
    *out = THREADS;
}

static __global__ void dynamic_shared_kernel(int *out)
{
    extern __shared__ int scratch[];
    scratch[0] = 5;
    *out = scratch[0];
}

static void expect_code(const char *what, cudaError_t got, cudaError_t expected)
{
    if (got == expected) return;
    g_failures++;
    fprintf(stderr, "%s gives %s, not %s\n", what, cudaGetErrorName(got), cudaGetErrorName(expected));
}

static void bad_launches(int *out)
{
    write_kernel<<<1, 1025>>>(out);
    expect_code("block of 1025", cudaGetLastError(), BAD_LAUNCH);
    write_kernel<<<1, dim3(1, 1, 65)>>>(out);
    expect_code("block of depth 65", cudaGetLastError(), BAD_LAUNCH);
    write_kernel<<<1, dim3(32, 32, 2)>>>(out);
    expect_code("block of 2048", cudaGetLastError(), BAD_LAUNCH);
    bounded_kernel<64><<<1, 65>>>(out); /* the programming guide says that it fails, and not how */
    expect_equal("more threads than __launch_bounds__", 0, cudaGetLastError() != cudaSuccess, 1);
    write_kernel<<<0, 32>>>(out);
    expect_code("empty grid", cudaGetLastError(), BAD_LAUNCH);
    write_kernel<<<1, 0>>>(out);
    expect_code("empty block", cudaGetLastError(), BAD_LAUNCH);
    write_kernel<<<dim3(1, 65536), 1>>>(out);
    expect_code("grid of height 65536", cudaGetLastError(), BAD_LAUNCH);
    dynamic_shared_kernel<<<1, 1, 48 * 1024 + 1>>>(out);
    expect_code("48 KB and a byte of shared memory", cudaGetLastError(), cudaErrorInvalidValue);
    dynamic_shared_kernel<<<1, 1, 1024 * 1024>>>(out);
    expect_code("1 MB of shared memory", cudaGetLastError(), cudaErrorInvalidValue);
}

/* An error stays to be seen by cudaPeekAtLastError, and goes when cudaGetLastError has told it. */
static void sticky_until_asked(int *out)
{
    write_kernel<<<1, 1025>>>(out);
    expect_code("first look", cudaPeekAtLastError(), BAD_LAUNCH);
    expect_code("second look", cudaPeekAtLastError(), BAD_LAUNCH);
    expect_code("cudaGetLastError", cudaGetLastError(), BAD_LAUNCH);
    expect_code("afterwards", cudaGetLastError(), cudaSuccess);
}

static void bad_memory_calls(int *out)
{
    int host[4] = {0};
    void *pointer = out;
    expect_code("cudaMalloc of 2^60", cudaMalloc(&pointer, (size_t)1 << 60), cudaErrorMemoryAllocation);
    expect_code("remembered", cudaGetLastError(), cudaErrorMemoryAllocation);
    expect_code("cudaMalloc of 0", cudaMalloc(&pointer, 0), cudaSuccess);
    expect_equal("pointer of cudaMalloc of 0 is null", 0, pointer == NULL, 1);
    expect_code("cudaMalloc without a pointer", cudaMalloc((void **)NULL, 4), cudaErrorInvalidValue);
    expect_code("cudaFree(NULL)", cudaFree(NULL), cudaSuccess);
    expect_code("cudaMemcpy of nothing", cudaMemcpy(out, host, 0, cudaMemcpyHostToDevice), cudaSuccess);
    expect_code("cudaMemcpy with kind 9", cudaMemcpy(out, host, 4, (cudaMemcpyKind)9),
                cudaErrorInvalidMemcpyDirection);
    expect_code("cudaMemcpy to NULL", cudaMemcpy(NULL, host, 4, cudaMemcpyHostToDevice),
                cudaErrorInvalidValue);
    expect_code("cudaMemcpy from an element of NULL",
                cudaMemcpy(out, (int *)NULL + 1, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    (void)cudaGetLastError();
}

static void bad_device_calls(void)
{
    int device = -1, count = 0;
    cudaEvent_t start, stop;
    float milliseconds;
    require(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    expect_code("cudaSetDevice beyond the last", cudaSetDevice(count), cudaErrorInvalidDevice);
    require(cudaGetDevice(&device), "cudaGetDevice");
    expect_equal("device", 0, device, 0);
    expect_code(
        "opt-in of 1 MB",
        cudaFuncSetAttribute(dynamic_shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20),
        cudaErrorInvalidValue);
    require(cudaEventCreate(&start), "cudaEventCreate");
    require(cudaEventCreate(&stop), "cudaEventCreate");
    expect_code("time between events never recorded", cudaEventElapsedTime(&milliseconds, start, stop),
                cudaErrorInvalidResourceHandle);
    require(cudaEventDestroy(start), "cudaEventDestroy");
    require(cudaEventDestroy(stop), "cudaEventDestroy");
    (void)cudaGetLastError();
}

int main(void)
{
    int *out = device_array<int>(1), got = -1;
    require(cudaMemset(out, 0, sizeof *out), "cudaMemset");
    bad_launches(out);
    sticky_until_asked(out);
    bad_memory_calls(out);
    bad_device_calls();
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    download(&got, out, 1);
    expect_equal("a refused launch ran", 0, got, 0);

    dynamic_shared_kernel<<<1, 1, sizeof(int)>>>(out);
    finish_launch("dynamic_shared_kernel");
    download(&got, out, 1);
    expect_equal("the device is usable", 0, got, 5);
    expect_equal("name", 0, strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue"), 0);
    expect_equal("string", 0, strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument"), 0);
    release(out);
    return finish("error_codes");
}
