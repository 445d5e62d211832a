// [student: head]
/*
 * A product on Hopper: one warpgroup of a block loads, two multiply, and mbarriers say when a stage is full, and when empty.
 *
 *     producer     TMA -> stage 0 | stage 1 | stage 2 | stage 3 | stage 0 ...     one thread issues, hardware copies
 *                            full |   ^ empty      an mbarrier of each per stage
 *     consumers              wgmma: 64 x 256 sums each, in registers ... then C -> shared memory -> TMA store
 *
 * Blocks stay on their SM and take tile after tile, so that the producer loads the next tile while the consumers still write
 * the last one. The two blocks of a cluster have the same columns of C: each loads half of the tile of B, for both.
 *
 * Run:  build/bin/warpwise check 15 --kernel solutions/15_hopper_gemm/hopper_gemm.cu
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
    constexpr int BOX = MN_MAJOR ? 64 : LINES;
    for (int i = 0; i < LINES; i += BOX) {
        int x = MN_MAJOR ? line + i : k, y = MN_MAJOR ? k : line + i;
        if (CLUSTER == 1)
            tensor_load(tile + i * ROW_BYTES, map, x, y, full);
        else
            tensor_multicast(tile + i * ROW_BYTES, map, x, y, full, (1 << CLUSTER) - 1);
    }
    // [/student]
}

/** One thread loads all slices of all tiles of its block, as soon as their stages are empty. */
template <typename SIZE, int LAYOUT>
__device__ inline void load_tiles(const struct product &p, const struct shared_memory<SIZE> &s)
{
    // [student: load_tiles]
    constexpr int SHARE = SIZE::TILE_N / SIZE::CLUSTER; // columns of B that this block loads, for all
    int rank = SIZE::CLUSTER > 1 ? cluster_rank() : 0;
    struct ring ring = {0, 1}; // parity 1: in the first round stages are empty, and no wait blocks
    for (int tile = (int)blockIdx.x / SIZE::CLUSTER; tile < p.tiles_m * p.tiles_n;
         tile += (int)gridDim.x / SIZE::CLUSTER) {
        struct place place = place_of<SIZE>(p, tile);
        for (int slice = 0; slice < p.slices; slice++, advance<SIZE::STAGES>(&ring)) {
            char *stage = s.stages + ring.stage * SIZE::STAGE_BYTES;
            uint64_t *full = &s.full[ring.stage];
            mbarrier_wait(&s.empty[ring.stage], ring.parity);
            mbarrier_arrive_expect(full, SIZE::STAGE_BYTES);
            load_lines<TILE_M, LAYOUT & MN_MAJOR_A, 1>(stage, &p.a, place.row, slice * TILE_K, full);
            load_lines<SHARE, LAYOUT & MN_MAJOR_B, SIZE::CLUSTER>(stage + A_BYTES + rank * SHARE * ROW_BYTES,
                                                                  &p.b, place.column + rank * SHARE,
                                                                  slice * TILE_K, full);
        }
    }
    // [/student]
}

/** Where byte @p byte of row @p row lies in a tile whose rows are 128 bytes: TMA and wgmma XOR the 16-byte column with the row. */
__device__ inline int swizzled(int row, int byte)
{
    // [student: swizzled]
    return (row * ROW_BYTES + byte) ^ (row % 8 * 16);
    // [/student]
}

/** Copies LINES lines of a slice, two neighbours along k per thread. From @p matrix on @p lines lines and @p depth of k are left; then zeros. */
template <int LINES>
__device__ inline void copy_lines(char *tile, const void *matrix, int mn_major, int ld, int lines, int depth)
{
    // [student: copy_lines]
    const uint16_t *from = (const uint16_t *)matrix;
    size_t line_step = mn_major ? 1 : (size_t)ld, k_step = mn_major ? (size_t)ld : 1;
#pragma unroll 4
    for (int i = (int)threadIdx.x; i < LINES * TILE_K / 2; i += WARPGROUP) {
        // Neighbouring threads take neighbours in memory.
        int line = mn_major ? i % LINES : i / (TILE_K / 2), k = 2 * (mn_major ? i / LINES : i % (TILE_K / 2));
        uint32_t low = line < lines && k < depth ? from[line * line_step + k * k_step] : 0;
        uint32_t high = line < lines && k + 1 < depth ? from[line * line_step + (k + 1) * k_step] : 0;
        *(uint32_t *)(tile + swizzled(line, 2 * k)) = low | high << 16;
    }
    // [/student]
}

