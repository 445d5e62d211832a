/**
 * @file matrix_fragments.h
 * @brief Given in lesson 14, for tensor cores: tiles of 16-bit elements in shared memory, fragments of them, one product. The
 *        instructions themselves are those of warp_matrix.h.
 *
 * `mma.sync` m16n8k16 multiplies A [16 x 16] by B [16 x 8] and adds to C [16 x 8]. With g = lane / 4 and t = lane % 4:
 *
 *     A: x[0] row g     columns 2t, 2t+1        B: x[0] rows 2t, 2t+1   column g       C: c[0], c[1] row g     columns 2t, 2t+1
 *        x[1] row g + 8                            x[1] rows 2t + 8 ...                   c[2], c[3] row g + 8
 *        x[2], x[3] the same, columns + 8
 *
 * Two C side by side, rounded to 16 bits, are an A: what one product gives is what the next one takes, in the same lane.
 *
 * A tile is rows of ROW_BYTES bytes. The 16-byte column c of row r lies at column c ^ (r % 8), so that the eight rows that
 * `ldmatrix` reads at a time lie in different banks.
 */
#ifndef WARPWISE_MATRIX_FRAGMENTS_H
#define WARPWISE_MATRIX_FRAGMENTS_H

#include "warp_matrix.h"

/** @brief 1 in code for devices that have these instructions; kernels for others are left empty and never launched. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define HAS_MATRIX_FRAGMENTS 0
#else
#define HAS_MATRIX_FRAGMENTS 1
#endif

/** @brief Two 16-bit elements to a register. */
struct fragment_a {
    unsigned x[4]; /**< [16 x 16] */
};
/** @brief Two B side by side. */
struct fragment_b {
    unsigned x[4]; /**< [16 x 16]: x[0], x[1] are columns 0 ... 7, x[2], x[3] columns 8 ... 15 */
};

/** @brief One element of storage, as a float. */
__device__ inline float element_to_float(float x)
{
    return x;
}
/** @overload */
__device__ inline float element_to_float(__half x)
{
    return __half2float(x);
}
/** @overload */
__device__ inline float element_to_float(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

/** @brief Two floats, rounded, in the order in which they lie in memory. */
template <typename T> __device__ inline unsigned pack(float low, float high, T)
{
    return pack_elements<T>(low, high);
}

/** @brief Stores two floats as two elements that follow each other, in one instruction. */
template <typename T> __device__ inline void store_pair(T *to, float low, float high)
{
    *(unsigned *)to = pack(low, high, T());
}
/** @overload */
__device__ inline void store_pair(float *to, float low, float high)
{
    *(float2 *)to = make_float2(low, high);
}

/** @brief Where the 16-byte column @p column of row @p row lies in a tile, in bytes. */
template <int ROW_BYTES> __device__ inline unsigned tile_offset(int row, int column)
{
    constexpr int COLUMNS = ROW_BYTES / 16;
    int swizzle = COLUMNS >= 8 ? row % 8 : row / 2 % 4; // 4 columns: two rows are as long as all banks
    return (unsigned)(row * ROW_BYTES + (column ^ swizzle) * 16);
}

/*
 * In the loads below rows begin at a multiple of 8 and columns at a multiple of 2, and the tile at a multiple of ROW_BYTES. So
 * where a lane reads is one XOR away from where it would read the first row and column, and the rest is in the instruction.
 */

/** @brief tile_offset() of row @p row + @p more, column @p column + @p next, where @p more and @p next are those of a lane. */
template <int ROW_BYTES>
__device__ inline unsigned lane_place(unsigned tile, int row, int more, int column, int next)
{
    return ((tile + tile_offset<ROW_BYTES>(more, next)) ^ (unsigned)(column * 16)) +
           (unsigned)(row * ROW_BYTES);
}

/** @brief A = rows @p row ... + 15, 16-byte columns @p column and the next, of the tile at @p tile. */
template <int ROW_BYTES> __device__ inline struct fragment_a load_a(unsigned tile, int row, int column)
{
    int lane = (int)threadIdx.x % 32;
    struct fragment_a a;
    load_matrices(a.x, lane_place<ROW_BYTES>(tile, row, lane % 16, column, lane / 16));
    return a;
}

/** @brief A = the transpose of that. */
template <int ROW_BYTES>
__device__ inline struct fragment_a load_a_transposed(unsigned tile, int row, int column)
{
    int lane = (int)threadIdx.x % 32;
    struct fragment_a a;
    load_matrices_transposed(
        a.x, lane_place<ROW_BYTES>(tile, row, lane / 16 * 8 + lane % 8, column, lane / 8 % 2));
    return a;
}

/** @brief B = rows @p row ... + 15, 16-byte columns @p column and the next, of the tile at @p tile. */
template <int ROW_BYTES> __device__ inline struct fragment_b load_b(unsigned tile, int row, int column)
{
    int lane = (int)threadIdx.x % 32;
    struct fragment_b b;
    load_matrices_transposed(b.x, lane_place<ROW_BYTES>(tile, row, lane % 16, column, lane / 16));
    return b;
}

/** @brief B = the transpose of that. */
template <int ROW_BYTES>
__device__ inline struct fragment_b load_b_transposed(unsigned tile, int row, int column)
{
    int lane = (int)threadIdx.x % 32;
    struct fragment_b b;
    load_matrices(b.x, lane_place<ROW_BYTES>(tile, row, lane / 16 * 8 + lane % 8, column, lane / 8 % 2));
    return b;
}

/** @brief C += A times columns 8 * @p half ... of B. */
template <typename T>
__device__ inline void multiply_add(float c[4], const struct fragment_a &a, const struct fragment_b &b,
                                    int half, T)
{
    multiply_add<T>(c, a.x, b.x[2 * half], b.x[2 * half + 1]);
}

/** @brief Closes the group of the copies begun so far. */
__device__ inline void commit_copies(void)
{
    asm volatile("cp.async.commit_group;" : : : "memory");
}

/** @brief Waits until this thread's copies have arrived, but for those of the last PENDING groups. */
template <int PENDING> __device__ inline void wait_for_copies(void)
{
    asm volatile("cp.async.wait_group %0;" : : "n"(PENDING) : "memory");
}

#endif
