// Generated, but for what stands between [student: ...] and [/student]: that is yours.
// [student: head]
/*
 * Lesson 10: the file you write. Read README.md beside it, then fill in what stands between the lines
 * `[student: ...]` and `[/student]`, in the order of the page. Everything else is given: leave it as it is.
 * You may add functions and constants inside your regions and declare shared memory as you like.
 *
 *     build/bin/warpwise check 10                 judges what is there
 *     build/bin/warpwise check 10 --case NAME     looks at one case
 */
// [/student]
#include "register_tiled_gemm.h"

#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include "rasterization.h"
#include "kernel_launch.h"
#include "vector_elements.h"
#include "tile_sizes.h"    // from the block's tile down to the thread's
#include "thread_places.h" // which elements a thread loads, which sums it has

/** How A and B are stored: the sum of these that apply. */
enum { TRANS_B = 1, TRANS_A = 2 };

/** One line of the table below. */
struct tile_choice {
    int architecture;   // 90 stands for sm_90 and all later ones
    float tiles_per_sm; // with at least so many large tiles per SM the large one is taken, else the small one
};

/** The first line that fits the device counts. The numbers are those that steps/ladder.cu measures. */
static const struct tile_choice TILE_CHOICES[] = {
    {90, 0.75f}, // an H200, 132 SMs: 98 tiles (1792 x 1792) are too few, 128 (2048 x 2048) enough
    {0, 0.75f},  // the same, carried over
};

/** The kernel's arguments. */
struct product {
    int m, n, k;          // k is 0 where alpha is: nothing is read then
    int tiles_m, tiles_n; // of C
    int c_vectors;        // whether rows of C can be read and written in vectors
    size_t lda, ldb, ldc; // elements
    float alpha, beta;
    const void *a, *b; // as they are stored
    void *c;           // [m, ldc]
};

/** A tile of each operand. Row k holds column k of op(A), row k of op(B): a thread reads along C. */
template <typename SIZE> struct shared_tile {
    float a[SIZE::TILE_K][SIZE::TILE_M + PAD];
    float b[SIZE::TILE_K][SIZE::TILE_N + PAD];
};

/** ELEMS elements that are loaded or stored by one instruction. */
template <typename T, int ELEMS> struct alignas(ELEMS * sizeof(T)) pack {
    T x[ELEMS];
};

/** A thread's part of an operand. EXTENT is the side of its tile along C: TILE_M for A, TILE_N for B. */
template <typename T, typename SIZE, int EXTENT, int ELEMS> struct operand {
    enum { PACKS = EXTENT * SIZE::TILE_K / SIZE::THREADS / ELEMS }; // packs of a tile
    static_assert((int)PACKS * SIZE::THREADS * ELEMS == EXTENT * SIZE::TILE_K, "threads have equal shares");
    int along_k;        // 1: neighbours in memory are neighbours in k; 0: they are neighbours in C
    size_t step;        // elements from one k to the next
    const T *at[PACKS]; // where the packs of the next tile lie in device memory
    struct pack<T, ELEMS> x[PACKS]; // the tile that is on its way
};

/** What a thread multiplies at one k, and at the next one, which is loaded meanwhile: k % 2 says which. */
template <typename SIZE> struct fragments {
    alignas(16) float a[2][SIZE::THREAD_M]; // its rows of A
    alignas(16) float b[2][SIZE::THREAD_N]; // its columns of B
};

/* ---- one operand: device memory -> registers -> shared memory ------------------------------------------ */

/**
 * Finds a thread's packs of the first tile, which begins at @p first of the @p extent rows or columns of C.
 * What sticks out is read from the last one that there is: those sums are wrong, and never written.
 */
template <typename T, typename SIZE, int EXTENT, int ELEMS>
__device__ inline void start_operand(struct operand<T, SIZE, EXTENT, ELEMS> *operand, int along_k,
                                     const T *matrix, // [extent, ld] if along_k, else [k, ld]
                                     size_t ld, int first, int extent)
{
    operand->along_k = along_k;
    operand->step = along_k ? 1 : ld;
    // [student: start_operand]
    /* TODO: for each of your packs ask find_pack() where it lies in the tile, and let operand->at[i] point to it
     * in the matrix, c counted from `first`. Let what lies past `extent` point to the last row or column that
     * there is; the last whole pack, if packs lie along C. */
    (void)matrix, (void)ld, (void)first, (void)extent;
    // [/student]
}