/** As load_tiles(), for matrices that TMA does not take: all threads of the producer copy, and all arrive. */
template <typename SIZE>
__device__ inline void copy_tiles(const struct product &p, const struct shared_memory<SIZE> &s)
{
    // [student: copy_tiles]
    const struct gemm_args &x = p.args;
    struct ring ring = {0, 1};
    for (int tile = (int)blockIdx.x; tile < p.tiles_m * p.tiles_n; tile += (int)gridDim.x) {
        struct place place = place_of<SIZE>(p, tile);
        const uint16_t *a =
            (const uint16_t *)x.a + (x.trans_a ? (size_t)place.row : (size_t)place.row * x.lda);
        const uint16_t *b =
            (const uint16_t *)x.b + (x.trans_b ? (size_t)place.column * x.ldb : (size_t)place.column);
        for (int slice = 0; slice < p.slices; slice++, advance<SIZE::STAGES>(&ring)) {
            char *stage = s.stages + ring.stage * SIZE::STAGE_BYTES;
            int k = slice * TILE_K;
            mbarrier_wait(&s.empty[ring.stage], ring.parity);
            copy_lines<TILE_M>(stage, a + (x.trans_a ? (size_t)k * x.lda : (size_t)k), x.trans_a, x.lda,
                               x.m - place.row, x.k - k);
            copy_lines<SIZE::TILE_N>(stage + A_BYTES, b + (x.trans_b ? (size_t)k : (size_t)k * x.ldb),
                                     !x.trans_b, x.ldb, x.n - place.column, x.k - k);
            async_proxy_fence(); // wgmma reads by another way than these threads wrote
            mbarrier_arrive(&s.full[ring.stage]);
        }
    }
    // [/student]
}

/* ---- from registers to C ------------------------------------------------------------------------------- */

/** alpha times the sums of 64 columns, plus beta times what C holds. */
template <typename T>
__device__ inline void scale(const struct product &p, int row, int column, float sum[32])
{
    // [student: scale]
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x % WARPGROUP / 32;
    row += warp * 16 + lane / 4, column += lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 32; i++) sum[i] *= p.args.alpha;
    if (p.args.beta == 0.0f) return;
    const uint16_t *c = (const uint16_t *)p.args.c;
#pragma unroll
    for (int i = 0; i < 32; i++) {
        int y = row + i / 2 % 2 * 8, x = column + i / 4 * 8 + i % 2;
        if (y < p.args.m && x < p.args.n)
            sum[i] += p.args.beta * unpack_element<T>(c[(size_t)y * p.args.ldc + x], 0);
    }
    // [/student]
}

/** 64 x 64 elements to shared memory, swizzled as TMA takes them: 16 x 16 of a warp at a time. */
template <typename T> __device__ inline void write_block(char *buffer, const float sum[32])
{
    // [student: write_block]
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x % WARPGROUP / 32;
    // lane i gives row i % 8 of matrix i / 8: rows 0-7 and 8-15, then 8 columns on.
    int row = warp * 16 + lane % 16;
#pragma unroll
    for (int i = 0; i < 32; i += 8) {
        uint32_t x[4];
#pragma unroll
        for (int j = 0; j < 4; j++) x[j] = pack_elements<T>(sum[i + 2 * j], sum[i + 2 * j + 1]);
        store_matrices(buffer + swizzled(row, i * 4 + lane / 16 * 16), x);
    }
    // [/student]
}

