/**
 * @file hopper.h
 * @brief Wrappers for what Hopper adds (sm_90a): mbarriers, the tensor copy engine (TMA), clusters, warpgroups and their fences.
 *
 * CUDA C has no words for these instructions, so each function here is a thin wrapper around one of them. Three kinds of
 * waiting belong to three kinds of work:
 *
 *     tensor_load()     counts its bytes at an mbarrier          wait: mbarrier_wait()
 *     tensor_store()    belongs to a group of its thread         wait: bulk_wait_read()
 *     wgmma             belongs to a group of its warpgroup      wait: wgmma_wait()
 *
 * Ordinary loads and stores go through the *generic proxy*, TMA and wgmma read and write shared memory through the *async
 * proxy*. Between the two stands async_proxy_fence(), called by every thread whose accesses count, and then a barrier.
 * @see PTX ISA: mbarrier, cp.async.bulk.tensor, "Asynchronous warpgroup level matrix instructions", setmaxnreg
 */
#ifndef WARPWISE_HOPPER_H
#define WARPWISE_HOPPER_H

#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>

#include "shared_address.h"

/**
 * @brief 1 where code is made for sm_90a or for the host. A kernel's body is compiled only there: for other GPUs, which have
 *        not all of these instructions, the kernel is empty, and the entry point does not launch it.
 */
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HOPPER_CODE 1
#else
#define HOPPER_CODE 0
#endif

/** @brief Threads of a warpgroup: four warps, the first of which has a number that is a multiple of four. */
enum { WARPGROUP = 128 };

/* ---- mbarriers: phases that end when arrivals and bytes are complete ------------------------------------- */

/** @brief Makes an mbarrier whose phases need @p arrivals arrivals. Then: mbarrier_init_fence(), and a barrier for those who use it. */
__device__ inline void mbarrier_init(uint64_t *barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :
                 : "r"(shared_address(barrier)), "r"(arrivals)
                 : "memory");
}

/** @brief Lets TMA and the other blocks of the cluster see initialised mbarriers. */
__device__ inline void mbarrier_init_fence(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
}

/** @brief Arrives: what this thread did before is visible to those who wait for the phase. */
__device__ inline void mbarrier_arrive(uint64_t *barrier)
{
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];"
                 :
                 : "r"(shared_address(barrier))
                 : "memory");
}

/** @brief Arrives, and announces how many bytes the phase must receive besides. */
__device__ inline void mbarrier_arrive_expect(uint64_t *barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

/**
 * @brief Arrives at the mbarrier in the same place of block @p rank of the cluster.
 *
 * What this thread has *stored* is seen by those who wait in its own block only: enough to give back a stage, which wgmma has
 * read and TMA will overwrite. `.release.cluster` would make it seen in the other block too, by a fence of the whole GPU
 * (MEMBAR.ALL.GPU) in each call.
 */
__device__ inline void mbarrier_arrive_at(uint64_t *barrier, int rank)
{
    asm volatile("{\n"
                 ".reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.release.cta.shared::cluster.b64 _, [there];\n"
                 "}"
                 :
                 : "r"(shared_address(barrier)), "r"(rank)
                 : "memory");
}

/** @brief Waits for the end of the phase of parity @p parity. Of a new mbarrier the phase of parity 1 counts as over. */
__device__ inline void mbarrier_wait(uint64_t *barrier, int parity)
{
    asm volatile("{\n"
                 ".reg .pred over;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 over, [%0], %1;\n"
                 "@!over bra again;\n"
                 "}"
                 :
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
}

/** @brief A place in a ring of stages: the next stage, and the parity of the phase that its mbarriers end next. */
struct ring {
    int stage;  /**< 0 to STAGES - 1 */
    int parity; /**< flips with every round */
};

/** @brief To the next stage; after the last one to the first, with the other parity. */
template <int STAGES> __device__ inline void advance(struct ring *ring)
{
    if (++ring->stage < STAGES) return;
    ring->stage = 0, ring->parity ^= 1;
}

/* ---- the tensor copy engine -------------------------------------------------------------------------------- */

/** @brief One thread starts to copy the box at (@p x, @p y) of a matrix to shared memory; zeros stand for what is outside. */
__device__ inline void tensor_load(void *shared, const CUtensorMap *map, int x, int y, uint64_t *barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];"
                 :
                 : "r"(shared_address(shared)), "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
                 : "memory");
}

/** @brief The same, to this place in all blocks of the cluster whose bit is set, each of whose mbarriers counts the bytes. */
__device__ inline void tensor_multicast(void *shared, const CUtensorMap *map, int x, int y, uint64_t *barrier,
                                        int blocks)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
                 :
                 : "r"(shared_address(shared)), "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier)),
                   "h"((uint16_t)blocks)
                 : "memory");
}

