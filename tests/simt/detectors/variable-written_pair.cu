// expect: variable-written at line 9
// says: what a call keeps from kernel to kernel lies in its workspace
/** A kernel leaves a sum to the next one in a variable, which the calls of two streams share. */
#include "promising.h"

static __device__ float sum;
static __global__ void leave(const float *input)
{
    if (threadIdx.x == 0) sum = input[0] + input[1]; // here
}
static __global__ void take(float *output)
{
    output[threadIdx.x] = sum;
}

int main(void)
{
    float *memory = device_array<float>(64);
    require(cudaMemset(memory, 0, 64 * sizeof *memory), "cudaMemset");
    simt_keep_variables(1);
    leave<<<1, 32>>>(memory);
    take<<<1, 32>>>(memory + 32);
    finish_launch("take");
    release(memory);
    return 0;
}
