// Generated, but for what stands between [student: ...] and [/student]: that is yours.
// [student: head]
/*
 * Lesson 15: the file you write. Read README.md beside it, then fill in what stands between the lines
 * `[student: ...]` and `[/student]`, in the order of the page. Everything else is given: leave it as it is.
 * You may add functions and constants inside your regions and declare shared memory as you like.
 *
 *     build/bin/warpwise check 15                 judges what is there
 *     build/bin/warpwise check 15 --case NAME     looks at one case
 */
// [/student]
#include "hopper_gemm.h"

#include "hopper.h" // wrappers for mbarriers, TMA, clusters and warpgroups
#include "kernel_launch.h"
#include "rasterization.h"
#include "tile_sizes.h"
#include "warp_matrix.h" // pack_elements, unpack_element
#include "wgmma_tiles.h" // wgmma<MN_MAJOR_A, MN_MAJOR_B>(sums, tile of A, tile of B, type)

/** Whose tiles are MN-major, rows across k: the sum of these that apply. The others are K-major: rows along k. */
enum { MN_MAJOR_B = 1, MN_MAJOR_A = 2 };

/** The kernel's arguments. */
struct product {
    CUtensorMap a, b, c; // as TMA sees the matrices
    struct gemm_args args;
    int tiles_m, tiles_n; // of C, in tiles of a cluster
    int slices;           // of TILE_K along k; 0: nothing is to be multiplied
    int tma_stores;       // whether TMA can write C
};

/** Where a block's tile of C begins. */
struct place {
    int row, column;
};

/* ---- the producer -------------------------------------------------------------------------------------- */

/** Where this block's part of the cluster's tile number @p tile begins: the blocks of a cluster lie below each other. */
template <typename SIZE> __device__ inline struct place place_of(const struct product &p, int tile)
{
    struct tile_index index = raster_tile<RASTER_ROWS / SIZE::CLUSTER>(tile, p.tiles_m, p.tiles_n);
    int rank = SIZE::CLUSTER > 1 ? cluster_rank() : 0;
    return {(index.row * SIZE::CLUSTER + rank) * TILE_M, index.column * SIZE::TILE_N};
}

/** LINES rows of op(A), or columns of op(B), of one slice: in one box, or in boxes of 64 if rows run across k. */
template <int LINES, int MN_MAJOR, int CLUSTER>
__device__ inline void load_lines(char *tile, const CUtensorMap *map, int line, int k, uint64_t *full)
{
    // [student: load_lines]
    // TODO: the boxes of LINES lines at k: for this block, or for all blocks of the cluster.
    (void)tile, (void)map, (void)line, (void)k, (void)full;
    // [/student]
}

/** One thread loads all slices of all tiles of its block, as soon as their stages are empty. */
template <typename SIZE, int LAYOUT>
__device__ inline void load_tiles(const struct product &p, const struct shared_memory<SIZE> &s)
{
    // [student: load_tiles]
    // TODO: for every tile of this block and every slice: wait until the stage is empty, expect its bytes, load A and B.
    (void)p, (void)s;
    // [/student]
}

/** Where byte @p byte of row @p row lies in a tile whose rows are 128 bytes: TMA and wgmma XOR the 16-byte column with the row. */
__device__ inline int swizzled(int row, int byte)
{
    // [student: swizzled]
    // TODO: XOR the number of the 16-byte column with the row.
    (void)row, (void)byte;
    return 0;
    // [/student]
}

/** Copies LINES lines of a slice, two neighbours along k per thread. From @p matrix on @p lines lines and @p depth of k are left; then zeros. */
template <int LINES>
__device__ inline void copy_lines(char *tile, const void *matrix, int mn_major, int ld, int lines, int depth)
{
    // [student: copy_lines]
    // TODO: every thread copies its elements to their swizzled places, zeros where there are none.
    (void)tile, (void)matrix, (void)mn_major, (void)ld, (void)lines, (void)depth;
    // [/student]
}

