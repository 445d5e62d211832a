// expect: out-of-bounds at line 8
// says: bytes before the 4096 bytes
/** An index that an int was too small for: the nearest buffer is named. */
#include "detecting.h"

static __global__ void read_kernel(const float *x, float *out, int row, int width)
{
    out[threadIdx.x] = x[row * width]; // here
}

int main(void)
{
    float *x = device_array<float>(1024), *out = device_array<float>(32);
    require(cudaMemset(x, 0, 1024 * sizeof *x), "cudaMemset");
    read_kernel<<<1, 32>>>(x, out, 46340 + 1, 46341);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(x);
    return 0;
}
