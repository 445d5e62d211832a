// expect: host-allocation at line 9
/** An entry point that makes its own scratch memory, once, and keeps it. */
#include "promising.h"

static float *scratch;

static cudaError_t add_two(float *data)
{
    if (scratch == NULL) cudaMalloc((void **)&scratch, 4); // here
    add_one<<<1, 32>>>(data);
    return cudaGetLastError();
}

int main(void)
{
    float *data = device_array<float>(32);
    require(cudaMemset(data, 0, 32 * sizeof *data), "cudaMemset");
    for (int i = 0; i < 2; i++) {
        keep(NO_MEMORY | NO_OBJECTS);
        add_two(data);
        keep(0);
    }
    release(scratch);
    release(data);
    return 0;
}
