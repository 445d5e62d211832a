// expect: none
/** Groups of lanes in different branches, each with its own mask; at the end they meet. */
#include "detecting.h"

static __global__ void groups_kernel(int *out)
{
    const int lane = (int)threadIdx.x;
    int value = lane;
    if (lane < 8)
        value = __shfl_xor_sync(0x000000ffu, value, 1);
    else if (lane < 16)
        value = __shfl_xor_sync(0x0000ff00u, value, 2);
    else
        value += __popc(__ballot_sync(0xffff0000u, lane % 2));
    __syncwarp();
    out[lane] = __shfl_sync(0xffffffffu, value, 31 - lane);
}

int main(void)
{
    int *out = device_array<int>(32), got[32];
    groups_kernel<<<1, 32>>>(out);
    expect_outcome(cudaSuccess);
    download(got, out, 32);
    for (int i = 0; i < 32; i++) {
        const int lane = 31 - i, expected = lane < 8 ? lane ^ 1 : lane < 16 ? lane ^ 2 : lane + 8;
        if (got[i] != expected) printf("out[%d] is %d, not %d\n", i, got[i], expected);
    }
    release(out);
    return 0;
}
