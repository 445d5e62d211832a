// Generated, but for what stands between [student: ...] and [/student]: that is yours.
// [student: head]
/*
 * Lesson 13: the file you write. Read README.md beside it, then fill in what stands between the lines
 * `[student: ...]` and `[/student]`, in the order of the page. Everything else is given: leave it as it is.
 * You may add functions and constants inside your regions and declare shared memory as you like.
 *
 *     build/bin/warpwise check 13                 judges what is there
 *     build/bin/warpwise check 13 --case NAME     looks at one case
 */
// [/student]
#include "int8_gemm.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernel_launch.h"
#include "rasterization.h"
#include "tile_sizes.h" // from the block's tile down to the fragment
#include "warp_int8.h"  // wrappers for cp.async, ldmatrix and mma.sync

/** Which operands are MN-major, so that ldmatrix transposes them: the sum of these that apply. The others are K-major. */
enum { MN_MAJOR_B = 1, MN_MAJOR_A = 2 };

/** The kernel's arguments. */
struct product {
    struct int8_gemm_args args;
    int tiles_m, tiles_n;   // of C
    int stages;             // in shared memory
    int a_chunks, b_chunks; // whether 16 bytes can be copied at once
    int c_vectors;          // whether 4 elements of C can be written at once
    int dequantised;        // 0: C holds the sums
};

/** One operand as a block sees it. */
struct operand {
    const int8_t *at; // its first byte of the next tile
    size_t ld;        // bytes from one stored row to the next
    int chunks;       // whether 16 bytes can be copied at once
    int lines;        // rows of op(A) or columns of op(B) from the tile's first one to the end
    int depth;        // bytes along k that are left
};

/** What a warp multiplies, and what it loads meanwhile: the next step of A, the next 16 columns of B. */
template <typename SIZE> struct fragments {
    uint32_t a[2][SIZE::FRAGMENTS_M][4]; // of one step along k: step % 2 says which
    uint32_t b[2][4];                    // of one point: point % 2 says which
};

/** What belongs to four neighbouring columns of C. */
struct columns {
    int first, count;        // count of them are there
    float scale[4], bias[4]; // of the dequantised product
};

/** Four neighbouring elements of C. */
template <typename T> struct alignas(4 * sizeof(T)) pack {
    T x[4];
};

/* ---- from device memory to shared memory --------------------------------------------------------------- */

/** An operand whose tile begins at line @p first of @p extent, and at k = 0. */
__device__ inline struct operand start_operand(const int8_t *matrix, // [extent, ld], or [k, ld] if mn_major
                                               int mn_major, int ld, int chunks, int first, int extent, int k)
{
    return {matrix + (mn_major ? (size_t)first : (size_t)first * ld), (size_t)ld, chunks, extent - first, k};
}

/**
 * Where byte @p byte of row @p row lies in a tile. An ldmatrix reads chunks in the same place of rows 2r or 2r + 1, r = 0 to 7;
 * the exclusive or sends each of the eight to banks of its own.
 */
template <int ROW_BYTES> __device__ inline int swizzled(int row, int byte)
{
    // [student: swizzled]
    // TODO: the place of a byte within a tile, so that an ldmatrix finds no two rows in the same banks.
    return row * ROW_BYTES + byte;
    // [/student]
}

/** 16 bytes per copy. Only @p rows rows of @p bytes bytes are there: zeros stand for what is not. */
template <int ROWS, int ROW_BYTES, int THREADS>
__device__ inline void copy_chunks(int8_t *tile, const struct operand *operand, int rows, int bytes)
{
    // [student: copy_chunks]
    // TODO: each thread copies chunks of 16 bytes; copy_16_async() puts zeros in place of what is not there.
    (void)tile, (void)operand, (void)rows, (void)bytes;
    // [/student]
}

/** The slow path, for rows that begin anywhere: a byte per load, neighbouring lanes load neighbours. */
template <int ROWS, int ROW_BYTES, int THREADS>
__device__ inline void copy_bytes(int8_t *tile, const struct operand *operand, int rows, int bytes)
{
    // [student: copy_bytes]
    // TODO: the same byte by byte, for rows that begin anywhere.
    (void)tile, (void)operand, (void)rows, (void)bytes;
    // [/student]
}

