/**
 * @file warp_step.h
 * @brief Given in lesson 11, for flash_2: how a warp is laid over the keys and values of a step, and what its block keeps
 *        in shared memory.
 */
#ifndef WARPWISE_WARP_STEP_H
#define WARPWISE_WARP_STEP_H

#include <cuda_fp16.h>

#include "attention_rows.h"
#include "decode_args.h"
#include "kernel_launch.h"
#include "vector_elements.h"
#include "warp_reduce.h"

/** @brief Sizes of a block of flash_2 and of a warp's step. */
enum {
    WARP = 32,                            /**< lanes */
    SPLIT_WARPS = 12,                     /**< that share the keys of a block */
    SPLIT_THREADS = SPLIT_WARPS * WARP,   /**< of a block */
    HEADS = 4,                            /**< query heads that a block serves, at most */
    VECTOR = 8,                           /**< halves in the 16 bytes that a lane loads at once */
    KEY_LANES = 4,                        /**< lanes that load one key together */
    KEY_ROWS = WARP / KEY_LANES,          /**< keys that a warp loads at once */
    KEYS_PER_LANE = 2,                    /**< keys of a lane in a step: KEY_ROWS apart */
    STEP_KEYS = KEY_ROWS * KEYS_PER_LANE, /**< keys that a warp takes at a time */
    BLOCKS_PER_SM = 1,                    /**< as many as registers suffice for */
    MERGE_COLUMNS = 128, /**< of the output, at most: threads of a group that merges splits */
    MERGE_GROUPS = 8,    /**< of a block that merges them */
    MERGE_THREADS = MERGE_GROUPS * MERGE_COLUMNS,
    /** A split has as many keys as its block takes at a time, or more */
    SPLIT_KEYS_LEAST = SPLIT_WARPS * STEP_KEYS
};
static_assert(HEADS == KEY_LANES,
              "after the reduce-scatter each of the lanes of a key holds the score of one head");

/** @brief How often a lane loads in a step, and where. */
template <int HEAD_DIM> struct warp_step {
    enum {
        /** Of one key by one lane: KEY_LANES * VECTOR elements apart */
        K_LOADS = HEAD_DIM / VECTOR / KEY_LANES,
        V_LANES = HEAD_DIM / VECTOR, /**< lanes that load one value together */
        V_ROWS = WARP / V_LANES,     /**< values that a warp loads at once */
        V_LOADS = STEP_KEYS / V_ROWS /**< values of a lane in a step: V_ROWS apart */
    };
    static_assert(K_LOADS * KEY_LANES * VECTOR == HEAD_DIM, "four lanes hold a whole key");
};

/** @brief What a block of flash_2 keeps in shared memory. */
template <int HEAD_DIM> struct split_memory {
    alignas(16) float q[HEADS][HEAD_DIM]; /**< zeros for heads that the block does not have */
    alignas(16) float weight[SPLIT_WARPS][STEP_KEYS][HEADS]; /**< of a warp's step: exp(score - m) */
    /** Partial sums of each warp: of exp(score - m) * v */
    alignas(16) float sum[SPLIT_WARPS][HEADS][HEAD_DIM];
    struct softmax_pair pair[SPLIT_WARPS][HEADS]; /**< and m and l beside it */
};

/** @brief What a block of flash_2 does: keys begin .. end - 1 of one K/V head, for @c heads of its query heads. */
struct split_task {
    const __half *q; /**< [heads, HEAD_DIM]: of the first of its query heads */
    const __half *k; /**< of key 0 of the sequence, where the K/V head's columns begin; not of key begin */
    const __half *v; /**< the value of key 0, likewise */
    size_t stride;   /**< elements from a key to the next */
    int begin;       /**< first key */
    int end;         /**< one past the last */
    int heads;       /**< 1 .. HEADS */
    float scale;     /**< factor on q . k */
};

/** @brief Puts q into shared memory, zeros for heads that the block does not have. All threads must call it: a
 *         barrier is at its end. */
template <int HEAD_DIM>
__device__ inline void load_queries(struct split_memory<HEAD_DIM> *memory, const struct split_task &task)
{
    for (int i = (int)threadIdx.x; i < HEADS * HEAD_DIM; i += SPLIT_THREADS)
        memory->q[i / HEAD_DIM][i % HEAD_DIM] = i < task.heads * HEAD_DIM ? to_float(task.q[i]) : 0.0f;
    __syncthreads(); // the queries are there before anybody multiplies with them
}

