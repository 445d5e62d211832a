// expect: shared-race at lines 14, 15
/** Two views of one dynamic array overlap by one element: threads of one write what threads of the other
 * read. */
#include "detecting.h"

#include <cuda_fp16.h>

enum { THREADS = 64 };

static __global__ void views_kernel(float *out)
{
    extern __shared__ half memory[];
    half *queries = memory, *keys = memory + THREADS - 1;
    queries[threadIdx.x] = __float2half(1.0f); // here
    keys[threadIdx.x] = __float2half(2.0f);    // here
    __syncthreads();                           /* both views are complete */
    out[threadIdx.x] = __half2float(queries[threadIdx.x]) + __half2float(keys[threadIdx.x]);
}

int main(void)
{
    float *out = device_array<float>(THREADS);
    views_kernel<<<1, THREADS, 2 * THREADS * sizeof(half)>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
