// expect: barrier-phase at line 12
/** 32 threads arrive in a phase that waits for one, and for bytes that have yet to come. */
#include "detecting.h"
#include "../hopper.h"

static __global__ void ptx_kernel(int *out)
{
    __shared__ __align__(8) uint64_t done;
    if (threadIdx.x == 0) mbarrier_init(&done, 1);
    __syncwarp();
    if (threadIdx.x == 0) mbarrier_expect(&done, 16);
    __syncwarp(), mbarrier_arrive(&done); // here
    __syncwarp();
    if (threadIdx.x == 0)
        asm volatile("mbarrier.complete_tx.shared::cta.relaxed.cta.b64 [%0], 16;"
                     :
                     : "r"(shared_address(&done))
                     : "memory");
    mbarrier_wait(&done, 0);
    out[threadIdx.x] = 1;
}

int main(void)
{
    int *out = device_array<int>(32);
    ptx_kernel<<<1, 32>>>(out);
    expect_outcome(cudaSuccess);
    release(out);
    return 0;
}
