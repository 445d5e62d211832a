// [student: head]
/*
 * A product that fetches ahead, twice. Shared memory holds several stages, each a tile of A and one of B:
 * while the tensor cores multiply one, the others are on their way, copied past the registers by
 * __pipeline_memcpy_async. Registers hold fragments for two times 16 of k: while one half is multiplied, the
 * other is loaded, at the end of a tile from the next one.
 *
 *      3 stages, tiles of 64 along k      tile 0                     tile 1
 *      multiply, 16 of k at a time           0    16    32     48    |  0    16    32     48    |
 *      load the fragments of            0   16    32    48   *  0    | 16    32    48   *  0    |
 *      begin to copy tile            0, 1    2     2         *       |  3     3         *       |
 *
 *      * wait for the own copies of the next tile; barrier
 *
 * One barrier a tile, placed before the last 16 of k. When a thread comes to it, its copies of the next tile
 * have landed and it has loaded its last fragments of this one. So behind it the next tile is complete, and
 * this tile's stage may be filled again; and there are still 16 of k to multiply while the first fragments of
 * the next tile come.
 *
 * Run:   build/bin/warpwise check 09 --kernel solutions/09_pipelined_gemm/pipelined_gemm.cu
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
    constexpr int STEP = T::THREADS * CHUNK / COLUMNS, ROWS_OF_SHARE = ROWS / T::SHARES; // STEP: rows at once
    struct place own = own_place<COLUMNS>();
#pragma unroll
    for (int i = share * ROWS_OF_SHARE; i < (share + 1) * ROWS_OF_SHARE; i += STEP)
        __pipeline_memcpy_async(&to[own.row + i][own.column], first + i * leading, sizeof(uint4));
    // [/student]
}

/**
 * Begins to copy 8 halves, those that are from @p begin to before @p end. The others become 0 and are not
 * read.
 */
__device__ inline void copy_chunk(half *to, const half *from, const half *begin, const half *end)
{
    // [student: copy_chunk]
    if (from >= begin && from + CHUNK <= end) {
        __pipeline_memcpy_async(to, from, sizeof(uint4));
    } else { // by hand: the barrier that all copies need serves this store as well
        alignas(16) half edge[CHUNK];
        for (int x = 0; x < CHUNK; x++)
            edge[x] = from + x >= begin && from + x < end ? from[x] : __float2half(0.0f);
        *(uint4 *)to = *(const uint4 *)edge;
    }
    // [/student]
}

/** Begins to copy the tile of @p from that begins at (row, column), which may stick out of the matrix. */
template <int THREADS, int ROWS, int COLUMNS>
__device__ inline void copy_edge(half to[ROWS][COLUMNS + PAD], const struct source &from, int row, int column)
{
    // [student: copy_edge]
    constexpr int STEP = THREADS * CHUNK / COLUMNS; // rows copied at once
    struct place own = own_place<COLUMNS>();
    const half *first = own_chunk<COLUMNS>(from, row, column);
#pragma unroll 1 // edges are rare: little code for them
    for (int i = 0; i < ROWS; i += STEP) {
        const half *chunk = first + i * from.leading;
        int left = own.row + i < from.rows - row ? from.cols - column - own.column : 0; // of the row
        copy_chunk(&to[own.row + i][own.column], chunk, chunk, chunk + left);
    }
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
    constexpr int STEP = T::THREADS * CHUNK / COLUMNS; // rows copied at once
    struct place own = own_place<COLUMNS>();
    const half *end = from.data + (from.rows - 1) * from.leading + from.cols; // of the matrix
    const half *first = own_chunk<COLUMNS>(from, row, column);
    first -= skew_of(first);
    // Then what chunks hold besides the tile is in the matrix: before it, beside it, or in the row behind it.
    if ((row > 0 || column > 0) && ROWS < from.rows - row && COLUMNS + CHUNK <= from.leading) {
        for (int share = 0; share < T::SHARES; share++)
            copy_whole<T, ROWS, COLUMNS>(to, first, from.leading, share);
#pragma unroll
        for (int i = 0; i < ROWS && own.column == 0; i += STEP)
            __pipeline_memcpy_async(&to[own.row + i][COLUMNS], first + i * from.leading + COLUMNS,
                                    sizeof(uint4));
    } else {
#pragma unroll 1
        for (int i = 0; i < ROWS; i += STEP, first += STEP * from.leading) {
            copy_chunk(&to[own.row + i][own.column], first, from.data, end);
            if (own.column == 0) copy_chunk(&to[own.row + i][COLUMNS], first + COLUMNS, from.data, end);
        }
    }
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
    constexpr int STEP = THREADS * CHUNK / COLUMNS;
    struct place own = own_place<COLUMNS>();
    int skew = skew_of(own_chunk<COLUMNS>(from, row, column)), left = from.cols - column - own.column;
#pragma unroll
    for (int i = 0; i < ROWS; i += STEP) {
        uint4 *chunk = (uint4 *)&tile[own.row + i][own.column], pair[2] = {chunk[0], chunk[1]};
        __syncwarp(); // for another thread this chunk is the second one, and it has read it, too
        push_left((unsigned *)pair, skew, left);
        chunk[0] = pair[0];
    }
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
    if (step < work.steps) {
        copy_tile<T, T::M, T::K>(stage->a, work.a, work.place.row, step * T::K);
        copy_tile<T, T::K, T::N>(stage->b, work.b, step * T::K, work.place.column);
    }
    __pipeline_commit(); // in any case: the waits count groups
    // [/student]
}

