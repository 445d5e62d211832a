// expect: global-race at lines 23, 29
/** Launched so that it may start early, and nothing in it waits.
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

static __global__ void fill_kernel(float *x)
{
    cudaTriggerProgrammaticLaunchCompletion();
    x[blockIdx.x * blockDim.x + threadIdx.x] = (float)threadIdx.x; // here
}

static __global__ void twice_kernel(const float *x, float *y)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    y[i] = 2.0f * x[i]; // here
}

int main(void)
{
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config = early_configuration(&attribute, NULL);
    float *x = device_array<float>(128), *y = device_array<float>(128);
    fill_kernel<<<2, 64>>>(x);
    cudaLaunchKernelEx(&config, twice_kernel, (const float *)x, y);
    expect_outcome(cudaSuccess);
    release(x);
    release(y);
    return 0;
}
