/**
 * @file head_tiles.h
 * @brief Given in lesson 04: the sizes of a head's tiles, and the rows that a warp keeps during a visit.
 */
#ifndef WARPWISE_HEAD_TILES_H
#define WARPWISE_HEAD_TILES_H

/** @brief Sizes that do not depend on head_dim. */
enum {
    WARP = 32,              /**< lanes */
    WARPS = 8,              /**< of a block */
    THREADS = WARPS * WARP, /**< of a block */
    TILE_FLOATS = 4096,     /**< 16 KB; three tiles are what a block gets unasked on every chip */
    FOUR = 4,               /**< elements that are loaded, stored and multiplied together */
    SWIZZLE = 8             /**< groups of FOUR that one access of shared memory serves */
};

static_assert(3 * TILE_FLOATS * sizeof(float) <= 48 * 1024, "static shared memory ends at 48 KB");

/** @brief Sizes of the tiles, as the paper chooses them: as many keys as fit, and a score tile no larger. */
template <int HEAD_DIM> struct sizes {
    enum {
        KEYS = TILE_FLOATS / HEAD_DIM,               // in a tile of K or V; the paper's Bc
        QUERIES = KEYS < HEAD_DIM ? KEYS : HEAD_DIM, // in a tile of Q; the paper's Br
        ROWS = QUERIES / WARPS,                      // queries of a warp
        WIDTH = KEYS > HEAD_DIM ? KEYS : HEAD_DIM,   // of a row of queries, and later of their weights
        FOURS = HEAD_DIM / FOUR,                     // groups in a row of K or V
        THREAD_KEYS = KEYS / WARP,                   // keys whose scores a lane computes
        COLUMNS = HEAD_DIM / WARP                    // columns of the output that a lane computes
    };
    static_assert(QUERIES * WIDTH <= TILE_FLOATS, "queries, then weights, use the third tile");
    static_assert((int)ROWS <= (int)WARP, "lane i keeps the pair of row i");
    static_assert(FOURS % SWIZZLE == 0, "a swizzled row stays within its place");
};

/** @brief Where the data of one head are. */
template <typename T> struct head_data {
    const T *q; /**< [q_len, head_dim] */
    const T *k; /**< [kv_len, head_dim] */
    const T *v; /**< [kv_len, head_dim] */
    float *o;   /**< [q_len, head_dim] */
    float *m;   /**< [q_len] */
    float *l;   /**< [q_len] */
};

/** @brief The rows of one warp at one visit. */
struct query_rows {
    int first; /**< query */
    int count; /**< 1 or more; less than sizes::ROWS at the end of a head */
};

/** @brief What a lane holds of its warp's rows during a visit. */
template <int HEAD_DIM> struct row_state {
    alignas(16) float o[sizes<HEAD_DIM>::ROWS][sizes<HEAD_DIM>::COLUMNS]; /**< rows move as float4 */
    float m; /**< of row `lane`; the lanes past the last row hold the pair of an empty piece */
    float l; /**< of row `lane`, likewise */
};

#endif