/** Waits until only @p ahead - 1 groups of this thread are under way: the oldest has landed. */
__device__ inline void wait_for_oldest(int ahead)
{
    // [student: wait_for_oldest]
    switch (ahead) { // the number is a part of the instruction
    case 1:
        __pipeline_wait_prior(0);
        break;
    case 2:
        __pipeline_wait_prior(1);
        break;
    default:
        __pipeline_wait_prior(2);
    }
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
    int single = turn.fill == turn.now; // stage: it cannot be filled before its last fragments are loaded
    if (KIND == EDGE && !single) fill_stage<T>(turn.fill, work, step + work.ahead);
#pragma unroll // fragments are in registers, which have no index
    for (int k = 0; k < T::K; k += FRAGMENT) {
        int share = k / FRAGMENT, odd = share % 2;
        if (k + FRAGMENT < T::K) {
            load_fragments<T>(&f[!odd], turn.now, k + FRAGMENT);
            if (KIND == WHOLE && share < T::SHARES) {
                copy_whole<T, T::M, T::K>(turn.fill->a, from.a, work.a.leading, share);
                copy_whole<T, T::K, T::N>(turn.fill->b, from.b, work.b.leading, share);
            }
            if (KIND == WHOLE && share == T::SHARES - 1) __pipeline_commit();
        } else if (KIND != LAST) {
            if (KIND == EDGE && single) {
                __syncthreads(); // everybody has loaded the last fragments
                fill_stage<T>(turn.fill, work, step + work.ahead);
            }
            wait_for_oldest(work.ahead); // the next step's group
            if (KIND == EDGE) straighten_stage<T>(turn.next, work, step + 1);
            __syncthreads(); // everybody's has landed; everybody is done with this step's stage
            load_fragments<T>(&f[!odd], turn.next, 0);
        }
        multiply_fragments<T>(sum, f[odd]);
    }
    // [/student]
}

/** One block, one part of C: walks along k with args.stages stages under way. */
template <typename T> __global__ void __launch_bounds__(T::THREADS, 1) product_kernel(struct gemm_args args)
{
    // [student: product_kernel]
    extern __shared__ float4 shared_memory[]; // [args.stages] of T::stage
    typename T::stage *stages = (typename T::stage *)shared_memory;
    const struct work work = find_work<T>(args, (int)blockIdx.x);

    c_fragment sum[T::DOWN_FRAGMENTS][T::ACROSS_FRAGMENTS];
    for (int i = 0; i < T::DOWN_FRAGMENTS; i++)
        for (int j = 0; j < T::ACROSS_FRAGMENTS; j++) wmma::fill_fragment(sum[i][j], 0.0f);

    for (int step = 0; step < work.ahead; step++) fill_stage<T>(&stages[step], work, step);
    wait_for_oldest(work.ahead);
    straighten_stage<T>(stages, work, 0);
    __syncthreads(); // everybody's copies of the first tiles have landed
    struct fragments<T> f[2];
    load_fragments<T>(&f[0], stages, 0);

    typename T::stage *end = stages + args.stages;
    struct turn<T> turn = {
        stages, args.stages > 1 ? stages + 1 : stages, end - 1
    };
    struct own_chunks from = {own_chunk<T::K>(work.a, work.place.row, work.ahead * T::K),
                              own_chunk<T::N>(work.b, work.ahead * T::K, work.place.column)};
    int step = 0, whole = whole_steps<T>(work, args.stages);
#pragma unroll 1
    for (; step < whole; step++, turn = turn_after<T>(turn, stages, end)) {
        multiply_step<T, WHOLE>(sum, f, turn, work, step, from);
        from.a += T::K;
        from.b += T::K * work.b.leading;
    }
#pragma unroll 1
    for (; step < work.steps - 1; step++, turn = turn_after<T>(turn, stages, end))
        multiply_step<T, EDGE>(sum, f, turn, work, step, from);
    multiply_step<T, LAST>(sum, f, turn, work, step, from);
    __syncthreads(); // everybody is done with the stages: fragments of C may pass through the first
    store_part<T>(args, work.place, sum, (float *)stages + (int)threadIdx.x / WARP * FRAGMENT * CORNER);
    // [/student]
}

/* ---- launching ---------------------------------------------------------------------------------------- */

/** Starts a block for each part of C. */
template <typename T> static enum kernel_status launch(const struct gemm_args *args, cudaStream_t stream)
{
    // [student: launch]
    // No more parts than tiles of 16 x 16, and gemm_args_check() saw to it that those fit in an int.
    int blocks = divide_up(args->m, T::M) * divide_up(args->n, T::N);
    int bytes = args->stages * (int)sizeof(typename T::stage); // more than 48 KB must be asked for
    if (cudaFuncSetAttribute(product_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) !=
        cudaSuccess)
        return KERNEL_CUDA_ERROR;
    product_kernel<T><<<(unsigned)blocks, T::THREADS, (size_t)bytes, stream>>>(*args);
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
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
