// Sums an array: each block adds its part up in shared memory, then adds the result to one float.
#include "reduction.h"

enum { BLOCK = 256, MOST_BLOCKS = 64 };

static __global__ void sum_kernel(const float *values, int count, float *result)
{
    __shared__ float partial[BLOCK];
    float sum = 0.0f;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < count; i += gridDim.x * BLOCK) sum += values[i];
    partial[threadIdx.x] = sum;
    for (int half = BLOCK / 2; half > 0; half /= 2) {
#ifndef WITHOUT_BARRIER
        __syncthreads(); // the other half was written by other threads
#endif
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    }
    if (threadIdx.x == 0) atomicAdd(result, partial[0]);
}

cudaError_t add_sum(const float *values, int count, float *result)
{
    int blocks = (count + BLOCK - 1) / BLOCK;
    if (blocks > MOST_BLOCKS) blocks = MOST_BLOCKS;
    sum_kernel<<<blocks, BLOCK>>>(values, count, result);
    return cudaGetLastError();
}
