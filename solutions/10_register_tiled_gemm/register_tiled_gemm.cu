// [student: head]
/*
 * A matrix product on CUDA cores: tile within tile within tile. A block uses what it reads from device memory
 * 128 or 256 times, a thread what it reads from shared memory 8 or 16 times. At the bottom 16 x 8 sums lie in
 * the registers of one thread, and nine instructions of ten are multiply-adds.
 *
 *      C, a block: 256 x 128        a warp: 64 x 64                a lane: 16 x 8, in groups of 4 x 4
 *      +--------+--------+          4 lanes down, 8 across:        ##..............##..............
 *      | warp 0 | warp 1 |          a lane has 4 x 2 groups,       ................................
 *      +--------+--------+          so that neighbouring lanes     ##..............##..............
 *      | warp 2 | warp 3 |          read neighbouring vectors      ................................
 *      +--------+--------+                                         ##..............##..............
 *      | warp 4 | warp 5 |                                         ................................
 *      +--------+--------+                                         ##..............##..............
 *      | warp 6 | warp 7 |                                         ................................
 *      +--------+--------+
 *
 *      tile t + 1   load_global into registers ............... store_shared into the other buffer, barrier
 *      tile t       multiply k = 0, 1, 2, ...                  ... 7     each k reads the vectors of k + 1
 *
 * Run:  build/bin/warpwise check 10 --kernel solutions/10_register_tiled_gemm/register_tiled_gemm.cu
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
    for (int i = 0; i < operand->PACKS; i++) {
        int c, k;
        find_pack<SIZE, EXTENT, ELEMS>(along_k, i, &c, &k);
        c = first + min(c, extent - first - (along_k ? 1 : ELEMS));
        operand->at[i] = matrix + (along_k ? (size_t)c * ld + k : (size_t)k * ld + c);
    }
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
    for (int i = 0; i < operand->PACKS; i++) {
        int c, k;
        find_pack<SIZE, EXTENT, ELEMS>(operand->along_k, i, &c, &k);
        for (int j = 0; j < ELEMS; j++) from_float(&operand->x[i].x[j], 0.0f);
        if (k < depth) operand->x[i] = *(const struct pack<T, ELEMS> *)operand->at[i];
        operand->at[i] += (size_t)depth * operand->step;
    }
    // [/student]
}

/** Asks for the next tile, which goes to @p tile. Nothing waits for it before it has arrived there, or store_shared() does. */
template <typename T, typename SIZE, int EXTENT, int ELEMS>
__device__ inline void load_global(struct operand<T, SIZE, EXTENT, ELEMS> *operand,
                                   float (*tile)[EXTENT + PAD])
{
    // [student: load_global]
    for (int i = 0; i < operand->PACKS; i++) {
        int c, k;
        find_pack<SIZE, EXTENT, ELEMS>(operand->along_k, i, &c, &k);
        if (is_copied<T, SIZE, ELEMS>())
            __pipeline_memcpy_async(&tile[k][c], operand->at[i], sizeof(float));
        else
            operand->x[i] = *(const struct pack<T, ELEMS> *)operand->at[i];
        operand->at[i] += SIZE::TILE_K * operand->step;
    }
    // [/student]
}

/** Puts a thread's packs into shared memory, as floats. What lies along k is transposed on the way. */
template <typename T, typename SIZE, int EXTENT, int ELEMS>
__device__ inline void store_shared(float (*tile)[EXTENT + PAD], // [TILE_K][EXTENT]
                                    const struct operand<T, SIZE, EXTENT, ELEMS> *operand)
{
    // [student: store_shared]
    for (int i = 0; i < operand->PACKS; i++) {
        int c, k;
        find_pack<SIZE, EXTENT, ELEMS>(operand->along_k, i, &c, &k);
        alignas(16) float x[ELEMS];
        for (int j = 0; j < ELEMS; j++) x[j] = to_float(operand->x[i].x[j]);
        if (ELEMS == VECTOR && !operand->along_k)
            copy_vector(&tile[k][c], x);
        else
            for (int j = 0; j < ELEMS; j++) tile[k + j][c] = x[j];
    }
    // [/student]
}

