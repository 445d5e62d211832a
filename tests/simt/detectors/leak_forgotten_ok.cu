// expect: none
/** Streams, events and memory, all given back; cudaDeviceReset at the end changes nothing. */
#include "detecting.h"

int main(void)
{
    float *data = device_array<float>(64), *pinned = NULL;
    cudaStream_t stream;
    cudaEvent_t event;
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    require(cudaEventCreate(&event), "cudaEventCreate");
    require(cudaMallocHost((void **)&pinned, 64), "cudaMallocHost");
    require(cudaFreeHost(pinned), "cudaFreeHost");
    require(cudaEventDestroy(event), "cudaEventDestroy");
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    release(data);
    require(cudaDeviceReset(), "cudaDeviceReset");
    return 0;
}
