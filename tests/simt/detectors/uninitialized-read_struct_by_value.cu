// expect: uninitialized-read at line 22
/** A struct goes from shared memory straight into a function, by value: nothing else reads it. */
#include "detecting.h"

struct pair {
    float m, l;
};

/* What can be said of a function that is called is not to depend on whether the compiler calls it. */
static __device__ __noinline__ struct pair merged(struct pair a, struct pair b)
{
    struct pair both = {fmaxf(a.m, b.m), a.l + b.l};
    return both;
}

static __global__ void merge_kernel(struct pair *out)
{
    __shared__ struct pair pairs[32];
    struct pair mine = {1.0f, 2.0f};
    if (threadIdx.x < 31) pairs[threadIdx.x] = merged(mine, mine);
    __syncthreads();
    out[threadIdx.x] = merged(mine, pairs[(threadIdx.x + 1) % 32]); // here
}

int main(void)
{
    struct pair *out = device_array<struct pair>(32);
    merge_kernel<<<1, 32>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
