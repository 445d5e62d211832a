// Generated, but for what stands between [student: ...] and [/student]: that is yours.
// [student: head]
/*
 * Lesson 09: the file you write. Read README.md beside it, then fill in what stands between the lines
 * `[student: ...]` and `[/student]`, in the order of the page. Everything else is given: leave it as it is.
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
    /* TODO: if all 8 halves are inside, begin an asynchronous copy of 16 bytes. Otherwise write the 8
     * elements yourself: those inside from memory, the others 0. Why does nobody need to wait for these? */
    (void)to, (void)from, (void)begin, (void)end;
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
    /* TODO: neighbouring threads take neighbouring chunks of a row, THREADS of them at a time. So this thread
     * goes on by THREADS * CHUNK / COLUMNS rows, from thread_chunk() on. A portion is ROWS / T::PORTIONS rows.
     * Asynchronous copies of 16 bytes; offsets are size_t; unroll the loop. */
    (void)to, (void)first, (void)leading, (void)portion;
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
    /* TODO: as copy_edge(), but a row is copied from the multiple of 16 bytes on that its own first chunk
     * is misalignment_of() halves past, and one thread of a row copies the chunk that goes into the pad. Halves
     * beside the row may come along, of other rows or between them; those outside of the matrix may not. */
    (void)to, (void)from, (void)row, (void)column;
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
    /* TODO: the same chunks. Each is the last halves of the chunk that is there, and the first of the next
     * one: read both, have shift_left() make one of the two, write it. What must happen between? */
    (void)tile, (void)from, (void)row, (void)column;
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
    /* TODO: copy_tile() for A (rows of the tile of C, k of the step) and for B. Then commit: a group of copies per
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
    /* TODO, last of all: for speed. Leave it empty until product_kernel() is right without it. In each
     * fragment step first begin to load what comes next, then multiply what is there.
     *     - f[0] and f[1] alternate: load_fragments() into one, multiply_fragments() of the other.
     *     - In each of the first T::PORTIONS fragment steps: copy_interior() for a portion of A and of B, if KIND
     *       is INTERIOR; after the last portion a commit. EDGE: fill_stage() first. LAST: nothing to copy.
     *     - In the last fragment step: wait, EDGE: realign_stage(), barrier, load the first fragments of the
     *       next step. LAST: none.
     *     - A single stage: when may it be filled? */
    (void)sum, (void)f, (void)ring, (void)work, (void)step, (void)from;
    // [/student]
}

/** One block, one tile of C: walks along k with args.stages stages under way. */
template <typename T> __global__ void __launch_bounds__(T::THREADS, 1) product_kernel(struct gemm_args args)
{
    // [student: product_kernel]
    /* TODO: find your tile of C and set its fragments to 0. fill_stage() for the first work.ahead steps. The
     * simplest right loop, for every step along k:
     *     wait_for_oldest(), realign_stage(), barrier; fill_stage() for step + ahead;
     *     for each fragment step (16 along k): load_fragments(), multiply_fragments().
     * A single stage can be filled only when it has been multiplied, after a second barrier. At the end
     * store_warp_tile(); fragments that stick out of C pass through the first stage, so who must be done with it?
     * When all cases pass, write multiply_step() and call it instead: for interior_steps() steps, then for those
     * where something is at an edge, then for the last. First: wait, realign_rows, barrier, fragments. */
    (void)args;
    // [/student]
}

/** Starts a block for each tile of C. */
template <typename T> static enum kernel_status launch(const struct gemm_args *args, cudaStream_t stream)
{
    // [student: launch]
    /* TODO: one block per tile of C, T::THREADS threads, args->stages stages of shared memory. More than 48 KB
     * have to be asked for with cudaFuncSetAttribute. */
    (void)args, (void)stream;
    return KERNEL_NOT_STARTED;
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
