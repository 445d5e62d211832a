// [student: head]
/*
 * A product of 8-bit integers on tensor cores. Copies of 16 bytes run several tiles ahead (cp.async); ldmatrix takes
 * fragments from shared memory; mma.sync adds 4,096 products per instruction to sums that are exact.
 *
 *     tensor cores want four neighbours along k in a register      A [m, k] and B [n, k] are stored so: K-major
 *     in memory they are neighbours only if rows run along k       A [k, m] and B [k, n] are not: MN-major
 *
 * An MN-major operand is copied as it is, and transposed on its way from shared memory to registers: ldmatrix .trans
 * transposes pairs of bytes, one byte permutation for each register does the rest. Both ways lead to the same fragments:
 *
 *     register of A   0                1               2                3
 *     register of B   0                2               1                3                   a product takes neighbours
 *     lane 4g + q     line 2g,         line 2g + 1,    line 2g,         line 2g + 1,        a line: a row of op(A)
 *                     k 4q .. 4q + 3   the same k      k 16 further     k 16 further        or a column of op(B)
 *
 * Run:  build/bin/warpwise check 13 --kernel solutions/13_int8_gemm/int8_gemm.cu
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
    return (row * ROW_BYTES + byte) ^ (row / 2 % 8 * CHUNK);
    // [/student]
}

/** 16 bytes per copy. Only @p rows rows of @p bytes bytes are there: zeros stand for what is not. */
template <int ROWS, int ROW_BYTES, int THREADS>
__device__ inline void copy_chunks(int8_t *tile, const struct operand *operand, int rows, int bytes)
{
    // [student: copy_chunks]
    constexpr int CHUNKS = ROW_BYTES / CHUNK, STRIDE = THREADS / CHUNKS; // of a row; rows copied at a time
    static_assert(STRIDE % 16 == 0, "rows a stride apart are swizzled alike");
    int row = (int)threadIdx.x / CHUNKS, byte = (int)threadIdx.x % CHUNKS * CHUNK;
    int there = min(max(bytes - byte, 0), (int)CHUNK);
    int8_t *to = tile + swizzled<ROW_BYTES>(row, byte);
    const int8_t *from = operand->at + (size_t)row * operand->ld + byte; // not read where nothing is there
    if (rows >= ROWS && bytes >= ROW_BYTES) { // most tiles: nothing is to be filled with zeros
#pragma unroll
        for (int i = 0; i < ROWS; i += STRIDE) copy_16_async(to + i * ROW_BYTES, from + i * operand->ld);
        return;
    }
#pragma unroll
    for (int i = 0; i < ROWS; i += STRIDE, from += STRIDE * operand->ld)
        copy_16_async(to + i * ROW_BYTES, from, row + i < rows ? there : 0);
    // [/student]
}

/** The slow path, for rows that begin anywhere: a byte per load, neighbouring lanes load neighbours. */
template <int ROWS, int ROW_BYTES, int THREADS>
__device__ inline void copy_bytes(int8_t *tile, const struct operand *operand, int rows, int bytes)
{
    // [student: copy_bytes]
#pragma unroll 1
    for (int at = (int)threadIdx.x; at < ROWS * ROW_BYTES; at += THREADS) {
        int row = at / ROW_BYTES, byte = at % ROW_BYTES;
        int there = row < rows && byte < bytes;
        tile[swizzled<ROW_BYTES>(row, byte)] =
            there ? operand->at[(size_t)row * operand->ld + byte] : (int8_t)0;
    }
    // [/student]
}

