/**
 * Inline PTX, clusters of one block, as every launch without the attribute has: the cluster's barrier, its special registers, mapa,
 * and shared memory by its address in the cluster.
 */
#include "../testing.h"

#include <stdint.h>

enum { THREADS = 96, PHASES = 5 };

static __device__ void arrive()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" : : : "memory");
}
static __device__ void wait()
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory");
}

/** The same word in the block of a rank. */
static __device__ uint32_t in_cluster(const void *pointer, uint32_t rank)
{
    uint32_t address;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(address)
        : "r"((uint32_t)__cvta_generic_to_shared(pointer)), "r"(rank));
    return address;
}

static __device__ uint32_t load(uint32_t address)
{
    uint32_t value;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    return value;
}

/** Each phase passes the words on by one place; work that needs nothing of the others stands between arrival and wait. */
static __global__ void shift_kernel(uint32_t *out)
{
    __shared__ uint32_t words[2][THREADS];
    const uint32_t thread = threadIdx.x;
    uint32_t own = thread;
    for (uint32_t phase = 0; phase < PHASES; phase++) {
        words[phase % 2][thread] = own;
        arrive();
        const uint32_t from = in_cluster(&words[phase % 2][(thread + 1) % THREADS], 0);
        wait();
        own = load(from) + 1;
    }
    out[thread] = own;
}

/** Threads that end count as arrived. Not aligned: each thread for itself. */
static __global__ void leaving_kernel(uint32_t *out)
{
    __shared__ uint32_t sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    if (threadIdx.x % 3 == 2) return;
    asm volatile("red.shared::cluster.add.u32 [%0], %1;"
                 :
                 : "r"(in_cluster(&sum, 0)), "r"(threadIdx.x)
                 : "memory");
    asm volatile("barrier.cluster.arrive;" : : : "memory");
    if (threadIdx.x % 3 == 1) return;
    asm volatile("barrier.cluster.wait;" : : : "memory");
    out[threadIdx.x] = sum;
}

static __global__ void registers_kernel(uint32_t *out)
{
    uint32_t ranks, rank, id, clusters, explicit_cluster;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(ranks));
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(id));
    asm("mov.u32 %0, %%nclusterid.x;" : "=r"(clusters));
    asm("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }"
        : "=r"(explicit_cluster));
    const uint32_t all[] = {ranks, rank, id, clusters, explicit_cluster};
    for (int i = 0; i < 5; i++) out[5 * blockIdx.x + i] = all[i];
}

int main(void)
{
    static uint32_t got[THREADS];
    uint32_t *out = device_array<uint32_t>(THREADS);
    shift_kernel<<<1, THREADS>>>(out);
    finish_launch("shift_kernel");
    download(got, out, THREADS);
    for (uint32_t i = 0; i < THREADS; i++)
        expect_equal("shifted", i, got[i], (i + PHASES) % THREADS + PHASES);
    require(cudaMemset(out, 0, sizeof got), "cudaMemset");
    leaving_kernel<<<1, THREADS>>>(out);
    finish_launch("leaving_kernel");
    download(got, out, THREADS);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < THREADS; i++) sum += i % 3 != 2 ? i : 0;
    for (uint32_t i = 0; i < THREADS; i++) expect_equal("sum", i, got[i], i % 3 == 0 ? sum : 0);
    registers_kernel<<<3, 1>>>(out);
    finish_launch("registers_kernel");
    download(got, out, 15);
    for (uint32_t i = 0; i < 15; i++) {
        const uint32_t expected[] = {1, 0, i / 5, 3, 0};
        expect_equal("register", i, got[i], expected[i % 5]);
    }
    release(out);
    return finish("ptx_cluster");
}