/**
 * Asks for the first tile, of which only @p depth elements along k are there; zeros stand for the others. All
 * tiles after it are whole.
 */
template <typename T, typename SIZE, int EXTENT, int ELEMS>
__device__ inline void load_global_first(struct operand<T, SIZE, EXTENT, ELEMS> *operand, int depth)
{
    // [student: load_global_first]
    /* TODO: load each pack whose k is below depth, as one struct pack; let the others hold zeros. Then move
     * operand->at[i] on by depth elements along k: operand->step is the way from one k to the next. */
    (void)operand, (void)depth;
    // [/student]
}

/** Asks for the next tile, which goes to @p tile. Nothing waits for it before it has arrived there, or store_shared() does. */
template <typename T, typename SIZE, int EXTENT, int ELEMS>
__device__ inline void load_global(struct operand<T, SIZE, EXTENT, ELEMS> *operand,
                                   float (*tile)[EXTENT + PAD])
{
    // [student: load_global]
    /* TODO: the same for a tile that is whole: TILE_K elements along k, nothing to compare. At last, for speed: where
     * is_copied() says so, copy each float to its place in @p tile by __pipeline_memcpy_async(), and wait for the copies in
     * gemm_kernel() in place of store_shared(). */
    (void)operand, (void)tile;
    // [/student]
}

/** Puts a thread's packs into shared memory, as floats. What lies along k is transposed on the way. */
template <typename T, typename SIZE, int EXTENT, int ELEMS>
__device__ inline void store_shared(float (*tile)[EXTENT + PAD], // [TILE_K][EXTENT]
                                    const struct operand<T, SIZE, EXTENT, ELEMS> *operand)
{
    // [student: store_shared]
    /* TODO: make floats of each pack's elements and store them into tile[k][c]. Packs along C: one vector, if
     * they have VECTOR elements. Packs along k: each element into a row of its own. */
    (void)tile, (void)operand;
    // [/student]
}

/* ---- one thread's sums --------------------------------------------------------------------------------- */

/** Loads the fragments of one k from a tile. The thread's groups begin at @p row of A and @p column of B. */
template <typename SIZE>
__device__ inline void load_fragments(struct fragments<SIZE> *fragments, const struct shared_tile<SIZE> *tile,
                                      int k, int row, int column)
{
    // [student: load_fragments]
    /* TODO: copy_vector() for each group of VECTOR numbers, from row k of tile->a and of tile->b. A thread's groups
     * are LANES_M vectors apart in A, LANES_N vectors apart in B. */
    (void)fragments, (void)tile, (void)k, (void)row, (void)column;
    // [/student]
}

/**
 * One k: THREAD_M + THREAD_N numbers for THREAD_M x THREAD_N multiply-adds. In a snake, so that an instruction always
 * shares a number with the one before it, which need not be read from a register again: down a column of 8 and up
 * the next one, or along rows where columns are longer.
 */
template <typename SIZE>
__device__ inline void multiply_add(float sum[SIZE::THREAD_M][SIZE::THREAD_N],
                                    const struct fragments<SIZE> *fragments, int k)
{
    // [student: multiply_add]
    /* TODO: add the product of row i and column j to every sum[i][j]. First in any order; `#pragma unroll` on both
     * loops keeps the sums in registers. */
    (void)sum, (void)fragments, (void)k;
    // [/student]
}

/** All k of a tile but the last. The fragments of k = 0 are loaded already; those of the last one will be. */
template <typename SIZE>
__device__ inline void multiply_but_last(float sum[SIZE::THREAD_M][SIZE::THREAD_N],
                                         struct fragments<SIZE> *fragments,
                                         const struct shared_tile<SIZE> *tile, int row, int column)
{
    // [student: multiply_but_last]
    /* TODO: for all k but the last: load the fragments of k + 1, then multiply those of k. `#pragma unroll`: k % 2 must
     * be known when compiling, or the fragments cannot be in registers. */
    (void)sum, (void)fragments, (void)tile, (void)row, (void)column;
    // [/student]
}

