/**
 * @file promising.h
 * @brief For programs about what an entry point promises: between keep(...) and keep(0) they are one.
 */
#ifndef WARPWISE_TESTS_SIMT_PROMISING_H
#define WARPWISE_TESTS_SIMT_PROMISING_H

#include "detecting.h"

extern "C" void simt_promise(unsigned promises, void *stream);

/** As in common/simt/machine.h. */
enum { NO_WAIT = 1, NO_MEMORY = 2, NO_OBJECTS = 4, ONE_STREAM = 8 };

static inline void keep(unsigned promises, cudaStream_t stream = 0)
{
    simt_promise(promises, stream);
}

static __global__ void add_one(float *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] += 1.0f;
}

#endif