/** @brief Eight halves as floats. */
__device__ inline void to_floats(float x[VECTOR], const uint4 *halves)
{
    const __half2 *pair = (const __half2 *)halves;
    for (int i = 0; i < VECTOR / 2; i++) {
        float2 two = __half22float2(pair[i]);
        x[2 * i] = two.x;
        x[2 * i + 1] = two.y;
    }
}

/** @brief Loads 16 bytes at a time: COLUMNS vectors of each of ROWS rows that lie @p apart rows from each other. @p from
 *         is the first of these vectors, so it differs from lane to lane; @p row is the number of the lane's first row in
 *         the step, @p left how many rows of the step exist, which may be negative: zeros for the others. */
template <int ROWS, int COLUMNS>
__device__ inline void load_rows(uint4 *part, const __half *from, size_t stride, int row, int apart, int left)
{
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) {
            // What lies past the end is not read, so a NaN in the rest of the cache cannot come through.
            const uint4 *place = (const uint4 *)(from + r * apart * stride + c * KEY_LANES * VECTOR);
            part[r * COLUMNS + c] = row + r * apart < left ? *place : make_uint4(0, 0, 0, 0);
        }
}

/** @brief Adds up HEADS values over the KEY_LANES lanes of a key; each lane is left with the sum for head lane % HEADS. */
__device__ inline float scatter_heads(const float *dot) // [HEADS]
{
    int upper = (threadIdx.x & 2) != 0, odd = (threadIdx.x & 1) != 0;
    float kept_0 = upper ? dot[2] : dot[0], kept_1 = upper ? dot[3] : dot[1];
    kept_0 += __shfl_xor_sync(0xffffffffu, upper ? dot[0] : dot[2], 2);
    kept_1 += __shfl_xor_sync(0xffffffffu, upper ? dot[1] : dot[3], 2);
    float kept = odd ? kept_1 : kept_0, given = odd ? kept_0 : kept_1;
    return kept + __shfl_xor_sync(0xffffffffu, given, 1);
}

/** @brief Scores of this lane's KEYS_PER_LANE keys, each for one head: lane % HEADS. All lanes must call it. Products are multiplied
 *         with @p scale, and not q: it may be so large that q times it is beyond float where a score is not. */
template <int HEAD_DIM>
__device__ inline void score_step(float *score, const uint4 *k, const float (*q)[HEAD_DIM], float scale)
{
    enum { K_LOADS = warp_step<HEAD_DIM>::K_LOADS };
    float dots[KEYS_PER_LANE][HEADS] = {{0.0f}}, x[KEYS_PER_LANE][VECTOR], y[VECTOR];
#pragma unroll
    for (int c = 0; c < K_LOADS; c++) {
        int column = (c * KEY_LANES + (int)threadIdx.x % KEY_LANES) * VECTOR;
        for (int r = 0; r < KEYS_PER_LANE; r++) to_floats(x[r], &k[r * K_LOADS + c]);
        for (int h = 0; h < HEADS; h++) {
            for (int i = 0; i < VECTOR; i += 4) load_floats<4>(y + i, &q[h][column + i]);
            for (int r = 0; r < KEYS_PER_LANE; r++)
                for (int i = 0; i < VECTOR; i++) dots[r][h] += x[r][i] * y[i];
        }
    }
    for (int r = 0; r < KEYS_PER_LANE; r++) score[r] = scale * scatter_heads(dots[r]);
}

/** @brief Writes the weights of a step to shared memory, 0 for keys from @p left on; returns the correction of the sums of
 *         head lane % HEADS. */
__device__ inline float weigh_step(float (*weight)[HEADS], const float *score, struct softmax_pair *pair,
                                   int left)
{
    int row = (int)threadIdx.x % WARP / KEY_LANES, head = (int)threadIdx.x % HEADS;
    float kept[KEYS_PER_LANE], most = -INFINITY, old = pair->m;
    for (int r = 0; r < KEYS_PER_LANE; r++) {
        kept[r] = row + r * KEY_ROWS < left ? score[r] : -INFINITY;
        most = fmaxf(most, kept[r]);
    }
    for (int distance = KEY_LANES; distance < WARP; distance *= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, distance));
    pair->m = fmaxf(old, most);
    float shift = shift_of(pair->m), correction = expf(old - shift);
    pair->l *= correction;
    for (int r = 0; r < KEYS_PER_LANE; r++) {
        float w = expf(kept[r] - shift);
        weight[r * KEY_ROWS + row][head] = w;
        pair->l += w;
    }
    return correction;
}

