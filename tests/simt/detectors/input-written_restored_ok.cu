// expect: none
/** The input is read, all around it is written, and later its memory is somebody else's. */
#include "promising.h"

static __global__ void copy(const float *input, float *output)
{
    const unsigned i = threadIdx.x;
    output[i] = input[i] + 1.0f;
}

int main(void)
{
    float *memory = device_array<float>(96), *input = memory + 32;
    require(cudaMemset(memory, 0, 96 * sizeof *memory), "cudaMemset");
    simt_device_keep(input, 32 * sizeof *input, SIMT_INPUT);
    keep(ONE_STREAM | NO_MEMORY);
    copy<<<1, 32>>>(input, memory);
    copy<<<1, 32>>>(input, memory + 64);
    cudaMemsetAsync(memory, 0, 32 * sizeof *memory, 0);
    keep(0);
    finish_launch("copy");
    simt_device_keep(input, 32 * sizeof *input, SIMT_FREE);
    copy<<<1, 32>>>(memory, input);
    finish_launch("copy");
    release(memory);
    return 0;
}
