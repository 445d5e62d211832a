/**
 * cuda::ptx, the functions of CUDA's C++ library for single instructions: a bulk copy in and out by an mbarrier, a reduction, tensor
 * copies of two axes, an arrival at another block of a cluster, and special registers.
 */
#include "../hopper.h"

#include <cooperative_groups.h>
#include <cuda/ptx>

namespace ptx = cuda::ptx;

enum { THREADS = 64, ELEMS = 256, BYTES = 4 * ELEMS };

/** out = in + 1, and sums += in. */
static __global__ void bulk_kernel(const int *in, int *out, int *sums)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    __shared__ __align__(128) int tile[ELEMS];
    __shared__ __align__(8) uint64_t bar;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, THREADS);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    uint64_t state;
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in, BYTES, &bar);
        state =
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, BYTES);
    } else {
        state = ptx::mbarrier_arrive(&bar);
    }
    while (!ptx::mbarrier_try_wait(&bar, state)) {
    }
    if (threadIdx.x == 0) {
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, sums, tile, BYTES);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>{});
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < ELEMS; i += THREADS) tile[i]++;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, tile, BYTES);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>{});
    }
#else
    (void)in, (void)out, (void)sums;
#endif
}

/** Moves a box of 16 x 16 by (8, 4). */
static __global__ void tensor_kernel(const __grid_constant__ CUtensorMap from,
                                     const __grid_constant__ CUtensorMap to)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    __shared__ __align__(128) int tile[256];
    __shared__ __align__(8) uint64_t bar;
    const int32_t start[2] = {0, 0}, end[2] = {8, 4};
    if (threadIdx.x != 0) return;
    ptx::mbarrier_init(&bar, 1);
    ptx::fence_proxy_async(ptx::space_shared);
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &from, start, &bar);
    (void)ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar,
                                         sizeof tile);
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {
    }
    ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &to, end, tile);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>{});
#endif
}

/** Each block sends its rank to the next, and arrives at its mbarrier. */
static __global__ void __cluster_dims__(4, 1, 1) ring_kernel(int *out)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    __shared__ int value;
    __shared__ __align__(8) uint64_t bar;
    const unsigned rank = ptx::get_sreg_cluster_ctarank(),
                   next = (rank + 1) % ptx::get_sreg_cluster_nctarank();
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    ptx::barrier_cluster_arrive(ptx::sem_release);
    ptx::barrier_cluster_wait(ptx::sem_acquire);
    if (threadIdx.x == 0) {
        cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
        *cluster.map_shared_rank(&value, next) = (int)rank + 1;
        ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster,
                             cluster.map_shared_rank(&bar, next));
        while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &bar, 0)) {
        }
        out[rank] = 100 * value + (int)ptx::get_sreg_laneid();
    }
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
#else
    (void)out;
#endif
}

static void try_bulk(void)
{
    static int in[ELEMS], out[ELEMS], sums[ELEMS];
    for (int i = 0; i < ELEMS; i++) in[i] = 3 * i, sums[i] = 1000;
    int *device_in = upload(in, ELEMS), *device_out = device_array<int>(ELEMS),
        *device_sums = upload(sums, ELEMS);
    bulk_kernel<<<1, THREADS>>>(device_in, device_out, device_sums);
    finish_launch("bulk_kernel");
    download(out, device_out, ELEMS);
    download(sums, device_sums, ELEMS);
    for (int i = 0; i < ELEMS; i++) {
        expect_equal("out", (size_t)i, out[i], 3 * i + 1);
        expect_equal("sums", (size_t)i, sums[i], 3 * i + 1000);
    }
    release(device_in), release(device_out), release(device_sums);
}

static void try_tensor(void)
{
    enum { SIDE = 32 };
    static int in[SIDE * SIDE], out[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++) in[i] = i, out[i] = -1;
    int *device_in = upload(in, SIDE * SIDE), *device_out = upload(out, SIDE * SIDE);
    tensor_kernel<<<1, 32>>>(matrix_map(CU_TENSOR_MAP_DATA_TYPE_INT32, 4, device_in, SIDE, SIDE, 16, 16),
                             matrix_map(CU_TENSOR_MAP_DATA_TYPE_INT32, 4, device_out, SIDE, SIDE, 16, 16));
    finish_launch("tensor_kernel");
    download(out, device_out, SIDE * SIDE);
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            const bool inside = row >= 4 && row < 20 && column >= 8 && column < 24;
            expect_equal("box", (size_t)(row * SIDE + column), out[row * SIDE + column],
                         inside ? in[(row - 4) * SIDE + column - 8] : -1);
        }
    release(device_in), release(device_out);
}

static void try_ring(void)
{
    int out[4], *device_out = device_array<int>(4);
    ring_kernel<<<4, 32>>>(device_out);
    finish_launch("ring_kernel");
    download(out, device_out, 4);
    for (int i = 0; i < 4; i++)
        expect_equal("from the block before", (size_t)i, out[i], 100 * ((i + 3) % 4 + 1));
    release(device_out);
}

int main(void)
{
    cudaDeviceProp properties;
    require(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    if (properties.major < 9) return finish("cuda_ptx");
    try_bulk();
    try_tensor();
    try_ring();
    return finish("cuda_ptx");
}
