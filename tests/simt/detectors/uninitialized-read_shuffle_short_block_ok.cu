// expect: none
/** Votes and barriers with a full mask in a block of 20 threads, and a shuffle within the 20. */
#include "detecting.h"

static __global__ void vote_kernel(unsigned *out)
{
    const unsigned odd = __ballot_sync(0xffffffff, threadIdx.x & 1);
    __syncwarp();
    out[threadIdx.x] = odd + (unsigned)__any_sync(0xffffffff, threadIdx.x > 18) + __shfl_sync(0xffffffff, odd, 19);
}

int main(void)
{
    unsigned *out = device_array<unsigned>(20);
    vote_kernel<<<1, 20>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
