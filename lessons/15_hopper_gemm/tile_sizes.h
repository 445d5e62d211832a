/**
 * @file tile_sizes.h
 * @brief Given in lesson 15: the tile of a block, its stages, and how many blocks share what they load.
 */
#ifndef WARPWISE_TILE_SIZES_H
#define WARPWISE_TILE_SIZES_H

#include "hopper.h"

/** @brief Sizes that do not depend on the tile. */
enum {
    CONSUMERS = 2,                         /**< warpgroups that multiply */
    THREADS = (1 + CONSUMERS) * WARPGROUP, /**< warpgroup 0 is the producer: it loads */
    PRODUCER_REGISTERS = 40,               /**< of a thread of the producer */
    CONSUMER_REGISTERS = 232, /**< and of a consumer: 128 * 40 + 256 * 232 are fewer than an SM's 65,536 */
    GROUP_ROWS = 64,          /**< rows of C of a consumer: those of a wgmma */
    TILE_M = CONSUMERS * GROUP_ROWS, /**< rows of C of a block */
    TILE_K = 64,                     /**< depth of a stage: 128 bytes, the width of the swizzle */
    MMA_K = 16,                      /**< depth of a wgmma */
    ROW_BYTES = 2 * TILE_K,          /**< a row of a tile in shared memory */
    /** 64 lines (rows of A or columns of B) of a tile, however they are stored */
    BLOCK_BYTES = 64 * ROW_BYTES,
    A_BYTES = TILE_M * ROW_BYTES,             /**< tile of A in a stage */
    OUT_COLUMNS = 64,                         /**< columns of C that go out together: 128 bytes */
    OUT_BYTES = GROUP_ROWS * 2 * OUT_COLUMNS, /**< of 64 x 64 elements of C */
    OUT_BUFFERS = 2, /**< of each consumer: one is written while TMA reads the other */
    RASTER_ROWS = 16 /**< rows of tiles that are worked on together (rasterization.h) */
};

/** @brief Sizes of tiles. */
template <int TILE_N_, int CLUSTER_, int STAGES_> struct tile_sizes {
    enum {
        TILE_N = TILE_N_,   // columns of C of a block
        CLUSTER = CLUSTER_, // blocks, one below the other, that share a tile of B
        STAGES = STAGES_,   // tiles under way or being multiplied
        SUMS = GROUP_ROWS * TILE_N / WARPGROUP,
        B_BYTES = TILE_N * ROW_BYTES,
        STAGE_BYTES = A_BYTES + B_BYTES,
        // In shared memory: after the stages, C on its way out, then the mbarriers.
        OUT_AT = STAGES * STAGE_BYTES,
        BARRIERS_AT = OUT_AT + CONSUMERS * OUT_BUFFERS * OUT_BYTES,
        SHARED_BYTES = BARRIERS_AT + 2 * STAGES * 8
    };
    static_assert(TILE_N / CLUSTER % 64 == 0,
                  "each block of a cluster loads whole blocks of 64 columns of B");
    static_assert(SHARED_BYTES <= 227 * 1024, "what a block of sm_90 can have");
    static_assert(STAGE_BYTES % 1024 == 0 && OUT_AT % 1024 == 0, "swizzled tiles begin at multiples of 1024");
};

/** @brief For a C of few tiles, and for matrices that TMA cannot read. */
typedef struct tile_sizes<64, 1, 8> small_tile;
/** @brief Where large ones would be fewer than the SMs. */
typedef struct tile_sizes<128, 1, 6> medium_tile;
/** @brief 128 sums per thread: the most products per byte that is loaded. */
typedef struct tile_sizes<256, 2, 4> large_tile;

/** @brief The shared memory of a block. */
template <typename SIZE> struct shared_memory {
    char *stages;    /**< [STAGES] of STAGE_BYTES: a tile of A, then one of B */
    char *out;       /**< [CONSUMERS][OUT_BUFFERS] of OUT_BYTES: C on its way out */
    uint64_t *full;  /**< [STAGES] mbarriers: the stage is loaded */
    uint64_t *empty; /**< [STAGES] it is multiplied, in all blocks of the cluster */
};

#endif