/**
 * @brief One thread starts to copy a box from shared memory; what is outside of the matrix is left out.
 *
 * But for the last 16 bytes of a row, which are written whole: if rows are no multiple of 16 bytes long, what follows them in
 * memory is overwritten.
 */
__device__ inline void tensor_store(const CUtensorMap *map, int x, int y, const void *shared)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                 :
                 : "l"(map), "r"(x), "r"(y), "r"(shared_address(shared))
                 : "memory");
}

/** @brief One thread starts to copy @p bytes, a multiple of 16, from device memory to shared memory. */
__device__ inline void bulk_load(void *shared, const void *from, int bytes, uint64_t *barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :
                 : "r"(shared_address(shared)), "l"(from), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
}

/** @brief One thread starts to add @p bytes of floats in shared memory to those at @p to; others may add there at the same time. */
__device__ inline void bulk_add(float *to, const void *shared, int bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;"
                 :
                 : "l"(to), "r"(shared_address(shared)), "r"(bytes)
                 : "memory");
}

/** @brief The stores that this thread has started since the last call become a group. */
__device__ inline void bulk_commit(void)
{
    asm volatile("cp.async.bulk.commit_group;" : : : "memory");
}

/** @brief Waits until all but the last PENDING groups of this thread have read their shared memory. */
template <int PENDING> __device__ inline void bulk_wait_read(void)
{
    asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(PENDING) : "memory");
}

/** @brief Waits until all groups of this thread are complete: what they wrote can be read. */
__device__ inline void bulk_wait(void)
{
    asm volatile("cp.async.bulk.wait_group 0;" : : : "memory");
}

/** @brief Puts this thread's ordinary accesses to shared memory before what the async proxy does after the next barrier. */
__device__ inline void async_proxy_fence(void)
{
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}

/** @brief The same for device memory, too; it takes much longer. */
__device__ inline void async_proxy_fence_all(void)
{
    asm volatile("fence.proxy.async;" : : : "memory");
}

/**
 * @brief Describes a row-major matrix of 16-bit elements to TMA, which will copy boxes of it with the swizzle of 128 bytes.
 *
 * @param[out] map  for a kernel's parameter: `const __grid_constant__ CUtensorMap`
 * @param type      CU_TENSOR_MAP_DATA_TYPE_FLOAT16 or _BFLOAT16
 * @param matrix    device memory at a multiple of 16 bytes
 * @param rows, columns, ld   of the matrix; ld is the distance of rows in elements, a multiple of 8
 * @param box_rows  rows of a box, at most 256; it is 64 columns wide: 128 bytes
 * @return 1, or 0 if the driver refuses it
 *
 * A program that includes this and calls it is linked with the driver (`-lcuda`); the course's runner has the driver's function
 * already.
 */
inline int tensor_map(CUtensorMap *map, CUtensorMapDataType type, const void *matrix, int rows, int columns,
                      int ld, int box_rows)
{
    const cuuint64_t sizes[] = {(cuuint64_t)columns, (cuuint64_t)rows}, strides[] = {(cuuint64_t)ld * 2};
    const cuuint32_t box[] = {64, (cuuint32_t)box_rows}, steps[] = {1, 1};
    return cuTensorMapEncodeTiled(map, type, 2, (void *)matrix, sizes, strides, box, steps,
                                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

/**
 * @brief Launches a kernel in clusters of @p cluster blocks, with so much dynamic shared memory: more than the usual 48 KB.
 *        cudaGetLastError() says how it went.
 */
template <typename PARAM, typename... PARAMS>
inline void launch_in_clusters(void (*kernel)(PARAM, PARAMS...), int blocks, int threads, int shared_bytes,
                               int cluster, cudaStream_t stream, const PARAM &param, PARAMS... params)
{
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes) !=
        cudaSuccess)
        return;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = (unsigned)cluster;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)blocks), config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = (size_t)shared_bytes;
    config.stream = stream;
    config.attrs = &attribute, config.numAttrs = 1;
    cudaLaunchKernelEx(&config, kernel, param, params...);
}

/* ---- clusters and warpgroups ------------------------------------------------------------------------------- */

/** @brief Which block of its cluster this is. */
__device__ inline int cluster_rank(void)
{
    int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

/** @brief A barrier of all threads of all blocks of the cluster. */
__device__ inline void cluster_sync(void)
{
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" : : : "memory");
}

/** @brief Barrier @p name, 1 to 15, of @p threads threads: whole warps. Barrier 0 is that of __syncthreads(). */
__device__ inline void named_barrier(int name, int threads)
{
    asm volatile("bar.sync %0, %1;" : : "r"(name), "r"(threads) : "memory");
}

/** @brief A whole warpgroup gives registers back: each thread keeps REGISTERS. */
template <int REGISTERS> __device__ inline void registers_down_to(void)
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(REGISTERS) : "memory");
}

