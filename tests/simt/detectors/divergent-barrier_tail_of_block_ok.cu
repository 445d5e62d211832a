// expect: none
/** The guard leaves the barrier alone. */
#include "detecting.h"

static __global__ void guarded_kernel(const int *in, int *out, int n)
{
    __shared__ int values[64];
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) values[threadIdx.x] = in[i];
    __syncthreads(); /* the first value is there */
    if (i < n) out[i] = values[0];
}

int main(void)
{
    const int host[100] = {1};
    int *in = upload(host, 100), *out = device_array<int>(100);
    guarded_kernel<<<2, 64>>>(in, out, 100);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}
