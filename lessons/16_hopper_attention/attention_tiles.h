/**
 * @file attention_tiles.h
 * @brief Given: the tiles of lesson 16, how they lie in shared memory, and which queries and keys belong to one.
 *
 * A tile in shared memory is cut into blocks of 64 columns, 128 bytes: the width of TMA's swizzle. A block has all rows of the
 * tile, and the blocks lie one after another.
 */
#ifndef WARPWISE_ATTENTION_TILES_H
#define WARPWISE_ATTENTION_TILES_H

#include "attention_rows.h"
#include "hopper.h"
#include "kernel_launch.h"

#define ALL_LANES 0xffffffffu ///< of a warp

/** @brief Sizes that do not depend on the tile. */
enum {
    GROUP_ROWS = 64,     /**< query rows of a consumer: those of a wgmma */
    MMA_K = 16,          /**< depth of a wgmma of 16-bit elements */
    MMA_BYTES = 32,      /**< the same in bytes, for elements of any size */
    BLOCK_COLUMNS = 64,  /**< columns of a block */
    ROW_BYTES = 128,     /**< of a row of a block */
    LONG_KEYS = 2048,    /**< keys of a head from which on a tile of queries takes long */
    L2_BYTES = 32 << 20, /**< of K and V that blocks read at about the same time, so that L2 keeps them */
    OWN_BARRIER = 1,     /**< the named barrier of consumer 0; those of the others follow */
    TURN_BARRIER = 5     /**< the one at which consumer 0 waits for its turn; those of the others follow */
};

/** @brief Sizes of tiles, and the warpgroups of a block. */
template <int HEAD_DIM_, int PRODUCERS_, int CONSUMERS_, int TILE_KV_, int STAGES_, int BLOCKS_,
          int ELEMENT_BYTES_ = 2>
struct tile_sizes {
    enum {
        HEAD_DIM = HEAD_DIM_,
        ELEMENT_BYTES = ELEMENT_BYTES_, // of Q, K, V and P: 2, or 1 for E4M3, with V transposed
        // Warpgroups that load, the first ones of the block; 0: a consumer's thread does.
        PRODUCERS = PRODUCERS_,
        CONSUMERS = CONSUMERS_, // warpgroups that multiply
        TILE_KV = TILE_KV_,     // keys of a tile
        STAGES = STAGES_,       // tiles of K, and of V, under way or being multiplied
        BLOCKS = BLOCKS_,       // of an SM at a time
        THREADS = (PRODUCERS + CONSUMERS) * WARPGROUP,
        PRODUCER_REGISTERS = 24,
        CONSUMER_REGISTERS = 240, // 128 * 24 + 256 * 240 are fewer than an SM's 65,536
        // Consumers multiply in turn; products of E4M3 are short.
        IN_TURN = CONSUMERS > 1 && ELEMENT_BYTES == 2,
        TILE_Q = CONSUMERS * GROUP_ROWS,      // queries of a tile
        SCORES = TILE_KV / 2,                 // sums of S in a thread: 64 rows, 128 threads
        WEIGHTS = SCORES * ELEMENT_BYTES / 4, // registers of P in a thread
        SUMS = HEAD_DIM / 2,                  // sums of O in a thread
        COLUMN_BLOCKS = HEAD_DIM * ELEMENT_BYTES / ROW_BYTES,
        OUT_BLOCKS = HEAD_DIM / BLOCK_COLUMNS,
        ROW_STEPS = HEAD_DIM * ELEMENT_BYTES / MMA_BYTES, // wgmmas along a row of Q and K
        KEY_STEPS = TILE_KV * ELEMENT_BYTES / MMA_BYTES,  // wgmmas along the keys of V
        // Along a row of V's, or MMA_K rows on.
        KEY_STEP_BYTES = ELEMENT_BYTES == 1 ? MMA_BYTES : MMA_K * ROW_BYTES,
        HEADROOM = ELEMENT_BYTES == 1 ? 8 : 0, // the largest score of a row has weight 2^HEADROOM
        Q_BLOCK_BYTES = TILE_Q * ROW_BYTES,
        KV_BLOCK_BYTES = TILE_KV * ROW_BYTES,
        OUT_BLOCK_BYTES = GROUP_ROWS * ROW_BYTES,
        Q_BYTES = COLUMN_BLOCKS * Q_BLOCK_BYTES,
        KV_BYTES = COLUMN_BLOCKS * KV_BLOCK_BYTES,
        OUT_BYTES = OUT_BLOCKS * OUT_BLOCK_BYTES, // of a consumer
        K_AT = Q_BYTES,                           // in shared memory: Q, then the stages of K ...
        V_AT = K_AT + STAGES * KV_BYTES,          // ... and of V, O on its way out, the mbarriers
        END = V_AT + STAGES * KV_BYTES,
        OUT_AT = PRODUCERS > 0 ? END : 0, // without a producer a block has one Q, and O takes its place
        BARRIERS_AT = PRODUCERS > 0 ? END + CONSUMERS *OUT_BYTES : END,
        SHARED_BYTES = BARRIERS_AT + (2 + 4 * STAGES) * 8 + CONSUMERS * 4 * 4
    };
    static_assert(BLOCKS * (SHARED_BYTES + 1024) <= 228 * 1024, "what an SM of sm_90 has");
    static_assert(TILE_KV % MMA_K == 0 && TILE_KV <= 256, "whole wgmmas over the keys; rows of a box");
    static_assert(KV_BLOCK_BYTES % 1024 == 0, "swizzled tiles begin at multiples of 1024");
    static_assert(ELEMENT_BYTES == 2 || TILE_KV == HEAD_DIM,
                  "a tile of V has as many columns as keys: it is transposed");
};

