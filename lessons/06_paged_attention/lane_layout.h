/**
 * @file lane_layout.h
 * @brief Given in lesson 06: how the lanes of a warp are laid over the keys of a step.
 */
#ifndef WARPWISE_LANE_LAYOUT_H
#define WARPWISE_LANE_LAYOUT_H

#include <cuda_fp16.h>

/** @brief Sizes of a block and of a warp's step. */
enum {
    WARP = 32,              /**< lanes */
    WARPS = 4,              /**< that share the keys of a block */
    THREADS = WARPS * WARP, /**< of v1, v2 and the merge */
    VECTOR = 8,             /**< halves in the 16 bytes that a lane loads at once */
    STEP_KEYS = 8,          /**< keys a warp takes at a time */
    PASS_HEADS = 4          /**< query heads whose scores are added up together, at most */
};

static_assert(16 % STEP_KEYS == 0, "a step lies in one page, whatever its size");
static_assert(WARPS * STEP_KEYS % 32 == 0, "all steps of a warp begin at the same row of a page");

/**
 * @brief How a warp is laid over STEP_KEYS keys: LANE_GROUPS keys at once, LANES lanes for
 * each, LOADS times.
 */
template <int HEAD_DIM, int GROUP> struct layout {
    enum {
        LANES = HEAD_DIM / VECTOR,
        LANE_GROUPS = WARP / LANES,
        LOADS = STEP_KEYS / LANE_GROUPS,
        HEADS = GROUP < PASS_HEADS ? GROUP : PASS_HEADS, // whose scores are added up together
        PASSES = GROUP / HEADS,                          // until all heads of the block have their scores
        SCORES = HEADS * LOADS,  // of a lane group, in a pass: number head * LOADS + load
        SPREAD = LANES / SCORES, // lanes that hold the same score after warp_reduce_scatter()
        PER_HEAD = LANES / HEADS // lanes that hold scores of the same head
    };
    static_assert(SCORES <= LANES, "a lane holds one score");
    static_assert(PASSES * HEADS == GROUP, "every pass has HEADS heads");
};

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

#endif
