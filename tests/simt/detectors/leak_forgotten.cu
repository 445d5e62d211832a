// expect: leak at line 8
/** Device memory that is still allocated when the program ends. */
#include "detecting.h"

int main(void)
{
    float *kept = NULL, *freed = device_array<float>(64);
    require(cudaMalloc((void **)&kept, 128), "cudaMalloc"); // here
    release(freed);
    return 0;
}
