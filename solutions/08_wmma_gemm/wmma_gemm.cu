// [student: head]
/*
 * C = A * B on tensor cores. A block owns a tile of C and walks along k: a slice of A and a slice of B go to
 * shared memory, from where warps load them as fragments. What sticks out of the matrices becomes zeros on the
 * way into shared memory, so the multiplication knows nothing of edges.
 *
 *                    TILE_K                      TILE_N
 *                  +--------+            TILE_K +--------------+  b_tile
 *                  |        |                   +--------------+
 *         TILE_M   | a_tile |            +------+------+------ ...
 *                  |        |     TILE_M |warp 0|warp 1|            a block's tile of C, in accumulators:
 *                  +--------+            +------+------+ ...        WARP_M x WARP_N of it belong to a warp
 *
 * Paper: Markidis et al. 2018, "NVIDIA tensor core programmability, performance & precision".
 * Run:   build/bin/warpwise check 08 --kernel solutions/08_wmma_gemm/wmma_gemm.cu
 */
// [/student]
#include "wmma_gemm.h"

#include <cuda_fp16.h>
#include <mma.h>

/* Everything that can be tuned. NOTES.md beside the solution lists settings worth a try. */
enum {
    TILE_M = 128,  // rows of C of a block
    TILE_N = 64,   // columns of C of a block
    TILE_K = 64,   // terms of the sum that are in shared memory at a time
    WARP_M = 64,   // rows of C of a warp
    WARP_N = 32,   // columns of C of a warp
    PAD = 8,       // halves after each row of a tile: the next row begins 4 banks further
    MIN_BLOCKS = 4 // per SM: while one loads, another multiplies
};

enum {
    WARP = 32,
    FRAGMENT = 16, // rows, columns and terms of one matrix instruction
    CHUNK = 8,     // halves in 16 bytes, the most that one thread loads at once
    WARPS_M = TILE_M / WARP_M,
    WARPS_N = TILE_N / WARP_N,
    WARPS = WARPS_M * WARPS_N,
    THREADS = WARPS * WARP,
    FRAGMENTS_M = WARP_M / FRAGMENT,
    FRAGMENTS_N = WARP_N / FRAGMENT,
    EDGE_PAD = 8 // floats after each row of a fragment that is on its way to the edge of C
};

static_assert(TILE_M % WARP_M == 0 && TILE_N % WARP_N == 0, "warps share the tile out evenly");
static_assert(WARP_M % FRAGMENT == 0 && WARP_N % FRAGMENT == 0 && TILE_K % FRAGMENT == 0,
              "a warp has whole fragments");
static_assert(TILE_M * TILE_K % (THREADS * CHUNK) == 0 && TILE_K * TILE_N % (THREADS * CHUNK) == 0 &&
                  THREADS % (TILE_K / CHUNK) == 0 && THREADS % (TILE_N / CHUNK) == 0,
              "every thread loads the same number of chunks, all from the same columns");
static_assert((TILE_K + PAD) % CHUNK == 0 && (TILE_N + PAD) % CHUNK == 0,
              "a fragment's rows begin at multiples of 16 bytes");

/** 16 x 16 of A, as a warp holds it. */
typedef nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, FRAGMENT, FRAGMENT, FRAGMENT, half,
                               nvcuda::wmma::row_major>
    a_fragment;
/** 16 x 16 of B. */
typedef nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, FRAGMENT, FRAGMENT, FRAGMENT, half,
                               nvcuda::wmma::row_major>
    b_fragment;
/** 16 x 16 sums. */
typedef nvcuda::wmma::fragment<nvcuda::wmma::accumulator, FRAGMENT, FRAGMENT, FRAGMENT, float> c_fragment;

/** What a block keeps in shared memory. Fragments want addresses that are multiples of 32 bytes. */
struct shared_tiles {
    alignas(32) half a[TILE_M][TILE_K + PAD];
    alignas(32) half b[TILE_K][TILE_N + PAD];
    alignas(32) float edge[WARPS][FRAGMENT][FRAGMENT + EDGE_PAD]; // one fragment per warp
};

static_assert(sizeof(struct shared_tiles) <= 48 * 1024, "what a block gets without asking");

/** A matrix of halves, and where in it a tile begins. */
struct source {
    const half *data; // [rows, leading]
    size_t leading;   // elements from one row to the next
    int rows, cols;
};