/** @brief Adds the step's values, each times its weight, to the sums of all heads. */
template <int HEAD_DIM>
__device__ inline void add_step(float (*sum)[VECTOR], const uint4 *v, const float (*weight)[HEADS])
{
    using step = struct warp_step<HEAD_DIM>;
    int row = (int)threadIdx.x % WARP / step::V_LANES;
#pragma unroll
    for (int r = 0; r < step::V_LOADS; r++) {
        float x[VECTOR], w[HEADS];
        to_floats(x, &v[r]);
        load_floats<HEADS>(w, weight[r * step::V_ROWS + row]);
        for (int h = 0; h < HEADS; h++)
            for (int c = 0; c < VECTOR; c++) sum[h][c] += w[h] * x[c];
    }
}

/** @brief Writes a warp's partial result to shared memory: its pairs, and its sums added up over lanes. Every warp of the
 *         block calls it at the end of attend(); a barrier must follow. */
template <int HEAD_DIM>
__device__ inline void leave_partial(struct split_memory<HEAD_DIM> *memory, float (*sum)[VECTOR],
                                     struct softmax_pair pair)
{
    using step = struct warp_step<HEAD_DIM>;
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    for (int distance = KEY_LANES; distance < WARP; distance *= 2)
        pair.l += __shfl_xor_sync(0xffffffffu, pair.l, distance); // m is the same in all of them
    if (lane < HEADS) memory->pair[warp][lane] = pair;
#pragma unroll // an index known when compiling keeps the sums in registers
    for (int i = 0; i < HEADS * VECTOR; i++)
        for (int distance = step::V_LANES; distance < WARP; distance *= 2)
            sum[i / VECTOR][i % VECTOR] +=
                __shfl_xor_sync(0xffffffffu, sum[i / VECTOR][i % VECTOR], distance);
    for (int h = 0; h < HEADS && lane < step::V_LANES; h++)
        for (int c = 0; c < VECTOR; c += 4) copy_vector(&memory->sum[warp][h][lane * VECTOR + c], &sum[h][c]);
}

/** @brief Merges the partial results of the warps for head @p h: their common pair, and column @p d of the sum. */
template <int HEAD_DIM>
__device__ inline float merge_warps(const struct split_memory<HEAD_DIM> *memory, int h, int d,
                                    struct softmax_pair *all)
{
    all->m = -INFINITY;
    all->l = 0.0f;
    for (int w = 0; w < SPLIT_WARPS; w++) *all = merge_pairs(*all, memory->pair[w][h]);
    float sum = 0.0f, shift = shift_of(all->m);
    for (int w = 0; w < SPLIT_WARPS; w++) sum += memory->sum[w][h][d] * expf(memory->pair[w][h].m - shift);
    return sum;
}

/**
 * @brief Adds up what the groups of a block have: in group 0, *sum is then that of column threadIdx.x, and *l that of all.
 *        All threads must call it: it has a barrier.
 */
__device__ inline void add_groups(float *sum, float *l)
{
    __shared__ float sums[MERGE_GROUPS][MERGE_COLUMNS], ls[MERGE_GROUPS];
    sums[threadIdx.y][threadIdx.x] = *sum;
    if (threadIdx.x == 0) ls[threadIdx.y] = *l;
    __syncthreads();
    for (int g = 1; g < MERGE_GROUPS && threadIdx.y == 0; g++) {
        *sum += sums[g][threadIdx.x];
        *l += ls[g];
    }
}

/** @brief Partial sums in the workspace: [batch, heads, splits, head_dim]. */
__device__ inline float *partial_sums(const struct decode_args &args)
{
    return (float *)args.workspace;
}

/** @brief Partial pairs in the workspace, after the sums: [batch, heads, splits]. */
__device__ inline struct softmax_pair *partial_pairs(const struct decode_args &args, int splits)
{
    size_t results = (size_t)args.batch * args.heads * splits;
    return (struct softmax_pair *)(partial_sums(args) + results * args.head_dim);
}

/** @brief Keys of a split where a sequence has @p keys of them: the splits that have any are the first ones. */
__device__ inline int keys_per_split(int keys, int splits)
{
    return max(divide_up(keys, splits), (int)SPLIT_KEYS_LEAST);
}

#endif
