/**
 * @file warp_matrix.h
 * @brief The instructions of a kernel on tensor cores that CUDA C has no words for: thin wrappers, one instruction each.
 *
 * A *fragment* is what a lane holds of a small matrix that a whole warp multiplies. With g = lane / 4, t = lane % 4:
 *
 *     A, 16 x 16   a[0]: row g,      columns 2t, 2t + 1      a[2]: row g,      columns 2t + 8, 2t + 9
 *                  a[1]: row g + 8,  columns 2t, 2t + 1      a[3]: row g + 8,  columns 2t + 8, 2t + 9
 *     B, 16 x 8    b[0]: rows 2t, 2t + 1, column g           b[1]: rows 2t + 8, 2t + 9, column g
 *     C, 16 x 8    c[0], c[1]: row g, columns 2t, 2t + 1     c[2], c[3]: row g + 8, columns 2t, 2t + 1
 *
 * A and B are 16-bit elements, two to a register, the one of lower index in the lower half; C is f32. All 32 lanes must
 * execute the instructions of fragments together. All of this needs sm_80; before that a call ends the kernel.
 * @see PTX ISA, "Warp-level matrix instructions" (mma.m16n8k16, ldmatrix) and "cp.async"
 */
#ifndef WARPWISE_WARP_MATRIX_H
#define WARPWISE_WARP_MATRIX_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#include "shared_address.h"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
/** @brief 1 where these instructions exist; not for those who include this file. */
#define WARP_MATRIX 1
#else
#define WARP_MATRIX 0 /* a translation for a GPU on which the kernel is never launched */
#endif

/**
 * @brief Starts to copy 16 bytes from device to shared memory; @p there 0: 16 zero bytes, and @p from is not read.
 *
 * Both addresses are multiples of 16. The bytes have arrived after wait_copies(), for the thread that asked for them;
 * for others after a barrier, too.
 */
__device__ inline void copy_16_bytes(void *to, const void *from, int there)
{
#if WARP_MATRIX
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(to)), "l"(from), "r"(there ? 16 : 0)
                 : "memory");
#else
    __trap();
#endif
}

/** @brief Waits until all copies that this thread has started are there. */
__device__ inline void wait_copies(void)
{
#if WARP_MATRIX
    asm volatile("cp.async.wait_all;" : : : "memory");
#else
    __trap();
#endif
}

/**
 * @brief Loads four 8 x 8 matrices of 16-bit elements.
 * @param x   x[j] is the lane's part of matrix j: row g, columns 2t, 2t + 1
 * @param row shared address of row lane % 8 of matrix lane / 8: 16 bytes, aligned to 16
 */
__device__ inline void load_matrices(uint32_t x[4], uint32_t row)
{
#if WARP_MATRIX
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(row)
                 : "memory");
#else
    __trap();
#endif
}

/** @brief The same, each matrix transposed: @p x[j] is rows 2t, 2t + 1, column g of matrix j. */
__device__ inline void load_matrices_transposed(uint32_t x[4], uint32_t row)
{
#if WARP_MATRIX
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(row)
                 : "memory");
#else
    __trap();
#endif
}

/** @brief C += A B, 16 x 8 x 16, elements of type T. */
template <typename T>
__device__ inline void multiply_add(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1);
/** @brief Two floats as two elements of type T in a register, rounded to nearest, @p low in the lower half. */
template <typename T> __device__ inline uint32_t pack_elements(float low, float high);
/** @brief The element in the lower (0) or upper (1) half of @p pair, as a float. */
template <typename T> __device__ inline float unpack_element(uint32_t pair, int upper);
/** @brief 1 if one of the two elements of @p pair is infinite or NaN: all bits of its exponent are 1. */
template <typename T> __device__ inline int not_finite(uint32_t pair);

/** @overload */
template <>
__device__ inline void multiply_add<__half>(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
#if WARP_MATRIX
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    __trap();
#endif
}
/** @overload */
template <>
__device__ inline void multiply_add<__nv_bfloat16>(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
#if WARP_MATRIX
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    __trap();
#endif
}
/** @overload */
template <> __device__ inline uint32_t pack_elements<__half>(float low, float high)
{
    uint32_t pair = 0;
#if WARP_MATRIX
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#else
    __trap();
#endif
    return pair;
}
/** @overload */
template <> __device__ inline uint32_t pack_elements<__nv_bfloat16>(float low, float high)
{
    uint32_t pair = 0;
#if WARP_MATRIX
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#else
    __trap();
#endif
    return pair;
}
/** @overload */
template <> __device__ inline float unpack_element<__half>(uint32_t pair, int upper)
{
    return __half2float(__ushort_as_half((unsigned short)(upper ? pair >> 16 : pair & 0xffff)));
}
/** @overload */
template <> __device__ inline float unpack_element<__nv_bfloat16>(uint32_t pair, int upper)
{
    return __uint_as_float(upper ? pair & 0xffff0000u : pair << 16);
}
/** @overload */
template <> __device__ inline int not_finite<__half>(uint32_t pair)
{
    return (((pair & 0x7c007c00u) + 0x04000400u) & 0x80008000u) != 0; // a full exponent carries into the sign
}
/** @overload */
template <> __device__ inline int not_finite<__nv_bfloat16>(uint32_t pair)
{
    return (((pair & 0x7f807f80u) + 0x00800080u) & 0x80008000u) != 0;
}

/** @brief 2^x in one instruction, within 2 ulp; results below the normal range are 0. */
__device__ inline float exp2_fast(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

#undef WARP_MATRIX

#endif
