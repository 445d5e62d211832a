/**
 * @file cuda_runtime.h
 * @brief CUDA C++ on the software device: simtcc includes this before a kernel file, as nvcc does.
 */
#pragma once

#pragma GCC system_header

#define __CUDA_RUNTIME_H__

#include "cuda_runtime_api.h"

#ifdef __cplusplus

#include <limits>

/*
 * The special functions of C++17 (std::beta, std::cyl_bessel_j) leave some hundred templates to each file that includes them: half of
 * what it takes to compile a small kernel. The precompiled prelude is without; simtcc compiles a file that uses one with the whole of
 * this header (prelude_lacks). Whoever asks for the feature is told that it is there.
 */
#if defined(SIMT_WITHOUT_SPECIAL_FUNCTIONS) && defined(_GLIBCXX_USE_STD_SPEC_FUNCS) &&                       \
    !defined(_GLIBCXX_CMATH) && !defined(__STDCPP_WANT_MATH_SPEC_FUNCS__) && __cplusplus >= 201703L
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#define _GLIBCXX_USE_STD_SPEC_FUNCS 0
#define __STDCPP_MATH_SPEC_FUNCS__ 201003L
#define __cpp_lib_math_special_functions 201603L
#endif

/* Before the C++ library: its copies call memcpy() and its like, see simtcc's flags. */
#include <string.h>

/* nvcc includes these, in one version or another, and programs rely on it. */
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#if defined(SIMT_WITHOUT_SPECIAL_FUNCTIONS) && defined(__GLIBCXX__)
#include <bits/stl_algobase.h> /* std::min() and its like, which come with the special functions */
#endif

#include <new>
#include <utility>
#if defined(__CUDACC_EXTENDED_LAMBDA__)
#include <functional>
#endif

#include "simt/language.h"
#include "simt/atomics.h"
#include "simt/launch.h"
#include "simt/math.h"
#include "simt/simd.h"
#include "simt/ptx.h"
#include "simt/rounding.h"
#include "simt/warp.h"
#include "vector_functions.h"

/* Wrappers count as part of the student's line in the debugging information, hence "artificial". */
#define SIMT_WRAPPER                                                                                         \
    template <typename T> static inline __attribute__((always_inline, artificial)) cudaError_t

extern "C" {
cudaError_t simt_copy_to_symbol(void *symbol, size_t symbol_bytes, const void *from, size_t bytes,
                                size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream,
                                const char *call);
cudaError_t simt_copy_from_symbol(void *to, const void *symbol, size_t symbol_bytes, size_t bytes,
                                  size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream,
                                  const char *call);
cudaError_t simt_best_block_size(int *grid_blocks, int *block_threads, const void *function,
                                 size_t (*dynamic_shared_bytes)(int block_threads, void *context),
                                 void *context, int limit);
}

SIMT_WRAPPER(cudaMalloc)(T **pointer, size_t bytes)
{
    return (cudaMalloc)((void **)pointer, bytes);
}
SIMT_WRAPPER(cudaMallocAsync)(T **pointer, size_t bytes, cudaStream_t stream)
{
    return (cudaMallocAsync)((void **)pointer, bytes, stream);
}
SIMT_WRAPPER cudaMallocPitch(T **pointer, size_t *pitch, size_t width, size_t height)
{
    return cudaMallocPitch((void **)pointer, pitch, width, height);
}
SIMT_WRAPPER cudaMallocManaged(T **pointer, size_t bytes, unsigned int flags = cudaMemAttachGlobal)
{
    return cudaMallocManaged((void **)pointer, bytes, flags);
}
SIMT_WRAPPER cudaMallocHost(T **pointer, size_t bytes, unsigned int flags = cudaHostAllocDefault)
{
    return cudaHostAlloc((void **)pointer, bytes, flags);
}
SIMT_WRAPPER cudaHostAlloc(T **pointer, size_t bytes, unsigned int flags)
{
    return cudaHostAlloc((void **)pointer, bytes, flags);
}
SIMT_WRAPPER cudaMallocFromPoolAsync(T **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    return cudaMallocFromPoolAsync((void **)pointer, bytes, pool, stream);
}
SIMT_WRAPPER(cudaMallocAsync)(T **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    return cudaMallocFromPoolAsync((void **)pointer, bytes, pool, stream);
}
SIMT_WRAPPER cudaHostGetDevicePointer(T **device, void *host, unsigned int flags)
{
    return cudaHostGetDevicePointer((void **)device, host, flags);
}

SIMT_WRAPPER cudaMemcpyToSymbol(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                enum cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return simt_copy_to_symbol((void *)&symbol, sizeof(T), from, bytes, offset, kind, 0,
                               "cudaMemcpyToSymbol");
}
SIMT_WRAPPER cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                     enum cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                     cudaStream_t stream = 0)
{
    return simt_copy_to_symbol((void *)&symbol, sizeof(T), from, bytes, offset, kind, stream,
                               "cudaMemcpyToSymbolAsync");
}
SIMT_WRAPPER cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                  enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return simt_copy_from_symbol(to, (const void *)&symbol, sizeof(T), bytes, offset, kind, 0,
                                 "cudaMemcpyFromSymbol");
}
SIMT_WRAPPER cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                       enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                       cudaStream_t stream = 0)
{
    return simt_copy_from_symbol(to, (const void *)&symbol, sizeof(T), bytes, offset, kind, stream,
                                 "cudaMemcpyFromSymbolAsync");
}
SIMT_WRAPPER cudaGetSymbolAddress(void **pointer, const T &symbol)
{
    *pointer = (void *)&symbol;
    return cudaSuccess;
}
SIMT_WRAPPER cudaGetSymbolSize(size_t *bytes, const T &)
{
    *bytes = sizeof(T);
    return cudaSuccess;
}