/** One operand: EXTENT rows of TILE_K bytes, or if it is MN-major TILE_K rows of EXTENT bytes, as they are stored. */
template <int EXTENT, int THREADS, int MN_MAJOR>
__device__ inline void copy_tile(int8_t *tile, struct operand *operand)
{
    // [student: copy_tile]
    constexpr int ROWS = MN_MAJOR ? TILE_K : EXTENT, ROW_BYTES = MN_MAJOR ? EXTENT : TILE_K;
    int rows = MN_MAJOR ? operand->depth : operand->lines, bytes = MN_MAJOR ? operand->lines : operand->depth;
    if (operand->chunks)
        copy_chunks<ROWS, ROW_BYTES, THREADS>(tile, operand, rows, bytes);
    else
        copy_bytes<ROWS, ROW_BYTES, THREADS>(tile, operand, rows, bytes);
    operand->at += MN_MAJOR ? (size_t)TILE_K * operand->ld : (size_t)TILE_K;
    operand->depth -= TILE_K;
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
    int lane = (int)threadIdx.x % WARP, low = lane / 8 % 2, high = lane / 16, turn = OF_B && !MN_MAJOR;
    int row = lane % 8 * 2 + (turn ? high : low), further = (turn ? low : high) * CHUNK;
    if (!MN_MAJOR) {
        load_matrices(x, tile + swizzled<TILE_K>(line + row, k + further));
    } else {
        uint32_t y[4]; // y[0]: k = 4q and 4q + 2 of lines 2g and 2g + 1; y[1]: k = 4q + 1 and 4q + 3
        load_matrices_transposed(y, tile + swizzled<EXTENT>(k + further + row, line));
        x[0] = __byte_perm(y[0], y[1], 0x6240);
        x[OF_B ? 2 : 1] = __byte_perm(y[0], y[1], 0x7351);
        x[OF_B ? 1 : 2] = __byte_perm(y[2], y[3], 0x6240);
        x[3] = __byte_perm(y[2], y[3], 0x7351);
    }
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
    int step = point / SIZE::FRAGMENTS_N, j = point % SIZE::FRAGMENTS_N, warp = (int)threadIdx.x / WARP;
    int row = warp / SIZE::WARPS_N * SIZE::WARP_M, column = warp % SIZE::WARPS_N * SIZE::WARP_N;
#pragma unroll
    for (int i = 0; i < SIZE::FRAGMENTS_M && j == 0; i++)
        load_fragment<SIZE::TILE_M, LAYOUT & MN_MAJOR_A, 0>(f->a[step % 2][i], stage, row + i * MMA,
                                                            step * MMA_K);
    load_fragment<SIZE::TILE_N, LAYOUT & MN_MAJOR_B, 1>(f->b[j % 2], stage + SIZE::A_BYTES, column + j * MMA,
                                                        step * MMA_K);
    // [/student]
}

/** All rows by 16 columns, 32 along k. Of the columns the even ones are one product, the odd ones another. */
template <typename SIZE>
__device__ inline void multiply(int sum[SIZE::FRAGMENTS_M][SIZE::FRAGMENTS_N][8],
                                const struct fragments<SIZE> *f, int point)
{
    // [student: multiply]
    int step = point / SIZE::FRAGMENTS_N, j = point % SIZE::FRAGMENTS_N;
    const uint32_t *b = f->b[j % 2];
#pragma unroll
    for (int i = 0; i < SIZE::FRAGMENTS_M; i++) {
        multiply_add(&sum[i][j][0], f->a[step % 2][i], b[0], b[1]);
        multiply_add(&sum[i][j][4], f->a[step % 2][i], b[2], b[3]);
    }
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
    size_t at = (size_t)row * p.args.ldc + columns.first;
    if (!p.dequantised) {
        write_four(p.args.c, at, sum, columns.count, p.c_vectors);
        return;
    }
    float x[4], scale = p.args.row_scales[row];
    for (int y = 0; y < 4; y++) x[y] = __int2float_rn(sum[y]) * scale * columns.scale[y] + columns.bias[y];
    if (p.args.dtype_out == DTYPE_F32) {
        write_four(p.args.c, at, x, columns.count, p.c_vectors);
    } else if (p.args.dtype_out == DTYPE_F16) {
        const __half halves[4] = {__float2half_rn(x[0]), __float2half_rn(x[1]), __float2half_rn(x[2]),
                                  __float2half_rn(x[3])};
        write_four(p.args.c, at, halves, columns.count, p.c_vectors);
    } else {
        const __nv_bfloat16 halves[4] = {__float2bfloat16_rn(x[0]), __float2bfloat16_rn(x[1]),
                                         __float2bfloat16_rn(x[2]), __float2bfloat16_rn(x[3])};
        write_four(p.args.c, at, halves, columns.count, p.c_vectors);
    }
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
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    int row = m + warp / SIZE::WARPS_N * SIZE::WARP_M + lane / 4 * 2;
    int column = n + warp % SIZE::WARPS_N * SIZE::WARP_N + lane % 4 * 4;
#pragma unroll
    for (int j = 0; j < SIZE::FRAGMENTS_N; j++) {
        struct columns columns = load_columns(p, column + j * MMA);
#pragma unroll
        for (int i = 0; i < SIZE::FRAGMENTS_M; i++)
#pragma unroll
            for (int odd = 0; odd < 2; odd++) {
                const int *s = &sum[i][j][2 * odd];
                const int four[4] = {s[0], s[4], s[1], s[5]};
                if (row + i * MMA + odd < p.args.m) write_row(p, columns, row + i * MMA + odd, four);
            }
    }
    // [/student]
}