/** @brief For head_dim 64: three blocks of one warpgroup each on an SM, which overlap by themselves. */
typedef struct tile_sizes<64, 0, 1, 128, 2, 3> tile_of_64;
/** @brief For head_dim 128, whose tiles fill an SM: a producer, and two consumers in turn. */
typedef struct tile_sizes<128, 1, 2, 128, 2, 1> tile_of_128;
/** @brief For head_dim 128 in E4M3: half the bytes. */
typedef struct tile_sizes<128, 1, 2, 128, 2, 1, 1> tile_of_e4m3;

/** @brief The kernel's arguments. */
struct attention {
    CUtensorMap q;   /**< the tensors as TMA sees them: matrices of head_dim columns, a head each */
    CUtensorMap k;   /**< likewise */
    CUtensorMap v;   /**< likewise */
    CUtensorMap out; /**< likewise */
    struct attention_args args; /**< what the caller asks for */
    float scale;                /**< on scores, times log2(e), or half of that if it is beyond float */
    float factor; /**< on products: -1 if the scale is negative, else 1; twice that if the scale is halved */
    int query_tiles;       /**< of a head */
    int section;           /**< query heads that are worked on together */
    const float *q_scales; /**< of E4M3: of each tile of queries; otherwise NULL, and so are the next two */
    const float *k_scales; /**< of each tile of keys */
    const float *v_scales; /**< of each K/V head */
};

/** @brief The stages of K, or of V. */
struct stages {
    char *tiles;     /**< [STAGES] of KV_BYTES */
    uint64_t *full;  /**< [STAGES] mbarriers: the tile is there */
    uint64_t *empty; /**< [STAGES] all consumers have multiplied it; of no meaning without a producer */
    const CUtensorMap *map; /**< where its tiles come from */
};

/** @brief The shared memory of a block. */
struct shared_memory {
    char *q;           /**< the tile of queries */
    struct stages k;   /**< tiles of K */
    struct stages v;   /**< tiles of V */
    char *out;         /**< [CONSUMERS] of OUT_BYTES: O on its way out */
    uint64_t *q_full;  /**< an mbarrier: Q is there */
    uint64_t *q_empty; /**< all consumers have multiplied it for the last time */
    int *answers;      /**< [CONSUMERS][4] what their warps say of a tile of V (softmax_rows.h) */
};

/** @brief Divides shared memory; @p k and @p v describe where tiles come from. */
template <typename SIZE>
__device__ inline struct shared_memory divide_shared(char *shared, const CUtensorMap *k, const CUtensorMap *v)
{
    uint64_t *b = (uint64_t *)(shared + SIZE::BARRIERS_AT);
    struct shared_memory s;
    s.q = shared, s.out = shared + SIZE::OUT_AT;
    s.k.tiles = shared + SIZE::K_AT, s.k.full = b, s.k.empty = b + SIZE::STAGES;
    s.v.tiles = shared + SIZE::V_AT, s.v.full = b + 2 * SIZE::STAGES, s.v.empty = b + 3 * SIZE::STAGES;
    s.k.map = k, s.v.map = v;
    s.q_full = b + 4 * SIZE::STAGES, s.q_empty = s.q_full + 1;
    s.answers = (int *)(s.q_empty + 1);
    return s;
}

