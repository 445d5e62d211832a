/**
 * @file hopper.h
 * @brief Inline PTX of mbarriers, bulk copies and tensor copies for the programs of tests/simt: a function for each instruction.
 */
#ifndef WARPWISE_TESTS_SIMT_HOPPER_H
#define WARPWISE_TESTS_SIMT_HOPPER_H

#include "testing.h"

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

#endif
