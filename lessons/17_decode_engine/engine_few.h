/**
 * @file engine_few.h
 * @brief Given in lesson 17: attention of a few rows, in one kernel that also appends to the cache. In a step of one token every kernel
 *        costs about as much as it takes to begin, and this is one less per layer.
 *
 * Keys and values of earlier steps are asked for before the preceding kernel is over: no kernel of this step writes them. Those that
 * rows of this step bring are computed by every block that needs them, kept in shared memory, and written to the cache by one. They
 * come from the same functions as append_kernel()'s, so they are the same bits; so is what attention makes of them.
 *
 * FEW_ROWS is how far it was seen to be faster than append_kernel() and attend_kernel(): steps of 1, 2 and 8 rows were measured, and
 * of 8 rows with 4,096 keys each it is slower (NOTES.md has the times).
 */
#ifndef WARPWISE_ENGINE_FEW_H
#define WARPWISE_ENGINE_FEW_H

#include "engine_merge.h"
#include "kernel_launch.h"

/* Defined in the lesson's kernel file. */
__device__ inline void find_turn(struct turn *turn, const __half *gain, const struct engine_config &c,
                                 int position);
__device__ inline void norm_and_rotate(__half *to, const float *head, const struct turn &turn,
                                       const struct engine_config &c);
template <int LANES, int ROWS>
__device__ inline void take_keys(float m[ROWS], float l[ROWS], float (*sums)[8], const float (*q)[8],
                                 const uint4 *k, const uint4 *v, const int count[ROWS]);

/** @brief What the rows of a step bring along for a head of a row's request. */
template <int LANES> struct brought {
    alignas(16) __half q[LANES * 8];                /**< of the row, normalised and rotated */
    alignas(16) __half keys[FEW_ROWS][LANES * 8];   /**< of all rows of its request, the same */
    alignas(16) __half values[FEW_ROWS][LANES * 8]; /**< of these */
};

/** @brief find_key(), but -1 - i of a key that row i of this step brings. */
__device__ inline int find_brought(const struct layer_attention &a, int first, int keys)
{
    const int warp = (int)threadIdx.x / WARP, row = (int)blockIdx.y;
    const int key = min(first + warp * OF_WARP + (int)threadIdx.x % OF_WARP, keys - 1);
    for (int i = 0; i < a.rows; i++)
        if (a.positions[i] == key && a.requests[i] == a.requests[row]) return -1 - i;
    return cache_row(a, row, key);
}

/** @brief Waits for the kernel before, and computes what the rows bring: a warp for each head. One block appends its row's. */
template <int LANES>
__device__ inline void bring_keys(struct brought<LANES> *to, const struct layer_attention &a)
{
    const struct engine_config &c = a.config;
    const int row = (int)blockIdx.y, heads = c.heads + 2 * c.kv_heads, group = c.heads / c.kv_heads;
    const int kv_head = (int)blockIdx.x / group, lane = (int)threadIdx.x % WARP;
    // Task 0 is q, the others are k and v of each row.
    for (int task = (int)threadIdx.x / WARP; task < 1 + 2 * a.rows; task += WARPS) {
        const int of = task == 0 ? row : (task - 1) / 2, position = a.positions[of];
        const bool is_value = task > 0 && task % 2 == 0;
        if (position < 0 || a.requests[of] != a.requests[row]) continue; // whole warps
        const int head = task == 0 ? (int)blockIdx.x : c.heads + (is_value ? c.kv_heads : 0) + kv_head;
        const float *from = a.qkv + ((size_t)of * (size_t)heads + (size_t)head) * (LANES * 8);
        struct turn turn;
        if (!is_value) find_turn(&turn, task == 0 ? a.q_norm : a.k_norm, c, position);
        wait_for_kernel_before(); // so far nothing was read that a kernel of this step writes
        if (is_value)
            for (int d = lane; d < LANES * 8; d += WARP) to->values[of][d] = __float2half(from[d]);
        else
            norm_and_rotate(task == 0 ? to->q : to->keys[of], from, turn, c);
    }
    wait_for_kernel_before(); // also warps that have nothing to do
    __syncthreads();          // all of it is there
    if (blockIdx.z > 0 || (int)blockIdx.x % group != 0 || threadIdx.x >= LANES) return;
    const size_t at =
        cache_place(a, row, a.positions[row]) + (size_t)(kv_head * LANES + (int)threadIdx.x) * 8;
    *(uint4 *)(a.keys + at) = *(const uint4 *)&to->keys[row][threadIdx.x * 8];
    *(uint4 *)(a.values + at) = *(const uint4 *)&to->values[row][threadIdx.x * 8];
}

