// expect: use-after-free at line 9
/** The same pointer is freed twice. */
#include "detecting.h"

int main(void)
{
    float *data = device_array<float>(32);
    release(data);
    const cudaError_t status = cudaFree(data); // here
    if (status != cudaErrorInvalidValue) printf("the second cudaFree gives %s\n", cudaGetErrorName(status));
    return 0;
}
