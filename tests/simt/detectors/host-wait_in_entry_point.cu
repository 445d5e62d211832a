// expect: host-wait at line 12
/** What is called to launch waits for its kernel as well. */
#include "promising.h"

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
    keep(NO_WAIT);
    set_all(data);
    keep(0);
    release(data);
    return 0;
}