SIMT_WRAPPER cudaFuncSetAttribute(T *function, enum cudaFuncAttribute attribute, int value)
{
    return cudaFuncSetAttribute((const void *)function, attribute, value);
}
SIMT_WRAPPER cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, T *function)
{
    cudaError_t error = cudaFuncGetAttributes(attributes, (const void *)function);
#ifdef __CUDA_ARCH__
    if (error == cudaSuccess) attributes->ptxVersion = __CUDA_ARCH__ / 10; /* what this file is built for */
#endif
    return error;
}
SIMT_WRAPPER cudaFuncSetCacheConfig(T *function, enum cudaFuncCache config)
{
    return cudaFuncSetCacheConfig((const void *)function, config);
}
SIMT_WRAPPER cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, T *function, int block_threads,
                                                           size_t dynamic_shared_bytes)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void *)function, block_threads,
                                                         dynamic_shared_bytes);
}

SIMT_WRAPPER cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamic_shared_bytes, T *function, int blocks,
                                                       int block_threads)
{
    return cudaOccupancyAvailableDynamicSMemPerBlock(dynamic_shared_bytes, (const void *)function, blocks,
                                                     block_threads);
}
SIMT_WRAPPER cudaOccupancyMaxActiveClusters(int *clusters, T *function, const cudaLaunchConfig_t *config)
{
    return cudaOccupancyMaxActiveClusters(clusters, (const void *)function, config);
}
SIMT_WRAPPER cudaOccupancyMaxPotentialClusterSize(int *size, T *function, const cudaLaunchConfig_t *config)
{
    return cudaOccupancyMaxPotentialClusterSize(size, (const void *)function, config);
}

template <typename F> static size_t simt_call_size_of_block(int block_threads, void *context)
{
    return (*static_cast<F *>(context))(block_threads);
}
template <typename T, typename F>
static inline __attribute__((always_inline, artificial)) cudaError_t
cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *grid_blocks, int *block_threads, T *function,
                                               F block_size_to_bytes, int limit = 0)
{
    return simt_best_block_size(grid_blocks, block_threads, (const void *)function,
                                simt_call_size_of_block<F>, &block_size_to_bytes, limit);
}
SIMT_WRAPPER cudaOccupancyMaxPotentialBlockSize(int *grid_blocks, int *block_threads, T *function,
                                                size_t dynamic_shared_bytes = 0, int limit = 0)
{
    auto same = [dynamic_shared_bytes](int) { return dynamic_shared_bytes; };
    return cudaOccupancyMaxPotentialBlockSizeVariableSMem(grid_blocks, block_threads, function, same, limit);
}

SIMT_WRAPPER cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, T *function,
                                                                    int block_threads,
                                                                    size_t dynamic_shared_bytes,
                                                                    unsigned int flags)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, (const void *)function,
                                                                  block_threads, dynamic_shared_bytes, flags);
}
SIMT_WRAPPER cudaFuncSetSharedMemConfig(T *function, enum cudaSharedMemConfig config)
{
    return cudaFuncSetSharedMemConfig((const void *)function, config);
}

/** @brief The forms that CUDA 12 had: a device, or cudaCpuDeviceId. */
static inline __attribute__((always_inline, artificial)) cudaError_t
cudaMemPrefetchAsync(const void *pointer, size_t bytes, int device, cudaStream_t stream = 0)
{
    struct cudaMemLocation where = {device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice,
                                    device < 0 ? 0 : device};
    return cudaMemPrefetchAsync(pointer, bytes, where, 0u, stream);
}
static inline __attribute__((always_inline, artificial)) cudaError_t
cudaMemAdvise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice, int device)
{
    struct cudaMemLocation where = {device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice,
                                    device < 0 ? 0 : device};
    return cudaMemAdvise(pointer, bytes, advice, where);
}
SIMT_WRAPPER cudaStreamAttachMemAsync(cudaStream_t stream, T *pointer, size_t bytes = 0,
                                      unsigned int flags = cudaMemAttachSingle)
{
    return cudaStreamAttachMemAsync(stream, (void *)pointer, bytes, flags);
}

/** @brief The form with flags, which C++ has beside cudaEventCreateWithFlags. */
static inline __attribute__((always_inline, artificial)) cudaError_t cudaEventCreate(cudaEvent_t *event,
                                                                                     unsigned int flags)
{
    return cudaEventCreateWithFlags(event, flags);
}

/** @brief The form that CUDA 11 had in C, and C++ still has: an error node and a log are never filled. */
static inline __attribute__((always_inline, artificial)) cudaError_t
cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, cudaGraphNode_t *error_node, char *log,
                     size_t log_bytes)
{
    (void)error_node;
    (void)log;
    (void)log_bytes;
    return cudaGraphInstantiate(executable, graph, 0);
}

#undef SIMT_WRAPPER

#include "texture_types.h"

#endif
