// expect: none
/** Sums that nobody reads come of lanes that take no part; and a value from outside is fetched, and left. */
#include "detecting.h"

static __global__ void sum_kernel(const float *x, float *out, int count)
{
    const int lane = (int)threadIdx.x;
    float v = x[lane], largest = v;
    if (lane < 8) {
        for (int step = 4; step > 0; step /= 2) v += __shfl_down_sync(0xff, v, step); /* lane 4 reads lane 8 */
        if (lane == 0) out[0] = v;
    }
    const unsigned some = __ballot_sync(~0u, lane < count);
    if (lane >= count) return;
    for (int step = 16; step > 0; step /= 2) {
        const float other = __shfl_down_sync(some, largest, step);
        if (lane + step < count) largest = fmaxf(largest, other);
    }
    if (lane == 0) out[1] = largest;
}

int main(void)
{
    float *x = device_array<float>(32), *out = device_array<float>(2);
    require(cudaMemset(x, 0xc0, 32 * sizeof *x), "cudaMemset"); /* negative numbers */
    sum_kernel<<<1, 32>>>(x, out, 20);
    expect_outcome(cudaSuccess);
    release(x);
    release(out);
    return 0;
}
