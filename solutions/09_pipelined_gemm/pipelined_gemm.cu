// [student: head]
/*
 * A matrix product that loads ahead, twice. Shared memory holds several stages, each a tile of A and one of B:
 * while the tensor cores multiply one, the others are on their way, copied past the registers by
 * __pipeline_memcpy_async. Registers hold fragments of two fragment steps: while one half is multiplied, the
 * other is loaded, at the end of a tile from the next one.
 *
 *      3 stages, tiles of 64 along k      tile 0                     tile 1
 *      multiply, 16 along k at a time        0    16    32     48    |  0    16    32     48    |
 *      load the fragments of            0   16    32    48   *  0    | 16    32    48   *  0    |
 *      begin to copy tile            0, 1    2     2         *       |  3     3         *       |
 *
 *      * wait for this thread's copies of the next tile; barrier
 *
 * One barrier per tile, placed before the last fragment step (16 along k). When a thread comes to it, its
 * copies of the next tile have arrived and it has loaded its last fragments of this one. So after it the next
 * tile is complete, and this tile's stage may be filled again; one fragment step is still to multiply while
 * the first fragments of the next tile are loaded.
 *
 * Run:   build/bin/warpwise check 09 --kernel solutions/09_pipelined_gemm/pipelined_gemm.cu
 */
// [/student]
#include "pipelined_gemm.h"

#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include "rasterization.h"
#include "kernel_launch.h"
#include "block_tile.h"     // tile sizes, a block's work, where chunks come from
#include "warp_tile.h"      // fragments: load, multiply, store
#include "realigned_rows.h" // rows that do not begin at multiples of 16 bytes

using namespace nvcuda;

enum {
    MAX_STAGES = 4,
    SHARED_BYTES = 65536, // what a block may have on every device from sm_75 on

    // To be tuned: the tile of a block, k per step, and the tile of a warp, for large and for small products.
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
    FILL_PERCENT = 50 // of the SMs must have a large tile, else small ones are taken
};

typedef struct tile<LARGE_M, LARGE_N, LARGE_K, LARGE_WARP_M, LARGE_WARP_N> large_tile;
typedef struct tile<SMALL_M, SMALL_N, SMALL_K, SMALL_WARP_M, SMALL_WARP_N> small_tile;
static_assert(MAX_STAGES * sizeof(small_tile::stage) <= SHARED_BYTES, "small tiles must fit on every device");

/** The stages of a step: the one that is multiplied, the next one, and the one that is filled meanwhile. */
template <typename T> struct stage_ring {
    typename T::stage *now, *next, *fill;
};

/** Moves on to the next step, in a ring of stages from @p first to @p end: the one just multiplied is filled next. */
template <typename T>
__device__ inline struct stage_ring<T> advance_ring(const struct stage_ring<T> &ring,
                                                    typename T::stage *first, const typename T::stage *end) {
    return {ring.next, ring.next + 1 < end ? ring.next + 1 : first, ring.now};
}

/** Where the running thread's first chunks of the next tiles to be copied are, if those are whole. */
struct chunk_addresses {
    const half *a, *b;
};

/** Kinds of steps: the tiles copied meanwhile lie inside their matrices; they may stick out; there is no next step. */
enum { INTERIOR, EDGE, LAST };

/* ---- from global to shared memory --------------------------------------------------------------------- */

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

/**
 * Begins portion @p portion (of T::PORTIONS) of the copies of a tile that is inside of its matrix. The running
 * thread's first chunk of the tile is at @p first, its matrix has @p leading elements from row to row.
 */