/* ---- one thread's sums --------------------------------------------------------------------------------- */

/** Loads the fragments of one k from a tile. The thread's groups begin at @p row of A and @p column of B. */
template <typename SIZE>
__device__ inline void load_fragments(struct fragments<SIZE> *fragments, const struct shared_tile<SIZE> *tile,
                                      int k, int row, int column)
{
    // [student: load_fragments]
    for (int i = 0; i < SIZE::THREAD_M; i += VECTOR)
        copy_vector(&fragments->a[k % 2][i], &tile->a[k][row + i * SIZE::LANES_M]);
    for (int j = 0; j < SIZE::THREAD_N; j += VECTOR)
        copy_vector(&fragments->b[k % 2][j], &tile->b[k][column + j * SIZE::LANES_N]);
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
    constexpr bool DOWN = (int)SIZE::THREAD_M <= 8;
    constexpr int LINES = DOWN ? SIZE::THREAD_N : SIZE::THREAD_M,
                  LENGTH = DOWN ? SIZE::THREAD_M : SIZE::THREAD_N;
#pragma unroll
    for (int line = 0; line < LINES; line++)
#pragma unroll
        for (int x = 0; x < LENGTH; x++) {
            int at = line % 2 == 0 ? x : LENGTH - 1 - x, i = DOWN ? at : line, j = DOWN ? line : at;
            sum[i][j] += fragments->a[k % 2][i] * fragments->b[k % 2][j];
        }
    // [/student]
}

/** All k of a tile but the last. The fragments of k = 0 are loaded already; those of the last one will be. */
template <typename SIZE>
__device__ inline void multiply_but_last(float sum[SIZE::THREAD_M][SIZE::THREAD_N],
                                         struct fragments<SIZE> *fragments,
                                         const struct shared_tile<SIZE> *tile, int row, int column)
{
    // [student: multiply_but_last]
#pragma unroll
    for (int k = 0; k < SIZE::TILE_K - 1; k++) {
        load_fragments(fragments, tile, k + 1, row, column); // before they are needed
        multiply_add(sum, fragments, k);
    }
    // [/student]
}

/** VECTOR neighbouring elements of C, of which @p count are there. C is read only if beta is not 0. */
template <typename T>
__device__ inline void write_elements(const struct product &p, T *to, const float sum[VECTOR], int count)
{
    // [student: write_elements]
    int whole = p.c_vectors && count >= VECTOR;
    struct pack<T, VECTOR> x;
    for (int y = 0; y < VECTOR; y++) from_float(&x.x[y], 0.0f);
    if (p.beta != 0.0f && whole) x = *(const struct pack<T, VECTOR> *)to;
    for (int y = 0; y < VECTOR; y++) {
        if (p.beta != 0.0f && !whole && y < count) x.x[y] = to[y];
        from_float(&x.x[y], p.alpha * sum[y] + p.beta * to_float(x.x[y]));
        if (!whole && y < count) to[y] = x.x[y];
    }
    if (whole) *(struct pack<T, VECTOR> *)to = x;
    // [/student]
}