/* ---- the kernel ---------------------------------------------------------------------------------------- */

/** One block, one tile of C: walks along k, copies p.stages - 1 tiles ahead, fragments one step ahead. */
template <typename SIZE, int LAYOUT>
__global__ void __launch_bounds__(SIZE::THREADS, SIZE::MIN_BLOCKS) gemm_kernel(struct product p)
{
    // [student: gemm_kernel]
    constexpr int POINTS = STEPS * SIZE::FRAGMENTS_N; // of a tile: a step along k and a fragment of B
    extern __shared__ int4 shared_memory[];           // [p.stages] of STAGE_BYTES: a tile of A, then one of B
    const struct int8_gemm_args &args = p.args;
    struct tile_index tile = raster_tile<RASTER_ROWS>((int)blockIdx.x, p.tiles_m, p.tiles_n);
    int m = tile.row * SIZE::TILE_M, n = tile.column * SIZE::TILE_N;
    struct operand a = start_operand(args.a, LAYOUT & MN_MAJOR_A, args.lda, p.a_chunks, m, args.m, args.k);
    struct operand b = start_operand(args.b, LAYOUT & MN_MAJOR_B, args.ldb, p.b_chunks, n, args.n, args.k);
    int8_t *const first = (int8_t *)shared_memory, *const end = first + p.stages * SIZE::STAGE_BYTES;
    for (int8_t *stage = first; stage < end - SIZE::STAGE_BYTES; stage += SIZE::STAGE_BYTES)
        copy_tiles<SIZE, LAYOUT>(stage, &a, &b);
    wait_for_tile(p.stages);
    __syncthreads(); // the first tile is there for everybody before anybody reads it

    int sum[SIZE::FRAGMENTS_M][SIZE::FRAGMENTS_N][8] = {};
    struct fragments<SIZE> f;
    load_fragments<SIZE, LAYOUT>(&f, first, 0);
    int8_t *now = first, *free = end - SIZE::STAGE_BYTES; // being multiplied; to be filled next
    for (int left = divide_up(args.k, TILE_K); left > 0; left--) {
        int8_t *next = now + SIZE::STAGE_BYTES < end ? now + SIZE::STAGE_BYTES : first;
        copy_tiles<SIZE, LAYOUT>(free, &a, &b);
#pragma unroll
        for (int at = 0; at < POINTS; at++) {
            int ahead = (at + 1) % POINTS, more = ahead > 0 || left > 1;
            if (ahead == 0 && more) {
                wait_for_tile(p.stages);
                // The next tile is there for everybody before anybody reads it; and everybody has read all of this
                // one, which the copies of the next iteration overwrite.
                __syncthreads();
            }
            if (more) load_fragments<SIZE, LAYOUT>(&f, ahead > 0 ? now : next, ahead);
            multiply<SIZE>(sum, &f, at);
        }
        free = now, now = next;
    }
    write_sums<SIZE>(p, m, n, sum);
    // [/student]
}

/** Starts one block per tile of C, with as many stages as the device has room for, at most MOST_STAGES: 4, 3 or 2 large ones. */
template <typename SIZE, int LAYOUT> static enum kernel_status launch(struct product *p, cudaStream_t stream)
{
    // [student: launch]
    int room = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) / SIZE::STAGE_BYTES;
    p->stages = room < MOST_STAGES ? room : MOST_STAGES;
    p->tiles_m = divide_up(p->args.m, SIZE::TILE_M), p->tiles_n = divide_up(p->args.n, SIZE::TILE_N);
    int bytes = p->stages * SIZE::STAGE_BYTES; // more than 48 KB must be asked for
    if (cudaFuncSetAttribute(gemm_kernel<SIZE, LAYOUT>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) !=
        cudaSuccess)
        return launch_status();
    // The check of the arguments saw to it that even smaller tiles than these can be counted in an int.
    int blocks = p->tiles_m * p->tiles_n;
    gemm_kernel<SIZE, LAYOUT><<<(unsigned)blocks, SIZE::THREADS, (size_t)bytes, stream>>>(*p);
    return launch_status();
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
