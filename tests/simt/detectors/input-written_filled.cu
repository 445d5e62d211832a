// expect: input-written at line 7
/** An entry point fills more than its output: the input behind it is 0 already. */
#include "promising.h"

static cudaError_t clear(float *output, cudaStream_t stream)
{
    return cudaMemsetAsync(output, 0, 33 * sizeof *output, stream); // here
}

int main(void)
{
    float *memory = device_array<float>(64), *input = memory + 32;
    require(cudaMemset(memory, 0, 64 * sizeof *memory), "cudaMemset");
    simt_device_keep(input, 32 * sizeof *input, SIMT_INPUT);
    keep(ONE_STREAM);
    clear(memory, 0);
    keep(0);
    release(memory);
    return 0;
}
