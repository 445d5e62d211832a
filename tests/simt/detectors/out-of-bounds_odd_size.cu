// expect: out-of-bounds at line 8
/** One byte too far in an array of 37: allocations are rounded up, what was asked for is not. */
#include "detecting.h"

static __global__ void sum_kernel(const unsigned char *data, int n, int *sum)
{
    int total = 0;
    for (int i = 0; i <= n; i++) total += data[i]; // here
    *sum = total;
}

int main(void)
{
    const unsigned char host[37] = {1};
    unsigned char *data = upload(host, 37);
    int *sum = device_array<int>(1);
    sum_kernel<<<1, 1>>>(data, 37, sum);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(data);
    abandon(sum);
    return 0;
}
