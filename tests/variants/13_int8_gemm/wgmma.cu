/*
 * A correct solution of another shape, for Hopper: where rows of A and B run along k and begin at multiples of 16 bytes, TMA loads
 * tiles and wgmma multiplies them, as in lesson 15; wgmma takes bytes in no other layout. All else is the solution's work.
 *
 *     warpgroup 0        one thread loads slices of 128 bytes of k into a ring of stages; the two blocks of a cluster have the
 *                        same columns of C, and each loads half of the tile of B for both
 *     warpgroups 1, 2    multiply 64 x 256 each; lanes exchange sums, so that each has four neighbours to write
 */
#include "int8_gemm.h"

#include "hopper.h"
#include "wgmma_s8.h"

#define int8_gemm_s32 other_int8_gemm_s32
#define int8_gemm_dequantised other_int8_gemm_dequantised
#include "../../../solutions/13_int8_gemm/int8_gemm.cu"
#undef int8_gemm_s32
#undef int8_gemm_dequantised

enum {
    CONSUMERS = 2,
    HOPPER_THREADS = (1 + CONSUMERS) * WARPGROUP,
    CLUSTER = 2,     // blocks below each other, which share a tile of B
    GROUP_ROWS = 64, // of a consumer
    ROWS = CONSUMERS * GROUP_ROWS,
    COLUMNS = 256,
    SHARE = COLUMNS / CLUSTER, // columns of B that a block loads
    SUMS = COLUMNS / 2,        // of a thread
    SLICE_A = ROWS * TILE_K,   // bytes; a row of a slice is TILE_K = 128 bytes, the width of the swizzle
    SLICE = SLICE_A + COLUMNS * TILE_K,
    RING = 4, // stages
    HOPPER_SHARED = RING * SLICE + 2 * RING * 8,
    HOPPER_RASTER = 16, // rows of tiles that are worked on together
    PLAIN_SUMS = -1
};

/** The kernel's arguments: tiles_m and tiles_n count tiles of a cluster. */
struct hopper_product {
    CUtensorMap a, b;
    struct product of;
};

/** The shared memory of a block. */
struct ring_memory {
    char *stages;    // [RING] of SLICE: a tile of A, then one of B
    uint64_t *full;  // [RING] mbarriers: the stage is loaded
    uint64_t *empty; // [RING] it is multiplied, in both blocks
};

/** Where the block's part of the cluster's tile number @p tile begins. */
__device__ inline struct tile_index place_of(const struct product &p, int tile)
{
    struct tile_index at = raster_tile<HOPPER_RASTER / CLUSTER>(tile, p.tiles_m, p.tiles_n);
    return {(at.row * CLUSTER + cluster_rank()) * ROWS, at.column * COLUMNS};
}

/** One thread loads all slices of all tiles of its block, as soon as their stages are empty. */
__device__ inline void load_slices(const struct hopper_product &p, const struct ring_memory &s)
{
    struct ring ring = {0, 1}; // in the first round stages are empty, and no wait blocks
    int part = cluster_rank() * SHARE;
    for (int tile = (int)blockIdx.x / CLUSTER; tile < p.of.tiles_m * p.of.tiles_n;
         tile += (int)gridDim.x / CLUSTER) {
        struct tile_index at = place_of(p.of, tile);
        for (int k = 0; k < p.of.args.k; k += TILE_K, advance<RING>(&ring)) {
            char *stage = s.stages + ring.stage * SLICE;
            uint64_t *full = &s.full[ring.stage];
            mbarrier_wait(&s.empty[ring.stage], ring.parity);
            mbarrier_arrive_expect(full, SLICE);
            tensor_load(stage, &p.a, k, at.row, full);
            tensor_multicast(stage + SLICE_A + part * TILE_K, &p.b, k, at.column + part, full,
                             (1 << CLUSTER) - 1);
        }
    }
}

