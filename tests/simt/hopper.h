/**
 * @file hopper.h
 * @brief Inline PTX of mbarriers, bulk copies and tensor copies for the programs of tests/simt: a function for each instruction.
 */
#pragma once

#include "testing.h"

#include <cuda.h>
#include <stdint.h>

static __device__ __forceinline__ uint32_t shared_address(const void *pointer)
{
    return (uint32_t)__cvta_generic_to_shared(pointer);
}

/* ---- mbarriers -------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ void mbarrier_init(uint64_t *barrier, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :
                 : "r"(shared_address(barrier)), "r"(arrivals)
                 : "memory");
}

static __device__ __forceinline__ void mbarrier_inval(uint64_t *barrier)
{
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" : : "r"(shared_address(barrier)) : "memory");
}

static __device__ __forceinline__ uint64_t mbarrier_arrive(uint64_t *barrier, uint32_t count = 1)
{
    uint64_t state;
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1], %2;"
                 : "=l"(state)
                 : "r"(shared_address(barrier)), "r"(count)
                 : "memory");
    return state;
}

static __device__ __forceinline__ void mbarrier_expect(uint64_t *barrier, uint32_t bytes)
{
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                 :
                 : "r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

static __device__ __forceinline__ void mbarrier_arrive_expect(uint64_t *barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

/** Once: whether the phase of that parity is over. */
static __device__ __forceinline__ bool mbarrier_try_wait(uint64_t *barrier, uint32_t parity)
{
    uint32_t over;
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}"
                 : "=r"(over)
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
    return over != 0;
}

static __device__ __forceinline__ void mbarrier_wait(uint64_t *barrier, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1, %2;\n"
                 "@p bra done;\n"
                 "bra again;\n"
                 "done:\n"
                 "}"
                 :
                 : "r"(shared_address(barrier)), "r"(parity), "r"(0x989680)
                 : "memory");
}

/** Makes initialised mbarriers visible to the other proxy, as CUTLASS does. */
static __device__ __forceinline__ void mbarrier_init_fence(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
}

static __device__ __forceinline__ void proxy_fence(void)
{
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}

/** For device memory, too. */
static __device__ __forceinline__ void proxy_fence_all(void)
{
    asm volatile("fence.proxy.async;" : : : "memory");
}

/** For device memory only. */
static __device__ __forceinline__ void proxy_fence_global(void)
{
    asm volatile("fence.proxy.async.global;" : : : "memory");
}

/* ---- bulk copies ------------------------------------------------------------------------------------------ */

static __device__ __forceinline__ void bulk_load(void *shared, const void *global, uint32_t bytes,
                                                 uint64_t *barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :
                 : "r"(shared_address(shared)), "l"(global), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
}

static __device__ __forceinline__ void bulk_store(void *global, const void *shared, uint32_t bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 :
                 : "l"(global), "r"(shared_address(shared)), "r"(bytes)
                 : "memory");
}

static __device__ __forceinline__ void bulk_between(void *to, const void *from, uint32_t bytes,
                                                    uint64_t *barrier)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
        :
        : "r"(shared_address(to)), "r"(shared_address(from)), "r"(bytes), "r"(shared_address(barrier))
        : "memory");
}

static __device__ __forceinline__ void bulk_commit(void)
{
    asm volatile("cp.async.bulk.commit_group;" : : : "memory");
}

/** All but the last PRIOR groups are over. */
template <int PRIOR> static __device__ __forceinline__ void bulk_wait(void)
{
    asm volatile("cp.async.bulk.wait_group %0;" : : "n"(PRIOR) : "memory");
}

/** All but the last PRIOR groups have read their sources. */
template <int PRIOR> static __device__ __forceinline__ void bulk_wait_read(void)
{
    asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(PRIOR) : "memory");
}

/* ---- tensor copies ---------------------------------------------------------------------------------------- */

static __device__ __forceinline__ void tensor_load(void *shared, const CUtensorMap *map, int x, int y,
                                                   uint64_t *barrier)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
        "{%2, %3}], [%4];"
        :
        : "r"(shared_address(shared)), "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
        : "memory");
}

static __device__ __forceinline__ void tensor_store(const CUtensorMap *map, int x, int y, const void *shared)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                 :
                 : "l"(map), "r"(x), "r"(y), "r"(shared_address(shared))
                 : "memory");
}

