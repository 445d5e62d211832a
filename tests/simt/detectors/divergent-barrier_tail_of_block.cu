// expect: divergent-barrier at line 11
/** The guard of a ragged tail stands around the barrier. */
#include "detecting.h"

static __global__ void guarded_kernel(const int *in, int *out, int n)
{
    __shared__ int values[64];
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) {
        values[threadIdx.x] = in[i];
        __syncthreads(); // here
        out[i] = values[0];
    }
}

int main(void)
{
    const int host[100] = {1};
    int *in = upload(host, 100), *out = device_array<int>(100);
    guarded_kernel<<<2, 64>>>(in, out, 100);
    (void)cudaDeviceSynchronize();
    abandon(in);
    abandon(out);
    return 0;
}