/** One operand: EXTENT rows of TILE_K bytes, or if it is MN-major TILE_K rows of EXTENT bytes, as they are stored. */
template <int EXTENT, int THREADS, int MN_MAJOR>
__device__ inline void copy_tile(int8_t *tile, struct operand *operand)
{
    // [student: copy_tile]
    // TODO: how many rows and bytes of this tile are there? Copy it by chunks or by bytes, and move on along k.
    (void)tile, (void)operand;
    // [/student]
}

/** Starts to copy the next tile of both operands: one group of copies, which is empty past the end of k. */
template <typename SIZE, int LAYOUT>
__device__ inline void copy_tiles(int8_t *stage, struct operand *a, struct operand *b)
{
    if (a->depth > 0) {
        copy_tile<SIZE::TILE_M, SIZE::THREADS, LAYOUT & MN_MAJOR_A>(stage, a);
        copy_tile<SIZE::TILE_N, SIZE::THREADS, LAYOUT & MN_MAJOR_B>(stage + SIZE::A_BYTES, b);
    }
    commit_copies();
}

/** Waits until this thread's copies of the oldest tile are done; those of stages - 2 others may be under way. */
__device__ inline void wait_for_tile(int stages)
{
    if (stages == 4)
        wait_copies<2>();
    else if (stages == 3)
        wait_copies<1>();
    else
        wait_copies<0>();
}

/* ---- from shared memory to registers, and the product -------------------------------------------------- */

/**
 * Loads 16 lines by 32 along k: x[0] is line 2g, x[1] line 2g + 1, both at k = 4q .. 4q + 3; x[2] and x[3] are the same
 * lines 16 further along k. OF_B: x[1] and x[2] change places. Each of the four matrices is made of every second row.
 */
template <int EXTENT, int MN_MAJOR, int OF_B>
__device__ inline void load_fragment(uint32_t x[4], const int8_t *tile, int line, int k)
{
    // [student: load_fragment]
    // TODO: which row of shared memory does this lane name? If the operand is MN-major, permute the bytes afterwards.
    (void)x, (void)tile, (void)line, (void)k;
    // [/student]
}

/**
 * Loads what point @p point multiplies: step point / FRAGMENTS_N along k, and of the warp's columns the 16 with number
 * point % FRAGMENTS_N. That is one fragment of B, and where a step begins all of the warp's rows of A.
 */
template <typename SIZE, int LAYOUT>
__device__ inline void load_fragments(struct fragments<SIZE> *f, const int8_t *stage, int point)
{
    // [student: load_fragments]
    // TODO: where a step begins, the warp's fragments of A; at every point, one of B.
    (void)f, (void)stage, (void)point;
    // [/student]
}

/** All rows by 16 columns, 32 along k. Of the columns the even ones are one product, the odd ones another. */
template <typename SIZE>
__device__ inline void multiply(int sum[SIZE::FRAGMENTS_M][SIZE::FRAGMENTS_N][8],
                                const struct fragments<SIZE> *f, int point)
{
    // [student: multiply]
    // TODO: two products for each fragment of A: the even columns of B, and the odd ones.
    (void)sum, (void)f, (void)point;
    // [/student]
}

/* ---- from registers to C ------------------------------------------------------------------------------- */

/** The factors of four columns, 0 where there is no bias. */
__device__ inline struct columns load_columns(const struct product &p, int column)
{
    struct columns columns = {column, p.args.n - column, {}, {}};
#pragma unroll
    for (int y = 0; y < 4; y++) {
        if (!p.dequantised || y >= columns.count) continue;
        columns.scale[y] = p.args.column_scales[column + y];
        if (p.args.bias != NULL) columns.bias[y] = p.args.bias[column + y];
    }
    return columns;
}

/** In one instruction if @p vector and all four are there, otherwise one by one. */
template <typename T>
__device__ inline void write_four(void *c, size_t at, const T x[4], int count, int vector)
{
    T *to = (T *)c + at;
    if (vector && count >= 4) {
        const struct pack<T> four = {
            x[0], x[1], x[2], x[3]
        };
        *(struct pack<T> *)to = four;
        return;
    }
    for (int y = 0; y < 4; y++)
        if (y < count) to[y] = x[y];
}