/** Writes 64 columns of a C that TMA does not take: neighbouring threads write neighbouring elements. */
__device__ inline void copy_block(const struct product &p, const char *buffer, int row, int column)
{
    // [student: copy_block]
    int x = (int)threadIdx.x % OUT_COLUMNS;
    for (int y = (int)threadIdx.x % WARPGROUP / OUT_COLUMNS; y < GROUP_ROWS; y += WARPGROUP / OUT_COLUMNS)
        if (row + y < p.args.m && column + x < p.args.n)
            ((uint16_t *)p.args.c)[(size_t)(row + y) * p.args.ldc + column + x] =
                *(const uint16_t *)(buffer + swizzled(y, 2 * x));
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
    int name = (int)threadIdx.x / WARPGROUP, first = threadIdx.x % WARPGROUP == 0;
#pragma unroll
    for (int at = 0; at < SIZE::TILE_N / OUT_COLUMNS; at++) {
        int column = place.column + at * OUT_COLUMNS;
        if (column >= p.args.n) break;
        // Not at % OUT_BUFFERS: a tile at the edge may have an odd number of these.
        char *buffer = out + (*next)++ % OUT_BUFFERS * OUT_BYTES;
        scale<T>(p, place.row, column, &sum[32 * at]);
        if (p.tma_stores && first) bulk_wait_read<OUT_BUFFERS - 1>();
        named_barrier(name, WARPGROUP); // nobody reads this buffer any more
        write_block<T>(buffer, &sum[32 * at]);
        async_proxy_fence();                              // TMA reads it
        if (p.args.beta != 0.0f) async_proxy_fence_all(); // and overwrites what scale() has read of C
        named_barrier(name, WARPGROUP);                   // the whole of it is written
        // TMA writes whole 16 bytes: in the last columns, also what is past the end of the row.
        int by_tma = p.tma_stores && (p.args.n % 8 == 0 || column + OUT_COLUMNS <= p.args.n);
        if (!by_tma) copy_block(p, buffer, place.row, column);
        if (by_tma && first) tensor_store(&p.c, column, place.row, buffer);
        if (first) bulk_commit(); // a group per buffer, empty or not: what is waited for above
    }
    // [/student]
}

/* ---- the consumers ------------------------------------------------------------------------------------- */

/** The warpgroup is done with a stage: it arrives at the mbarriers of all blocks that load into it. */
template <typename SIZE> __device__ inline void release_stage(const struct shared_memory<SIZE> &s, int stage)
{
    // [student: release_stage]
    int rank = (int)threadIdx.x % WARPGROUP;
    if (rank < SIZE::CLUSTER) mbarrier_arrive_at(&s.empty[stage], rank);
    // [/student]
}

/** All slices of one tile. The product of one slice stays in flight while the next one's is issued. */
template <typename T, typename SIZE, int LAYOUT>
__device__ inline void multiply_slices(float (&sum)[SIZE::SUMS], struct ring *ring, int slices,
                                       const struct shared_memory<SIZE> &s)
{
    // [student: multiply_slices]
    // From 16 of k to the next, in units of 16 bytes: along a row, or 16 rows on.
    constexpr int STEP_A = (LAYOUT & MN_MAJOR_A ? MMA_K * ROW_BYTES : 2 * MMA_K) / 16;
    constexpr int STEP_B = (LAYOUT & MN_MAJOR_B ? MMA_K * ROW_BYTES : 2 * MMA_K) / 16;
    int group = (int)threadIdx.x / WARPGROUP - 1, last = 0;
    for (int slice = 0; slice < slices; slice++, advance<SIZE::STAGES>(ring)) {
        uint32_t stage = shared_address(s.stages + ring->stage * SIZE::STAGE_BYTES);
        uint64_t a = tile_descriptor(stage + group * BLOCK_BYTES, BLOCK_BYTES);
        uint64_t b = tile_descriptor(stage + A_BYTES, BLOCK_BYTES);
        mbarrier_wait(&s.full[ring->stage], ring->parity);
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < TILE_K / MMA_K; k++)
            wgmma<(LAYOUT & MN_MAJOR_A) != 0, (LAYOUT & MN_MAJOR_B) != 0>(sum, a + k * STEP_A, b + k * STEP_B,
                                                                          T());
        wgmma_commit();
        wgmma_wait<1>(); // that of the slice before is complete
        if (slice > 0) release_stage<SIZE>(s, last);
        last = ring->stage;
    }
    wgmma_wait<0>();
    if (slices > 0) release_stage<SIZE>(s, last);
    // [/student]
}

/** A warpgroup multiplies 64 rows of every tile of its block, and writes them. */
template <typename T, typename SIZE, int LAYOUT>
__device__ inline void multiply_tiles(const struct product &p, const struct shared_memory<SIZE> &s)
{
    // [student: multiply_tiles]
    int group = (int)threadIdx.x / WARPGROUP - 1, next = 0; // buffer of C
    char *out = s.out + group * OUT_BUFFERS * OUT_BYTES;
    struct ring ring = {0, 0};
    for (int tile = (int)blockIdx.x / SIZE::CLUSTER; tile < p.tiles_m * p.tiles_n;
         tile += (int)gridDim.x / SIZE::CLUSTER) {
        float sum[SIZE::SUMS];
#pragma unroll
        for (int i = 0; i < SIZE::SUMS; i++) sum[i] = 0.0f;
        multiply_slices<T, SIZE, LAYOUT>(sum, &ring, p.slices, s);
        struct place place = place_of<SIZE>(p, tile);
        place.row += group * GROUP_ROWS;
        write_tile<T, SIZE>(p, out, &next, place, sum);
    }
    if (p.tma_stores && threadIdx.x % WARPGROUP == 0) bulk_wait_read<0>(); // TMA still reads shared memory
    // [/student]
}

