/**
 * @file engine_merge.h
 * @brief Given in lesson 17, for attention: where a warp's keys lie, and how parts of a softmax become one. A *part* is the
 *        maximum of some scores, the sum of their weights, and head_dim sums of weighted values; see lessons 03 and 06.
 *
 * The keys of a head are taken by LANES = head_dim / 8 walkers: one block each, or one block for all of them in turn. Either way each
 * walker's part is the same, and they are merged from the first to the last: the bits do not depend on who walked.
 */
#ifndef WARPWISE_ENGINE_MERGE_H
#define WARPWISE_ENGINE_MERGE_H

#include "engine_parts.h"
#include "warp_reduce.h"

/** @brief A warp takes OF_WARP keys of the tile from @p first on: where number lane % OF_WARP of them lies in the cache, in positions. */
__device__ inline int find_key_of(const struct layer_attention &a, int row, int first, int keys)
{
    const int warp = (int)threadIdx.x / WARP, key = first + warp * OF_WARP + (int)threadIdx.x % OF_WARP;
    return cache_row(a, row, min(key, keys - 1)); // a key that is not there: the last one again
}

/** @brief find_key_of() in a block that has a row of its own. */
__device__ inline int find_key(const struct layer_attention &a, int first, int keys)
{
    return find_key_of(a, (int)blockIdx.y, first, keys);
}

/**
 * @brief A lane's 16 bytes of keys and of values of a tile, @p cached of find_key(): LANES lanes share a key, eight elements each. All
 *        loads first: they take as long as one. Of keys below 0 nothing is loaded; there are none unless BROUGHT (engine_few.h).
 */
template <int LANES, bool BROUGHT = false>
__device__ inline void load_keys(uint4 *k, uint4 *v, const struct layer_attention &a, int cached)
{
    enum { GROUPS = WARP / LANES, AT_ONCE = OF_WARP / GROUPS };
    const int lane = (int)threadIdx.x % WARP;
    const int kv_head = (int)blockIdx.x / (a.config.heads / a.config.kv_heads);
    const size_t width = (size_t)a.config.kv_heads * (LANES * 8),
                 column = (size_t)(kv_head * LANES + lane % LANES) * 8;
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
        const int row = __shfl_sync(0xffffffffu, cached, i * GROUPS + lane / LANES);
        if (BROUGHT && row < 0) continue;
        k[i] = *(const uint4 *)(a.keys + (size_t)row * width + column);
        v[i] = *(const uint4 *)(a.values + (size_t)row * width + column);
    }
}

/**
 * @brief Sums each of COUNT values over a group of LANES lanes; lane n of the group gets the sum of value n * COUNT / LANES. At each
 *        distance a lane keeps half of its values and gives the other half to its partner, which keeps that one: of 8 values over 16
 *        lanes 4 + 2 + 1 + 1 shuffles, where xor-shuffles of all values are 32. A sum has the same bits either way: the same terms
 *        are added in the same pairs, and a + b is b + a.
 */
template <int COUNT, int LANES> __device__ inline float scatter_sums(float value[COUNT])
{
    int left = COUNT; // values that a lane has
#pragma unroll
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
        const bool upper = ((int)threadIdx.x & distance) != 0;
        if (left == 1) {
            value[0] += __shfl_xor_sync(0xffffffffu, value[0], distance);
            continue;
        }
        left /= 2;
#pragma unroll
        for (int i = 0; i < COUNT / 2; i++) {
            if (i >= left) continue; // known to the compiler
            const float kept = upper ? value[i + left] : value[i], given = upper ? value[i] : value[i + left];
            value[i] = kept + __shfl_xor_sync(0xffffffffu, given, distance);
        }
    }
    return value[0];
}

