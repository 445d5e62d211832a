// expect: out-of-bounds at line 9
/** A copy asks for more bytes than the allocation has. */
#include "detecting.h"

int main(void)
{
    const float host[65] = {0.0f};
    float *data = device_array<float>(64);
    const cudaError_t status = cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice); // here
    if (status != cudaErrorInvalidValue) printf("the copy gives %s\n", cudaGetErrorName(status));
    (void)cudaGetLastError();
    release(data);
    return 0;
}
