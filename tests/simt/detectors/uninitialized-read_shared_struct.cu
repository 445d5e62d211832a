// expect: uninitialized-read at line 20
/** A struct in shared memory is copied as a whole, and nobody ever wrote any of it. */
#include "detecting.h"

struct pair {
    float m, l;
};

static __device__ float sum_of(struct pair pair)
{
    return pair.m + pair.l;
}

static __global__ void merge_kernel(float *out)
{
    __shared__ struct pair pairs[32];
    struct pair mine = {1.0f, 2.0f};
    if (threadIdx.x < 31) pairs[threadIdx.x] = mine;
    __syncthreads();
    struct pair other = pairs[(threadIdx.x + 1) % 32]; // here
    out[threadIdx.x] = sum_of(other);
}

int main(void)
{
    float *out = device_array<float>(32);
    merge_kernel<<<1, 32>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