template <typename T, int ROWS, int COLUMNS>
__device__ inline void copy_interior(half to[ROWS][COLUMNS + PAD], const half *first, size_t leading,
                                     int portion)
{
    // [student: copy_interior]
    constexpr int STEP = T::THREADS * CHUNK / COLUMNS; // rows copied at once
    constexpr int PORTION_ROWS = ROWS / T::PORTIONS;
    struct coord own = thread_chunk<COLUMNS>();
#pragma unroll
    for (int i = portion * PORTION_ROWS; i < (portion + 1) * PORTION_ROWS; i += STEP)
        __pipeline_memcpy_async(&to[own.row + i][own.column], first + i * leading, sizeof(uint4));
    // [/student]
}

/** Begins to copy the tile of @p from that begins at (row, column), which may stick out of the matrix. */
template <int THREADS, int ROWS, int COLUMNS>
__device__ inline void copy_edge(half to[ROWS][COLUMNS + PAD], const struct source &from, int row, int column)
{
    // [student: copy_edge]
    constexpr int STEP = THREADS * CHUNK / COLUMNS; // rows copied at once
    struct coord own = thread_chunk<COLUMNS>();
    const half *first = chunk_address<COLUMNS>(from, row, column);
#pragma unroll 1 // edges are rare: little code for them
    for (int i = 0; i < ROWS; i += STEP) {
        const half *chunk = first + i * from.leading;
        int left = own.row + i < from.rows - row ? from.cols - column - own.column : 0; // of the row
        copy_chunk(&to[own.row + i][own.column], chunk, chunk, chunk + left);
    }
    // [/student]
}

/* ---- realignment: rows that begin anywhere ------------------------------------------------------------ */

/**
 * Begins to copy the same tile of a matrix whose rows begin anywhere: from multiples of 16 bytes, all chunks
 * that touch a row. They are one more than the tile has, which goes into the pad.
 */