/** Four neighbours of a row of C: as they are, or converted to float, scaled, and rounded once to what C stores. */
__device__ inline void write_row(const struct product &p, const struct columns &columns, int row,
                                 const int sum[4])
{
    // [student: write_row]
    // TODO: four neighbours of a row of C: as they are, or scaled and rounded once to what C stores.
    (void)p, (void)columns, (void)row, (void)sum;
    // [/student]
}

/**
 * Writes a thread's part of the block's tile, which begins at row @p m and column @p n of C. Of each 16 x 16 sums a lane
 * has four neighbours in row 2g and four in row 2g + 1: the first product has their even columns, the second the odd ones.
 */
template <typename SIZE>
__device__ inline void write_sums(const struct product &p, int m, int n,
                                  const int sum[SIZE::FRAGMENTS_M][SIZE::FRAGMENTS_N][8])
{
    // [student: write_sums]
    // TODO: which rows and columns of C does this lane have?
    (void)p, (void)m, (void)n, (void)sum;
    // [/student]
}

/* ---- the kernel ---------------------------------------------------------------------------------------- */

/** One block, one tile of C: walks along k, copies p.stages - 1 tiles ahead, fragments one step ahead. */
template <typename SIZE, int LAYOUT>
__global__ void __launch_bounds__(SIZE::THREADS, SIZE::MIN_BLOCKS) gemm_kernel(struct product p)
{
    // [student: gemm_kernel]
    // TODO: find the tile of C, start copies of the first tiles, walk along k, write the sums.
    (void)p;
    // [/student]
}

/** Starts one block per tile of C, with as many stages as the device has room for, at most MOST_STAGES: 4, 3 or 2 large ones. */
template <typename SIZE, int LAYOUT> static enum kernel_status launch(struct product *p, cudaStream_t stream)
{
    // [student: launch]
    // TODO: how many stages fit, tiles of C, ask for more than 48 KB of shared memory, and start a block per tile.
    (void)p, (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/* ---- entry points -------------------------------------------------------------------------------------- */

/** Finds the kernel of a layout: how a fragment is loaded must be known when compiling. */
template <typename SIZE> static enum kernel_status launch_layout(struct product *p, cudaStream_t stream)
{
    // Rows of A [m, k] run along k, those of B [k, n] do not.
    switch ((p->args.trans_a ? MN_MAJOR_A : 0) + (p->args.trans_b ? 0 : MN_MAJOR_B)) {
    case 0:
        return launch<SIZE, 0>(p, stream);
    case MN_MAJOR_B:
        return launch<SIZE, MN_MAJOR_B>(p, stream);
    case MN_MAJOR_A:
        return launch<SIZE, MN_MAJOR_A>(p, stream);
    default:
        return launch<SIZE, MN_MAJOR_A + MN_MAJOR_B>(p, stream);
    }
}

/** Whether every row begins at a multiple of 16 bytes. Where it ends does not matter: a copy may bring fewer. */
static int is_chunked(const void *matrix, int ld)
{
    return ld % CHUNK == 0 && is_aligned(matrix, CHUNK);
}

/** Checks the arguments, and finds the size of tiles: large ones if they keep at least three SMs of four busy. */
static enum kernel_status int8_gemm(const struct int8_gemm_args *args, int dequantised, cudaStream_t stream)
{
    enum kernel_status status = int8_gemm_args_check(args, dequantised);
    if (status != KERNEL_OK) return status;
    if (device_attribute(cudaDevAttrComputeCapabilityMajor) < 8) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    struct product p;
    p.args = *args;
    p.dequantised = dequantised;
    p.a_chunks = is_chunked(args->a, args->lda);
    p.b_chunks = is_chunked(args->b, args->ldb);
    p.c_vectors = args->ldc % 4 == 0 && is_aligned(args->c, 4 * int8_gemm_out_bytes(args, dequantised));
    double tiles = (double)divide_up(args->m, large_tile::TILE_M) * divide_up(args->n, large_tile::TILE_N);
    return tiles >= 0.75 * device_attribute(cudaDevAttrMultiProcessorCount)
               ? launch_layout<large_tile>(&p, stream)
               : launch_layout<small_tile>(&p, stream);
}

enum kernel_status int8_gemm_s32(const struct int8_gemm_args *args, cudaStream_t stream)
{
    return int8_gemm(args, 0, stream);
}

enum kernel_status int8_gemm_dequantised(const struct int8_gemm_args *args, cudaStream_t stream)
{
    return int8_gemm(args, 1, stream);
}
