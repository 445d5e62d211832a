/**
 * @file engine_prompt.h
 * @brief Given in lesson 17, for the attention of prompts: a block takes several consecutive rows of the batch for one head, and loads
 *        each tile of keys and values once for all of them that belong to the same request.
 *
 * What is done for a row, and in which order, is that of attend_kernel(): the same walkers, tiles, groups of lanes and merges, by the same
 * functions, so the bits are the same. Only the barriers are shared: after each tile warp i merges what all warps found for row i.
 *
 * Which rows share a request is found on the device: a captured graph may get any positions and requests. Rows that share with no
 * other one in the block are taken one after the other.
 */
#ifndef WARPWISE_ENGINE_PROMPT_H
#define WARPWISE_ENGINE_PROMPT_H

#include "engine_merge.h"
#include "kernel_launch.h"

/* Defined in the lesson's kernel file. */
template <int LANES> __global__ void attend_kernel(struct layer_attention a);
template <int LANES, int ROWS>
__device__ inline void take_keys(float m[ROWS], float l[ROWS], float (*sums)[8], const float (*q)[8],
                                 const uint4 *k, const uint4 *v, const int count[ROWS]);

/** @brief What a block of attend_prompt_kernel() has in dynamic shared memory; a warp merges the parts of the row of its number. */
template <int LANES> struct prompt {
    float found[WARPS][WARPS][LANES * 8 + 2]; /**< of each row, what each warp found for one walker */
    float parts[WARPS][LANES][LANES * 8 + 2]; /**< of each row, of each walker */
};

/** @brief A lane's eight elements of the query of row @p row. */
template <int LANES> __device__ inline void load_query(float q[8], const struct layer_attention &a, int row)
{
    const size_t place = (size_t)row * (size_t)a.config.heads + blockIdx.x;
    load_eight(q, a.q + place * (LANES * 8) + threadIdx.x % LANES * 8);
}

/** @brief Merges what the warps found to the part of a walker: one warp, as merge_groups(). */
template <int LANES> __device__ inline void merge_warps(float *part, const float (*found)[LANES * 8 + 2])
{
    enum { PART = LANES * 8 + 2, OF_LANE = LANES * 8 / WARP };
    const int lane = (int)threadIdx.x % WARP;
    const float most = merged_max(found[0], WARPS, PART);
    float sums[OF_LANE] = {}, l = 0.0f;
#pragma unroll
    for (int i = 0; i < WARPS; i++) {
        const float factor = found[i][0] == -INFINITY ? 0.0f : __expf(found[i][0] - most);
        l = fmaf(factor, found[i][1], l);
        for (int d = 0; d < OF_LANE; d++) sums[d] = fmaf(factor, found[i][2 + d * WARP + lane], sums[d]);
    }
    if (lane == 0) part[0] = most, part[1] = l;
    for (int d = 0; d < OF_LANE; d++) part[2 + d * WARP + lane] = sums[d];
    __syncwarp(); // the part is there
}

/** @brief Merges the walkers' parts of a row and divides: one warp, as merge_parts(). */
template <int LANES>
__device__ inline void merge_walkers(__half *to, const float (*parts)[LANES * 8 + 2], int walkers,
                                     bool by_warpgroups)
{
    enum { PART = LANES * 8 + 2, OF_LANE = LANES * 8 / WARP };
    const int lane = (int)threadIdx.x % WARP;
    const float most = merged_max(parts[0], walkers, PART);
    float sums[OF_LANE] = {}, l = 0.0f;
    for (int i = 0; i < walkers; i++) {
        const float factor = parts[i][0] == -INFINITY ? 0.0f : __expf(parts[i][0] - most);
        l = fmaf(factor, parts[i][1], l);
        for (int d = 0; d < OF_LANE; d++) sums[d] = fmaf(factor, parts[i][2 + d * WARP + lane], sums[d]);
    }
    for (int d = 0; d < OF_LANE; d++) {
        const int element = element_at<LANES>(d * WARP + lane);
        to[by_warpgroups ? in_span(element) : element] = __float2half(walkers == 0 ? 0.0f : sums[d] / l);
    }
}

