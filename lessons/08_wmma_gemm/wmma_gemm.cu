// Generated, but for what stands between [student: ...] and [/student]: that is yours.
// [student: head]
/*
 * Lesson 08: the file you write. Read README.md beside it, then fill in what stands between the lines
 * `[student: ...]` and `[/student]`, in the order of the page. Everything else is given: leave it as it is.
 * You may add functions and constants inside your regions and declare shared memory as you like.
 *
 *     build/bin/warpwise check 08                 judges what is there
 *     build/bin/warpwise check 08 --case NAME     looks at one case
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
    /* TODO: a tile has ROWS * COLS / CHUNK chunks of 16 bytes, and neighbouring threads take neighbouring ones.
     * Load all of yours into registers as uint4, zeros where a chunk is not wholly inside the matrix; then
     * store them. Last, where a row of the matrix ends within a chunk, copy the elements that are left. */
    (void)tile, (void)from, (void)first_row, (void)first_col;
    // [/student]
}

/** The same for a matrix whose rows begin anywhere: neighbouring threads load neighbouring elements. */
template <int ROWS, int COLS>
__device__ inline void load_by_element(half (*tile)[COLS + PAD], struct source from, int first_row,
                                       int first_col)
{
    // [student: load_by_element]
    /* TODO: the same with one half at a time: thread t takes elements t, t + THREADS, ... of the tile. An element
     * that the matrix does not have is __float2half(0.0f), and nothing is read in its place. */
    (void)tile, (void)from, (void)first_row, (void)first_col;
    // [/student]
}

/** Adds the products of the two tiles to the warp's part of C, which begins at (row, col) of the block's tile. */
__device__ inline void multiply_tiles(c_fragment c[FRAGMENTS_M][FRAGMENTS_N],
                                      const struct shared_tiles *tiles, int row, int col)
{
    // [student: multiply_tiles]
    /* TODO: for every FRAGMENT terms of TILE_K: load the warp's FRAGMENTS_N fragments of B, then one fragment
     * of A after the other, and multiply each with all of those. load_matrix_sync() wants the address of a
     * fragment's first element and the distance of its rows. */
    (void)c, (void)tiles, (void)row, (void)col;
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
    /* TODO: if the fragment lies within C and to.by_fragment says so, store_matrix_sync() does it. Else store it
     * to edge and let the lanes copy the elements that exist. __syncwarp() in two places: why? */
    (void)to, (void)row, (void)col, (void)c, (void)edge;
    // [/student]
}

/** One block: a tile of C, numbered along the rows of tiles. BY_CHUNK: rows begin at multiples of 16 bytes. */
template <bool BY_CHUNK>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    wmma_gemm_kernel(struct source a, struct source b, struct target to)
{
    // [student: kernel]
    /* TODO: declare the shared tiles. Find out which tile of C the block has, and which part of it the warp.
     * Fill the warp's accumulators with 0; slice by slice of k, load both tiles and multiply them; store every
     * fragment. Which two barriers does a slice need? Write #pragma unroll above the loops that store. */
    (void)a, (void)b, (void)to;
    // [/student]
}

extern "C" enum kernel_status wmma_gemm(const struct gemm_args *args, cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check_plain(args);
    if (status != KERNEL_OK) return status;
    // [student: launch]
    /* TODO: describe the three matrices and launch one block for every tile of C: wmma_gemm_kernel<true> if all
     * rows of A and B begin at multiples of 16 bytes, else wmma_gemm_kernel<false>. */
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}
