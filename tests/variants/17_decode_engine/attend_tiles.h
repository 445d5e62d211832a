/**
 * @file attend_tiles.h
 * @brief Attention of many rows on tensor cores, as lesson 12's, over a paged cache: other sums than those of attend_kernel().
 *
 * A block has 64 queries of one K/V head: as many consecutive rows of the batch as have 64 heads together. It goes through the keys of each
 * request that these rows belong to, in tiles of 64 from key 0 on; for rows of another request all keys are hidden, which changes no bit.
 * So what a row gives depends on its own keys alone.
 */
#ifndef WARPWISE_ATTEND_TILES_H
#define WARPWISE_ATTEND_TILES_H

#include "engine_parts.h"
#include "kernel_launch.h"
#include "warp_matrix.h"

/** @brief A block's sizes. */
template <int DIM_> struct tiles_of {
    enum {
        DIM = DIM_,               /**< head_dim */
        QUERIES = 64,             /**< 16 of each of four warps */
        TILE = 64,                /**< keys of a tile */
        BLOCK = 128,              /**< threads */
        CHUNKS = DIM / 8,         /**< 16 bytes each, of a row */
        STEPS = DIM / 16,         /**< of k in a score */
        MASK = CHUNKS < 8 ? CHUNKS - 1 : 7 /**< of the swizzle */
    };
};

/** @brief What a block keeps in shared memory. Chunk c of row r lies at c ^ (r & MASK). */
template <int DIM> struct tiles_shared {
    uint4 k[2][64][DIM / 8]; /**< keys of this tile and of the next one; in the beginning [0] is Q */
    uint4 v[2][64][DIM / 8]; /**< values */
    int place[2][64];        /**< where the keys of a tile lie in the cache, in positions */
    int keys[64];            /**< of each row of the batch that the block has */
    int request[64];         /**< of each of them */
};

/** @brief Whether a half of @p pair is infinite or NaN: a bit for each. */
__device__ inline int special_halves(uint32_t pair)
{
    return ((pair & 0x7c00u) == 0x7c00u) | ((pair & 0x7c000000u) == 0x7c000000u) << 1;
}

/** @brief Adds to @p o what keys with infinite or NaN values give to the rows that see them: they were left out of the product. */
__device__ inline void add_special(float o[4], const uint32_t a[4], uint32_t b0, uint32_t b1, const int seen[2], int first)
{
    const int lane = (int)threadIdx.x % 32;
#pragma unroll 1
    for (int k = 0; k < 16; k++) {
        const int from = k % 8 / 2;
        for (int e = 0; e < 2; e++) {
            const uint32_t pair = __shfl_sync(0xffffffffu, k < 8 ? b0 : b1, (lane % 4 * 2 + e) * 4 + from);
            for (int h = 0; h < 2; h++) {
                const uint32_t p = __shfl_sync(0xffffffffu, k < 8 ? a[h] : a[h + 2], lane / 4 * 4 + from);
                if ((special_halves(pair) >> k % 2 & 1) && first + k < seen[h])
                    o[2 * h + e] += unpack_element<__half>(p, k % 2) * unpack_element<__half>(pair, k % 2);
            }
        }
    }
}

/** @brief The same pair without what is infinite or NaN. */
__device__ inline uint32_t without_special(uint32_t pair)
{
    const int special = special_halves(pair);
    return pair & ~((special & 1 ? 0xffffu : 0u) | (special & 2 ? 0xffff0000u : 0u));
}

