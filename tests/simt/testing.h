/**
 * @file testing.h
 * @brief What the programs of tests/simt share: CUDA return codes checked, arrays moved, results compared.
 *
 * The programs are ordinary CUDA programs; nothing here knows on which device they run. A program ends with
 * `return finish("name")`, which is 0 only if no comparison failed.
 */
#pragma once

#include <cuda_runtime.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int g_failures;

/** Ends the program when a CUDA call failed. */
static inline void require(cudaError_t status, const char *what)
{
    if (status == cudaSuccess) return;
    fprintf(stderr, "%s: %s: %s\n", what, cudaGetErrorName(status), cudaGetErrorString(status));
    exit(1);
}

/** Waits for the kernel launched last, and ends the program if its launch or its run failed. */
static inline void finish_launch(const char *kernel)
{
    require(cudaGetLastError(), kernel);
    require(cudaDeviceSynchronize(), kernel);
}

template <typename T> static inline T *device_array(size_t count)
{
    void *pointer;
    require(cudaMalloc(&pointer, count * sizeof(T)), "cudaMalloc");
    return (T *)pointer;
}

template <typename T> static inline T *upload(const T *host, size_t count)
{
    T *device = device_array<T>(count);
    require(cudaMemcpy(device, host, count * sizeof(T), cudaMemcpyHostToDevice), "upload");
    return device;
}

template <typename T> static inline void download(T *host, const T *device, size_t count)
{
    require(cudaMemcpy(host, device, count * sizeof(T), cudaMemcpyDeviceToHost), "download");
}

static inline void release(void *device)
{
    require(cudaFree(device), "cudaFree");
}

/** Ends the program when there is no host memory. */
template <typename T> static inline T *host_array(size_t count)
{
    T *pointer = (T *)calloc(count, sizeof(T));
    if (pointer == NULL) {
        fprintf(stderr, "out of host memory\n");
        exit(1);
    }
    return pointer;
}

/** Counts a failure unless got is within tolerance of expected; NaN never is. Says so for the first ten. */
static inline void expect_close(const char *what, size_t index, double got, double expected, double tolerance)
{
    if (fabs(got - expected) <= tolerance) return;
    if (g_failures++ < 10) fprintf(stderr, "%s[%zu] is %.9g, not %.9g\n", what, index, got, expected);
}

static inline void expect_equal(const char *what, size_t index, long long got, long long expected)
{
    if (got == expected) return;
    if (g_failures++ < 10) fprintf(stderr, "%s[%zu] is %lld, not %lld\n", what, index, got, expected);
}

/** The next of a sequence of numbers that look random (xorshift32); *state starts at anything but 0. */
static inline unsigned next_random(unsigned *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/** In [-1, 1). */
static inline float next_float(unsigned *state)
{
    return (float)(next_random(state) >> 8) / 8388608.0f - 1.0f;
}

static inline int finish(const char *program)
{
    printf("%s: %s (%d failures)\n", program, g_failures ? "FAIL" : "ok", g_failures);
    return g_failures ? 1 : 0;
}