/* ---- clusters --------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ uint32_t cluster_rank(void)
{
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
static __device__ __forceinline__ uint32_t cluster_blocks(void)
{
    uint32_t blocks;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    return blocks;
}

static __device__ __forceinline__ void cluster_arrive(void)
{
    asm volatile("barrier.cluster.arrive.release.aligned;" : : : "memory");
}
static __device__ __forceinline__ void cluster_arrive_relaxed(void)
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" : : : "memory");
}
static __device__ __forceinline__ void cluster_wait(void)
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory");
}
static __device__ __forceinline__ void cluster_sync(void)
{
    cluster_arrive();
    cluster_wait();
}

/** The same variable in the block of a rank, as an address of shared::cluster. */
static __device__ __forceinline__ uint32_t address_in(const void *pointer, uint32_t rank)
{
    uint32_t address;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(address)
                 : "r"(shared_address(pointer)), "r"(rank));
    return address;
}

static __device__ __forceinline__ uint32_t load_from_cluster(uint32_t address)
{
    uint32_t value;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    return value;
}
static __device__ __forceinline__ void store_to_cluster(uint32_t address, uint32_t value)
{
    asm volatile("st.shared::cluster.u32 [%0], %1;" : : "r"(address), "r"(value) : "memory");
}

/** Arrives at the mbarrier of the block of a rank. */
static __device__ __forceinline__ void mbarrier_arrive_at(const uint64_t *barrier, uint32_t rank)
{
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];"
                 :
                 : "r"(address_in(barrier, rank))
                 : "memory");
}

/** Waits as mbarrier_wait() does, for what other blocks of the cluster have done before they arrived. */
static __device__ __forceinline__ void mbarrier_wait_cluster(uint64_t *barrier, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1, %2;\n"
                 "@p bra done;\n"
                 "bra again;\n"
                 "done:\n"
                 "}"
                 :
                 : "r"(shared_address(barrier)), "r"(parity), "r"(0x989680)
                 : "memory");
}

/** A word goes to another block, and its four bytes are reported to an mbarrier there. */
static __device__ __forceinline__ void store_async(uint32_t address, uint32_t value, uint32_t barrier)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];"
                 :
                 : "r"(address), "r"(value), "r"(barrier)
                 : "memory");
}

/** The blocks of the mask receive the bytes, each at the same place, and each one's mbarrier hears of them. */
static __device__ __forceinline__ void bulk_multicast(void *shared, const void *global, uint32_t bytes,
                                                      uint64_t *barrier, uint16_t blocks)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
                 "[%1], %2, [%3], %4;"
                 :
                 : "r"(shared_address(shared)), "l"(global), "r"(bytes), "r"(shared_address(barrier)),
                   "h"(blocks)
                 : "memory");
}

static __device__ __forceinline__ void tensor_multicast(void *shared, const CUtensorMap *map, int x, int y,
                                                        uint64_t *barrier, uint16_t blocks)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::"
        "cluster [%0], [%1, {%2, %3}], [%4], %5;"
        :
        : "r"(shared_address(shared)), "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier)), "h"(blocks)
        : "memory");
}

typedef CUresult encode_function(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                 const cuuint64_t *, const cuuint32_t *, const cuuint32_t *,
                                 CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                 CUtensorMapFloatOOBfill);

/** cuTensorMapEncodeTiled, without linking with the driver. */
static inline encode_function *tensor_map_encoder(void)
{
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult found;
    require(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault,
                                             &found),
            "cudaGetDriverEntryPointByVersion");
    if (found != cudaDriverEntryPointSuccess || function == NULL) {
        fprintf(stderr, "the driver has no cuTensorMapEncodeTiled\n");
        exit(1);
    }
    return (encode_function *)function;
}

/** A row-major matrix of device memory, in boxes. */
static inline CUtensorMap matrix_map(CUtensorMapDataType type, size_t element_bytes, void *matrix,
                                     unsigned rows, unsigned columns, unsigned box_rows, unsigned box_columns,
                                     CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE,
                                     CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
{
    CUtensorMap map;
    const cuuint64_t sizes[] = {columns, rows}, strides[] = {columns * element_bytes};
    const cuuint32_t box[] = {box_columns, box_rows}, steps[] = {1, 1};
    const CUresult result =
        tensor_map_encoder()(&map, type, 2, matrix, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                             swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "cuTensorMapEncodeTiled: error %d\n", (int)result);
        exit(1);
    }
    return map;
}
