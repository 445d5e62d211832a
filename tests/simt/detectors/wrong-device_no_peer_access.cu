// expect: wrong-device at line 11
// with: SIMT_DEVICES=2
#include "detecting.h"

enum { COUNT = 64 };

static __global__ void copy_kernel(float *to,         /* [COUNT], of device 1 */
                                   const float *from) /* [COUNT], of device 0 */
{
    const int i = (int)threadIdx.x;
    to[i] = from[i]; // here
}

int main(void)
{
    static const float host[COUNT] = {1};
    float *from = upload(host, COUNT);
    require(cudaSetDevice(1), "cudaSetDevice");
    float *to = device_array<float>(COUNT);
    copy_kernel<<<1, COUNT>>>(to, from);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(to);
    require(cudaSetDevice(0), "the other device goes on");
    require(cudaMemset(from, 0, COUNT * sizeof(float)), "cudaMemset");
    release(from);
    return 0;
}
