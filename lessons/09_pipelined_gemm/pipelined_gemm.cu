// [student: head]
/*
 * Lesson 09, your desk. Read README.md beside this file, then write what stands between the lines
 * `[student: ...]` and `[/student]`, from top to bottom. Everything else is given: leave it as it is.
 * You may add functions and constants inside your regions.
 *
 *     build/bin/warpwise check 09                 judges what is there
 *     build/bin/warpwise check 09 --case NAME     looks at one case
 */
// [/student]
#include "pipelined_gemm.h"

#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

using namespace nvcuda;

enum {
    WARP = 32,
    FRAGMENT = 16, // rows, columns and terms of one matrix instruction
    CHUNK = 8,     // halves in 16 bytes, the most that one copy moves
    PAD = 8,       // halves behind each row of a tile: 8 lines of 16 bytes then use all 32 banks
    CORNER = 24,   // floats from row to row where a fragment of C passes through shared memory
    MAX_STAGES = 4,
    GROUP = 8, // rows of tiles that are worked on together, so that their A and B stay in the L2 cache
    SHARED_BYTES = 65536, // what a block may have on every device from sm_75 on

    // To be tuned: the tile of a block, k a stage, and the part of a warp, for large and for small products.
    LARGE_M = 128,
    LARGE_N = 256,
    LARGE_K = 64,
    LARGE_WARP_M = 64,
    LARGE_WARP_N = 64,
    SMALL_M = 64,
    SMALL_N = 64,
    SMALL_K = 32,
    SMALL_WARP_M = 32,
    SMALL_WARP_N = 32,
    FILL_PERCENT = 50 // of the multiprocessors must have a large tile, else small ones are taken
};

/** Sizes of a block's work: C in parts of M x N, k in steps of K, a part of WARP_M x WARP_N each warp. */
template <int TILE_M, int TILE_N, int TILE_K, int PART_M, int PART_N> struct tile {
    enum {
        M = TILE_M,
        N = TILE_N,
        K = TILE_K,
        WARP_M = PART_M,
        WARP_N = PART_N,
        ACROSS = N / WARP_N, // warps next to each other
        WARPS = M / WARP_M * ACROSS,
        THREADS = WARPS * WARP,
        DOWN_FRAGMENTS = WARP_M / FRAGMENT, // of a warp
        ACROSS_FRAGMENTS = WARP_N / FRAGMENT,
        SHARES = K / FRAGMENT / 2 // copies of a tile are begun in so many shares, each beside 16 of k
    };
    struct stage {
        half a[TILE_M][TILE_K + PAD];
        half b[TILE_K][TILE_N + PAD];
    };
    static_assert(M % WARP_M == 0 && N % WARP_N == 0 && WARP_M % FRAGMENT == 0 && WARP_N % FRAGMENT == 0 &&
                      K % (2 * FRAGMENT) == 0,
                  "tiles are made of whole parts, parts of whole fragments, steps of pairs of them");
    static_assert(THREADS % (K / CHUNK) == 0 && THREADS % (N / CHUNK) == 0 &&
                      M % (SHARES * (THREADS / (K / CHUNK))) == 0 &&
                      K % (SHARES * (THREADS / (N / CHUNK))) == 0,
                  "the threads copy whole rows, and as many rows each time and in each share");
    static_assert(WARP % (K / CHUNK) == 0 && WARP % (N / CHUNK) == 0, "a row is copied by one warp");
    static_assert(THREADS / (K / CHUNK) % CHUNK == 0 && THREADS / (N / CHUNK) % CHUNK == 0,
                  "where a thread's first row is skewed, all its rows are, by as much");
    static_assert(sizeof(struct stage) % 128 == 0, "every stage begins where fragments may");
    static_assert(sizeof(float) * WARPS * FRAGMENT * CORNER <= sizeof(struct stage),
                  "fragments of C pass through the first stage");
};

typedef struct tile<LARGE_M, LARGE_N, LARGE_K, LARGE_WARP_M, LARGE_WARP_N> large_tile;
typedef struct tile<SMALL_M, SMALL_N, SMALL_K, SMALL_WARP_M, SMALL_WARP_N> small_tile;
static_assert(MAX_STAGES * sizeof(small_tile::stage) <= SHARED_BYTES, "small tiles must fit on every device");

typedef wmma::fragment<wmma::matrix_a, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::row_major> a_fragment;
typedef wmma::fragment<wmma::matrix_b, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::row_major> b_fragment;
typedef wmma::fragment<wmma::accumulator, FRAGMENT, FRAGMENT, FRAGMENT, float> c_fragment;

