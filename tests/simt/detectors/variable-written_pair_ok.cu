// expect: none
/** A table is read only; and whoever promises nothing may write it. */
#include "promising.h"

static __device__ float table[] = {1.0f, 2.0f, 3.0f};
static __constant__ float factor = 2.0f;
static __global__ void look_up(float *output)
{
    output[threadIdx.x] = factor * table[threadIdx.x % 3];
}
static __global__ void turn(void)
{
    if (threadIdx.x == 0) table[0] = table[1];
}

int main(void)
{
    float *output = device_array<float>(32);
    simt_keep_variables(1);
    look_up<<<1, 32>>>(output);
    finish_launch("look_up");
    simt_keep_variables(0);
    turn<<<1, 32>>>();
    finish_launch("turn");
    release(output);
    return 0;
}