/** @brief load_keys() of those that rows of this step bring. */
template <int LANES>
__device__ inline void load_brought(uint4 *k, uint4 *v, const struct brought<LANES> &from, int cached)
{
    enum { GROUPS = WARP / LANES, AT_ONCE = OF_WARP / GROUPS };
    const int lane = (int)threadIdx.x % WARP;
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
        const int row = __shfl_sync(0xffffffffu, cached, i * GROUPS + lane / LANES);
        if (row >= 0) continue;
        k[i] = *(const uint4 *)&from.keys[-1 - row][lane % LANES * 8];
        v[i] = *(const uint4 *)&from.values[-1 - row][lane % LANES * 8];
    }
}

/** @brief Block (head, row, walker): attention of up to FEW_ROWS rows, which appends. The last of a head's walkers merges. */
template <int LANES> __global__ void __launch_bounds__(THREADS) attend_few_kernel(struct layer_attention a)
{
    enum { PART = LANES * 8 + 2, AT_ONCE = OF_WARP / (WARP / LANES) };
    __shared__ float own[PART];
    __shared__ struct brought<LANES> brought;
    const int row = (int)blockIdx.y, walker = (int)blockIdx.z, keys = max(a.positions[row] + 1, 0);
    const int walkers = min(divide_up(keys, (int)KEYS), LANES);
    const size_t place = (size_t)row * (size_t)a.config.heads + blockIdx.x;
    float *const parts = walkers > 1 ? a.parts + place * (LANES * PART) : own;
    let_next_start();
    if (walker > 0 && walker >= walkers) return;
    if (keys > 0) {
        uint4 k[AT_ONCE] = {}, v[AT_ONCE] = {};
        float q[1][8], sums[1][8] = {}, m = -INFINITY, l = 0.0f;
        int cached = find_brought(a, walker * KEYS, keys);
        load_keys<LANES, true>(k, v, a, cached); // of earlier steps
        bring_keys<LANES>(&brought, a);
        load_eight(q[0], brought.q + threadIdx.x % LANES * 8);
        for (int begin = walker * KEYS, first = begin; first < keys; first += LANES * KEYS) {
            if (first > begin) load_keys<LANES, true>(k, v, a, cached);
            load_brought<LANES>(k, v, brought, cached);
            if (first + LANES * KEYS < keys) cached = find_brought(a, first + LANES * KEYS, keys);
            const int left = keys - first;
            take_keys<LANES, 1>(&m, &l, sums, q, k, v, &left);
        }
        merge_groups<LANES>(parts + walker * PART, m, l, sums[0]);
    }
    wait_for_kernel_before(); // also where nothing was walked: later kernels rely on it
    if (walkers > 1 && !is_last(a.arrived + place, walkers)) return;
    merge_parts<LANES>(a.attended + place * (LANES * 8), parts, walkers);
}

/** @brief Launches attend_few_kernel(). @return ::KERNEL_OK, ::KERNEL_CUDA_ERROR, or of more rows ::KERNEL_INVALID_DIMENSION */
inline enum kernel_status launch_few(const struct layer_attention &a, cudaStream_t stream)
{
    if (a.rows > FEW_ROWS) return KERNEL_INVALID_DIMENSION; // shared memory has no room for more
    void (*const attend)(struct layer_attention) = a.config.head_dim == 32   ? attend_few_kernel<4>
                                                   : a.config.head_dim == 64 ? attend_few_kernel<8>
                                                                             : attend_few_kernel<16>;
    if (!leave_room(attend)) return KERNEL_CUDA_ERROR;
    return launch_early(attend, dim3(a.config.heads, a.rows, a.config.head_dim / 8), THREADS, stream, a);
}

#endif