/** As load_tiles(), for matrices that TMA does not take: all threads of the producer copy, and all arrive. */
template <typename SIZE>
__device__ inline void copy_tiles(const struct product &p, const struct shared_memory<SIZE> &s)
{
    // [student: copy_tiles]
    // TODO: as load_tiles(), with copy_lines(), a fence between two proxies, and an arrival of every thread.
    (void)p, (void)s;
    // [/student]
}

/* ---- from registers to C ------------------------------------------------------------------------------- */

/** alpha times the sums of 64 columns, plus beta times what C holds. */
template <typename T>
__device__ inline void scale(const struct product &p, int row, int column, float sum[32])
{
    // [student: scale]
    // TODO: alpha times the sums; unless beta is 0, plus beta times the elements of C that are there.
    (void)p, (void)row, (void)column, (void)sum;
    // [/student]
}

/** 64 x 64 elements to shared memory, swizzled as TMA takes them: 16 x 16 of a warp at a time. */
template <typename T> __device__ inline void write_block(char *buffer, const float sum[32])
{
    // [student: write_block]
    // TODO: pairs of neighbours rounded to T, four matrices per store_matrices().
    (void)buffer, (void)sum;
    // [/student]
}

/** Writes 64 columns of a C that TMA does not take: neighbouring threads write neighbouring elements. */
__device__ inline void copy_block(const struct product &p, const char *buffer, int row, int column)
{
    // [student: copy_block]
    // TODO: the elements of this buffer that are within C.
    (void)p, (void)buffer, (void)row, (void)column;
    // [/student]
}

/**
 * Writes a consumer's 64 rows, which begin at @p place, 64 columns at a time: into one of its buffers, while TMA still reads the
 * other. @p out are its OUT_BUFFERS buffers, and @p next counts, over all tiles, the blocks of columns it has written.
 */
template <typename T, typename SIZE>
__device__ inline void write_tile(const struct product &p, char *out, int *next, struct place place,
                                  float (&sum)[SIZE::SUMS])
{
    // [student: write_tile]
    // TODO: for each 64 columns: scale, wait for the buffer, write it, fence, and store it by TMA or by copy_block().
    (void)p, (void)out, (void)place, (void)sum;
    // [/student]
}

/* ---- the consumers ------------------------------------------------------------------------------------- */

/** The warpgroup is done with a stage: it arrives at the mbarriers of all blocks that load into it. */
template <typename SIZE> __device__ inline void release_stage(const struct shared_memory<SIZE> &s, int stage)
{
    // [student: release_stage]
    // TODO: arrive at `empty` of this stage in every block of the cluster, one thread each.
    (void)s, (void)stage;
    // [/student]
}

/** All slices of one tile. The product of one slice stays in flight while the next one's is issued. */
template <typename T, typename SIZE, int LAYOUT>
__device__ inline void multiply_slices(float (&sum)[SIZE::SUMS], struct ring *ring, int slices,
                                       const struct shared_memory<SIZE> &s)
{
    // [student: multiply_slices]
    // TODO: for every slice: wait until the stage is full, four wgmma, and release the stage of the slice before.
    (void)sum, (void)ring, (void)slices, (void)s;
    // [/student]
}

/** A warpgroup multiplies 64 rows of every tile of its block, and writes them. */
template <typename T, typename SIZE, int LAYOUT>
__device__ inline void multiply_tiles(const struct product &p, const struct shared_memory<SIZE> &s)
{
    // [student: multiply_tiles]
    // TODO: for every tile of this block: sums 0, all slices, write the sums; at the end wait for the last stores.
    (void)p, (void)s;
    // [/student]
}

/* ---- the kernel ---------------------------------------------------------------------------------------- */

