// expect: out-of-bounds at line 18
// says: cudaMemcpy3D writes
/** The last slice of a volume goes past the end of its memory: the volume is said to be one row higher than it is. */
#include "detecting.h"

int main(void)
{
    static unsigned char host[3][4][8];
    cudaMemcpy3DParms p = {};
    cudaPitchedPtr volume;
    require(cudaMalloc3D(&volume, make_cudaExtent(8, 3, 3)), "cudaMalloc3D");
    p.srcPtr = make_cudaPitchedPtr(host, 8, 8, 4);
    p.dstPtr = volume;
    p.dstPtr.ysize = 4;
    p.extent = make_cudaExtent(8, 4, 3);
    p.kind = cudaMemcpyHostToDevice;
    const cudaError_t status =
        cudaMemcpy3D(&p); // here
    if (status != cudaErrorInvalidValue) printf("the copy gives %s\n", cudaGetErrorName(status));
    release(volume.ptr);
    return 0;
}