/** How many tiles of @p size cover @p extent. */
__host__ __device__ inline int divide_up(int extent, int size)
{
    return extent / size + (extent % size != 0);
}

/** Fills a tile with the elements from (first_row, first_col) on, 16 bytes at a time, and zeros past an edge. */
template <int ROWS, int COLS>
__device__ inline void load_by_chunk(half (*tile)[COLS + PAD], struct source from, int first_row,
                                     int first_col)
{
    // [student: load_by_chunk]
    constexpr int ACROSS = COLS / CHUNK, DOWN = THREADS / ACROSS; // chunks in a row; rows that go at once
    int row = (int)threadIdx.x / ACROSS, col = (int)threadIdx.x % ACROSS * CHUNK;
    const half *first = from.data + (size_t)(first_row + row) * from.leading + first_col + col;
    int count = from.cols - first_col - col; // elements from here to the end of a row
    uint4 fetched[ROWS / DOWN], zeros = {0, 0, 0, 0};
    for (int i = 0; i < ROWS / DOWN; i++) { // all loads are under way before the first one is waited for
        bool whole = count >= CHUNK && first_row + row + i * DOWN < from.rows;
        fetched[i] = whole ? *(const uint4 *)(first + i * (DOWN * from.leading)) : zeros;
    }
    for (int i = 0; i < ROWS / DOWN; i++) *(uint4 *)&tile[row + i * DOWN][col] = fetched[i];
    if (count > 0 && count < CHUNK) // what the end of a row has, element by element, over the zeros
        for (int i = 0; i < ROWS / DOWN && first_row + row + i * DOWN < from.rows; i++)
            for (int e = 0; e < count; e++)
                tile[row + i * DOWN][col + e] = first[i * (DOWN * from.leading) + e];
    // [/student]
}

/** The same for a matrix whose rows begin anywhere: neighbouring threads load neighbouring elements. */
template <int ROWS, int COLS>
__device__ inline void load_by_element(half (*tile)[COLS + PAD], struct source from, int first_row,
                                       int first_col)
{
    // [student: load_by_element]
    constexpr int DOWN = THREADS / COLS, BATCH = 16; // rows that go at once; loads that are under way at once
    static_assert(THREADS % COLS == 0 && ROWS / DOWN % BATCH == 0, "a thread stays in its column");
    int row = (int)threadIdx.x / COLS, col = (int)threadIdx.x % COLS;
    const half *next = from.data + (size_t)(first_row + row) * from.leading + first_col + col;
    int rows = first_col + col < from.cols ? from.rows - first_row - row : 0; // from here to the last one
#pragma unroll 1
    for (int begin = 0; begin < ROWS / DOWN; begin += BATCH) {
        half fetched[BATCH];
        for (int i = 0; i < BATCH; i++, next += DOWN * from.leading)
            fetched[i] = (begin + i) * DOWN < rows ? *next : __float2half(0.0f);
        for (int i = 0; i < BATCH; i++) tile[row + (begin + i) * DOWN][col] = fetched[i];
    }
    // [/student]
}

/** Adds the products of the two tiles to the warp's part of C, which begins at (row, col) of the block's tile. */
__device__ inline void multiply_tiles(c_fragment c[FRAGMENTS_M][FRAGMENTS_N],
                                      const struct shared_tiles *tiles, int row, int col)
{
    // [student: multiply_tiles]
#pragma unroll
    for (int k = 0; k < TILE_K; k += FRAGMENT) {
        b_fragment b[FRAGMENTS_N];
        for (int j = 0; j < FRAGMENTS_N; j++)
            nvcuda::wmma::load_matrix_sync(b[j], &tiles->b[k][col + j * FRAGMENT], TILE_N + PAD);
        for (int i = 0; i < FRAGMENTS_M; i++) {
            a_fragment a;
            nvcuda::wmma::load_matrix_sync(a, &tiles->a[row + i * FRAGMENT][k], TILE_K + PAD);
            for (int j = 0; j < FRAGMENTS_N; j++) nvcuda::wmma::mma_sync(c[i][j], a, b[j], c[i][j]);
        }
    }
    // [/student]
}

/** Where C is, and how it may be written. */
struct target {
    float *data; // [m, leading]
    size_t leading;
    int m, n;
    int by_fragment; // 1: a fragment that lies within C can be stored as a whole
};