/** How many pieces of @p size cover @p extent. */
__host__ __device__ inline int divide_up(int extent, int size)
{
    return extent / size + (extent % size != 0);
}

/** The part of C a block computes: its first row and column. */
struct place {
    int row, column;
};

/** Part @p index of C. GROUP rows of parts are gone through column by column, then the next GROUP rows. */
template <typename T> __device__ inline struct place find_place(const struct gemm_args &args, int index)
{
    int down = divide_up(args.m, T::M), across = divide_up(args.n, T::N);
    int group = index / (GROUP * across), rest = index - group * GROUP * across;
    int rows = min(down - group * GROUP, (int)GROUP); // the last group may be smaller
    return {(group * GROUP + rest % rows) * T::M, rest / rows * T::N};
}

/* ---- from global to shared memory --------------------------------------------------------------------- */

/** A matrix in device memory and whether its rows begin at multiples of 16 bytes. */
struct source {
    const half *data; // [rows, leading]
    size_t leading;
    int rows, cols, by_chunk;
};

/** The matrix at @p data, which has @p leading elements from row to row. */
__device__ inline struct source source_of(const void *data, int rows, int cols, int leading)
{
    int by_chunk = (uintptr_t)data % sizeof(uint4) == 0 && leading % CHUNK == 0;
    return {(const half *)data, (size_t)leading, rows, cols, by_chunk};
}

/** Row and column of the running thread's first chunk in a tile. */
template <int COLUMNS> __device__ inline struct place own_place(void)
{
    constexpr int ACROSS = COLUMNS / CHUNK; // chunks of a row
    return {(int)threadIdx.x / ACROSS, (int)threadIdx.x % ACROSS * CHUNK};
}

/** Where that chunk comes from, if the tile of @p from begins at (row, column). */
template <int COLUMNS> __device__ inline const half *own_chunk(const struct source &from, int row, int column)
{
    struct place own = own_place<COLUMNS>();
    return from.data + (size_t)(row + own.row) * from.leading + column + own.column;
}

/**
 * Begins share @p share (of T::SHARES) of the copies of a tile that is inside of its matrix. The running
 * thread's first chunk of the tile is at @p first, its matrix has @p leading elements from row to row.
 */
template <typename T, int ROWS, int COLUMNS>
__device__ inline void copy_whole(half to[ROWS][COLUMNS + PAD], const half *first, size_t leading, int share)
{
    // [student: copy_whole]
    /* TODO: neighbouring threads take neighbouring chunks of a row, THREADS of them at a time. So this thread
     * goes on by THREADS * CHUNK / COLUMNS rows, from own_place() on. A share is ROWS / T::SHARES rows.
     * Asynchronous copies of 16 bytes; offsets are size_t; unroll the loop. */
    (void)to, (void)first, (void)leading, (void)share;
    // [/student]
}

/**
 * Begins to copy 8 halves, those that are from @p begin to before @p end. The others become 0 and are not
 * read.
 */
__device__ inline void copy_chunk(half *to, const half *from, const half *begin, const half *end)
{
    // [student: copy_chunk]
    /* TODO: if all 8 halves are inside, begin an asynchronous copy of 16 bytes. Otherwise write the 8
     * elements yourself: those inside from memory, the others 0. Why does nobody need to wait for these? */
    (void)to, (void)from, (void)begin, (void)end;
    // [/student]
}

/** Begins to copy the tile of @p from that begins at (row, column), which may stick out of the matrix. */
template <int THREADS, int ROWS, int COLUMNS>
__device__ inline void copy_edge(half to[ROWS][COLUMNS + PAD], const struct source &from, int row, int column)
{
    // [student: copy_edge]
    /* TODO: the same chunks, of all rows. Each goes through copy_chunk() with the number of elements that the
     * matrix's row still has from there on: none if the row is not inside. */
    (void)to, (void)from, (void)row, (void)column;
    // [/student]
}

/** Halves from the last multiple of 16 bytes to @p element: so much too far right a skewed row arrives. */
__device__ inline int skew_of(const half *element)
{
    return (int)((uintptr_t)element / sizeof(half) % CHUNK);
}

/**
 * Begins to copy the same tile of a matrix whose rows begin anywhere: from multiples of 16 bytes, all chunks
 * that touch a row. They are one more than the tile has, which goes into the pad.
 */
