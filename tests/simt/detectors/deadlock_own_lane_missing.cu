// expect: deadlock at line 7
/** A lane votes under a mask that does not name it. */
#include "detecting.h"

static __global__ void vote_kernel(unsigned *out)
{
    out[threadIdx.x] = __ballot_sync(0x0000ffffu, 1); // here
}

int main(void)
{
    unsigned *out = device_array<unsigned>(32);
    vote_kernel<<<1, 32>>>(out);
    (void)cudaDeviceSynchronize();
    abandon(out);
    return 0;
}
