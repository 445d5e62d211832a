// expect: none
/** Rows of 3 floats that begin 4 floats apart, read by a vector of 4, and written element by element. */
#include "promising.h"

static __global__ void scale(float *rows)
{
    const float4 row = *(const float4 *)(rows + 4 * threadIdx.x);
    rows[4 * threadIdx.x] = 2.0f * row.x;
    rows[4 * threadIdx.x + 1] = 2.0f * row.y;
    rows[4 * threadIdx.x + 2] = 2.0f * row.z;
}

int main(void)
{
    float *rows = device_array<float>(128);
    require(cudaMemset(rows, 0, 128 * sizeof *rows), "cudaMemset");
    for (int row = 0; row < 32; row++) simt_device_keep(rows + 4 * row + 3, sizeof *rows, SIMT_PADDING);
    scale<<<1, 32>>>(rows);
    finish_launch("scale");
    release(rows);
    return 0;
}