template <typename T, int ROWS, int COLUMNS>
__device__ inline void copy_skewed(half to[ROWS][COLUMNS + PAD], const struct source &from, int row,
                                   int column)
{
    // [student: copy_skewed]
    /* TODO: as copy_edge(), but a row is copied from the multiple of 16 bytes on that its own first chunk
     * is skew_of() halves behind, and one thread of a row copies the chunk that goes into the pad. Halves
     * beside the row may come along, of other rows or between them; those outside of the matrix may not. */
    (void)to, (void)from, (void)row, (void)column;
    // [/student]
}

/** Makes of 16 halves the 8 from number @p skew on, and clears those of them that are not among @p left. */
__device__ inline void push_left(unsigned word[CHUNK], int skew, int left)
{
    if (skew & 4)
        for (int w = 0; w < 6; w++) word[w] = word[w + 2];
    if (skew & 2)
        for (int w = 0; w < 5; w++) word[w] = word[w + 1];
    for (int w = 0; w < 4; w++) word[w] = __funnelshift_r(word[w], word[w + 1], skew % 2 * 16u);
    if (left < CHUNK)
        for (int w = 0; w < 4; w++) word[w] &= left > 2 * w + 1 ? 0xffffffff : left > 2 * w ? 0xffff : 0;
}

/**
 * Pushes the rows that copy_skewed() copied to where they belong in the tile, and clears what is outside of
 * the matrix. Each thread does it for its own chunks; all copies of the warp must have landed.
 */
template <int THREADS, int ROWS, int COLUMNS>
__device__ inline void straighten(half tile[ROWS][COLUMNS + PAD], const struct source &from, int row,
                                  int column)
{
    // [student: straighten]
    /* TODO: the same chunks. Each is the last halves of the chunk that is there, and the first of the next
     * one: read both, have push_left() make one of the two, write it. What must happen between? */
    (void)tile, (void)from, (void)row, (void)column;
    // [/student]
}

/** Begins to copy a tile, in the fastest way that its matrix allows. */
template <typename T, int ROWS, int COLUMNS>
__device__ inline void copy_tile(half to[ROWS][COLUMNS + PAD], const struct source &from, int row, int column)
{
    if (!from.by_chunk)
        copy_skewed<T, ROWS, COLUMNS>(to, from, row, column);
    else if (ROWS > from.rows - row || COLUMNS > from.cols - column)
        copy_edge<T::THREADS, ROWS, COLUMNS>(to, from, row, column);
    else
        for (int share = 0; share < T::SHARES; share++)
            copy_whole<T, ROWS, COLUMNS>(to, own_chunk<COLUMNS>(from, row, column), from.leading, share);
}

/** What a block does: a part of C, in steps of T::K along k. */
struct work {
    struct source a, b;
    struct place place; // of the part in C
    int steps, ahead;   // the tiles of step s + ahead are copied while those of step s are multiplied
};

/** The work of block @p index. A single stage is filled again before its last 16 of k are multiplied. */
template <typename T> __device__ inline struct work find_work(const struct gemm_args &args, int index)
{
    return {source_of(args.a, args.m, args.k, args.lda), source_of(args.b, args.k, args.n, args.ldb),
            find_place<T>(args, index), divide_up(args.k, T::K), max(args.stages - 1, 1)};
}

/** Begins to fill a stage with the tiles of a step: a group of copies, an empty one behind the last step. */
template <typename T>
__device__ inline void fill_stage(typename T::stage *stage, const struct work &work, int step)
{
    // [student: fill_stage]
    /* TODO: copy_tile() for A (rows of the part, k of the step) and for B. Then commit: a group of copies a
     * step. What if there is no such step? */
    (void)stage, (void)work, (void)step;
    // [/student]
}

/** Waits until only @p ahead - 1 groups of this thread are under way: the oldest has landed. */
__device__ inline void wait_for_oldest(int ahead)
{
    // [student: wait_for_oldest]
    /* TODO: __pipeline_wait_prior(n) returns when all but the last n groups of this thread have landed. n has
     * to be a constant where the code is to be short: a switch. ahead is 1 to MAX_STAGES - 1. */
    (void)ahead;
    // [/student]
}

/** Straightens what came skewed of the tiles of a step, which each thread must have waited for. */
template <typename T>
__device__ inline void straighten_stage(typename T::stage *stage, const struct work &work, int step)
{
    __syncwarp(); // all of the warp have waited: a row is in the same warp's hands from copy to barrier
    if (!work.a.by_chunk) straighten<T::THREADS, T::M, T::K>(stage->a, work.a, work.place.row, step * T::K);
    if (!work.b.by_chunk)
        straighten<T::THREADS, T::K, T::N>(stage->b, work.b, step * T::K, work.place.column);
}