/** Stores one fragment, whose first element is (row, col) of C: as a whole, or element by element at an edge. */
__device__ inline void store_fragment(struct target to, int row, int col, const c_fragment &c,
                                      float (*edge)[FRAGMENT + EDGE_PAD])
{
    // [student: store_fragment]
    if (to.by_fragment && row <= to.m - FRAGMENT && col <= to.n - FRAGMENT) {
        nvcuda::wmma::store_matrix_sync(to.data + (size_t)row * to.leading + col, c, (unsigned)to.leading,
                                        nvcuda::wmma::mem_row_major);
        return; // the whole warp does
    }
    // Which lane has which element is not specified, so they pass through shared memory.
    nvcuda::wmma::store_matrix_sync(&edge[0][0], c, FRAGMENT + EDGE_PAD, nvcuda::wmma::mem_row_major);
    __syncwarp(); // every lane's elements are there
    int lane = (int)threadIdx.x % WARP, j = lane % FRAGMENT;
#pragma unroll 1
    for (int pass = 0; pass < FRAGMENT / 2; pass++) { // two rows, which are 2 apart: they share no bank
        int i = pass / 2 * 4 + pass % 2 + lane / FRAGMENT * 2;
        if (row + i < to.m && col + j < to.n) to.data[(size_t)(row + i) * to.leading + col + j] = edge[i][j];
    }
    __syncwarp(); // read by all lanes before the next fragment overwrites it
    // [/student]
}

/** One block: a tile of C, numbered along the rows of tiles. BY_CHUNK: rows begin at multiples of 16 bytes. */
template <bool BY_CHUNK>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    wmma_gemm_kernel(struct source a, struct source b, struct target to)
{
    // [student: kernel]
    __shared__ struct shared_tiles tiles;
    int across = divide_up(to.n, TILE_N), warp = (int)threadIdx.x / WARP;
    int tile_row = (int)blockIdx.x / across * TILE_M, tile_col = (int)blockIdx.x % across * TILE_N;
    int row = warp / WARPS_N * WARP_M, col = warp % WARPS_N * WARP_N; // of the warp, within the tile
    c_fragment c[FRAGMENTS_M][FRAGMENTS_N];
    for (int i = 0; i < FRAGMENTS_M; i++)
        for (int j = 0; j < FRAGMENTS_N; j++) nvcuda::wmma::fill_fragment(c[i][j], 0.0f);
    for (int slice = 0; slice < divide_up(a.cols, TILE_K); slice++) {
        int k = slice * TILE_K;
        if (BY_CHUNK) {
            load_by_chunk<TILE_M, TILE_K>(tiles.a, a, tile_row, k);
            load_by_chunk<TILE_K, TILE_N>(tiles.b, b, k, tile_col);
        } else {
            load_by_element<TILE_M, TILE_K>(tiles.a, a, tile_row, k);
            load_by_element<TILE_K, TILE_N>(tiles.b, b, k, tile_col);
        }
        __syncthreads(); // both tiles are complete before any warp reads them
        multiply_tiles(c, &tiles, row, col);
        __syncthreads(); // every warp has read them before the next ones overwrite them
    }
#pragma unroll // an array of fragments is in registers only where every index is known to the compiler
    for (int i = 0; i < FRAGMENTS_M; i++)
#pragma unroll
        for (int j = 0; j < FRAGMENTS_N; j++)
            store_fragment(to, tile_row + row + i * FRAGMENT, tile_col + col + j * FRAGMENT, c[i][j],
                           tiles.edge[warp]);
    // [/student]
}

extern "C" enum kernel_status wmma_gemm(const struct gemm_args *args, cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check_plain(args);
    if (status != KERNEL_OK) return status;
    // [student: launch]
    struct source a = {(const half *)args->a, (size_t)args->lda, args->m, args->k};
    struct source b = {(const half *)args->b, (size_t)args->ldb, args->k, args->n};
    struct target to = {(float *)args->c, (size_t)args->ldc, args->m, args->n,
                        is_aligned(args->c, 32) && args->ldc % 4 == 0};
    int blocks = divide_up(args->m, TILE_M) * divide_up(args->n, TILE_N);
    bool by_chunk = is_aligned(args->a, 16) && is_aligned(args->b, 16) && args->lda % CHUNK == 0 &&
                    args->ldb % CHUNK == 0;
    if (by_chunk)
        wmma_gemm_kernel<true><<<blocks, THREADS, 0, stream>>>(a, b, to);
    else
        wmma_gemm_kernel<false><<<blocks, THREADS, 0, stream>>>(a, b, to);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
    // [/student]
}
