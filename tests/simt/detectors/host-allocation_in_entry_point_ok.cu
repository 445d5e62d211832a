// expect: none
/** An entry point that is given its scratch memory; whoever calls it allocates and frees. */
#include "promising.h"

static cudaError_t add_two(float *data, float *scratch, cudaStream_t stream)
{
    cudaMemsetAsync(scratch, 0, 4, stream);
    add_one<<<1, 32, 0, stream>>>(data);
    return cudaGetLastError();
}

int main(void)
{
    cudaStream_t stream;
    float *data = device_array<float>(32), *scratch = device_array<float>(1);
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    require(cudaMemset(data, 0, 32 * sizeof *data), "cudaMemset");
    keep(NO_WAIT | NO_MEMORY | NO_OBJECTS | ONE_STREAM, stream);
    add_two(data, scratch, stream);
    keep(0);
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    release(scratch);
    release(data);
    return 0;
}
