/**
 * @file detecting.h
 * @brief What the detector programs share. Each makes one mistake on purpose (or, as a twin named ..._ok,
 * just does not), and its first line says which finding is expected and where: the lines marked `// here`.
 *
 * These programs are compiled for hardware but never run there.
 */
#pragma once

#include "../testing.h"

/** Waits for the last kernel; complains when its outcome is not the one hardware would give. */
static inline void expect_outcome(cudaError_t expected)
{
    const cudaError_t got = cudaDeviceSynchronize();
    if (got == expected) return;
    printf("the kernel gives %s, not %s\n", cudaGetErrorName(got), cudaGetErrorName(expected));
}

/** For a launch that ended in an error, after which hardware refuses every call until the program ends. */
static inline void abandon(void *device)
{
    (void)cudaFree(device);
    (void)cudaGetLastError();
}

/** Reads one element: a helper that must not take the blame for its caller's index. */
static __device__ __forceinline__ float element(const float *array, int index)
{
    return array[index];
}
