/**
 * @file engine_kinds.h
 * @brief Lesson 17's steps of the second kind on Hopper (sm_90): what more than 16 rows get if the configuration has two_kinds.
 *
 * Products are those of lesson 15, attention is that of lesson 16 over a paged cache. A sum takes all of k in order, a softmax its keys in
 * tiles of 64 from the first on; so a row's bits depend on its own inputs alone, but are others than those of a step of few rows.
 */
#ifndef WARPWISE_ENGINE_KINDS_H
#define WARPWISE_ENGINE_KINDS_H

#include "engine_tensor.h"
#include "wgmma_tiles.h"

/* ---- products ----------------------------------------------------------------------------------------------------- */

/** @brief A block of free_kernel(): 128 rows of the batch, 64 of each of two warpgroups, and N rows of weights. */
template <int N, int CLUSTER> struct free_tile : stages_of<N, 128, CLUSTER> {
    enum { SUMS = N / 2 /**< of a lane */ };
};

/** @brief Hands a lane's sums to write_output(). */
template <int KIND, typename SHAPE>
__device__ inline void write_free(const struct product &p, int first_row, int first_output, const float *sums)
{
    enum {
        OUTPUTS_OF = KIND == TO_GATED ? SHAPE::W / 2 : SHAPE::W,
        AT_ONCE = OUTPUTS_OF < 64 ? OUTPUTS_OF / 8 : 8
    };
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x % WARPGROUP / WARP;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int row = first_row + warp * 16 + h * 8 + lane / 4;
        if (row_of_x<KIND>(p, row) < 0) continue;
#pragma unroll
        for (int begin = 0; begin < OUTPUTS_OF / 8; begin += AT_ONCE) {
            float before[AT_ONCE][2] = {};
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                for (int e = 0; e < 2; e++) {
                    const int output = first_output + (begin + i) * 8 + lane % 4 * 2 + e;
                    if (KIND == TO_STATE && output < p.outputs)
                        before[i][e] =
                            ((const float *)p.out)[(size_t)row * (size_t)p.outputs + (size_t)output];
                }
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                for (int e = 0; e < 2; e++) {
                    const int output = first_output + (begin + i) * 8 + lane % 4 * 2 + e;
                    const int at = (begin + i) * 4 + 2 * h + e;
                    const float pair[2] = {sums[at], sums[KIND == TO_GATED ? at + SHAPE::W / 4 : at]};
                    if (output < p.outputs) write_output<KIND>(p, row, output, pair, before[i][e]);
                }
        }
    }
}

/** @brief A block's tiles, one after the other: of 128 rows of the batch and N outputs. */
template <int KIND, typename SHAPE>
__global__ void __launch_bounds__(3 * WARPGROUP, 1)
    free_kernel(const __grid_constant__ struct tensor_maps maps, struct product p, int tiles)
{
#if HOPPER_CODE
    extern __shared__ __align__(1024) uint4 stages[];
    __shared__ uint64_t full[SHAPE::STAGES], empty[SHAPE::STAGES];
    const int steps = divide_up(p.inputs, SHAPE::STEP * SPAN);
    make_stages<SHAPE>(full, empty, 2);
    let_next_start();
    if (threadIdx.x < WARPGROUP) {
        registers_down_to<24>();
        if (threadIdx.x == 0) ask_tiles<KIND, SHAPE>(maps, p, stages, full, empty, tiles, steps);
    } else {
        registers_up_to<240>();
        struct ring ring = {0, 0};
        const int group = (int)threadIdx.x / WARPGROUP - 1;
        wait_for_kernel_before();
        for (int tile = (int)blockIdx.x / SHAPE::CLUSTER; tile < tiles;
             tile += (int)gridDim.x / SHAPE::CLUSTER) {
            const struct tile_place place = place_of<SHAPE>(p, tile);
            float sums[SHAPE::SUMS];
#pragma unroll
            for (int i = 0; i < SHAPE::SUMS; i++) sums[i] = 0.0f;
            int last = 0;
            for (int step = 0; step < steps; step++, advance<SHAPE::STAGES>(&ring)) {
                const uint32_t at = shared_address(stages + ring.stage * SHAPE::STEP_AT);
                const uint64_t x = tile_descriptor(at + (SHAPE::W + group * 64) * 128, 0),
                               weights = tile_descriptor(at, 0);
                mbarrier_wait(&full[ring.stage], ring.parity);
                wgmma_fence();
#pragma unroll
                for (int k = 0; k < 4; k++) wgmma<0, 0>(sums, x + k * 2, weights + k * 2, __half());
                wgmma_commit();
                wgmma_wait<1>(); // the step before is done
                if (step > 0) arrive_at_all<SHAPE::CLUSTER>(&empty[last], (int)threadIdx.x % WARPGROUP);
                last = ring.stage;
            }
            wgmma_wait<0>();
            arrive_at_all<SHAPE::CLUSTER>(&empty[last], (int)threadIdx.x % WARPGROUP);
            wgmma_hold(sums);
            write_free<KIND, SHAPE>(p, place.rows * SHAPE::X + group * 64,
                                    place.weights * (KIND == TO_GATED ? SHAPE::W / 2 : SHAPE::W), sums);
        }
    }
    cluster_sync(); // nobody arrives at, or copies to, the shared memory of a block that has ended
#endif
}

