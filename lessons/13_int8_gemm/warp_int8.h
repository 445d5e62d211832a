/**
 * @file warp_int8.h
 * @brief The instructions of lesson 13 that CUDA C has no words for: thin wrappers, one instruction each.
 *
 * A *fragment* is what a lane holds of a matrix that a whole warp multiplies. With g = lane / 4 and q = lane % 4, and four
 * neighbours along k in each register, the one of the smallest k in the lowest byte:
 *
 *     A, 16 x 32   a[0]: row g,     k = 4q .. 4q + 3         a[2]: row g,     k = 4q + 16 .. 4q + 19
 *                  a[1]: row g + 8, k = 4q .. 4q + 3         a[3]: row g + 8, k = 4q + 16 .. 4q + 19
 *     B, 32 x 8    b0: k = 4q .. 4q + 3, column g            b1: k = 4q + 16 .. 4q + 19, column g
 *     C, 16 x 8    c[0], c[1]: row g, columns 2q, 2q + 1     c[2], c[3]: row g + 8, columns 2q, 2q + 1
 *
 * All lanes of a warp execute load_matrices() and multiply_add() together. All of this needs sm_80.
 * @see PTX ISA, "Warp-level matrix instructions" (mma.m16n8k32, ldmatrix) and "cp.async"
 */
#ifndef WARPWISE_WARP_INT8_H
#define WARPWISE_WARP_INT8_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "shared_address.h"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/**
 * @brief Starts to copy 16 bytes to shared memory: @p bytes of them, 0 to 16, from @p from, and zeros for the others.
 *
 * Both addresses are multiples of 16. Where @p bytes is 0 nothing is read.
 */
__device__ inline void copy_16_async(void *to, const void *from, int bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(to)), "l"(from), "r"(bytes)
                 : "memory");
}

/** @brief The same with all 16 bytes. Where it is known that none is missing, this spares six instructions per copy. */
__device__ inline void copy_16_async(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :
                 : "r"(shared_address(to)), "l"(from)
                 : "memory");
}

/** @brief The copies that this thread has started since the last call become a group, also if there are none. */
__device__ inline void commit_copies(void)
{
    asm volatile("cp.async.commit_group;" : : : "memory");
}

/** @brief Waits until at most the last PENDING groups of this thread are under way. Others need a barrier as well. */
template <int PENDING> __device__ inline void wait_copies(void)
{
    asm volatile("cp.async.wait_group %0;" : : "n"(PENDING) : "memory");
}

/**
 * @brief Loads four 8 x 8 matrices of 16-bit elements: x[j] is elements 2q and 2q + 1 of row g of matrix j.
 * @param[out] x   what the lane gets of the four matrices
 * @param[in]  row row lane % 8 of matrix lane / 8: 16 bytes of shared memory at a multiple of 16
 */
__device__ inline void load_matrices(uint32_t x[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/** @brief The same, each matrix transposed: x[j] is element g of row 2q (low half) and of row 2q + 1 (high half). */
__device__ inline void load_matrices_transposed(uint32_t x[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/** @brief C += A B, 16 x 8 x 32, exact: 4,096 products in one instruction. */
__device__ inline void multiply_add(int c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#else /* code for a GPU on which the kernel is never launched */

__device__ inline void copy_16_async(void *, const void *, int)
{
    __trap();
}
__device__ inline void copy_16_async(void *, const void *)
{
    __trap();
}
__device__ inline void commit_copies(void)
{
    __trap();
}
template <int PENDING> __device__ inline void wait_copies(void)
{
    __trap();
}
__device__ inline void load_matrices(uint32_t[4], const void *)
{
    __trap();
}
__device__ inline void load_matrices_transposed(uint32_t[4], const void *)
{
    __trap();
}
__device__ inline void multiply_add(int[4], const uint32_t[4], uint32_t, uint32_t)
{
    __trap();
}

#endif

#endif
