// expect: wrong-device at line 12
// with: SIMT_DEVICES=2
#include "detecting.h"

int main(void)
{
    const float host = 1;
    float *from = upload(&host, 1);
    require(cudaSetDevice(1), "cudaSetDevice");
    float *to = device_array<float>(1);
    const cudaError_t status =
        cudaMemcpyPeer(to, 0, from, 0, sizeof(float)); // here
    if (status != cudaErrorInvalidValue) printf("the copy gives %s\n", cudaGetErrorName(status));
    release(from);
    release(to);
    return 0;
}
