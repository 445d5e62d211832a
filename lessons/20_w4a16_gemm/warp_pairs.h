/**
 * @file warp_pairs.h
 * @brief Given in lesson 20: arithmetic on two 16-bit numbers in one register, and copies that are counted in groups.
 *
 * The number of lower index is in the lower half. In 16 bits, m + q is written by putting the bits of q into a power of two m
 * whose last bits count 1: 1024 in f16, 128 in bfloat16, which has three bits less.
 */
#ifndef WARPWISE_WARP_PAIRS_H
#define WARPWISE_WARP_PAIRS_H

#include "warp_matrix.h" /* fragments, copy_16_bytes() */

/** @brief The power of two, twice. */
template <typename T> struct magic;
/** @brief 1024. */
template <> struct magic<__half> {
    enum { BITS = 0x64006400 /**< as a register holds it */ };
};
/** @brief 128. */
template <> struct magic<__nv_bfloat16> {
    enum { BITS = 0x43004300 /**< as a register holds it */ };
};

/** @brief (x & mask) | bits: one instruction, which the compiler does not find if both are constants. */
__device__ inline uint32_t and_or(uint32_t x, uint32_t mask, uint32_t bits)
{
    uint32_t y;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(y) : "r"(x), "r"(mask), "r"(bits));
    return y;
}

/** @brief x - y, twice, each rounded to nearest. */
template <typename T> __device__ inline uint32_t subtract_pairs(uint32_t x, uint32_t y);
/** @brief x * y, twice, each rounded to nearest. */
template <typename T> __device__ inline uint32_t multiply_pairs(uint32_t x, uint32_t y);

/** @overload */
template <> __device__ inline uint32_t subtract_pairs<__half>(uint32_t x, uint32_t y)
{
    __half2 z = __hsub2(*(const __half2 *)&x, *(const __half2 *)&y);
    return *(const uint32_t *)&z;
}
/** @overload */
template <> __device__ inline uint32_t multiply_pairs<__half>(uint32_t x, uint32_t y)
{
    __half2 z = __hmul2(*(const __half2 *)&x, *(const __half2 *)&y);
    return *(const uint32_t *)&z;
}
/** @overload */
template <> __device__ inline uint32_t subtract_pairs<__nv_bfloat16>(uint32_t x, uint32_t y)
{
    __nv_bfloat162 z = __hsub2(*(const __nv_bfloat162 *)&x, *(const __nv_bfloat162 *)&y);
    return *(const uint32_t *)&z;
}
/** @overload */
template <> __device__ inline uint32_t multiply_pairs<__nv_bfloat16>(uint32_t x, uint32_t y)
{
    __nv_bfloat162 z = __hmul2(*(const __nv_bfloat162 *)&x, *(const __nv_bfloat162 *)&y);
    return *(const uint32_t *)&z;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/** @brief Asks the L2 cache for the 32 bytes around @p address: a hint, which changes no value. */
__device__ inline void prefetch_l2(const void *address)
{
    asm volatile("prefetch.global.L2 [%0];" : : "l"(address));
}

/** @brief The copies that this thread has started since the last call become a group, also if there are none. */
__device__ inline void commit_copies(void)
{
    asm volatile("cp.async.commit_group;" : : : "memory");
}

/** @brief Waits until at most the last PENDING groups of this thread are under way. Others need a barrier as well. */
template <int PENDING> __device__ inline void wait_groups(void)
{
    asm volatile("cp.async.wait_group %0;" : : "n"(PENDING) : "memory");
}

#else /* code for a GPU on which the kernel is never launched */

__device__ inline void prefetch_l2(const void *)
{
    __trap();
}
__device__ inline void commit_copies(void)
{
    __trap();
}
template <int PENDING> __device__ inline void wait_groups(void)
{
    __trap();
}

#endif

#endif
