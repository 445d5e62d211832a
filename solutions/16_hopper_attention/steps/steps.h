/**
 * @file steps.h
 * @brief The steps to FlashAttention-3, one kernel per file: f16, not causal, head_dim 64 or 128, lengths that are multiples of 128.
 *
 * They are what the page's chart shows; ladder.cu checks and times them beside the solution, which is the next step: any length, a
 * mask, blocks that stay and O by TMA. What the steps have in common is here.
 */
#ifndef WARPWISE_HOPPER_ATTENTION_STEPS_H
#define WARPWISE_HOPPER_ATTENTION_STEPS_H

#include "attention_tiles.h"
#include "softmax_rows.h"
#include "wgmma_attention.h"

/** @brief O = softmax(Q K^T / sqrt(head_dim)) V; device memory, [heads, length, head_dim] each. */
struct problem {
    int heads;     /**< of all sequences */
    int length;    /**< queries and keys, a multiple of 128 */
    int head_dim;  /**< 64 or 128 */
    const half *q; /**< queries */
    const half *k; /**< keys */
    const half *v; /**< values */
    half *o;       /**< output */
};

/** @name Launchers. They only launch; cudaGetLastError() says whether that went well. */
/** @{ */
void step_one_warpgroup(struct problem x); /**< 1: wgmma, tiles copied by all threads */
void step_tma(struct problem x);           /**< 2: tiles copied by TMA */
void step_producer(struct problem x);      /**< 3: a warpgroup that loads, a ring of stages */
void step_two_consumers(struct problem x); /**< 4: two warpgroups share K and V; setmaxnreg */
void step_ping_pong(struct problem x);     /**< 5: the two take turns */
void step_overlap(struct problem x);       /**< 6: softmax under the warpgroup's own product with V */
/** @} */

/** @brief As TMA sees the tensors of a problem. */
struct step_maps {
    CUtensorMap q; /**< boxes of as many rows as a block has queries */
    CUtensorMap k; /**< boxes of a tile of keys */
    CUtensorMap v; /**< the same of values */
};

/** @brief Describes the tensors, for blocks of SIZE::TILE_Q queries. */
template <typename SIZE> static inline struct step_maps make_maps(const struct problem &x)
{
    CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    struct step_maps maps = {};
    heads_map(&maps.q, type, x.q, x.heads, x.length, x.head_dim, SIZE::TILE_Q);
    heads_map(&maps.k, type, x.k, x.heads, x.length, x.head_dim, SIZE::TILE_KV);
    heads_map(&maps.v, type, x.v, x.heads, x.length, x.head_dim, SIZE::TILE_KV);
    return maps;
}

/** @brief One thread starts to load ROWS rows: a box for each block of columns. */
template <int ROWS, int COLUMN_BLOCKS>
__device__ inline void load_rows(char *to, const CUtensorMap *map, int row, int head, uint64_t *full)
{
    for (int i = 0; i < COLUMN_BLOCKS; i++)
        head_load(to + i * ROWS * ROW_BYTES, map, i * BLOCK_COLUMNS, row, head, full);
}

/** @brief Issues S = Q K^T of 64 rows at @p q, of a tile of SIZE::TILE_Q, and of a tile of keys. */
template <typename SIZE>
__device__ inline void step_scores(float (&scores)[SIZE::SCORES], const char *q, const char *k)
{
    uint64_t of_q = tile_descriptor(shared_address(q), 0), of_k = tile_descriptor(shared_address(k), 0);
#pragma unroll
    for (int i = 0; i < SIZE::HEAD_DIM / MMA_K; i++) {
        int block = i * MMA_K / BLOCK_COLUMNS, byte = i * MMA_K % BLOCK_COLUMNS * 2;
        wgmma_shared(scores, of_q + (block * SIZE::Q_BLOCK_BYTES + byte) / 16,
                     of_k + (block * SIZE::KV_BLOCK_BYTES + byte) / 16, i > 0, half());
    }
}

/** @brief Issues O += P V of a tile of values. */
template <typename SIZE>
__device__ inline void step_values(float (&o)[SIZE::SUMS], const uint32_t (&weights)[SIZE::WEIGHTS],
                                   const char *v)
{
    uint64_t of_v = tile_descriptor(shared_address(v), SIZE::KV_BLOCK_BYTES);
#pragma unroll
    for (int i = 0; i < SIZE::TILE_KV / MMA_K; i++)
        wgmma_registers(o, &weights[4 * i], of_v + i * MMA_K * ROW_BYTES / 16, half());
}

