// expect: missing-wait at line 13
/** A buffer is used again before the copy out of it has been waited for. */
#include "detecting.h"

#include <cuda_pipeline.h>

enum { THREADS = 64 };

static __global__ void copy_kernel(float *buffer, float *out)
{
    __shared__ float tile[THREADS];
    const int i = (int)threadIdx.x;
    __pipeline_memcpy_async(&tile[i], &buffer[i], 4); // here
    __pipeline_commit();
    buffer[i] = 1.0f;
    __pipeline_wait_prior(0);
    out[i] = tile[i];
}

int main(void)
{
    static float host[THREADS];
    float *buffer = upload(host, THREADS), *out = device_array<float>(THREADS);
    copy_kernel<<<1, THREADS>>>(buffer, out);
    expect_outcome(cudaSuccess);
    release(buffer);
    release(out);
    return 0;
}
