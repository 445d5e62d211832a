// expect: none
/** A compare-and-swap with no fence behind it, where another thing orders what follows, or where it takes no lock. */
#include "detecting.h"

enum { WARP = 32, THREADS = 96 };

/* The lock is thread 0's since before a barrier: no other thread had it first. */
static __global__ void barrier_kernel(int *sum)
{
    __shared__ int lock, word;
    if (threadIdx.x == 0) {
        lock = 0;
        atomicCAS(&lock, 0, 1);
    }
    __syncthreads();
    if (threadIdx.x % WARP != 0) return;
    if (threadIdx.x != 0) {
        while (atomicCAS(&lock, 0, 1) != 0) continue;
        __threadfence_block();
        *sum += word;
    } else {
        word = 5;
    }
    __threadfence_block();
    atomicExch(&lock, 0);
}

/* The second thread waits for a flag that the first one sets: which of them has the lock first is no chance. */
static __global__ void flag_kernel(int *sum)
{
    __shared__ int lock, flag, word;
    if (threadIdx.x == 0) lock = flag = 0;
    __syncthreads();
    if (threadIdx.x % WARP != 0 || threadIdx.x == 2 * WARP) return;
    if (threadIdx.x != 0) {
        while (atomicAdd(&flag, 0) == 0) continue;
        __threadfence_block();
    }
    while (atomicCAS(&lock, 0, 1) != 0) continue;
    if (threadIdx.x != 0) {
        __threadfence_block();
        *sum += word;
    } else {
        word = 5;
    }
    __threadfence_block();
    atomicExch(&lock, 0);
    if (threadIdx.x == 0) atomicExch(&flag, 1);
}

/* A stack: a thread that has put an element there writes to its next one, and then to the stack's top again. */
static __global__ void stack_kernel(int *sum)
{
    __shared__ int top, next[THREADS], value[THREADS];
    if (threadIdx.x == 0) top = -1;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 3; i++) {
            value[i] = i;
            int old = -1 + i;
            next[i] = old;
            __threadfence_block();
            atomicCAS(&top, old, i);
        }
        value[3] = 7;
        next[3] = 2;
        __threadfence_block();
        atomicExch(&top, 3);
    } else if (threadIdx.x == WARP) {
        int last;
        while ((last = atomicAdd(&top, 0)) < 3) continue;
        __threadfence_block();
        for (; last >= 0; last = next[last]) *sum += value[last];
    }
}

int main(void)
{
    int *sum = device_array<int>(1);
    require(cudaMemset(sum, 0, sizeof *sum), "cudaMemset");
    barrier_kernel<<<1, THREADS>>>(sum);
    expect_outcome(cudaSuccess);
    flag_kernel<<<1, THREADS>>>(sum);
    expect_outcome(cudaSuccess);
    stack_kernel<<<1, THREADS>>>(sum);
    expect_outcome(cudaSuccess);
    release(sum);
    return 0;
}