/** VECTOR neighbouring elements of C, of which @p count are there. C is read only if beta is not 0. */
template <typename T>
__device__ inline void write_elements(const struct product &p, T *to, const float sum[VECTOR], int count)
{
    // [student: write_elements]
    /* TODO: alpha * sum + beta * C. Write a whole pack at once if p.c_vectors and there are VECTOR elements, else
     * element by element. Do not read C if beta is 0: whatever it holds then must not come out. */
    (void)p, (void)to, (void)sum, (void)count;
    // [/student]
}

/** Writes a thread's part of the tile at (@p m, @p n) of C; it begins at (@p row, @p column) of the tile. */
template <typename T, typename SIZE>
__device__ inline void write_sums(const struct product &p, const float sum[SIZE::THREAD_M][SIZE::THREAD_N],
                                  int m, int n, int row, int column)
{
    // [student: write_sums]
    /* TODO: row i of the thread is row % VECTOR of its group, and the groups of a thread are LANES_M vectors
     * apart; columns likewise with LANES_N. Skip rows past p.m; write_elements() knows p.n - column. */
    (void)p, (void)sum, (void)row, (void)column;
    // [/student]
}

/* ---- the kernel ---------------------------------------------------------------------------------------- */

/** The first row and column of the tile of C that block @p block computes. */
template <typename SIZE> __device__ inline void find_tile(const struct product &p, int block, int *m, int *n)
{
    struct tile_index tile = raster_tile<RASTER_ROWS>(block, p.tiles_m, p.tiles_n);
    *m = tile.row * SIZE::TILE_M;
    *n = tile.column * SIZE::TILE_N;
}

/** One block, one tile of C. */
template <typename T, typename SIZE, int LAYOUT, int ELEMS>
__global__ void __launch_bounds__(SIZE::THREADS, SIZE::MIN_BLOCKS) gemm_kernel(struct product p)
{
    let_next_start(); // the next part, on SMs that have no tile any more
    // [student: gemm_kernel]
    /* TODO: 1. Find your tile, your place in it, and start both operands. k is divided into iterations of TILE_K; the
     * first iteration takes what is left over, so that all others are whole. One iteration at least, also if k is 0.
     * 2. With one buffer: load, store, barrier, multiply over k, barrier. Write the sums.
     * 3. With two: load the next tile before you multiply, store it into the other buffer when you are done. How
     * many barriers does an iteration need now, and where? The last iteration has nothing to load: leave it to the code
     * after the loop.
     * 4. Load the fragments of k + 1 before you multiply those of k, across the end of an iteration as well. */
    (void)p;
    // [/student]
    wait_for_kernel_before(); // what follows waits for the last part alone
}

/** Whether every vector of a row of @p length elements is whole and aligned, in every row. */
static int has_vectors(const void *matrix, int length, int ld, size_t elem_bytes)
{
    return length % VECTOR == 0 && ld % VECTOR == 0 && is_aligned(matrix, VECTOR * elem_bytes);
}