/** @brief Rows @p row[] from @p first_row on take a tile of keys, the only one of a walker: what each warp found goes to shared memory. */
template <int LANES, int ROWS>
__device__ inline void take_tile(struct prompt<LANES> *shared, const struct layer_attention &a, int first_row,
                                 const int *row, const uint4 *k, const uint4 *v, const int *keys, int first)
{
    float q[ROWS][8], sums[ROWS][8] = {}, m[ROWS], l[ROWS];
    int count[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        m[r] = -INFINITY, l[r] = 0.0f, count[r] = keys[row[r]] - first;
        load_query<LANES>(q[r], a, first_row + row[r]);
    }
    take_keys<LANES, ROWS>(m, l, sums, q, k, v, count);
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        merge_lanes<LANES>(shared->found[row[r]][threadIdx.x / WARP], m[r], l[r], sums[r]);
}

/**
 * @brief Rows @p taken, bits from @p first_row on, of one request that have up to LANES tiles of keys: each walker has a single tile, and
 *        all rows take it, two at a time, before the next one is loaded.
 */
template <int LANES>
__device__ inline void walk_short(struct prompt<LANES> *shared, const struct layer_attention &a,
                                  int first_row, unsigned int taken, const int *keys, int of, int most)
{
    enum { AT_ONCE = OF_WARP * LANES / WARP };
    const int warp = (int)threadIdx.x / WARP;
    uint4 k[AT_ONCE], v[AT_ONCE];
    const int cached = find_key_of(a, of, 0, most); // no kernel writes tables
    wait_for_kernel_before();
    load_keys<LANES>(k, v, a, cached);
    for (int first = 0, walker = 0; first < most; first += KEYS, walker++) {
        unsigned int left = 0; // rows that see keys of the tile
        for (int i = 0; i < WARPS; i++) left |= (taken >> i & 1) != 0 && first < keys[i] ? 1u << i : 0u;
#pragma unroll 1
        while (left != 0) { // the whole block
            int row[2];
            row[0] = __ffs((int)left) - 1, left &= left - 1;
            row[1] = __ffs((int)left) - 1, left &= left - 1;
            if (row[1] >= 0) // two convert keys and values once
                take_tile<LANES, 2>(shared, a, first_row, row, k, v, keys, first);
            else
                take_tile<LANES, 1>(shared, a, first_row, row, k, v, keys, first);
        }
        if (first + KEYS < most) // the next tile is loaded while rows are merged
            load_keys<LANES>(k, v, a, find_key_of(a, of, first + KEYS, most));
        __syncthreads(); // what every warp found is there
        if ((taken >> warp & 1) != 0 && first < keys[warp])
            merge_warps<LANES>(shared->parts[warp][walker], shared->found[warp]);
        __syncthreads(); // it is merged before the next walker's replaces it
    }
}

/** @brief The same of more keys: a walker has several tiles, between which a row's softmax waits in registers: PAIR rows at a time. */
template <int LANES>
__device__ inline void walk_long(struct prompt<LANES> *shared, const struct layer_attention &a, int first_row,
                                 unsigned int taken, const int *keys, int of)
{
    enum { AT_ONCE = OF_WARP * LANES / WARP, PAIR = 2 };
    const int warp = (int)threadIdx.x / WARP;
    wait_for_kernel_before();
    for (int pair = 0; pair < WARPS; pair += PAIR) {
        int most = 0;
        for (int i = pair; i < pair + PAIR; i++) most = max(most, taken >> i & 1 ? keys[i] : 0);
        if (most == 0) continue; // the whole block
        for (int walker = 0; walker < LANES && walker * KEYS < most; walker++) {
            float m[PAIR], l[PAIR], sums[PAIR][8] = {};
            for (int i = 0; i < PAIR; i++) m[i] = -INFINITY, l[i] = 0.0f;
            int cached = find_key_of(a, of, walker * KEYS, most);
#pragma unroll 1
            for (int first = walker * KEYS; first < most; first += LANES * KEYS) {
                uint4 k[AT_ONCE], v[AT_ONCE];
                load_keys<LANES>(k, v, a, cached);
                if (first + LANES * KEYS < most) cached = find_key_of(a, of, first + LANES * KEYS, most);
#pragma unroll
                for (int i = 0; i < PAIR; i++) {
                    if ((taken >> (pair + i) & 1) == 0 || first >= keys[pair + i])
                        continue; // the whole block
                    float q[1][8];
                    load_query<LANES>(q[0], a, first_row + pair + i);
                    const int left = keys[pair + i] - first;
                    take_keys<LANES, 1>(&m[i], &l[i], &sums[i], q, k, v, &left);
                }
            }
#pragma unroll
            for (int i = 0; i < PAIR; i++)
                merge_lanes<LANES>(shared->found[pair + i][warp], m[i], l[i], sums[i]);
            __syncthreads(); // what every warp found is there
            if (warp / PAIR == pair / PAIR && (taken >> warp & 1) != 0 && walker * KEYS < keys[warp])
                merge_warps<LANES>(shared->parts[warp][walker], shared->found[warp]);
            __syncthreads(); // it is merged before the next walker's replaces it
        }
    }
}