/** Writes a thread's part of the tile at (@p m, @p n) of C; it begins at (@p row, @p column) of the tile. */
template <typename T, typename SIZE>
__device__ inline void write_sums(const struct product &p, const float sum[SIZE::THREAD_M][SIZE::THREAD_N],
                                  int m, int n, int row, int column)
{
    // [student: write_sums]
#pragma unroll
    for (int i = 0; i < SIZE::THREAD_M; i++) {
        int r = row + i / VECTOR * VECTOR * SIZE::LANES_M + i % VECTOR;
        if (r >= p.m - m) continue;
#pragma unroll
        for (int j = 0; j < SIZE::THREAD_N; j += VECTOR) {
            int c = column + j * SIZE::LANES_N;
            size_t at = ((size_t)m + r) * p.ldc + (size_t)n + c;
            write_elements(p, (T *)p.c + at, &sum[i][j], p.n - n - c);
        }
    }
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
    __shared__ struct shared_tile<SIZE> tiles[2]; // one is read while the other is filled
    int m, n, warp = (int)threadIdx.x / WARP;
    find_tile<SIZE>(p, (int)blockIdx.x, &m, &n);
    int row = warp / SIZE::WARPS_N * SIZE::WARP_M + lane_row<SIZE>() * VECTOR;       // in the tile
    int column = warp % SIZE::WARPS_N * SIZE::WARP_N + lane_column<SIZE>() * VECTOR; // in the tile
    struct operand<T, SIZE, SIZE::TILE_M, ELEMS> a;
    struct operand<T, SIZE, SIZE::TILE_N, ELEMS> b;
    start_operand(&a, !(LAYOUT & TRANS_A), (const T *)p.a, p.lda, m, p.m);
    start_operand(&b, LAYOUT & TRANS_B, (const T *)p.b, p.ldb, n, p.n);

    int iterations = max(divide_up(p.k, SIZE::TILE_K), 1), depth = p.k - (iterations - 1) * SIZE::TILE_K;
    load_global_first(&a, depth);
    load_global_first(&b, depth);
    store_shared(tiles[0].a, &a);
    store_shared(tiles[0].b, &b);
    __syncthreads(); // the first tile is complete before anybody reads it
    float sum[SIZE::THREAD_M][SIZE::THREAD_N] = {{0.0f}};
    struct fragments<SIZE> fragments;
    load_fragments(&fragments, &tiles[0], 0, row, column);

#pragma unroll 1
    for (int iteration = 0; iteration < iterations - 1; iteration++) {
        int now = iteration % 2;
        load_global(&a, tiles[!now].a);
        load_global(&b, tiles[!now].b);
        // Nothing needs this order but the clock: nvcc does not move loads across, and would otherwise put them
        // right before the stores that wait for them.
        __syncwarp();
        multiply_but_last(sum, &fragments, &tiles[now], row, column);
        if (is_copied<T, SIZE, ELEMS>()) {
            __pipeline_commit();
            __pipeline_wait_prior(0);
        } else {
            store_shared(tiles[!now].a, &a);
            store_shared(tiles[!now].b, &b);
        }
        // The next tile is complete before anybody reads it; and everybody has read all of this one before the
        // iteration after this one overwrites it.
        __syncthreads();
        // Loaded while the last k of this tile is multiplied.
        load_fragments(&fragments, &tiles[!now], 0, row, column);
        multiply_add(sum, &fragments, SIZE::TILE_K - 1);
    }
    multiply_but_last(sum, &fragments, &tiles[(iterations - 1) % 2], row, column);
    multiply_add(sum, &fragments, SIZE::TILE_K - 1);
    write_sums<T, SIZE>(p, sum, m, n, row, column);
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
    p.k = args->alpha != 0.0f ? args->k : 0;
    p.tiles_m = divide_up(args->m, SIZE::TILE_M), p.tiles_n = divide_up(args->n, SIZE::TILE_N);
    p.c_vectors = has_vectors(args->c, VECTOR, args->ldc, sizeof(T)); // a row may end within one
    // gemm_args_check() saw to it that even smaller tiles than these can be counted in an int.
    int blocks = p.tiles_m * p.tiles_n;
    if (early)
        return launch_early(gemm_kernel<T, SIZE, LAYOUT, ELEMS>, dim3((unsigned)blocks), dim3(SIZE::THREADS),
                            stream, p);
    gemm_kernel<T, SIZE, LAYOUT, ELEMS><<<(unsigned)blocks, SIZE::THREADS, 0, stream>>>(p);
    return launch_status();
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
