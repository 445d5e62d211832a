// expect: none
/** Structures with padding bytes, and local arrays of which a part is used: neither is a read of nothing. */
#include "detecting.h"

struct record {
    char tag;
    double value;
    short count;
};

static __global__ void copy_kernel(struct record *records, struct record *copies)
{
    __shared__ struct record shared[32];
    int local[8];
    local[threadIdx.x % 8] = 1;
    records[threadIdx.x].tag = 'a';
    records[threadIdx.x].value = 1.0;
    records[threadIdx.x].count = (short)local[threadIdx.x % 8];
    shared[threadIdx.x].tag = records[threadIdx.x].tag;
    shared[threadIdx.x].value = records[threadIdx.x].value;
    shared[threadIdx.x].count = records[threadIdx.x].count;
    __syncthreads(); /* the records of the others are there */
    copies[threadIdx.x].tag = shared[31 - threadIdx.x].tag;
    copies[threadIdx.x].value = shared[31 - threadIdx.x].value;
    copies[threadIdx.x].count = shared[31 - threadIdx.x].count;
}

int main(void)
{
    struct record *records = device_array<struct record>(32), *copies = device_array<struct record>(32);
    copy_kernel<<<1, 32>>>(records, copies);
    expect_outcome(cudaSuccess);
    release(records);
    release(copies);
    return 0;
}
