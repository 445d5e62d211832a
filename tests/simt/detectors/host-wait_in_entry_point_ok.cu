// expect: none
/** What is called to launch asks whether the device is ready, and leaves the waiting to its caller. */
#include "detecting.h"

extern "C" void simt_forbid_waiting(int forbid);

static __global__ void set_to_one(float *data)
{
    data[threadIdx.x] = 1.0f;
}

static cudaError_t set_all(float *data)
{
    set_to_one<<<1, 32>>>(data);
    cudaStreamQuery(0);
    return cudaGetLastError();
}

int main(void)
{
    float *data = device_array<float>(32);
    simt_forbid_waiting(1);
    set_all(data);
    simt_forbid_waiting(0);
    cudaDeviceSynchronize();
    release(data);
    return 0;
}