/* ---- a warp's part ------------------------------------------------------------------------------------ */

/** First row and column of the running warp in its block's part of C. */
template <typename T> __device__ inline struct place find_warp(void)
{
    int warp = (int)threadIdx.x / WARP;
    return {warp / T::ACROSS * T::WARP_M, warp % T::ACROSS * T::WARP_N};
}

/** What a warp multiplies for 16 of k. */
template <typename T> struct fragments {
    a_fragment a[T::DOWN_FRAGMENTS];
    b_fragment b[T::ACROSS_FRAGMENTS];
};

/** Loads the fragments of the 16 of k that begin at @p k of a stage. All 32 lanes must call it. */
template <typename T>
__device__ inline void load_fragments(struct fragments<T> *to, const typename T::stage *stage, int k)
{
    struct place warp = find_warp<T>();
    for (int i = 0; i < T::DOWN_FRAGMENTS; i++)
        wmma::load_matrix_sync(to->a[i], &stage->a[warp.row + i * FRAGMENT][k], T::K + PAD);
    for (int j = 0; j < T::ACROSS_FRAGMENTS; j++)
        wmma::load_matrix_sync(to->b[j], &stage->b[k][warp.column + j * FRAGMENT], T::N + PAD);
}

/** Adds their products to a warp's fragments of C, as in lesson 08. All 32 lanes must call it. */
template <typename T>
__device__ inline void multiply_fragments(c_fragment sum[T::DOWN_FRAGMENTS][T::ACROSS_FRAGMENTS],
                                          const struct fragments<T> &of)
{
    for (int i = 0; i < T::DOWN_FRAGMENTS; i++)
        for (int j = 0; j < T::ACROSS_FRAGMENTS; j++) wmma::mma_sync(sum[i][j], of.a[i], of.b[j], sum[i][j]);
}

/**
 * Writes the elements of a fragment that are inside of C, of which @p rows and @p columns are left from @p c
 * on, through 16 rows of shared memory that only this warp uses. All 32 lanes must call it.
 */
__device__ inline void store_corner(float *c, size_t ldc, int rows, int columns, const c_fragment &sum,
                                    float *corner /* [FRAGMENT, CORNER] */)
{
    wmma::store_matrix_sync(corner, sum, CORNER, wmma::mem_row_major);
    __syncwarp(); // other lanes hold what this one writes to C
    int lane = (int)threadIdx.x % WARP, column = lane % FRAGMENT;
    for (int turn = 0; turn < FRAGMENT / 2; turn++) { // two rows, which are 2 apart: they share no bank
        int row = turn / 2 * 4 + turn % 2 + lane / FRAGMENT * 2;
        if (row < rows && column < columns) c[row * ldc + column] = corner[row * CORNER + column];
    }
    __syncwarp(); // all have read it, and the next fragment may come
}

/** Writes a warp's part of C. Whole fragments go straight to memory where its rows allow that. */
template <typename T>
__device__ inline void store_part(const struct gemm_args &args, struct place place,
                                  const c_fragment sum[T::DOWN_FRAGMENTS][T::ACROSS_FRAGMENTS], float *corner)
{
    struct place warp = find_warp<T>();
    size_t ldc = (size_t)args.ldc;
    int direct = (uintptr_t)args.c % 32 == 0 && ldc % 4 == 0; // what store_matrix_sync demands
#pragma unroll // fragments are in registers, which have no index
    for (int i = 0; i < T::DOWN_FRAGMENTS; i++)
        for (int j = 0; j < T::ACROSS_FRAGMENTS; j++) {
            int row = warp.row + i * FRAGMENT, column = warp.column + j * FRAGMENT;
            int rows = args.m - place.row - row, columns = args.n - place.column - column; // left in C
            if (rows <= 0 || columns <= 0) continue;
            float *c = (float *)args.c + (size_t)(place.row + row) * ldc + place.column + column;
            if (direct && rows >= FRAGMENT && columns >= FRAGMENT)
                wmma::store_matrix_sync(c, sum[i][j], (unsigned)ldc, wmma::mem_row_major);
            else
                store_corner(c, ldc, rows, columns, sum[i][j], corner);
        }
}

/* ---- the kernel --------------------------------------------------------------------------------------- */

/** The stages of a step: the one that is multiplied, the next one, and the one that is filled meanwhile. */
template <typename T> struct turn {
    typename T::stage *now, *next, *fill;
};

