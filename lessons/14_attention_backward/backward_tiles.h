/**
 * @file backward_tiles.h
 * @brief Given in lesson 14: tiles, their sizes, what lies in shared memory, how it gets there, and which tiles of queries
 *        a block walks over.
 */
#ifndef WARPWISE_BACKWARD_TILES_H
#define WARPWISE_BACKWARD_TILES_H

#include "backward_plan.h"
#include "matrix_fragments.h"
#include "vector_elements.h"

#define LOG2_E 1.44269504f ///< exp(x) = exp2(x * LOG2_E), and exp2 is what the hardware has

enum {
    ROW_THREADS = 256,                 ///< of a block of prepare_kernel and finish_kernel
    ROW_WARPS = ROW_THREADS / 32,      ///< each has a row
    F32_THREADS = 128,                 ///< of a block of f32_kernel: F32_DOWN by F32_ACROSS
    F32_DOWN = 8,                      ///< thread t is t / F32_ACROSS down ...
    F32_ACROSS = 16,                   ///< ... and t % F32_ACROSS across
    F32_TILE_KV = 32,                  ///< keys of a block
    F32_KEYS = F32_TILE_KV / F32_DOWN, ///< rows of dK and dV of a thread, F32_DOWN apart
    PAD = 4                            ///< floats after each row: the next one begins 4 banks further
};

/** @brief Sizes in f32 that depend on head_dim, such that the tiles fit into 64 KB. */
template <int HEAD_DIM> struct f32_sizes {
    enum {
        QUERIES = HEAD_DIM == 128 ? 16 : 32, ///< of a tile
        ROWS = QUERIES / F32_DOWN,           ///< of S and dQ of a thread, F32_DOWN apart
        SCORES = F32_TILE_KV / F32_ACROSS,   ///< keys of S of a thread, F32_ACROSS apart
        COLUMNS = HEAD_DIM / F32_ACROSS      ///< of dQ, dK and dV of a thread, F32_ACROSS apart
    };
};

/** @brief What a block of f32_kernel keeps in shared memory. */
template <int HEAD_DIM> struct f32_tiles {
    float k[F32_TILE_KV][HEAD_DIM + PAD];                     ///< keys
    float v[F32_TILE_KV][HEAD_DIM + PAD];                     ///< values
    float q[f32_sizes<HEAD_DIM>::QUERIES][HEAD_DIM + PAD];    ///< queries
    float dout[f32_sizes<HEAD_DIM>::QUERIES][HEAD_DIM + PAD]; ///< gradients of their outputs
    float p[f32_sizes<HEAD_DIM>::QUERIES][F32_TILE_KV + 1];   ///< P
    float ds[f32_sizes<HEAD_DIM>::QUERIES][F32_TILE_KV + 1];  ///< dS
};
static_assert(sizeof(struct f32_tiles<128>) <= 65536, "a block must fit on every device");

/** @brief Sizes on tensor cores. Registers decide: a lane has HEAD_DIM * M_TILES floats of dK and dV. */
template <int HEAD_DIM, int WARPS> struct tensor_sizes {
    enum {
        THREADS = WARPS * 32,
        M_TILES = HEAD_DIM == 128 ? 1 : 2, ///< tiles of 16 keys that a warp has
        WARP_KEYS = 16 * M_TILES,
        TILE_KV = WARPS * WARP_KEYS,                    ///< keys of a block
        SUB = TILE_Q / 2,                               ///< queries whose scores a warp has at a time
        STAGES = HEAD_DIM == 128 && WARPS == 4 ? 1 : 2, ///< tiles of queries that are here or on their way
        DS_STAGES = HEAD_DIM == 128 ? STAGES : 1,       ///< with 2, dQ of a step is added in the next one
        ROW_BYTES = HEAD_DIM * 2,                       ///< of K, V, Q and dO in shared memory
        DS_BYTES = TILE_Q * 2,                          ///< of a row of dS^T
        DQ_COLUMNS = HEAD_DIM / (WARPS / 2),            ///< a warp has 32 rows by so many columns of dQ
        BLOCKS = HEAD_DIM == 128 ? 1 : 2                ///< of an SM
    };
    typedef float scores[M_TILES][SUB / 8][4];    ///< a warp's C of S^T and dP^T
    typedef float sums[M_TILES][HEAD_DIM / 8][4]; ///< of dK and dV
};

