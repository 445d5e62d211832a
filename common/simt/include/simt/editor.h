/**
 * @file editor.h
 * @brief For clangd, which reads a kernel file as CUDA, in the place of simtcc: `warpwise editor` has it included first. Nothing is
 *        built with it.
 *
 * The device's headers are plain C++, which kernels may call only if clang is told so; launches and `extern __shared__` are
 * what simtcc rewrites, and clang has its own words for them.
 */
#pragma once

#pragma clang force_cuda_host_device begin
#include <cuda_runtime.h>
#undef __global__
#define __global__ __attribute__((global))
#undef __shared__
#define __shared__ __attribute__((annotate("shared")))
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t = 0, void * = nullptr);
