// expect: input-written at line 8
/** A kernel adds nothing to its input: what is there afterwards is what was there before. */
#include "promising.h"

static __global__ void copy(float *input, float *output)
{
    const unsigned i = threadIdx.x;
    output[i] = atomicAdd(&input[i], 0.0f); // here
}

int main(void)
{
    float *input = device_array<float>(32), *output = device_array<float>(32);
    require(cudaMemset(input, 0, 32 * sizeof *input), "cudaMemset");
    simt_device_keep(input, 32 * sizeof *input, SIMT_INPUT);
    copy<<<1, 32>>>(input, output);
    finish_launch("copy");
    release(input);
    release(output);
    return 0;
}
