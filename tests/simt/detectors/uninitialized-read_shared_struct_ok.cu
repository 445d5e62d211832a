// expect: none
/** Padding inside of structs is copied along and was never written: that is no mistake. */
#include "detecting.h"

struct narrow {
    char tag;
    float value;
};

struct wide {
    double first;
    int tag;
    double last;
};

static __global__ void copy_kernel(struct narrow *narrow_out, struct wide *wide_out)
{
    __shared__ struct narrow narrows[32];
    __shared__ struct wide wides[32];
    narrows[threadIdx.x].tag = 'a';
    narrows[threadIdx.x].value = 1.0f;
    wides[threadIdx.x].first = 2.0;
    wides[threadIdx.x].tag = 3;
    wides[threadIdx.x].last = 4.0;
    __syncthreads();
    narrow_out[threadIdx.x] = narrows[31 - threadIdx.x];
    wide_out[threadIdx.x] = wides[31 - threadIdx.x];
}

int main(void)
{
    struct narrow *narrows = device_array<struct narrow>(32);
    struct wide *wides = device_array<struct wide>(32);
    copy_kernel<<<1, 32>>>(narrows, wides);
    expect_outcome(cudaSuccess);
    release(narrows);
    release(wides);
    return 0;
}
