// expect: variable-written at line 8
/** An entry point copies an argument into a constant, which the calls of two streams share. */
#include "promising.h"

static __constant__ float factor;
static cudaError_t set_factor(const float *from, cudaStream_t stream)
{
    return cudaMemcpyToSymbolAsync(factor, from, sizeof factor, 0, cudaMemcpyDeviceToDevice, stream); // here
}
static __global__ void scale(float *output)
{
    output[threadIdx.x] *= factor;
}

int main(void)
{
    float *memory = device_array<float>(64);
    require(cudaMemset(memory, 0, 64 * sizeof *memory), "cudaMemset");
    simt_keep_variables(1);
    keep(ONE_STREAM);
    set_factor(memory, 0);
    scale<<<1, 32>>>(memory + 32);
    keep(0);
    finish_launch("scale");
    release(memory);
    return 0;
}