/** Those of the step that follows, in a ring from @p first to @p end: what was multiplied is filled next. */
template <typename T>
__device__ inline struct turn<T> turn_after(const struct turn<T> &turn, typename T::stage *first,
                                            const typename T::stage *end) {
    return {turn.next, turn.next + 1 < end ? turn.next + 1 : first, turn.now};
}

/** Where the running thread's first chunks of the next tiles to be copied are, if those are whole. */
struct own_chunks {
    const half *a, *b;
};

/** In so many of the first steps the tiles that are copied meanwhile are whole. */
template <typename T> __device__ inline int whole_steps(const struct work &work, int stages)
{
    int inside = T::M <= work.a.rows - work.place.row && T::N <= work.b.cols - work.place.column;
    return stages > 1 && inside && work.a.by_chunk && work.b.by_chunk ? work.a.cols / T::K - work.ahead : 0;
}

/** Kinds of steps: the tiles copied meanwhile are whole; they may be anything; there is no next step. */
enum { WHOLE, EDGE, LAST };

/**
 * Multiplies the tiles of @p step, of which @p f[0] holds the first fragments; at its end, those of the next
 * step. Meanwhile those of step + ahead are copied: WHOLE ones from @p from on, a share beside each 16 of k.
 */
template <typename T, int KIND>
__device__ inline void multiply_step(c_fragment sum[T::DOWN_FRAGMENTS][T::ACROSS_FRAGMENTS],
                                     struct fragments<T> f[2], const struct turn<T> &turn,
                                     const struct work &work, int step, const struct own_chunks &from)
{
    // [student: multiply_step]
    /* TODO, last of all: for speed. Leave it empty until product_kernel() is right without it. For each 16 of
     * k: first begin to load what comes next, then multiply what is there.
     *     - f[0] and f[1] take turns: load_fragments() into one, multiply_fragments() of the other.
     *     - Beside each of the first T::SHARES: copy_whole() for a share of A and of B, if KIND is WHOLE;
     *       after the last share a commit. EDGE: fill_stage() at the beginning. LAST: nothing to copy.
     *     - Beside the last 16 of k: wait, EDGE: straighten_stage(), barrier, load the first fragments of the
     *       next step. LAST: none.
     *     - A single stage: when may it be filled? */
    (void)sum, (void)f, (void)turn, (void)work, (void)step, (void)from;
    // [/student]
}

/** One block, one part of C: walks along k with args.stages stages under way. */
template <typename T> __global__ void __launch_bounds__(T::THREADS, 1) product_kernel(struct gemm_args args)
{
    // [student: product_kernel]
    /* TODO: find your part of C and set its fragments to 0. fill_stage() for the first work.ahead steps. The
     * simplest right loop, for every step along k:
     *     wait_for_oldest(), straighten_stage(), barrier; fill_stage() for step + ahead;
     *     for every 16 of k of the step: load_fragments(), multiply_fragments().
     * A single stage can be filled only when it has been multiplied, behind a second barrier. At the end
     * store_part(); fragments that stick out of C pass through the first stage, so who must be done with it?
     * When all cases pass, write multiply_step() and call it instead: for whole_steps() steps, then for those
     * where something is at an edge, then for the last. First: wait, straighten, barrier, fragments. */
    (void)args;
    // [/student]
}

/* ---- launching ---------------------------------------------------------------------------------------- */

/** Starts a block for each part of C. */
template <typename T> static enum kernel_status launch(const struct gemm_args *args, cudaStream_t stream)
{
    // [student: launch]
    /* TODO: one block a part of C, T::THREADS threads, args->stages stages of shared memory. More than 48 KB
     * have to be asked for with cudaFuncSetAttribute. */
    (void)args, (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/** 1 if args->stages stages of large tiles fit, and the tiles keep the device busy; 0 if not; -1 on error. */
static int large_tiles_pay(const struct gemm_args *args)
{
    int device, bytes, multiprocessors;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
        return -1;
    int64_t blocks = (int64_t)divide_up(args->m, LARGE_M) * divide_up(args->n, LARGE_N);
    return args->stages * (int)sizeof(large_tile::stage) <= bytes &&
           blocks * 100 >= (int64_t)multiprocessors * FILL_PERCENT;
}

enum kernel_status pipelined_gemm(const struct gemm_args *args, cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check_plain(args);
    if (status != KERNEL_OK) return status;
    if (args->stages < 1 || args->stages > MAX_STAGES) return KERNEL_INVALID_CONFIG;
    int large = large_tiles_pay(args);
    if (large < 0) return KERNEL_CUDA_ERROR;
    return large ? launch<large_tile>(args, stream) : launch<small_tile>(args, stream);
}