/** @brief Launches free_kernel(). */
template <int KIND, typename SHAPE>
inline enum kernel_status launch_free_with(const struct product &p, cudaStream_t stream)
{
    return launch_warpgroups<KIND, SHAPE>(free_kernel<KIND, SHAPE>, p, stream);
}

/**
 * @brief A product of the second kind, in the tiles that need less time. What the L2 cache gives bounds it: so pairs of blocks share
 *        weights where there are rows for two, and a tile of N rows of weights takes about as long as 190 + N.
 */
template <int KIND> inline enum kernel_status launch_free(const struct product &p, cudaStream_t stream)
{
    const int sms = max(device_attribute(cudaDevAttrMultiProcessorCount), 1);
    const auto time = [&](int n) {
        const int of_outputs = divide_up(p.outputs, KIND == TO_GATED ? n / 2 : n);
        return divide_up(of_outputs * divide_up(p.rows, 128), sms) * (190 + n);
    };
    if (p.rows <= 128)
        return time(128) <= time(64) ? launch_free_with<KIND, free_tile<128, 1>>(p, stream)
                                     : launch_free_with<KIND, free_tile<64, 1>>(p, stream);
    return time(256) <= time(128) ? launch_free_with<KIND, free_tile<256, 2>>(p, stream)
                                  : launch_free_with<KIND, free_tile<128, 2>>(p, stream);
}

/* ---- attention ---------------------------------------------------------------------------------------------------- */

enum { QUERIES = 64 /**< of a block */, TILE_OF_KEYS = 64 /**< of a tile */ };

/** @brief What a block keeps in shared memory. Chunk c of row r lies in block c / 8 of 64 columns, at c % 8 ^ r % 8. */
template <int DIM> struct tiles_shared {
    uint4 k[2][DIM / 64][64][8]; /**< keys of this tile and of the next one; in the beginning [0] is Q */
    uint4 v[2][DIM / 64][64][8]; /**< values */
    __half p[64][64];            /**< weights, where a value is infinite or NaN */
    int place[2][64];            /**< where the keys of a tile lie in the cache, in positions */
    int keys[64];                /**< that each row of the block sees */
    int request[64];             /**< of each of them; -1: none */
};

/** @brief Whether one of two halves is infinite or NaN: a bit for each. */
__device__ inline int special_halves(uint32_t pair)
{
    return ((pair & 0x7c00u) == 0x7c00u) | ((pair & 0x7c000000u) == 0x7c000000u) << 1;
}