/** @brief Block (K/V head, @p of_block rows of the batch): their attention. Late rows, which have most keys, come first. */
template <int DIM> __global__ void __launch_bounds__(128, 2) attend_tiles_kernel(struct layer_attention a, int of_block)
{
    typedef struct tiles_of<DIM> SIZE;
    extern __shared__ uint4 weights[]; // as many_kernel() calls it
    struct tiles_shared<DIM> *const shared = (struct tiles_shared<DIM> *)weights;
    const struct engine_config &c = a.config;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const int group = c.heads / c.kv_heads, kv_head = (int)blockIdx.x;
    const int first_row = (int)(gridDim.y - 1 - blockIdx.y) * of_block;
    const size_t width = (size_t)c.kv_heads * DIM;
    let_next_start();
    if (threadIdx.x < SIZE::QUERIES) {
        const int row = first_row + (int)threadIdx.x;
        const bool mine = (int)threadIdx.x < of_block && row < a.rows;
        shared->keys[threadIdx.x] = mine ? max(a.positions[row] + 1, 0) : 0; // read in each replay
        shared->request[threadIdx.x] = shared->keys[threadIdx.x] > 0 ? a.requests[row] : -1;
    }
    wait_for_kernel_before();
    // Q: query i is head i % group of row i / group.
    for (int at = (int)threadIdx.x; at < SIZE::QUERIES * SIZE::CHUNKS; at += SIZE::BLOCK) {
        const int i = at / SIZE::CHUNKS, chunk = at % SIZE::CHUNKS, row = first_row + i / group;
        const bool there = i < of_block * group && row < a.rows;
        const __half *from = a.q + ((size_t)(there ? row : 0) * (size_t)c.heads + (size_t)(kv_head * group + i % group)) * DIM;
        copy_16_bytes(&shared->k[0][i][chunk ^ (i & SIZE::MASK)], from + chunk * 8, there);
    }
    wait_copies();
    __syncthreads(); // Q and the rows are there
    uint32_t q[SIZE::STEPS][4];
#pragma unroll
    for (int s = 0; s < SIZE::STEPS; s++) {
        const int row = warp * 16 + lane % 16, chunk = s * 2 + lane / 16;
        load_matrices(q[s], shared_address(&shared->k[0][row][chunk ^ (row & SIZE::MASK)]));
    }
    const int mine[2] = {(warp * 16 + g) / group, (warp * 16 + g + 8) / group}; // rows of the block
    float o[DIM / 8][4] = {}, m[2] = {-INFINITY, -INFINITY}, l[2] = {};
    const float scale = rsqrtf((float)DIM) * 1.44269504f;
    __syncthreads(); // all have Q in registers
    for (int of = 0; of < of_block; of++) {
        const int request = shared->request[of];
        bool earlier = request < 0;
        int most = 0;
        for (int i = 0; i < of_block; i++) {
            if (shared->request[i] != request) continue;
            earlier |= i < of;
            most = max(most, shared->keys[i]);
        }
        if (earlier) continue; // the whole block
        const int *const table = a.tables + (size_t)request * (size_t)c.max_blocks;
        int seen[2];
        for (int h = 0; h < 2; h++)
            seen[h] = mine[h] < of_block && shared->request[mine[h]] == request ? shared->keys[mine[h]] : 0;
        const auto find = [&](int first) {
            if (threadIdx.x < SIZE::TILE) {
                const int key = min(first + (int)threadIdx.x, most - 1);
                shared->place[first / SIZE::TILE % 2][threadIdx.x] = table[key / c.block_size] * c.block_size + key % c.block_size;
            }
        };
        const auto load = [&](uint4 (*to)[DIM / 8], const __half *from, int first) {
            for (int at = (int)threadIdx.x; at < SIZE::TILE * SIZE::CHUNKS; at += SIZE::BLOCK) {
                const int i = at / SIZE::CHUNKS, chunk = at % SIZE::CHUNKS;
                const size_t place = (size_t)shared->place[first / SIZE::TILE % 2][i] * width + (size_t)(kv_head * DIM + chunk * 8);
                copy_16_bytes(&to[i][chunk ^ (i & SIZE::MASK)], from + place, first + i < most);
            }
        };
        find(0);
        __syncthreads(); // the places are there
        load(shared->k[0], a.keys, 0);
        load(shared->v[0], a.values, 0);
        find(SIZE::TILE);
        for (int first = 0; first < most; first += SIZE::TILE) {
            const int stage = first / SIZE::TILE % 2;
            wait_copies();
            __syncthreads(); // the tile is there, the next one's places, and all are done with the one before
            if (first + SIZE::TILE < most) {
                load(shared->k[1 - stage], a.keys, first + SIZE::TILE);
                load(shared->v[1 - stage], a.values, first + SIZE::TILE);
            }
            float s[SIZE::TILE / 8][4] = {};
#pragma unroll
            for (int step = 0; step < SIZE::STEPS; step++)
#pragma unroll
                for (int j = 0; j < SIZE::TILE / 8; j += 2) {
                    uint32_t b[4]; // 8 keys in b[0] and b[1], the next 8 in b[2] and b[3]
                    const int row = j * 8 + lane / 16 * 8 + lane % 8, chunk = step * 2 + lane / 8 % 2;
                    load_matrices(b, shared_address(&shared->k[stage][row][chunk ^ (row & SIZE::MASK)]));
                    multiply_add<__half>(s[j], q[step], b[0], b[1]);
                    multiply_add<__half>(s[j + 1], q[step], b[2], b[3]);
                }
            float shift[2];
#pragma unroll
            for (int h = 0; h < 2; h++) {
                float largest = m[h];
#pragma unroll
                for (int j = 0; j < SIZE::TILE / 8; j++)
#pragma unroll
                    for (int e = 0; e < 2; e++) {
                        float *const score = &s[j][2 * h + e];
                        *score = first + j * 8 + 2 * t + e < seen[h] ? *score * scale : -INFINITY;
                        largest = fmaxf(largest, *score);
                    }
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
                shift[h] = largest == -INFINITY ? 0.0f : largest;
                const float correction = exp2f(m[h] - shift[h]);
                m[h] = largest, l[h] *= correction;
#pragma unroll
                for (int n = 0; n < DIM / 8; n++) o[n][2 * h] *= correction, o[n][2 * h + 1] *= correction;
#pragma unroll
                for (int j = 0; j < SIZE::TILE / 8; j++)
#pragma unroll
                    for (int e = 0; e < 2; e++) {
                        s[j][2 * h + e] = exp2f(s[j][2 * h + e] - shift[h]);
                        l[h] += s[j][2 * h + e];
                    }
            }
#pragma unroll
            for (int step = 0; step < SIZE::TILE / 16; step++) {
                uint32_t p[4];
#pragma unroll
                for (int x = 0; x < 4; x++)
                    p[x] = pack_elements<__half>(s[step * 2 + x / 2][x % 2 * 2], s[step * 2 + x / 2][x % 2 * 2 + 1]);
#pragma unroll
                for (int n = 0; n < DIM / 8; n += 2) {
                    uint32_t b[4]; // 8 columns in b[0] and b[1], the next 8 in b[2] and b[3]
                    const int row = step * 16 + lane % 16, chunk = n + lane / 16;
                    load_matrices_transposed(b, shared_address(&shared->v[stage][row][chunk ^ (row & SIZE::MASK)]));
                    const int special = special_halves(b[0]) | special_halves(b[1]) | special_halves(b[2]) | special_halves(b[3]);
                    if (__any_sync(0xffffffffu, special != 0)) { // 0 * NaN is NaN, also for a row that does not see it
                        add_special(o[n], p, b[0], b[1], seen, first + step * 16);
                        add_special(o[n + 1], p, b[2], b[3], seen, first + step * 16);
                        for (int x = 0; x < 4; x++) b[x] = without_special(b[x]);
                    }
                    multiply_add<__half>(o[n], p, b[0], b[1]);
                    multiply_add<__half>(o[n + 1], p, b[2], b[3]);
                }
            }
            if (first + 2 * SIZE::TILE < most) find(first + 2 * SIZE::TILE); // this tile's places were read before the barrier
        }
        __syncthreads(); // all are done with the last tile, and its places
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float sum = l[h] + __shfl_xor_sync(0xffffffffu, l[h], 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        const int i = warp * 16 + g + h * 8, row = first_row + mine[h];
        if (mine[h] >= of_block || row >= a.rows) continue;
        const float factor = m[h] == -INFINITY ? 0.0f : 1.0f / sum; // a row that pads
        __half *const to = a.attended + ((size_t)row * (size_t)c.heads + (size_t)(kv_head * group + i % group)) * DIM;
#pragma unroll
        for (int n = 0; n < DIM / 8; n++) {
            const int column = n * 8 + 2 * t;
            *(uint32_t *)(to + (a.by_warpgroups ? in_span(column) : column)) = pack_elements<__half>(o[n][2 * h] * factor, o[n][2 * h + 1] * factor);
        }
    }
}

/** @brief Launches it for head_dim DIM. */
template <int DIM> inline enum kernel_status launch_attend_tiles_with(const struct layer_attention &a, cudaStream_t stream)
{
    const int bytes = (int)sizeof(struct tiles_shared<DIM>), of_block = 64 / (a.config.heads / a.config.kv_heads);
    if (cudaFuncSetAttribute(attend_tiles_kernel<DIM>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) != cudaSuccess)
        return KERNEL_CUDA_ERROR;
    return launch_early_with(bytes, attend_tiles_kernel<DIM>, dim3(a.config.kv_heads, divide_up(a.rows, of_block)), 128, stream, a, of_block);
}

/** @brief Attention of many rows whose K/V heads have at most 64 query heads each. */
inline enum kernel_status launch_attend_tiles(struct layer_attention a, cudaStream_t stream)
{
    a.by_warpgroups = for_warpgroups(a.rows) && !(a.config.elsewhere & ENGINE_ATTENTION_ELSEWHERE);
    if (a.config.head_dim == 32) return launch_attend_tiles_with<32>(a, stream);
    if (a.config.head_dim == 64) return launch_attend_tiles_with<64>(a, stream);
    return launch_attend_tiles_with<128>(a, stream);
}

#endif
