/**
 * @file expert_tiles.h
 * @brief Given in lesson 21: sizes of tiles, what a block has in shared memory, and the loop of lesson 15 that multiplies.
 */
#ifndef WARPWISE_EXPERT_TILES_H
#define WARPWISE_EXPERT_TILES_H

#include "experts_args.h"
#include "hopper.h" // wrappers for mbarriers, TMA and warpgroups
#include "kernel_launch.h"
#include "warp_matrix.h" // pack_elements, unpack_element, multiply_add
#include "wgmma_tiles.h" // wgmma<0, 0>(sums, tile of A, tile of B, type)

/** @brief Sizes of the product of many rows. */
enum {
    WARP = 32,                                /**< threads of a warp */
    CONSUMERS = 2,                            /**< warpgroups that multiply */
    THREADS = (1 + CONSUMERS) * WARPGROUP,    /**< warpgroup 0 is the producer: it loads */
    PRODUCER_REGISTERS = 40,                  /**< of a thread of the producer */
    CONSUMER_REGISTERS = 232,                 /**< and of a consumer */
    GROUP_ROWS = 64,                          /**< rows of C of a consumer: those of a wgmma */
    TILE_M = CONSUMERS * GROUP_ROWS,          /**< rows of C of a block */
    HALF_N = 128,                             /**< rows of w that are loaded at once: half of a tile's */
    TILE_K = 64,                              /**< depth of a stage: 128 bytes, the width of the swizzle */
    MMA_K = 16,                               /**< depth of a wgmma */
    ROW_BYTES = 2 * TILE_K,                   /**< a row of a tile in shared memory */
    A_BYTES = TILE_M * ROW_BYTES,             /**< tile of A in a stage */
    HALF_BYTES = HALF_N * ROW_BYTES,          /**< half of the tile of w */
    STAGE_BYTES = A_BYTES + 2 * HALF_BYTES,   /**< what a stage holds */
    STAGES = 4,                               /**< tiles under way or being multiplied */
    SUMS = 128,                               /**< of a thread: 64 x 256 of a warpgroup */
    OUT_COLUMNS = 64,                         /**< columns of C that a consumer writes at a time: 128 bytes */
    OUT_BYTES = GROUP_ROWS * 2 * OUT_COLUMNS, /**< of 64 x 64 elements of C */
    OUT_AT = STAGES * STAGE_BYTES,            /**< in shared memory: C on its way out, of each consumer */
    BARRIERS_AT = OUT_AT + CONSUMERS * OUT_BYTES, /**< then the mbarriers */
    FIRST_AT = BARRIERS_AT + 2 * STAGES * 8,      /**< then the number of the first tile of each expert */
    SHARED_BYTES = FIRST_AT + (MOST_EXPERTS + 1) * 4
};
static_assert(SHARED_BYTES <= 227 * 1024, "what a block of sm_90 can have");
static_assert(STAGE_BYTES % 1024 == 0 && OUT_AT % 1024 == 0, "swizzled tiles begin at multiples of 1024");

/** @brief Sizes of the product of few rows. */
enum {
    FEW_ROWS = 8,   /**< rows of A of a fragment */
    FEW_LINES = 16, /**< rows of w of a fragment */
    FEW_WARPS = 8,  /**< of a block: they share k out */
    FEW_THREADS = FEW_WARPS * WARP,
    CHUNK = 8,         /**< elements of 16 bytes */
    STEP_K = 4 * CHUNK /**< of k that a warp takes at a time: 16 bytes for each of a row's four lanes */
};

#define ALL_LANES 0xffffffffu ///< of a warp

/** @brief The shared memory of a block of the product of many rows. */
struct shared_memory {
    char *stages;    /**< [STAGES] of STAGE_BYTES: a tile of A, then the two halves of one of w */
    char *out;       /**< [CONSUMERS] of OUT_BYTES */
    uint64_t *full;  /**< [STAGES] mbarriers: the stage is loaded */
    uint64_t *empty; /**< [STAGES] both consumers are done with it */
    int *first;      /**< [experts + 1] number of the first tile of each expert, and of all tiles */
};

/** @brief A tile of C. */
struct tile {
    int expert; /**< whose rows they are */
    int row;    /**< first row of A and C */
    int rows;   /**< that the expert has from there on: may be more or fewer than a tile has */
    int column; /**< first column of C */
};

/** @brief The arguments of the kernel of many rows. */
struct product {
    CUtensorMap a;                 /**< [rows, k] as TMA sees it */
    CUtensorMap w;                 /**< [experts * lines, k] */
    struct grouped_gemm_args args; /**< what the entry point was given */
    int lines;                     /**< rows of w of an expert: n, or 2 n */
    int second;  /**< rows of w from the first half of a tile's to the second: n from gate to up, or HALF_N */
    int columns; /**< of C of a tile */
    int tiles_n; /**< tiles in a row of tiles */
    int slices;  /**< of TILE_K along k */
};

/** @brief Where byte @p byte of row @p row lies in a tile whose rows are 128 bytes: TMA and wgmma XOR the 16-byte column with the row. */
__device__ inline int swizzled(int row, int byte)
{
    return (row * ROW_BYTES + byte) ^ (row % 8 * 16);
}

/** @brief The inclusive sum over the lanes of a warp up to this one. All 32 lanes must call it. */
__device__ inline int warp_running_sum(int value)
{
    int lane = (int)threadIdx.x % WARP;
    for (int step = 1; step < WARP; step *= 2) {
        int below = __shfl_up_sync(ALL_LANES, value, step);
        if (lane >= step) value += below;
    }
    return value;
}