/** Starts one block per tile of C; if @p early, on SMs that the kernel before leaves idle. */
template <typename T, typename SIZE, int LAYOUT, int ELEMS>
static enum kernel_status launch(const struct gemm_args *args, int early, cudaStream_t stream)
{
    struct product p;
    p.m = args->m, p.n = args->n;
    p.a = args->a, p.b = args->b, p.c = args->c;
    p.lda = (size_t)args->lda, p.ldb = (size_t)args->ldb, p.ldc = (size_t)args->ldc;
    p.alpha = args->alpha, p.beta = args->beta;
    // [student: launch]
    /* TODO: fill in the rest of p (k, tiles, c_vectors), start one block per tile, and return KERNEL_OK, or
     * KERNEL_CUDA_ERROR if cudaGetLastError() says so. With alpha 0 nothing of A and B is to be read. A rim is
     * launched by launch_early(), or like all others. */
    (void)p, (void)early, (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/* ---- entry points -------------------------------------------------------------------------------------- */

/** Finds the kernel of a layout: what lies along what must be known when compiling. */
template <typename T, typename SIZE, int ELEMS>
static enum kernel_status launch_layout(const struct gemm_args *args, int early, cudaStream_t stream)
{
    switch ((args->trans_a ? TRANS_A : 0) + (args->trans_b ? TRANS_B : 0)) {
    case 0:
        return launch<T, SIZE, 0, ELEMS>(args, early, stream);
    case TRANS_B:
        return launch<T, SIZE, TRANS_B, ELEMS>(args, early, stream);
    case TRANS_A:
        return launch<T, SIZE, TRANS_A, ELEMS>(args, early, stream);
    default:
        return launch<T, SIZE, TRANS_A + TRANS_B, ELEMS>(args, early, stream);
    }
}

/** In vectors, if both operands consist of them; otherwise element by element. */
template <typename T, typename SIZE>
static enum kernel_status launch_tile(const struct gemm_args *args, int early, cudaStream_t stream)
{
    int a_length = args->trans_a ? args->m : args->k, b_length = args->trans_b ? args->k : args->n;
    if (has_vectors(args->a, a_length, args->lda, sizeof(T)) &&
        has_vectors(args->b, b_length, args->ldb, sizeof(T)))
        return launch_layout<T, SIZE, VECTOR>(args, early, stream);
    return launch_layout<T, SIZE, 1>(args, early, stream);
}

/** In large tiles, but thin rims in small ones, which the first large ones run beside: one column of a large tile takes as long as all. */
template <typename T>
static enum kernel_status launch_large(const struct gemm_args *args, cudaStream_t stream)
{
    struct gemm_args inner = *args, right = *args, below = *args;
    below.m = rim_of(args->m, large_tile::TILE_M, small_tile::TILE_M);
    right.n = rim_of(args->n, large_tile::TILE_N, small_tile::TILE_N);
    inner.m = right.m = args->m - below.m, inner.n = args->n - right.n;
    below.a = (const T *)args->a + (size_t)inner.m * (args->trans_a ? 1 : (size_t)args->lda);
    below.c = (T *)args->c + (size_t)inner.m * (size_t)args->ldc;
    right.b = (const T *)args->b + (size_t)inner.n * (args->trans_b ? (size_t)args->ldb : 1);
    right.c = (T *)args->c + inner.n;
    const int has_right = right.n > 0, has_below = below.m > 0;
    enum kernel_status status = KERNEL_OK;
    if (has_right) status = launch_tile<T, small_tile>(&right, 0, stream);
    if (status == KERNEL_OK && has_below) status = launch_tile<T, small_tile>(&below, has_right, stream);
    return status == KERNEL_OK ? launch_tile<T, large_tile>(&inner, has_right || has_below, stream) : status;
}

/** The tile that the table gives for this C. */
static enum gemm_tile choose_tile(const struct gemm_args *args)
{
    int architecture = 10 * device_attribute(cudaDevAttrComputeCapabilityMajor) +
                       device_attribute(cudaDevAttrComputeCapabilityMinor);
    const struct tile_choice *choice = TILE_CHOICES;
    while (choice->architecture > architecture) choice++; // the last one is for all
    double tiles = (double)divide_up(args->m, large_tile::TILE_M) * divide_up(args->n, large_tile::TILE_N);
    double wanted = (double)choice->tiles_per_sm;
    return tiles >= wanted * device_attribute(cudaDevAttrMultiProcessorCount) ? GEMM_TILE_LARGE
                                                                              : GEMM_TILE_SMALL;
}

/** Checks the arguments and finds the kernel. */
template <typename T>
static enum kernel_status gemm(const struct gemm_args *args, enum dtype dtype, enum gemm_tile tile,
                               cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype_in != dtype || args->dtype_out != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    switch (tile == GEMM_TILE_AUTO ? choose_tile(args) : tile) {
    case GEMM_TILE_SMALL:
        return launch_tile<T, small_tile>(args, 0, stream);
    case GEMM_TILE_LARGE:
        return launch_large<T>(args, stream);
    default:
        return KERNEL_INVALID_CONFIG;
    }
}

enum kernel_status register_tiled_gemm_f32(const struct gemm_args *args, enum gemm_tile tile,
                                           cudaStream_t stream)
{
    return gemm<float>(args, DTYPE_F32, tile, stream);
}

enum kernel_status register_tiled_gemm_f16(const struct gemm_args *args, enum gemm_tile tile,
                                           cudaStream_t stream)
{
    return gemm<__half>(args, DTYPE_F16, tile, stream);
}