/** @brief Scale of the scores, times log2(e). */
template <typename SIZE> __device__ inline float step_scale(void)
{
    return rsqrtf((float)SIZE::HEAD_DIM) * LOG2_E;
}

/** @brief Softmax of a tile, where no product is under way: O is corrected at once. */
template <typename SIZE>
__device__ inline void step_softmax(uint32_t (&weights)[SIZE::WEIGHTS], float (&scores)[SIZE::SCORES],
                                    struct row_state<SIZE::SUMS> *rows)
{
    float correction[2];
    if (weigh_scores(scores, rows, step_scale<SIZE>(), correction)) rescale_sums(rows->o, correction);
    round_weights<half>(weights, scores);
}

/** @brief Divides O by l and writes the 64 rows of a warpgroup from registers, from row @p first of all heads on. */
template <typename SIZE>
__device__ inline void step_store(const struct problem &x, size_t first,
                                  const struct row_state<SIZE::SUMS> &rows)
{
    int lane = (int)threadIdx.x % 32;
    half *out = x.o + (first + threadIdx.x % WARPGROUP / 32 * 16 + lane / 4) * SIZE::HEAD_DIM + lane % 4 * 2;
    float factor[2] = {1.0f / row_sum(rows.l[0]), 1.0f / row_sum(rows.l[1])};
#pragma unroll
    for (int i = 0; i < SIZE::SUMS; i += 2)
        *(uint32_t *)&out[i / 2 % 2 * 8 * SIZE::HEAD_DIM + i / 4 * 8] =
            pack_elements<half>(rows.o[i] * factor[i / 2 % 2], rows.o[i + 1] * factor[i / 2 % 2]);
}

/** @brief The mbarriers of a block with a producer: the first thread makes them. A barrier comes afterwards. */
template <typename SIZE> __device__ inline void make_barriers(const struct shared_memory &s)
{
    mbarrier_init(s.q_full, 1);
    for (int i = 0; i < SIZE::STAGES; i++) {
        mbarrier_init(&s.k.full[i], 1), mbarrier_init(&s.k.empty[i], SIZE::CONSUMERS);
        mbarrier_init(&s.v.full[i], 1), mbarrier_init(&s.v.empty[i], SIZE::CONSUMERS);
    }
    mbarrier_init_fence();
}

/** @brief The producer's one thread: Q once, then the next K before each V. */
template <typename SIZE>
__device__ inline void produce(const struct step_maps &maps, const struct shared_memory &s, int tiles,
                               int query, int head)
{
    struct ring k = {0, 1}, v = {0, 1};
    mbarrier_arrive_expect(s.q_full, SIZE::Q_BYTES);
    load_rows<SIZE::TILE_Q, SIZE::COLUMN_BLOCKS>(s.q, &maps.q, query, head, s.q_full);
    for (int i = 0; i <= tiles; i++) {
        if (i < tiles) {
            mbarrier_wait(&s.k.empty[k.stage], k.parity);
            mbarrier_arrive_expect(&s.k.full[k.stage], SIZE::KV_BYTES);
            load_rows<SIZE::TILE_KV, SIZE::COLUMN_BLOCKS>(s.k.tiles + k.stage * SIZE::KV_BYTES, &maps.k,
                                                          i * SIZE::TILE_KV, head, &s.k.full[k.stage]);
            advance<SIZE::STAGES>(&k);
        }
        if (i > 0) {
            mbarrier_wait(&s.v.empty[v.stage], v.parity);
            mbarrier_arrive_expect(&s.v.full[v.stage], SIZE::KV_BYTES);
            load_rows<SIZE::TILE_KV, SIZE::COLUMN_BLOCKS>(s.v.tiles + v.stage * SIZE::KV_BYTES, &maps.v,
                                                          (i - 1) * SIZE::TILE_KV, head, &s.v.full[v.stage]);
            advance<SIZE::STAGES>(&v);
        }
    }
}

/** @brief A consumer is done with a tile. */
__device__ inline void done_with(uint64_t *empty)
{
    if (threadIdx.x % WARPGROUP == 0) mbarrier_arrive(empty);
}

#endif
