// expect: none
/** A stencil leaves the border of its output alone, and the host fetches the array as a whole: told only with SIMT_REPORT=all. */
#include "detecting.h"

enum { SIDE = 16 };

static __global__ void smooth_kernel(const float *in, float *out)
{
    const unsigned x = threadIdx.x + 1, y = blockIdx.x + 1;
    out[y * SIDE + x] = (in[y * SIDE + x - 1] + in[y * SIDE + x + 1]) / 2.0f;
}

int main(void)
{
    static float host[SIDE * SIDE];
    float *in = upload(host, SIDE * SIDE), *out = device_array<float>(SIDE * SIDE);
    smooth_kernel<<<SIDE - 2, SIDE - 2>>>(in, out);
    expect_outcome(cudaSuccess);
    for (int i = 0; i < 3; i++)
        require(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost), "cudaMemcpy");
    release(in);
    release(out);
    return 0;
}
