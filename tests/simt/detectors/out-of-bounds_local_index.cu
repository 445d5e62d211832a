// expect: out-of-bounds at line 10
// says: beyond the end of a local array
/** A histogram of local memory that has a bin too few; the index is known only when the kernel runs. */
#include "detecting.h"

static __global__ void count_kernel(const int *key, int *out, int count)
{
    int bin[4] = {0, 0, 0, 0};
    for (int i = 0; i < count; i++)
        bin[key[i]]++; // here
    out[threadIdx.x] = bin[0] + bin[1] + bin[2] + bin[3];
}

int main(void)
{
    const int keys[5] = {3, 1, 0, 4, 2};
    int *key = upload(keys, 5), *out = device_array<int>(32);
    count_kernel<<<1, 32>>>(key, out, 5);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(key);
    return 0;
}