/** The warpgroup is done with a stage: it arrives in both blocks, which load into it. */
__device__ inline void release(const struct ring_memory &s, int stage)
{
    int rank = (int)threadIdx.x % WARPGROUP;
    if (rank < CLUSTER) mbarrier_arrive_at(&s.empty[stage], rank);
}

/** All slices of one tile. The product of one slice stays in flight while the next one's is issued. */
__device__ inline void multiply_slices(int (&sum)[SUMS], struct ring *ring, int group, int depth,
                                       const struct ring_memory &s)
{
    int last = 0;
    for (int k = 0; k < depth; k += TILE_K, advance<RING>(ring)) {
        uint32_t stage = shared_address(s.stages + ring->stage * SLICE);
        uint64_t a = tile_descriptor(stage + group * GROUP_ROWS * TILE_K, 0);
        uint64_t b = tile_descriptor(stage + SLICE_A, 0);
        mbarrier_wait(&s.full[ring->stage], ring->parity);
        wgmma_fence();
#pragma unroll
        for (int step = 0; step < STEPS; step++) // in units of 16 bytes
            wgmma_s8(sum, a + step * MMA_K / 16, b + step * MMA_K / 16);
        wgmma_commit();
        wgmma_wait<1>(); // that of the slice before is complete
        if (k > 0) release(s, last);
        last = ring->stage;
    }
    wgmma_wait<0>();
    release(s, last);
}

/**
 * Writes a warpgroup's 64 rows. Of 16 columns a lane has two neighbours in the first eight, and two in the last; lanes 4g + q of
 * even and odd q exchange one of these pairs: four neighbours in the first eight for q = 0 and 2, in the last for 1 and 3.
 */
__device__ inline void write_group(const struct product &p, int row, int column, const int (&sum)[SUMS])
{
    int lane = (int)threadIdx.x % WARP, odd = lane % 2;
    row += (int)threadIdx.x % WARPGROUP / WARP * 16 + lane / 4, column += odd * 8 + lane % 4 / 2 * 4;
#pragma unroll
    for (int i = 0; i < SUMS; i += 8) {
        struct columns columns = load_columns(p, column + i * 2);
#pragma unroll
        for (int below = 0; below < 2; below++) {
            const int *s = &sum[i + 2 * below];
            int x = __shfl_xor_sync(0xffffffff, odd ? s[0] : s[4], 1);
            int y = __shfl_xor_sync(0xffffffff, odd ? s[1] : s[5], 1);
            const int four[4] = {odd ? x : s[0], odd ? y : s[1], odd ? s[4] : x, odd ? s[5] : y};
            if (row + below * 8 < p.args.m) write_row(p, columns, row + below * 8, four);
        }
    }
}

/** A warpgroup multiplies 64 rows of every tile of its block, and writes them. */
template <int OUT>
__device__ inline void multiply_tiles(const struct hopper_product &p, const struct ring_memory &s)
{
    int group = (int)threadIdx.x / WARPGROUP - 1;
    struct product of = p.of; // of which the compiler knows what C stores, and compiles nothing else
    of.dequantised = OUT != PLAIN_SUMS;
    if (OUT != PLAIN_SUMS) of.args.dtype_out = (enum dtype)OUT;
    struct ring ring = {0, 0};
    for (int tile = (int)blockIdx.x / CLUSTER; tile < p.of.tiles_m * p.of.tiles_n;
         tile += (int)gridDim.x / CLUSTER) {
        int sum[SUMS] = {};
        multiply_slices(sum, &ring, group, p.of.args.k, s);
        struct tile_index at = place_of(p.of, tile);
        write_group(of, at.row + group * GROUP_ROWS, at.column, sum);
    }
}

