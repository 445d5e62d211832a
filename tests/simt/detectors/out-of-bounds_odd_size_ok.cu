// expect: none
/** All 37 bytes, and no more. */
#include "detecting.h"

static __global__ void sum_kernel(const unsigned char *data, int n, int *sum)
{
    int total = 0;
    for (int i = 0; i < n; i++) total += data[i];
    *sum = total;
}

int main(void)
{
    const unsigned char host[37] = {1};
    unsigned char *data = upload(host, 37);
    int *sum = device_array<int>(1);
    sum_kernel<<<1, 1>>>(data, 37, sum);
    expect_outcome(cudaSuccess);
    release(data);
    release(sum);
    return 0;
}
