/**
 * A sum in one launch: each block leaves its part in global memory, fences, and draws a ticket; the block
 * that draws the last one adds up all the parts. Shown: __threadfence, an atomic with its result used, and
 * that reading what other blocks wrote is right when it is fenced.
 */
#include "../testing.h"

enum { THREADS = 128, BLOCKS = 24, COUNT = 9973 };

static __device__ unsigned tickets; /* 0 between launches */

/* Tree in shared memory; every thread gets the sum. */
static __device__ float block_sum(float value)
{
    __shared__ float scratch[THREADS];
    scratch[threadIdx.x] = value;
    for (int step = THREADS / 2; step > 0; step /= 2) {
        __syncthreads(); /* the upper half is complete */
        if ((int)threadIdx.x < step) scratch[threadIdx.x] += scratch[threadIdx.x + step];
    }
    __syncthreads(); /* the sum is there */
    const float sum = scratch[0];
    __syncthreads(); /* everyone has it before scratch is used again */
    return sum;
}

static __global__ void sum_kernel(const float *in,                  /* [count] */
                                  int count, volatile float *parts, /* [gridDim.x] */
                                  float *sum)
{
    __shared__ bool is_last;
    float value = 0.0f;
    for (int i = (int)(blockIdx.x * THREADS + threadIdx.x); i < count; i += (int)gridDim.x * THREADS)
        value += in[i];
    value = block_sum(value);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = value;
        __threadfence(); /* the part is visible before the ticket is drawn */
        is_last = atomicInc(&tickets, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads(); /* all threads learn whether this block is the last */
    if (is_last) {
        value = 0.0f;
        for (unsigned i = threadIdx.x; i < gridDim.x; i += THREADS) value += parts[i];
        value = block_sum(value);
        if (threadIdx.x == 0) *sum = value;
    }
}

int main(void)
{
    static float host[COUNT];
    double expected = 0.0;
    for (int i = 0; i < COUNT; i++) {
        host[i] = (float)(i % 64); /* every partial sum is exact */
        expected += host[i];
    }
    float *in = upload(host, COUNT), *parts = device_array<float>(BLOCKS), *sum = device_array<float>(1), got;
    for (int launch = 0; launch < 3; launch++) {
        sum_kernel<<<BLOCKS, THREADS>>>(in, COUNT, parts, sum);
        finish_launch("sum_kernel");
        download(&got, sum, 1);
        expect_close("sum", launch, got, expected, 0.0);
    }
    release(in);
    release(parts);
    release(sum);
    return finish("last_block_reduction");
}