/** @brief Clears what is infinite or NaN: 0 times it is NaN, also for a row that does not see the key. Returns whether there was any. */
__device__ inline bool clear_special(uint4 *eight)
{
    uint4 x = *eight;
    uint32_t *const pair = (uint32_t *)&x;
    bool any = false;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int special = special_halves(pair[i]);
        any |= special != 0;
        pair[i] &= ~((special & 1 ? 0xffffu : 0u) | (special & 2 ? 0xffff0000u : 0u));
    }
    if (any) *eight = x;
    return any;
}

/** @brief What a block of attend_tiles_kernel() has in registers of its queries: rows g and g + 8 of 16. */
template <int DIM> struct queries {
    uint4 q[DIM / 16]; /**< fragments A */
    float o[DIM / 2];  /**< sums of weighted values, as wgmma leaves them */
    float m[2];        /**< largest score, times log2(e) */
    float l[2];        /**< sum of weights, of this lane's keys */
    int row[2];        /**< of the block's rows of the batch */
};

/** @brief Scores of a tile become weights. */
template <int DIM>
__device__ inline void weigh(struct queries<DIM> *own, float (&s)[32], const int seen[2], int first)
{
    const int t = (int)threadIdx.x % 4;
    const float scale = rsqrtf((float)DIM) * 1.44269504f;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float largest = own->m[h];
#pragma unroll
        for (int j = 0; j < 8; j++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                float *const score = &s[4 * j + 2 * h + e];
                *score = first + j * 8 + 2 * t + e < seen[h] ? *score * scale : -INFINITY;
                largest = fmaxf(largest, *score);
            }
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
        const float shift = largest == -INFINITY ? 0.0f : largest, correction = exp2f(own->m[h] - shift);
        own->m[h] = largest, own->l[h] *= correction;
#pragma unroll
        for (int n = 0; n < DIM / 8; n++)
            own->o[4 * n + 2 * h] *= correction, own->o[4 * n + 2 * h + 1] *= correction;
#pragma unroll
        for (int j = 0; j < 8; j++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                float *const score = &s[4 * j + 2 * h + e];
                *score = exp2f(*score - shift);
                own->l[h] += *score;
            }
    }
}

/** @brief Adds what keys with infinite or NaN values give to the rows that see them; clear_special() left them out of the product. */
template <int DIM>
__device__ inline void add_special(struct queries<DIM> *own, struct tiles_shared<DIM> *shared,
                                   const struct layer_attention &a, const float (&s)[32], const int seen[2],
                                   int first, int kv_head)
{
    const int g = (int)threadIdx.x % 32 / 4, t = (int)threadIdx.x % 4, row = (int)threadIdx.x / 32 * 16 + g;
    for (int j = 0; j < 8; j++)
        for (int i = 0; i < 4; i++)
            shared->p[row + i / 2 * 8][j * 8 + 2 * t + i % 2] = __float2half(s[4 * j + i]);
    __syncwarp(); // the warp's weights are there
    for (int key = 0; first + key < max(seen[0], seen[1]) && key < TILE_OF_KEYS; key++) {
        const __half *const v =
            a.values + ((size_t)shared->place[first / TILE_OF_KEYS % 2][key] * (size_t)a.config.kv_heads +
                        (size_t)kv_head) *
                           DIM;
#pragma unroll
        for (int i = 0; i < DIM / 2; i++) {
            const int h = i / 2 % 2;
            const float value = __half2float(v[i / 4 * 8 + 2 * t + i % 2]);
            if (first + key < seen[h] && !isfinite(value))
                own->o[i] += __half2float(shared->p[row + h * 8][key]) * value;
        }
    }
    __syncwarp(); // they have been read before others replace them
}