/** @brief What a block of tensor_kernel keeps in shared memory. */
template <typename T, int HEAD_DIM, int WARPS> struct alignas(256) tensor_tiles {
    typedef struct tensor_sizes<HEAD_DIM, WARPS> size; ///< of its tiles
    T k[size::TILE_KV * HEAD_DIM];                     ///< keys
    T v[size::TILE_KV * HEAD_DIM];                     ///< values
    T q[size::STAGES][TILE_Q * HEAD_DIM];              ///< queries
    T dout[size::STAGES][TILE_Q * HEAD_DIM];           ///< gradients of their outputs
    T ds[size::DS_STAGES][size::TILE_KV * TILE_Q];     ///< dS^T
    struct row_terms terms[size::STAGES][TILE_Q];      ///< of the queries
};

/** @brief A tile of keys, and the tiles of queries to walk over: step s is tile first_q_tile + s % q_tiles of head bh + s / q_tiles. */
struct walk {
    int kv_bh;        ///< batch * kv_heads + K/V head
    int first_key;    ///< of the tile
    int bh;           ///< first of the query heads that read the K/V head
    int steps;        ///< all tiles of all heads of the group
    int first_q_tile; ///< the first that sees the tile of keys
    int q_tiles;      ///< of a head, from there on
    int slice;        ///< of dq's accumulators
    int first_visit;  ///< 1: this block has added nothing to its slice yet
};

/** @brief The walk of this block's tile @p tile of @p tile_kv keys, over tiles of @p queries queries. */
__device__ inline struct walk find_walk(const struct attention_backward_args &args, int tile, int tile_kv,
                                        int queries)
{
    int all = args.batch * args.kv_heads, group = args.heads / args.kv_heads;
    struct walk walk;
    // Neighbours have other heads, so that blocks with most to do come first if causal.
    walk.kv_bh = (int)blockIdx.x % all;
    walk.slice = args.deterministic ? (int)blockIdx.x / all : 0;
    walk.first_visit = tile == (int)blockIdx.x / all;
    walk.first_key = tile * tile_kv;
    walk.bh = walk.kv_bh * group;
    walk.first_q_tile = first_query_that_sees(args, walk.first_key) / TILE_Q * (TILE_Q / queries);
    walk.q_tiles = divide_up(args.q_len, queries) - walk.first_q_tile;
    walk.steps = walk.q_tiles * group;
    return walk;
}

/** @brief Where the accumulator of @p slice begins for padded query row @p padded of head @p bh. */
template <int HEAD_DIM>
__device__ inline float *accumulator_of(const struct attention_backward_args &args,
                                        const struct backward_plan &plan, int slice, int bh, int row)
{
    size_t rows = (size_t)plan.q_tiles * TILE_Q;
    return plan.accumulators + (((size_t)slice * args.batch * args.heads + bh) * rows + row) * HEAD_DIM;
}

/** @brief Two elements of dq that a thread of finish_kernel has: where they are in their tile, and in the accumulator. */
struct pair_place {
    int row;    ///< in its tile
    int column; ///< of the first of the two
    int first;  ///< element of the accumulator's tile
    int second; ///< and that of the other
};

/** @brief Pair @p pair of a tile. Tiles of f32_kernel (WARPS 0) are row-major; in those of tensor_kernel register r of a thread
 *         is element r * THREADS + thread, so that a warp adds to 32 neighbours at a time. */
template <int HEAD_DIM, int WARPS> __device__ inline struct pair_place place_of_pair(int pair)
{
    struct pair_place place;
    if constexpr (WARPS == 0) {
        place.row = pair / (HEAD_DIM / 2);
        place.column = pair % (HEAD_DIM / 2) * 2;
        place.first = pair * 2;
        place.second = pair * 2 + 1;
    } else {
        typedef struct tensor_sizes<HEAD_DIM, WARPS> size;
        int thread = pair % size::THREADS;
        int reg = pair / size::THREADS * 2; // dq[reg / (DQ_COLUMNS / 2)][reg / 4 % ...][reg % 4]
        int lane = thread % 32, warp = thread / 32, n = reg / 4 % (size::DQ_COLUMNS / 8);
        place.row = warp % 2 * 32 + reg / (size::DQ_COLUMNS / 2) * 16 + reg % 4 / 2 * 8 + lane / 4;
        place.column = warp / 2 * size::DQ_COLUMNS + n * 8 + lane % 4 * 2;
        place.first = reg * size::THREADS + thread;
        place.second = place.first + size::THREADS;
    }
    return place;
}

/** @brief f32: loads @p rows rows into shared memory, of which @p there exist; zeros for the others. All threads. */
template <int HEAD_DIM>
__device__ inline void load_rows(float (*tile)[HEAD_DIM + PAD], const void *from, size_t first_row, int rows,
                                 int there)
{
    const float *first = (const float *)from + first_row * HEAD_DIM;
    for (int i = (int)threadIdx.x * 4; i < rows * HEAD_DIM; i += F32_THREADS * 4) {
        int row = i / HEAD_DIM, column = i % HEAD_DIM;
        float4 x = row < there ? load_four(first + i) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        *(float4 *)&tile[row][column] = x;
    }
}

