// expect: misaligned at line 16
/** A row of 33 halves: every second row begins in the middle of a half2. */
#include "detecting.h"

#include <cuda_fp16.h>

enum { ROWS = 4, PITCH = 33 };

static __global__ void rows_kernel(float *out)
{
    __shared__ __align__(16) half rows[ROWS * PITCH];
    for (int i = (int)threadIdx.x; i < ROWS * PITCH; i += 32) rows[i] = __float2half((float)i);
    __syncthreads(); /* the rows are complete */
    for (int row = 0; row < ROWS; row++) {
        const half2 *pairs = reinterpret_cast<const half2 *>(rows + row * PITCH);
        const half2 pair = pairs[threadIdx.x % 16]; // here
        out[row * 32 + threadIdx.x] = __half22float2(pair).x;
    }
}

int main(void)
{
    float *out = device_array<float>(ROWS * 32);
    rows_kernel<<<1, 32>>>(out);
    expect_outcome(cudaErrorMisalignedAddress);
    abandon(out);
    return 0;
}