/** @brief Block (K/V head, @p of_block rows of the batch): 64 queries, the heads of each row beside each other. Late rows come first. */
template <int DIM>
__global__ void __launch_bounds__(WARPGROUP, 2) attend_tiles_kernel(struct layer_attention a, int of_block)
{
#if HOPPER_CODE
    enum { CHUNKS = DIM / 8 };
    extern __shared__ __align__(1024) uint4 stages[];
    struct tiles_shared<DIM> *const shared = (struct tiles_shared<DIM> *)stages;
    const struct engine_config &c = a.config;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, g = lane / 4;
    const int group = c.heads / c.kv_heads, kv_head = (int)blockIdx.x;
    const int first_row = (int)(gridDim.y - 1 - blockIdx.y) * of_block;
    let_next_start();
    if (threadIdx.x < QUERIES) {
        const int row = first_row + (int)threadIdx.x;
        const bool mine = (int)threadIdx.x < of_block && row < a.rows;
        shared->keys[threadIdx.x] = mine ? max(a.positions[row] + 1, 0) : 0; // read in each replay
        shared->request[threadIdx.x] = shared->keys[threadIdx.x] > 0 ? a.requests[row] : -1;
    }
    __syncthreads(); // the block's rows are known
    wait_for_kernel_before();
    for (int at = (int)threadIdx.x; at < QUERIES * CHUNKS; at += WARPGROUP) {
        const int i = at / CHUNKS, chunk = at % CHUNKS, row = i / group;
        const bool there = row < of_block && shared->keys[row] > 0;
        const __half *const from = a.q + ((size_t)(there ? first_row + row : 0) * (size_t)c.heads +
                                          (size_t)(kv_head * group + i % group)) *
                                             DIM;
        copy_16_bytes(&shared->k[0][chunk / 8][i][chunk % 8 ^ i % 8], from + chunk * 8, there);
    }
    wait_copies();
    __syncthreads(); // Q is there
    struct queries<DIM> own = {
    };
#pragma unroll
    for (int s = 0; s < DIM / 16; s++) {
        const int row = warp * 16 + lane % 16, chunk = s * 2 + lane / 16;
        load_matrices((uint32_t *)&own.q[s],
                      shared_address(&shared->k[0][chunk / 8][row][chunk % 8 ^ row % 8]));
    }
    for (int h = 0; h < 2; h++) own.m[h] = -INFINITY, own.row[h] = (warp * 16 + g + h * 8) / group;
    __syncthreads(); // all have Q in registers
    for (int of = 0; of < of_block; of++) {
        const int request = shared->request[of];
        bool earlier = request < 0; // a row before this one has taken it along
        int most = 0, seen[2];
        for (int i = 0; i < of_block; i++) {
            if (shared->request[i] != request) continue;
            earlier |= i < of;
            most = max(most, shared->keys[i]);
        }
        if (earlier) continue; // the whole block
        for (int h = 0; h < 2; h++)
            seen[h] = own.row[h] < of_block && shared->request[own.row[h]] == request
                          ? shared->keys[own.row[h]]
                          : 0;
        const int *const table = a.tables + (size_t)request * (size_t)c.max_blocks;
        const auto find = [&](int first) {
            const int key = min(first + (int)threadIdx.x, most - 1);
            if (threadIdx.x < TILE_OF_KEYS)
                shared->place[first / TILE_OF_KEYS % 2][threadIdx.x] =
                    table[key / c.block_size] * c.block_size + key % c.block_size;
        };
        const auto load = [&](int first) {
            const int stage = first / TILE_OF_KEYS % 2;
#pragma unroll 4
            for (int at = (int)threadIdx.x; at < TILE_OF_KEYS * CHUNKS; at += WARPGROUP) {
                const int i = at / CHUNKS, chunk = at % CHUNKS;
                const size_t from =
                    ((size_t)shared->place[stage][i] * (size_t)c.kv_heads + (size_t)kv_head) * DIM +
                    (size_t)(chunk * 8);
                copy_16_bytes(&shared->k[stage][chunk / 8][i][chunk % 8 ^ i % 8], a.keys + from,
                              first + i < most);
                copy_16_bytes(&shared->v[stage][chunk / 8][i][chunk % 8 ^ i % 8], a.values + from,
                              first + i < most);
            }
        };
        find(0);
        find(TILE_OF_KEYS);
        __syncthreads(); // the places are there
        load(0);
        for (int first = 0; first < most; first += TILE_OF_KEYS) {
            const int stage = first / TILE_OF_KEYS % 2;
            bool special = false;
            wait_copies();
            for (int at = (int)threadIdx.x; at < TILE_OF_KEYS * CHUNKS; at += WARPGROUP) // its own copies
                special |= clear_special(
                    &shared->v[stage][at % CHUNKS / 8][at / CHUNKS][at % CHUNKS % 8 ^ at / CHUNKS % 8]);
            async_proxy_fence();                 // wgmma reads them
            special = __syncthreads_or(special); // the tile is there, and all are done with the one before
            if (first + TILE_OF_KEYS < most) load(first + TILE_OF_KEYS);
            float s[32];
            const uint64_t keys = tile_descriptor(shared_address(shared->k[stage]), 0);
            wgmma_fence();
#pragma unroll
            for (int i = 0; i < DIM / 16; i++)
                multiply_rows<0>(s, own.q[i], keys + i / 4 * (64 * 8) + i % 4 * 2, i > 0);
            wgmma_commit();
            wgmma_wait<0>();
            wgmma_hold(s);
            weigh<DIM>(&own, s, seen, first);
            if (special) add_special<DIM>(&own, shared, a, s, seen, first, kv_head);
            uint4 p[4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                p[i] = make_uint4(pack_elements<__half>(s[8 * i], s[8 * i + 1]),
                                  pack_elements<__half>(s[8 * i + 2], s[8 * i + 3]),
                                  pack_elements<__half>(s[8 * i + 4], s[8 * i + 5]),
                                  pack_elements<__half>(s[8 * i + 6], s[8 * i + 7]));
            const uint64_t values = tile_descriptor(shared_address(shared->v[stage]), 64 * 128);
            wgmma_fence();
#pragma unroll
            for (int i = 0; i < 4; i++) multiply_rows<1>(own.o, p[i], values + i * (16 * 8), 1);
            wgmma_commit();
            wgmma_wait<0>();
            wgmma_hold(own.o);
            if (first + 2 * TILE_OF_KEYS < most) {
                __syncthreads(); // the next tile's copies have their addresses, and add_special() its places
                find(first + 2 * TILE_OF_KEYS);
            }
        }
        __syncthreads(); // all are done with the last tile, and its places
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float sum = own.l[h] + __shfl_xor_sync(0xffffffffu, own.l[h], 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        const int i = warp * 16 + g + h * 8, row = first_row + own.row[h];
        if (own.row[h] >= of_block || row >= a.rows) continue;
        const float factor = own.m[h] == -INFINITY ? 0.0f : 1.0f / sum; // a row that pads
        __half *const to =
            a.attended + ((size_t)row * (size_t)c.heads + (size_t)(kv_head * group + i % group)) * DIM;
#pragma unroll
        for (int n = 0; n < DIM / 8; n++)
            *(uint32_t *)(to + n * 8 + lane % 4 * 2) =
                pack_elements<__half>(own.o[4 * n + 2 * h] * factor, own.o[4 * n + 2 * h + 1] * factor);
    }
#endif
}

/** @brief Launches attend_tiles_kernel(): a block takes as many rows as have 64 queries, but fewer where there would be few blocks. */
template <int DIM>
inline enum kernel_status launch_attend_tiles(const struct layer_attention &a, cudaStream_t stream)
{
    const int bytes = (int)sizeof(struct tiles_shared<DIM>),
              sms = device_attribute(cudaDevAttrMultiProcessorCount);
    int of_block = QUERIES / (a.config.heads / a.config.kv_heads);
    while (of_block > 1 && a.config.kv_heads * divide_up(a.rows, of_block) * 2 < sms * 3) of_block /= 2;
    if (cudaFuncSetAttribute(attend_tiles_kernel<DIM>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) !=
        cudaSuccess)
        return KERNEL_CUDA_ERROR;
    return launch_early_with(bytes, attend_tiles_kernel<DIM>,
                             dim3(a.config.kv_heads, divide_up(a.rows, of_block)), WARPGROUP, stream, a,
                             of_block);
}

#endif