/* ---- the kernel ---------------------------------------------------------------------------------------- */

/** Sets up the mbarriers and gives every warpgroup its work. */
template <typename T, typename SIZE, int LAYOUT, int BY_HAND>
__global__ void __launch_bounds__(THREADS, 1) gemm_kernel(const __grid_constant__ struct product p)
{
#if HOPPER_CODE
    // [student: gemm_kernel]
    extern __shared__ __align__(1024) char shared[];
    uint64_t *barriers = (uint64_t *)(shared + SIZE::BARRIERS_AT);
    struct shared_memory<SIZE> s = {
        shared, shared + SIZE::OUT_AT, barriers, barriers + SIZE::STAGES
    };
    if (threadIdx.x == 0) {
        for (int i = 0; i < SIZE::STAGES; i++) {
            mbarrier_init(&s.full[i], BY_HAND ? WARPGROUP : 1);
            mbarrier_init(&s.empty[i], CONSUMERS * SIZE::CLUSTER);
        }
        mbarrier_init_fence();
    }
    // The mbarriers of all blocks are there before anybody arrives at one.
    SIZE::CLUSTER > 1 ? cluster_sync() : __syncthreads();
    if (threadIdx.x < WARPGROUP) {
        registers_down_to<PRODUCER_REGISTERS>();
        if (BY_HAND)
            copy_tiles<SIZE>(p, s);
        else if (threadIdx.x == 0)
            load_tiles<SIZE, LAYOUT>(p, s);
    } else {
        registers_up_to<CONSUMER_REGISTERS>();
        multiply_tiles<T, SIZE, LAYOUT>(p, s);
    }
    // Nobody arrives at, or copies to, the shared memory of a block that has ended.
    SIZE::CLUSTER > 1 ? cluster_sync() : __syncthreads();
    // [/student]
#endif
}

/** Describes to TMA what it copies: boxes of 128 bytes times as many rows as are copied at once. */
template <typename T, typename SIZE, int LAYOUT, int BY_HAND> static int describe(struct product *p)
{
    // [student: describe]
    const struct gemm_args &x = p->args;
    CUtensorMapDataType type =
        x.dtype_in == DTYPE_F16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    int rows_a = LAYOUT & MN_MAJOR_A ? TILE_K : TILE_M,
        rows_b = LAYOUT & MN_MAJOR_B ? TILE_K : SIZE::TILE_N / SIZE::CLUSTER;
    if (p->tma_stores && !tensor_map(&p->c, type, x.c, x.m, x.n, x.ldc, GROUP_ROWS)) return 0;
    if (BY_HAND || p->slices == 0) return 1; // TMA loads nothing
    return tensor_map(&p->a, type, x.a, x.trans_a ? x.k : x.m, x.trans_a ? x.m : x.k, x.lda, rows_a) &&
           tensor_map(&p->b, type, x.b, x.trans_b ? x.n : x.k, x.trans_b ? x.k : x.n, x.ldb, rows_b);
    // [/student]
}

/** Starts as many blocks as there are SMs, in whole clusters, or fewer if there are fewer tiles. */
template <typename T, typename SIZE, int LAYOUT, int BY_HAND>
static enum kernel_status launch(struct product *p, cudaStream_t stream)
{
    // [student: launch]
    p->tiles_m = divide_up(divide_up(p->args.m, TILE_M), SIZE::CLUSTER);
    p->tiles_n = divide_up(p->args.n, SIZE::TILE_N);
    int tiles = p->tiles_m * p->tiles_n; // gemm_args_check() saw to it that an int can count them
    int clusters = max(device_attribute(cudaDevAttrMultiProcessorCount) / SIZE::CLUSTER, 1);
    if (!describe<T, SIZE, LAYOUT, BY_HAND>(p)) return KERNEL_CUDA_ERROR;
    launch_in_clusters(gemm_kernel<T, SIZE, LAYOUT, BY_HAND>, min(tiles, clusters) * SIZE::CLUSTER, THREADS,
                       SIZE::SHARED_BYTES, SIZE::CLUSTER, stream, *p);
    return launch_status();
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