/** @brief The largest of a group's COUNT values, which lie as scatter_sums() leaves them; NaN only if all are. */
template <int COUNT, int LANES> __device__ inline float max_of_scattered(float value)
{
#pragma unroll
    for (int distance = LANES / 2; distance >= LANES / COUNT; distance /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
    return value;
}

/** @brief Gives all of a group's COUNT values, which lie as scatter_sums() leaves them, to each of its lanes. */
template <int COUNT, int LANES> __device__ inline void gather(float to[COUNT], float value)
{
#pragma unroll
    for (int i = 0; i < COUNT; i++) to[i] = __shfl_sync(0xffffffffu, value, i * (LANES / COUNT), LANES);
}

/** @brief The largest maximum of @p count parts of @p pitch floats. */
__device__ inline float merged_max(const float *parts, int count, int pitch)
{
    float most = -INFINITY;
    for (int i = 0; i < count; i++) most = fmaxf(most, parts[i * pitch]);
    return most;
}

/** @brief Element @p at of all parts, each corrected from its own maximum to @p most, from the first to the last. */
__device__ inline float merged_sum(const float *parts, int count, int pitch, int at, float most)
{
    const float base = most == -INFINITY ? 0.0f : most; // no keys: factors and sums are 0; a NaN counts
    float sum = 0.0f;
    for (int i = 0; i < count; i++) sum = fmaf(__expf(parts[i * pitch] - base), parts[i * pitch + at], sum);
    return sum;
}

/**
 * @brief The groups of a warp become one part, by shuffles, which goes to @p found: maximum, sum of weights, sums of values. These lie in
 *        the order of e, then lane, so that the lanes of a store are in banks of their own. All lanes of a group have its maximum and sum
 *        of weights. Of the sums of values a lane gives every second one away at each distance, and keeps the others: the bits are those of
 *        xor-shuffles of all of them, see scatter_sums().
 */
template <int LANES> __device__ inline void merge_lanes(float *found, float m, float l, const float sums[8])
{
    const int lane = (int)threadIdx.x % WARP;
    float most = m, sum[8];
#pragma unroll
    for (int distance = LANES; distance < WARP; distance *= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, distance));
    const float factor = most == -INFINITY ? 0.0f : __expf(m - most);
    for (int e = 0; e < 8; e++) sum[e] = sums[e] * factor;
    l *= factor;
    int left = 8; // sums that a lane has
#pragma unroll
    for (int distance = LANES; distance < WARP; distance *= 2) {
        const bool odd = (lane & distance) != 0;
        left /= 2;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (i >= left) continue; // known to the compiler
            const float even_one = sum[2 * i], odd_one = sum[2 * i + 1];
            sum[i] =
                (odd ? odd_one : even_one) + __shfl_xor_sync(0xffffffffu, odd ? even_one : odd_one, distance);
        }
        l += __shfl_xor_sync(0xffffffffu, l, distance);
    }
    if (lane == 0) found[0] = most, found[1] = l;
#pragma unroll
    for (int i = 0; i < LANES / 4; i++) found[2 + i * WARP + lane] = sum[i];
}

/** @brief The block's groups become one part: those of a warp by shuffles, then warps from the first to the last. */
template <int LANES> __device__ inline void merge_groups(float *part, float m, float l, const float sums[8])
{
    enum { DIM = LANES * 8 };
    __shared__ float found[WARPS][DIM + 2];
    merge_lanes<LANES>(found[threadIdx.x / WARP], m, l, sums);
    __syncthreads(); // what every warp found is there
    const float base = merged_max(found[0], WARPS, DIM + 2);
    for (int at = (int)threadIdx.x; at < DIM + 2; at += THREADS)
        part[at] = at == 0 ? base : merged_sum(found[0], WARPS, DIM + 2, at, base);
    __syncthreads(); // it is merged before the next walker's replaces it
}

/** @brief True in the block that is the last of @p walkers to come here; it sees what all of them wrote. The count begins anew. */
__device__ inline bool is_last(unsigned int *arrived, int walkers)
{
    __shared__ unsigned int before;
    __threadfence(); // whoever sees the count sees what this thread wrote
    __syncthreads(); // all threads of the block have written
    if (threadIdx.x == 0) before = atomicInc(arrived, (unsigned int)walkers - 1);
    __syncthreads(); // `before` is there
    __threadfence(); // reads what was written before the count
    return before == (unsigned int)walkers - 1;
}

/** @brief Which element of a head lies at place @p at of a part's sums: see merge_lanes(). */
template <int LANES> __device__ inline int element_at(int at)
{
    return at % LANES * 8 + at / LANES;
}

/** @brief Merges the walkers' parts and divides by the sum of weights; 0 where there are none. */
template <int LANES> __device__ inline void merge_parts(__half *to, const float *parts, int walkers)
{
    enum { DIM = LANES * 8, PART = DIM + 2 };
    const float most = merged_max(parts, walkers, PART);
    for (int d = (int)threadIdx.x; d < DIM; d += THREADS)
        to[element_at<LANES>(d)] = __float2half(walkers == 0 ? 0.0f
                                                             : merged_sum(parts, walkers, PART, 2 + d, most) /
                                                                   merged_sum(parts, walkers, PART, 1, most));
}

#endif