/** @brief A whole warpgroup waits until each of its threads can have REGISTERS. */
template <int REGISTERS> __device__ inline void registers_up_to(void)
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(REGISTERS) : "memory");
}

/** @brief Before the first wgmma, and after registers of its sums have been touched otherwise. */
__device__ inline void wgmma_fence(void)
{
    asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}

/** @brief The products that the warpgroup has started since the last call become a group. */
__device__ inline void wgmma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
}

/** @brief Waits until all but the last PENDING groups are complete: their tiles may be overwritten, their sums read. */
template <int PENDING> __device__ inline void wgmma_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(PENDING) : "memory");
}

/**
 * @brief The descriptor of a tile in shared memory, for wgmma: rows are 128 bytes, swizzled as TMA does it.
 *
 * Eight such rows are 1024 bytes, the distance (the *stride*) to the next eight; the tile begins at a multiple of 1024 bytes,
 * and @p leading bytes lie between blocks of 64 lines if the rows run across k, and mean nothing if they run along it.
 */
__device__ inline uint64_t tile_descriptor(uint32_t address, int leading)
{
    return (uint64_t)(address & 0x3ffff) >> 4 | (uint64_t)(leading >> 4) << 16 | (uint64_t)(1024 >> 4) << 32 |
           1ull << 62;
}

/** @brief Stores four 8 x 8 matrices of 16-bit elements: lane 4g + q has elements 2q, 2q + 1 of row g of each, in x[j]. */
__device__ inline void store_matrices(void *row, const uint32_t x[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :
                 : "r"(shared_address(row)), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
                 : "memory");
}

/* ---- heads: matrices of one shape, one after another ------------------------------------------------------- */

/**
 * @brief Describes @p heads row-major matrices of @p rows rows of head_dim 16-bit elements, one after another. A box is 64
 *        columns wide and belongs to one head: rows past its end are zeros, and are not stored, although others follow.
 *
 * @param[out] map  for a kernel's parameter: `const __grid_constant__ CUtensorMap`
 * @param type      CU_TENSOR_MAP_DATA_TYPE_FLOAT16 or _BFLOAT16
 * @param matrix    device memory at a multiple of 16 bytes
 * @param heads, rows, head_dim   the extents; head_dim is a multiple of 64
 * @param box_rows  rows of a box, at most 256
 * @return 1, or 0 if the driver refuses it
 */
inline int heads_map(CUtensorMap *map, CUtensorMapDataType type, const void *matrix, int heads, int rows,
                     int head_dim, int box_rows)
{
    const cuuint64_t sizes[] = {(cuuint64_t)head_dim, (cuuint64_t)rows, (cuuint64_t)heads};
    const cuuint64_t strides[] = {(cuuint64_t)head_dim * 2, (cuuint64_t)rows * (cuuint64_t)head_dim * 2};
    const cuuint32_t box[] = {64, (cuuint32_t)box_rows, 1}, steps[] = {1, 1, 1};
    return cuTensorMapEncodeTiled(map, type, 3, (void *)matrix, sizes, strides, box, steps,
                                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

/** @brief As tensor_load(), the box at column @p x, row @p row of head @p head. */
__device__ inline void head_load(void *shared, const CUtensorMap *map, int x, int row, int head,
                                 uint64_t *barrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4}], [%5];"
                 :
                 : "r"(shared_address(shared)), "l"(map), "r"(x), "r"(row), "r"(head),
                   "r"(shared_address(barrier))
                 : "memory");
}

/** @brief As tensor_store(), to column @p x, row @p row of head @p head. */
__device__ inline void head_store(const CUtensorMap *map, int x, int row, int head, const void *shared)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];"
                 :
                 : "l"(map), "r"(x), "r"(row), "r"(head), "r"(shared_address(shared))
                 : "memory");
}

/** @brief Arrives at barrier @p name for others who wait at it, and does not wait; @p threads counts both. */
__device__ inline void named_barrier_arrive(int name, int threads)
{
    asm volatile("bar.arrive %0, %1;" : : "r"(name), "r"(threads) : "memory");
}

/**
 * @brief After wgmma_wait(): the compiler may not move what reads or writes these sums to before it. To it the wait is no
 *        access to them; the hardware, and the software device, execute nothing here.
 */
template <int SUMS> __device__ __forceinline__ void wgmma_hold(float (&d)[SUMS])
{
#if defined(__CUDA_ARCH__)
#pragma unroll
    for (int i = 0; i < SUMS; i++) asm volatile("" : "+f"(d[i]) : : "memory");
#else
    (void)d;
#endif
}

#endif
