// expect: none
// with: SIMT_DEVICES=2
#include "detecting.h"

int main(void)
{
    float *from = device_array<float>(1);
    require(cudaMemset(from, 0, sizeof(float)), "cudaMemset");
    require(cudaSetDevice(1), "cudaSetDevice");
    float *to = device_array<float>(1);
    const cudaError_t status =
        cudaMemcpyPeer(to, 1, from, 0, sizeof(float));
    if (status != cudaSuccess) printf("the copy gives %s\n", cudaGetErrorName(status));
    release(from);
    release(to);
    return 0;
}
