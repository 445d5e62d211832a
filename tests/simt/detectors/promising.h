/**
 * @file promising.h
 * @brief For programs about what an entry point promises: between keep(...) and keep(0) they are one.
 */
#pragma once

#include "detecting.h"

#ifndef __SIMT__ /* as in common/simt/machine.h, which the software device's headers bring along */
extern "C" void simt_promise(unsigned promises, void *stream);
enum simt_promise { SIMT_NO_WAIT = 1, SIMT_NO_MEMORY = 2, SIMT_NO_OBJECTS = 4, SIMT_ONE_STREAM = 8 };
enum simt_kept { SIMT_FREE, SIMT_INPUT, SIMT_PADDING };
extern "C" void simt_device_keep(void *pointer, size_t bytes, enum simt_kept kept);
extern "C" void simt_keep_variables(int keep);
#endif

enum { NO_WAIT = SIMT_NO_WAIT, NO_MEMORY = SIMT_NO_MEMORY, NO_OBJECTS = SIMT_NO_OBJECTS, ONE_STREAM = SIMT_ONE_STREAM };

static inline void keep(unsigned promises, cudaStream_t stream = 0)
{
    simt_promise(promises, stream);
}

static __global__ void add_one(float *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] += 1.0f;
}