/**
 * @brief Which consumer the thread's warp belongs to, from 0 on. The shuffle changes nothing, but it tells the compiler that all
 *        lanes have the same answer: otherwise it takes a wgmma that depends on it for one that not all lanes come to. All 32 lanes of
 *        a warp must call it.
 */
template <typename SIZE> __device__ inline int consumer(void)
{
    return __shfl_sync(ALL_LANES, (int)threadIdx.x / WARPGROUP, 0) - SIZE::PRODUCERS;
}

/** @brief Where byte @p byte of row @p row lies in a block: TMA and wgmma XOR the 16-byte column with the row. */
__device__ inline int swizzled(int row, int byte)
{
    return (row * ROW_BYTES + byte) ^ (row % 8 * 16);
}

/** @brief A tile of queries, and the tiles of keys that it needs. */
struct query_tile {
    int bh;        /**< batch * heads + head */
    int kv_bh;     /**< batch * kv_heads + K/V head that this head reads */
    int first;     /**< first query of the tile */
    int count;     /**< tiles of keys that some query of it sees; they are taken from the last one down */
    int whole;     /**< of those, the ones that every query of it sees whole: tiles 0 to whole - 1 */
    float q_scale; /**< of E4M3: of the queries; otherwise not set, and so is the next one */
    const float *k_scales; /**< of each tile of keys of its K/V head */
};

/**
 * @brief The tile of queries number @p index. With a causal mask the last tiles of a head have the most keys: they come first,
 *        so that no block begins a long one when the others are about to end. A section of heads has K and V that fit in L2.
 */
template <typename SIZE>
__device__ inline struct query_tile find_query_tile(const struct attention &p, int index)
{
    int heads = p.args.batch * p.args.heads, in_section = p.section * p.query_tiles;
    int first_head = index / in_section * p.section, at = index % in_section;
    int section = min(p.section, heads - first_head);
    struct query_tile tile;
    tile.bh = first_head + (p.args.causal ? at % section : at / p.query_tiles);
    tile.kv_bh = tile.bh / (p.args.heads / p.args.kv_heads); // as in lesson 01: heads = kv_heads * group
    tile.first = (p.args.causal ? p.query_tiles - 1 - at / section : at % p.query_tiles) * SIZE::TILE_Q;
    int last = min(tile.first + SIZE::TILE_Q, p.args.q_len) - 1;
    tile.count = divide_up(keys_seen(p.args, last), SIZE::TILE_KV);
    tile.whole = keys_seen(p.args, tile.first) / SIZE::TILE_KV;
    if (SIZE::ELEMENT_BYTES == 1) {
        tile.q_scale = p.q_scales[tile.bh * p.query_tiles + tile.first / SIZE::TILE_Q];
        tile.k_scales = p.k_scales + tile.kv_bh * divide_up(p.args.kv_len, SIZE::TILE_KV);
    }
    return tile;
}

/* ---- loading: whoever multiplies the tile waits for its mbarrier ------------------------------------------ */

/** @brief One thread loads a tile of queries. */
template <typename SIZE>
__device__ inline void load_queries(const struct attention &p, const struct shared_memory &s,
                                    struct query_tile tile)
{
    mbarrier_arrive_expect(s.q_full, SIZE::Q_BYTES);
    for (int i = 0; i < SIZE::COLUMN_BLOCKS; i++)
        head_load(s.q + i * SIZE::Q_BLOCK_BYTES, &p.q, i * BLOCK_COLUMNS, tile.first, tile.bh, s.q_full);
}

/** @brief One thread loads tile number @p tile of K or of V of a head into an empty stage. */
template <typename SIZE>
__device__ inline void load_keys(const struct stages &to, int stage, int tile, int head)
{
    char *blocks = to.tiles + stage * SIZE::KV_BYTES;
    mbarrier_arrive_expect(&to.full[stage], SIZE::KV_BYTES);
    for (int i = 0; i < SIZE::COLUMN_BLOCKS; i++)
        head_load(blocks + i * SIZE::KV_BLOCK_BYTES, to.map, i * BLOCK_COLUMNS, tile * SIZE::TILE_KV, head,
                  &to.full[stage]);
}

#endif
