// expect: global-race at lines 23, 29
/** It waits before it reads, but overwrites what the kernel in front may still be reading; two bytes at a time.
 */
#include "detecting.h"

static cudaLaunchConfig_t early_configuration(cudaLaunchAttribute *attribute, cudaStream_t stream)
{
    cudaLaunchConfig_t config = {};
    *attribute = {};
    attribute->id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute->val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3(2);
    config.blockDim = dim3(64);
    config.stream = stream;
    config.attrs = attribute;
    config.numAttrs = 1;
    return config;
}

static __global__ void sum_kernel(const short *x, float *y)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    y[i] = (float)(x[i] + x[127 - i]); // here
}

static __global__ void clear_kernel(short *x, float *y)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    x[i] = 0; // here
    cudaGridDependencySynchronize();
    y[i] += 1.0f;
}

int main(void)
{
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config = early_configuration(&attribute, NULL);
    short *x = device_array<short>(128);
    float *y = device_array<float>(128);
    cudaMemset(x, 0, 256);
    sum_kernel<<<2, 64>>>(x, y);
    cudaLaunchKernelEx(&config, clear_kernel, x, y);
    expect_outcome(cudaSuccess);
    release(x);
    release(y);
    return 0;
}