/** Sets up the mbarriers and gives every warpgroup its work. */
template <typename T, typename SIZE, int LAYOUT, int BY_HAND>
__global__ void __launch_bounds__(THREADS, 1) gemm_kernel(const __grid_constant__ struct product p)
{
#if HOPPER_CODE
    // [student: gemm_kernel]
    // TODO: initialise the mbarriers, then one warpgroup produces and the others consume.
    // [/student]
#endif
}

/** Describes to TMA what it copies: boxes of 128 bytes times as many rows as are copied at once. */
template <typename T, typename SIZE, int LAYOUT, int BY_HAND> static int describe(struct product *p)
{
    // [student: describe]
    // TODO: a tensor map of each matrix that TMA reads or writes, with the box that is copied at once; 0 if one is refused.
    (void)p;
    return 0;
    // [/student]
}

/** Starts as many blocks as there are SMs, in whole clusters, or fewer if there are fewer tiles. */
template <typename T, typename SIZE, int LAYOUT, int BY_HAND>
static enum kernel_status launch(struct product *p, cudaStream_t stream)
{
    // [student: launch]
    // TODO: how many tiles and clusters, describe the matrices to TMA, ask for the shared memory, launch in clusters.
    (void)p, (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/* ---- entry points -------------------------------------------------------------------------------------- */

/** Finds the kernel of a layout: wgmma must know it when compiling. */
template <typename T, typename SIZE>
static enum kernel_status launch_layout(struct product *p, cudaStream_t stream)
{
    // Rows of A [m, k] run along k, those of B [k, n] do not.
    switch ((p->args.trans_a ? MN_MAJOR_A : 0) + (p->args.trans_b ? 0 : MN_MAJOR_B)) {
    case 0:
        return launch<T, SIZE, 0, 0>(p, stream);
    case MN_MAJOR_B:
        return launch<T, SIZE, MN_MAJOR_B, 0>(p, stream);
    case MN_MAJOR_A:
        return launch<T, SIZE, MN_MAJOR_A, 0>(p, stream);
    default:
        return launch<T, SIZE, MN_MAJOR_A + MN_MAJOR_B, 0>(p, stream);
    }
}

/** Whether TMA takes a matrix: every row begins at a multiple of 16 bytes. Where rows end does not matter. */
static int is_for_tma(const void *matrix, int ld)
{
    return ld % 8 == 0 && is_aligned(matrix, 16);
}

/** Checks the arguments, and finds the size of tiles: the widest of which there is one for every SM. */
template <typename T>
static enum kernel_status gemm(const struct gemm_args *args, enum dtype dtype, cudaStream_t stream)
{
    enum kernel_status status = gemm_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype_in != dtype || args->dtype_out != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    if (device_attribute(cudaDevAttrComputeCapabilityMajor) != 9) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    struct product p = {};
    p.args = *args;
    p.slices = args->alpha != 0.0f ? divide_up(args->k, TILE_K) : 0;
    p.tma_stores = is_for_tma(args->c, args->ldc);
    if (p.slices > 0 && !(is_for_tma(args->a, args->lda) && is_for_tma(args->b, args->ldb)))
        return launch<T, small_tile, 0, 1>(&p, stream);
    double rows = divide_up(args->m, TILE_M), sms = device_attribute(cudaDevAttrMultiProcessorCount);
    if (rows * divide_up(args->n, large_tile::TILE_N) >= sms) return launch_layout<T, large_tile>(&p, stream);
    if (rows * divide_up(args->n, medium_tile::TILE_N) >= sms)
        return launch_layout<T, medium_tile>(&p, stream);
    return launch_layout<T, small_tile>(&p, stream);
}

enum kernel_status hopper_gemm_f16(const struct gemm_args *args, cudaStream_t stream)
{
    return gemm<half>(args, DTYPE_F16, stream);
}

enum kernel_status hopper_gemm_bf16(const struct gemm_args *args, cudaStream_t stream)
{
    return gemm<__nv_bfloat16>(args, DTYPE_BF16, stream);
}
