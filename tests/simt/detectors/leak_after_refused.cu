// expect: leak at line 15
// says: the first is cudaMallocPitch, 512 bytes
/** An allocation that is refused gives neither its name nor its line to the next one, which is never freed. */
#include "detecting.h"

int main(void)
{
    cudaStream_t stream;
    float *refused = NULL, *kept;
    size_t pitch;
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    const cudaError_t status = cudaMallocAsync(&refused, 64, stream);
    if (status != cudaErrorInvalidResourceHandle) printf("the call gives %s\n", cudaGetErrorName(status));
    require(cudaMallocPitch(&kept, &pitch, 64, 1), "cudaMallocPitch"); // here
    return 0;
}
