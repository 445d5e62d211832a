// expect: none
/** Whole blocks return before a barrier, and a helper with a barrier is called from two places in turn. */
#include "detecting.h"

static __device__ int neighbour(int *values, int value)
{
    values[threadIdx.x] = value;
    __syncthreads(); /* the neighbour's value is there */
    const int result = values[(threadIdx.x + 1) % blockDim.x];
    __syncthreads(); /* all have read before the next call writes */
    return result;
}

static __global__ void exchange_kernel(int *out)
{
    __shared__ int values[64];
    out[blockIdx.x * 64 + threadIdx.x] = 0;
    if (blockIdx.x % 2 == 1) return;
    int value = neighbour(values, (int)threadIdx.x);
    if (blockIdx.x == 0)
        value = neighbour(values, value);
    else
        value = neighbour(values, -value);
    __syncthreads(), __syncthreads(); /* two barriers on one line are two barriers */
    out[blockIdx.x * 64 + threadIdx.x] = value;
}

int main(void)
{
    int *out = device_array<int>(4 * 64), got[4 * 64];
    exchange_kernel<<<4, 64>>>(out);
    expect_outcome(cudaSuccess);
    download(got, out, 4 * 64);
    if (got[0] != 2 || got[64] != 0 || got[128] != -2) printf("%d %d %d\n", got[0], got[64], got[128]);
    release(out);
    return 0;
}
