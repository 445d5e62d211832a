// expect: leak at line 9
// says: cudaMalloc3D
/** A volume is never freed. */
#include "detecting.h"

int main(void)
{
    cudaPitchedPtr volume;
    require(cudaMalloc3D(&volume, make_cudaExtent(8, 3, 3)), "cudaMalloc3D"); // here
    return 0;
}