/** @brief Tensor cores: begins to copy ROWS rows into a tile, of which @p there exist; zeros for the others. All threads. */
template <typename T, int HEAD_DIM, int ROWS, int THREADS>
__device__ inline void copy_rows(T *tile, const void *from, size_t first_row, int there)
{
    constexpr int COLUMNS = HEAD_DIM / 8; // of 16 bytes
    const T *first = (const T *)from + first_row * HEAD_DIM;
#pragma unroll
    for (int i = (int)threadIdx.x; i < ROWS * COLUMNS; i += THREADS) {
        int row = i / COLUMNS, column = i % COLUMNS, is_there = row < there;
        copy_16_bytes((char *)tile + tile_offset<HEAD_DIM * 2>(row, column), first + (is_there ? i * 8 : 0),
                      is_there);
    }
}

/** @brief Tensor cores: begins to copy Q, dO and the terms of step @p step, and closes the group of copies. All threads. */
template <typename T, int HEAD_DIM, int WARPS>
__device__ inline void load_queries(const struct attention_backward_args &args,
                                    const struct backward_plan &plan, const struct walk &walk, int step,
                                    struct tensor_tiles<T, HEAD_DIM, WARPS> *tiles)
{
    typedef struct tensor_sizes<HEAD_DIM, WARPS> size;
    int stage = step % size::STAGES, bh = walk.bh + step / walk.q_tiles;
    int first = (walk.first_q_tile + step % walk.q_tiles) * TILE_Q;
    size_t row = (size_t)bh * args.q_len + first, padded = (size_t)bh * plan.q_tiles * TILE_Q + first;
    copy_rows<T, HEAD_DIM, TILE_Q, size::THREADS>(tiles->q[stage], args.q, row, args.q_len - first);
    copy_rows<T, HEAD_DIM, TILE_Q, size::THREADS>(tiles->dout[stage], args.dout, row, args.q_len - first);
    int lane = (int)threadIdx.x; // 16 bytes hold the terms of two rows
    if (lane < TILE_Q / 2) copy_16_bytes(&tiles->terms[stage][2 * lane], plan.terms + padded + 2 * lane, 1);
    commit_copies();
}

/** @brief Tensor cores: this warp's rows of dK or dV times @p factor, if they are wanted; keys past the end are left out. */
template <typename T, int HEAD_DIM, int WARPS>
__device__ inline void write_rows(void *to, const struct walk &walk, int kv_len, float factor,
                                  const typename tensor_sizes<HEAD_DIM, WARPS>::sums &sum)
{
    typedef struct tensor_sizes<HEAD_DIM, WARPS> size;
    int lane = (int)threadIdx.x % 32,
        first = walk.first_key + (int)threadIdx.x / 32 * size::WARP_KEYS + lane / 4;
    if (to == NULL) return;
#pragma unroll
    for (int m = 0; m < size::M_TILES; m++)
#pragma unroll
        for (int y = 0; y < 4; y += 2) {
            int key = first + m * 16 + y * 4;
            T *row = (T *)to + ((size_t)walk.kv_bh * kv_len + key) * HEAD_DIM + lane % 4 * 2;
#pragma unroll
            for (int n = 0; n < HEAD_DIM / 8; n++)
                if (key < kv_len) store_pair(row + n * 8, sum[m][n][y] * factor, sum[m][n][y + 1] * factor);
        }
}

/** @brief Tensor cores: this warp's rows of dS^T go to shared memory, for the whole block. */
template <typename T, int HEAD_DIM, int WARPS>
__device__ inline void share_ds(const typename tensor_sizes<HEAD_DIM, WARPS>::scores &ds, int first_query,
                                T *shared)
{
    typedef struct tensor_sizes<HEAD_DIM, WARPS> size;
    int lane = (int)threadIdx.x % 32, first_key = (int)threadIdx.x / 32 * size::WARP_KEYS + lane / 4;
#pragma unroll
    for (int m = 0; m < size::M_TILES; m++)
#pragma unroll
        for (int n = 0; n < size::SUB / 8; n++)
            for (int y = 0; y < 4; y += 2) {
                unsigned at = tile_offset<size::DS_BYTES>(first_key + m * 16 + y * 4, first_query / 8 + n);
                *(unsigned *)((char *)shared + at + lane % 4 * 4) = pack(ds[m][n][y], ds[m][n][y + 1], T());
            }
}

#endif
