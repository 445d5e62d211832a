// expect: host-wait at line 14
/** What is called to launch waits for its kernel as well. */
#include "detecting.h"

extern "C" void simt_forbid_waiting(int forbid);

static __global__ void set_to_one(float *data)
{
    data[threadIdx.x] = 1.0f;
}

static cudaError_t set_all(float *data)
{
    set_to_one<<<1, 32>>>(data), cudaDeviceSynchronize(); // here
    return cudaGetLastError();
}

int main(void)
{
    float *data = device_array<float>(32);
    simt_forbid_waiting(1);
    set_all(data);
    simt_forbid_waiting(0);
    release(data);
    return 0;
}