/** Sets up the mbarriers and gives every warpgroup its work. OUT: PLAIN_SUMS, or the dtype of a dequantised C. */
template <int OUT>
__global__ void __launch_bounds__(HOPPER_THREADS, 1)
    wgmma_kernel(const __grid_constant__ struct hopper_product p)
{
#if HOPPER_CODE
    extern __shared__ __align__(1024) char shared[];
    uint64_t *barriers = (uint64_t *)(shared + RING * SLICE);
    struct ring_memory s = {shared, barriers, barriers + RING};
    if (threadIdx.x == 0) {
        for (int i = 0; i < RING; i++) {
            mbarrier_init(&s.full[i], 1);
            mbarrier_init(&s.empty[i], CONSUMERS * CLUSTER);
        }
        mbarrier_init_fence();
    }
    cluster_sync(); // the mbarriers of both blocks are there before anybody arrives at one
    if (threadIdx.x < WARPGROUP) {
        registers_down_to<40>();
        if (threadIdx.x == 0) load_slices(p, s);
    } else {
        registers_up_to<232>();
        multiply_tiles<OUT>(p, s);
    }
    cluster_sync(); // nobody arrives at, or copies to, the shared memory of a block that has ended
#endif
}

/** Describes a matrix of bytes to TMA, in boxes of a slice's width. */
static int byte_map(CUtensorMap *map, const int8_t *matrix, int rows, int columns, int ld, int box_rows)
{
    const cuuint64_t sizes[] = {(cuuint64_t)columns, (cuuint64_t)rows}, strides[] = {(cuuint64_t)ld};
    const cuuint32_t box[] = {TILE_K, (cuuint32_t)box_rows}, steps[] = {1, 1};
    return cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 2, (void *)matrix, sizes, strides, box,
                                  steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

/** Whether TMA and wgmma can take A and B: a GPU of compute capability 9.0, rows along k at multiples of 16 bytes. */
static int is_for_wgmma(const struct int8_gemm_args *args)
{
    return device_attribute(cudaDevAttrComputeCapabilityMajor) == 9 && !args->trans_a && args->trans_b &&
           is_chunked(args->a, args->lda) && is_chunked(args->b, args->ldb);
}

/** Starts as many blocks as there are SMs, in whole clusters, or fewer if there are fewer tiles. */
template <int OUT> static enum kernel_status by_wgmma(const struct int8_gemm_args *args, cudaStream_t stream)
{
    struct hopper_product p = {};
    p.of.args = *args;
    p.of.c_vectors =
        args->ldc % 4 == 0 && is_aligned(args->c, 4 * int8_gemm_out_bytes(args, OUT != PLAIN_SUMS));
    p.of.tiles_m = divide_up(divide_up(args->m, ROWS), CLUSTER), p.of.tiles_n = divide_up(args->n, COLUMNS);
    int clusters = max(device_attribute(cudaDevAttrMultiProcessorCount) / CLUSTER, 1);
    if (!byte_map(&p.a, args->a, args->m, args->k, args->lda, ROWS) ||
        !byte_map(&p.b, args->b, args->n, args->k, args->ldb, SHARE))
        return KERNEL_CUDA_ERROR;
    launch_in_clusters(wgmma_kernel<OUT>, min(p.of.tiles_m * p.of.tiles_n, clusters) * CLUSTER,
                       HOPPER_THREADS, HOPPER_SHARED, CLUSTER, stream, p);
    return launch_status();
}

extern "C" enum kernel_status int8_gemm_s32(const struct int8_gemm_args *args, cudaStream_t stream)
{
    return int8_gemm_args_check(args, 0) == KERNEL_OK && is_for_wgmma(args)
               ? by_wgmma<PLAIN_SUMS>(args, stream)
               : other_int8_gemm_s32(args, stream);
}

extern "C" enum kernel_status int8_gemm_dequantised(const struct int8_gemm_args *args, cudaStream_t stream)
{
    if (int8_gemm_args_check(args, 1) != KERNEL_OK || !is_for_wgmma(args))
        return other_int8_gemm_dequantised(args, stream);
    if (args->dtype_out == DTYPE_F32) return by_wgmma<DTYPE_F32>(args, stream);
    return args->dtype_out == DTYPE_F16 ? by_wgmma<DTYPE_F16>(args, stream)
                                        : by_wgmma<DTYPE_BF16>(args, stream);
}