/** @brief One thread of the warpgroup says that it is done with a stage. */
__device__ inline void release_stage(const struct shared_memory &s, int stage)
{
    if (threadIdx.x % WARPGROUP == 0) mbarrier_arrive(&s.empty[stage]);
}

/** @brief All slices of one tile, as in lesson 15: the product of one slice stays in flight while the next one's is issued. */
template <typename T>
__device__ inline void multiply_slices(float (&sum)[SUMS], struct ring *ring, int slices,
                                       const struct shared_memory &s)
{
    int group = (int)threadIdx.x / WARPGROUP - 1, last = 0;
    for (int slice = 0; slice < slices; slice++, advance<STAGES>(ring)) {
        uint32_t stage = shared_address(s.stages + ring->stage * STAGE_BYTES);
        uint64_t a = tile_descriptor(stage + group * GROUP_ROWS * ROW_BYTES, 0);
        uint64_t w = tile_descriptor(stage + A_BYTES, 0);
        mbarrier_wait(&s.full[ring->stage], ring->parity);
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < TILE_K / MMA_K; k++) // 16 of k are 32 bytes of a row: 2 units of 16
            wgmma<0, 0>(sum, a + k * 2, w + k * 2, T());
        wgmma_commit();
        wgmma_wait<1>(); // that of the slice before is complete
        if (slice > 0) release_stage(s, last);
        last = ring->stage;
    }
    wgmma_wait<0>();
    release_stage(s, last);
}

/** @brief As multiply_slices(), for a warpgroup none of whose rows exist: it gives the stages back. */
__device__ inline void skip_slices(struct ring *ring, int slices, const struct shared_memory &s)
{
    int own = (int)threadIdx.x / WARPGROUP; // the name of its barrier
    for (int slice = 0; slice < slices; slice++, advance<STAGES>(ring)) {
        mbarrier_wait(&s.full[ring->stage], ring->parity);
        named_barrier(own, WARPGROUP); // one thread releases: all four warps must have left the wait
        release_stage(s, ring->stage);
    }
}

/** @brief 64 columns of a warp's 16 rows go to shared memory, as 16-bit elements, swizzled: lesson 15's way out. */
template <typename T> __device__ inline void stage_columns(char *buffer, const float sum[32])
{
    int lane = (int)threadIdx.x % WARP, first = (int)threadIdx.x % WARPGROUP / WARP * 16;
#pragma unroll
    for (int i = 0; i < 32; i += 8) { // matrices: rows 0-7 and 8-15, then 8 columns on
        uint32_t x[4];
#pragma unroll
        for (int j = 0; j < 4; j++) x[j] = pack_elements<T>(sum[i + 2 * j], sum[i + 2 * j + 1]);
        store_matrices(buffer + swizzled(first + lane % 16, i * 4 + lane / 16 * 16), x);
    }
}

/** @brief One thread sets up the mbarriers; a barrier must follow. */
__device__ inline void start_barriers(const struct shared_memory &s)
{
    if (threadIdx.x > 0) return;
    for (int i = 0; i < STAGES; i++) {
        mbarrier_init(&s.full[i], 1);
        mbarrier_init(&s.empty[i], CONSUMERS);
    }
    mbarrier_init_fence();
}

/** @brief The expert that has number @p number among those that have rows; -1 if there are not so many. A whole warp must call it. */
__device__ inline int find_expert(const int *offsets, int experts, int number)
{
    int lane = (int)threadIdx.x % WARP;
    for (int first = 0; first < experts; first += WARP) {
        int e = first + lane;
        unsigned hit = __ballot_sync(ALL_LANES, e < experts && offsets[min(e, experts - 1) + 1] >
                                                                   offsets[min(e, experts - 1)]);
        if (number < __popc(hit)) {
            while (number-- > 0) hit &= hit - 1; // without its lowest bit
            return first + __ffs((int)hit) - 1;
        }
        number -= __popc(hit);
    }
    return -1;
}

/** @brief The sum over a warp's lanes, the same in all of them. All 32 lanes must call it. */
__device__ inline float warp_sum(float value)
{
    for (int step = WARP / 2; step > 0; step /= 2) value += __shfl_xor_sync(ALL_LANES, value, step);
    return value;
}

/** @brief silu(gate) * up, where silu(x) = x / (1 + exp(-x)). */
__device__ inline float swiglu(float gate, float up)
{
    return gate / (1.0f + expf(-gate)) * up;
}

/** @brief 16 bytes of row @p row, from column @p k on; zeros where there is no such row or column. */
template <typename T>
__device__ inline uint4 load_chunk(const void *matrix, size_t row, int there, int columns, int k)
{
    if (!there || k >= columns) return {0, 0, 0, 0};
    return *(const uint4 *)((const T *)matrix + row * columns + k);
}

/** @brief Fills @p p, with both matrices as TMA sees them; 0 if the driver refuses that. */
inline int describe_product(struct product *p, const struct grouped_gemm_args *args)
{
    p->args = *args;
    p->lines = (1 + args->swiglu) * args->n;
    p->second = args->swiglu ? args->n : HALF_N;
    p->columns = args->swiglu ? HALF_N : 2 * HALF_N;
    p->tiles_n = divide_up(args->n, p->columns);
    p->slices = divide_up(args->k, TILE_K);
    CUtensorMapDataType type =
        args->dtype == DTYPE_F16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    return tensor_map(&p->a, type, args->a, args->rows, args->k, args->k, TILE_M) &&
           tensor_map(&p->w, type, args->w, args->experts * p->lines, args->k, args->k, HALF_N);
}

/** @brief Whether the device is the one that these kernels are built for. */
inline int is_hopper(void)
{
    return device_attribute(cudaDevAttrComputeCapabilityMajor) == 9;
}

#endif
