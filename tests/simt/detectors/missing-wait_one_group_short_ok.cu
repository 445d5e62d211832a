// expect: none
/** Three stages: the next step is on its way while this one is read. */
#include "detecting.h"

#include <cuda_pipeline.h>

enum { THREADS = 64, STEPS = 4 };

static __global__ void copy_kernel(const float *in, float *out)
{
    __shared__ float tile[3][THREADS];
    const int i = (int)threadIdx.x;
    for (int step = 0; step <= STEPS; step++) {
        const int next = step * THREADS + i, now = next - THREADS;
        if (step < STEPS) __pipeline_memcpy_async(&tile[step % 3][i], &in[next], 4);
        __pipeline_commit(); /* at the end an empty group, which keeps the count */
        __pipeline_wait_prior(1);
        __syncthreads(); /* the tile of the step before is whole, the first one is skipped */
        if (step > 1) out[now] = tile[(step - 1) % 3][i ^ 32];
        __syncthreads(); /* all have read it: it may be overwritten */
    }
}

int main(void)
{
    static float host[STEPS * THREADS];
    float *in = upload(host, STEPS * THREADS), *out = device_array<float>(STEPS * THREADS);
    copy_kernel<<<1, THREADS>>>(in, out);
    expect_outcome(cudaSuccess);
    release(in);
    release(out);
    return 0;
}