template <typename T, int ROWS, int COLUMNS>
__device__ inline void copy_misaligned(half to[ROWS][COLUMNS + PAD], const struct source &from, int row,
                                       int column)
{
    // [student: copy_misaligned]
    constexpr int STEP = T::THREADS * CHUNK / COLUMNS; // rows copied at once
    struct coord own = thread_chunk<COLUMNS>();
    const half *end = from.data + (from.rows - 1) * from.leading + from.cols; // of the matrix
    const half *first = chunk_address<COLUMNS>(from, row, column);
    first -= misalignment_of(first);
    // Then what chunks hold besides the tile is in the matrix: before it, beside it, or in the row behind it.
    if ((row > 0 || column > 0) && ROWS < from.rows - row && COLUMNS + CHUNK <= from.leading) {
        for (int portion = 0; portion < T::PORTIONS; portion++)
            copy_interior<T, ROWS, COLUMNS>(to, first, from.leading, portion);
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

/**
 * Shifts the rows that copy_misaligned() copied to where they belong in the tile, and clears what is outside of
 * the matrix. Each thread does it for its own chunks; all copies of the warp must have landed.
 */
template <int THREADS, int ROWS, int COLUMNS>
__device__ inline void realign_rows(half tile[ROWS][COLUMNS + PAD], const struct source &from, int row,
                                    int column)
{
    // [student: realign_rows]
    constexpr int STEP = THREADS * CHUNK / COLUMNS;
    struct coord own = thread_chunk<COLUMNS>();
    int shift = misalignment_of(chunk_address<COLUMNS>(from, row, column)),
        left = from.cols - column - own.column;
#pragma unroll
    for (int i = 0; i < ROWS; i += STEP) {
        uint4 *chunk = (uint4 *)&tile[own.row + i][own.column], pair[2] = {chunk[0], chunk[1]};
        __syncwarp(); // another thread has this chunk as its second one: it has read it by now
        shift_left((unsigned *)pair, shift, left);
        chunk[0] = pair[0];
    }
    // [/student]
}

/** Realigns the rows that arrived misaligned in the tiles of a step, which each thread must have waited for. */
template <typename T>
__device__ inline void realign_stage(typename T::stage *stage, const struct work &work, int step)
{
    __syncwarp(); // all of the warp have waited: a row is in the same warp's hands from copy to barrier
    if (!work.a.aligned) realign_rows<T::THREADS, T::M, T::K>(stage->a, work.a, work.tile.row, step * T::K);
    if (!work.b.aligned)
        realign_rows<T::THREADS, T::K, T::N>(stage->b, work.b, step * T::K, work.tile.column);
}

/* ---- the stages --------------------------------------------------------------------------------------- */

/** Begins to copy a tile, in the fastest way that its matrix allows. */
template <typename T, int ROWS, int COLUMNS>
__device__ inline void copy_tile(half to[ROWS][COLUMNS + PAD], const struct source &from, int row, int column)
{
    if (!from.aligned)
        copy_misaligned<T, ROWS, COLUMNS>(to, from, row, column);
    else if (ROWS > from.rows - row || COLUMNS > from.cols - column)
        copy_edge<T::THREADS, ROWS, COLUMNS>(to, from, row, column);
    else
        for (int portion = 0; portion < T::PORTIONS; portion++)
            copy_interior<T, ROWS, COLUMNS>(to, chunk_address<COLUMNS>(from, row, column), from.leading,
                                            portion);
}

/** Begins to fill a stage with the tiles of a step: a group of copies, an empty one past the last step. */
template <typename T>
__device__ inline void fill_stage(typename T::stage *stage, const struct work &work, int step)
{
    // [student: fill_stage]
    if (step < work.steps) {
        copy_tile<T, T::M, T::K>(stage->a, work.a, work.tile.row, step * T::K);
        copy_tile<T, T::K, T::N>(stage->b, work.b, step * T::K, work.tile.column);
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

/* ---- the kernel --------------------------------------------------------------------------------------- */

/** How many of the first steps copy whole tiles meanwhile. */
template <typename T> __device__ inline int interior_steps(const struct work &work, int stages)
{
    int inside = T::M <= work.a.rows - work.tile.row && T::N <= work.b.cols - work.tile.column;
    return stages > 1 && inside && work.a.aligned && work.b.aligned ? work.a.cols / T::K - work.ahead : 0;
}

/**
 * Multiplies the tiles of @p step, of which @p f[0] holds the first fragments; at its end, those of the next
 * step. Meanwhile those of step + ahead are copied: INTERIOR ones from @p from on, a portion in each fragment
 * step.
 */
template <typename T, int KIND>
__device__ inline void multiply_step(c_fragment sum[T::FRAGMENTS_M][T::FRAGMENTS_N], struct fragments<T> f[2],
                                     const struct stage_ring<T> &ring, const struct work &work, int step,
                                     const struct chunk_addresses &from)
{
    // [student: multiply_step]
    int single = ring.fill == ring.now; // stage: it cannot be filled before its last fragments are loaded
    if (KIND == EDGE && !single) fill_stage<T>(ring.fill, work, step + work.ahead);
#pragma unroll // fragments are in registers, which have no index
    for (int k = 0; k < T::K; k += FRAGMENT) {
        int portion = k / FRAGMENT, odd = portion % 2;
        if (k + FRAGMENT < T::K) {
            load_fragments<T>(&f[!odd], ring.now, k + FRAGMENT);
            if (KIND == INTERIOR && portion < T::PORTIONS) {
                copy_interior<T, T::M, T::K>(ring.fill->a, from.a, work.a.leading, portion);
                copy_interior<T, T::K, T::N>(ring.fill->b, from.b, work.b.leading, portion);
            }
            if (KIND == INTERIOR && portion == T::PORTIONS - 1) __pipeline_commit();
        } else if (KIND != LAST) {
            if (KIND == EDGE && single) {
                __syncthreads(); // everybody has loaded the last fragments
                fill_stage<T>(ring.fill, work, step + work.ahead);
            }
            wait_for_oldest(work.ahead); // the next step's group
            if (KIND == EDGE) realign_stage<T>(ring.next, work, step + 1);
            __syncthreads(); // everybody's has landed; everybody is done with this step's stage
            load_fragments<T>(&f[!odd], ring.next, 0);
        }
        multiply_fragments<T>(sum, f[odd]);
    }
    // [/student]
}

/** One block, one tile of C: walks along k with args.stages stages under way. */
template <typename T> __global__ void __launch_bounds__(T::THREADS, 1) product_kernel(struct gemm_args args)
{
    // [student: product_kernel]
    extern __shared__ float4 shared_memory[]; // [args.stages] of T::stage
    typename T::stage *stages = (typename T::stage *)shared_memory;
    const struct work work = find_work<T>(args, (int)blockIdx.x);

    c_fragment sum[T::FRAGMENTS_M][T::FRAGMENTS_N];
    for (int i = 0; i < T::FRAGMENTS_M; i++)
        for (int j = 0; j < T::FRAGMENTS_N; j++) wmma::fill_fragment(sum[i][j], 0.0f);

    for (int step = 0; step < work.ahead; step++) fill_stage<T>(&stages[step], work, step);
    wait_for_oldest(work.ahead);
    realign_stage<T>(stages, work, 0);
    __syncthreads(); // everybody's copies of the first tiles have landed
    struct fragments<T> f[2];
    load_fragments<T>(&f[0], stages, 0);

    typename T::stage *end = stages + args.stages;
    struct stage_ring<T> ring = {
        stages, args.stages > 1 ? stages + 1 : stages, end - 1
    };
    struct chunk_addresses from = {chunk_address<T::K>(work.a, work.tile.row, work.ahead * T::K),
                                   chunk_address<T::N>(work.b, work.ahead * T::K, work.tile.column)};
    int step = 0, whole = interior_steps<T>(work, args.stages);
#pragma unroll 1
    for (; step < whole; step++, ring = advance_ring<T>(ring, stages, end)) {
        multiply_step<T, INTERIOR>(sum, f, ring, work, step, from);
        from.a += T::K;
        from.b += T::K * work.b.leading;
    }
#pragma unroll 1
    for (; step < work.steps - 1; step++, ring = advance_ring<T>(ring, stages, end))
        multiply_step<T, EDGE>(sum, f, ring, work, step, from);
    multiply_step<T, LAST>(sum, f, ring, work, step, from);
    __syncthreads(); // everybody is done with the stages: fragments of C may pass through the first
    store_warp_tile<T>(args, work.tile, sum,
                       (float *)stages + (int)threadIdx.x / WARP * FRAGMENT * EDGE_STRIDE);
    // [/student]
}

/** Starts a block for each tile of C. */
template <typename T> static enum kernel_status launch(const struct gemm_args *args, cudaStream_t stream)
{
    // [student: launch]
    // No more than tiles of 16 x 16, and gemm_args_check() saw to it that those fit in an int.
    int blocks = divide_up(args->m, T::M) * divide_up(args->n, T::N);
    int bytes = args->stages * (int)sizeof(typename T::stage); // more than 48 KB must be asked for
    if (cudaFuncSetAttribute(product_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) !=
        cudaSuccess)
        return KERNEL_CUDA_ERROR;
    product_kernel<T><<<(unsigned)blocks, T::THREADS, (size_t)bytes, stream>>>(*args);
    return launch_status();
    // [/student]
}

/* ---- the entry point ---------------------------------------------------------------------------------- */

/** 1 if args->stages stages of large tiles fit, and the tiles keep the device busy; 0 if not; -1 on error. */
static int large_tiles_pay(const struct gemm_args *args)
{
    int device, bytes, sm_count;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
        return -1;
    int64_t blocks = (int64_t)divide_up(args->m, LARGE_M) * divide_up(args->n, LARGE_N);
    return args->stages * (int)sizeof(large_tile::stage) <= bytes &&
           blocks * 100 >= (int64_t)sm_count * FILL_PERCENT;
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