/** @brief Block (head, group of @p of_block rows of the batch): attention of these rows. Late rows, which have most keys, come first. */
template <int LANES>
__global__ void __launch_bounds__(THREADS, 2) attend_prompt_kernel(struct layer_attention a, int of_block)
{
    extern __shared__ uint4 weights[]; // as many_kernel() calls it
    __shared__ int keys[WARPS], requests[WARPS];
    struct prompt<LANES> *const shared = (struct prompt<LANES> *)weights;
    const int first_row = (int)(gridDim.y - 1 - blockIdx.y) * of_block, warp = (int)threadIdx.x / WARP;
    let_next_start();
    if (threadIdx.x < WARPS) {
        const int row = first_row + (int)threadIdx.x;
        const bool mine = (int)threadIdx.x < of_block && row < a.rows;
        keys[threadIdx.x] = mine ? max(a.positions[row] + 1, 0) : -1; // read in each replay
        requests[threadIdx.x] = keys[threadIdx.x] > 0 ? a.requests[row] : -1;
    }
    __syncthreads(); // the block's rows are known
    for (int i = 0; i < WARPS; i++) {
        if (keys[i] <= 0) continue; // the whole block: no row, or one that pads
        unsigned int taken = 0;
        int most = 0;
        bool earlier = false; // a row before this one has taken it along
        for (int j = 0; j < WARPS; j++) {
            if (keys[j] <= 0 || requests[j] != requests[i]) continue;
            if (j < i) earlier = true;
            taken |= 1u << j;
            most = max(most, keys[j]);
        }
        if (earlier) continue;
        if (most <= LANES * KEYS)
            walk_short<LANES>(shared, a, first_row, taken, keys, first_row + i, most);
        else
            walk_long<LANES>(shared, a, first_row, taken, keys, first_row + i);
    }
    wait_for_kernel_before(); // also where nothing was walked: later kernels rely on it
    if (keys[warp] < 0) return;
    const size_t place = (size_t)(first_row + warp) * (size_t)a.config.heads + blockIdx.x;
    merge_walkers<LANES>(a.attended + place * (LANES * 8), shared->parts[warp],
                         min(divide_up(keys[warp], (int)KEYS), LANES), a.by_warpgroups);
}

/** @brief Launches attention of @p of_block rows per block: 1, which is attend_kernel(), 2, 4 or WARPS. */
template <int LANES>
inline enum kernel_status launch_prompt_with(const struct layer_attention &a, int of_block,
                                             cudaStream_t stream)
{
    if (of_block <= 1)
        return launch_early(attend_kernel<LANES>, dim3(a.config.heads, a.rows), THREADS, stream, a);
    const int bytes = (int)sizeof(struct prompt<LANES>);
    if (!leave_room(attend_prompt_kernel<LANES>) ||
        cudaFuncSetAttribute(attend_prompt_kernel<LANES>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             bytes) != cudaSuccess)
        return KERNEL_CUDA_ERROR;
    return launch_early_with(bytes, attend_prompt_kernel<LANES>,
                             dim3(a.config.heads, divide_up(a.rows, of_block)), THREADS, stream, a, of_block);
}

/**
 * @brief Attention of more than BATCH rows. A block takes as many rows, up to WARPS, as leave three blocks for each of the two that an
 *        SM runs at once.
 * @return ::KERNEL_OK, or ::KERNEL_CUDA_ERROR
 */
inline enum kernel_status launch_prompt(struct layer_attention a, cudaStream_t stream)
{
    const long long pairs = (long long)a.config.heads * a.rows;
    const int sms = max(device_attribute(cudaDevAttrMultiProcessorCount), 1);
    a.by_warpgroups = for_warpgroups(a.rows) && !(a.config.elsewhere & ENGINE_ATTENTION_ELSEWHERE);
    int of_block = a.by_warpgroups ? 2 : 1; // attend_kernel() writes in the order of elements
    while (of_block < WARPS && pairs >= 12LL * of_block * sms) of_block *= 2;
    if (a.config.head_dim == 32) return launch_prompt_with<4>(a, of_block, stream);
    if (a.config.head_dim == 64) return launch_prompt_with<8>(a, of_block, stream);
    return launch_prompt_with<16>(a, of_block, stream);
}

#endif
