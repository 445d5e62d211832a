// expect: padding-written at line 9
/** Rows of 3 floats that begin 4 floats apart, written by a vector of 4: the last is put back as it was. */
#include "promising.h"

static __global__ void scale(float *rows)
{
    float4 row = *(const float4 *)(rows + 4 * threadIdx.x);
    row.x *= 2.0f, row.y *= 2.0f, row.z *= 2.0f;
    *(float4 *)(rows + 4 * threadIdx.x) = row; // here
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
