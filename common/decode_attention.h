/**
 * @file decode_attention.h
 * @brief Rotation, the append to the cache, and attention: part of decode_kernels.h.
 */
#ifndef WARPWISE_DECODE_ATTENTION_H
#define WARPWISE_DECODE_ATTENTION_H

#include "decode_projection.h"

/** Where the key of @p position of row @p row begins in the keys of one layer: [.., kv_heads, head_dim]. */
static __device__ size_t decode_cache_offset(const struct decode_config &c, const int *block_table,
                                             size_t row, int position)
{
    int page = block_table[row * (size_t)c.max_blocks + (size_t)(position / c.block_size)];
    return ((size_t)page * (size_t)c.block_size + (size_t)(position % c.block_size)) *
           (size_t)(c.kv_heads * c.head_dim);
}

/**
 * @brief Turns q and k by an angle that grows with the position; appends k and v to the cache. A warp for every row and
 * head of q and k.
 */
static __global__ void decode_rope_append_kernel(struct decode_config c, const int *positions, // [rows]
                                                 const int *block_table, // [rows, max_blocks]
                                                 float *qkv,             // [rows, qkv_width]
                                                 __half *keys,           // [num_blocks, block_size, ...]
                                                 __half *values)         // the same
{
    decode_start_next();
    size_t row = blockIdx.y, width = (size_t)((c.heads + 2 * c.kv_heads) * c.head_dim);
    int head = (int)blockIdx.x, half_dim = c.head_dim / 2, position = positions[row];
    float *at = qkv + row * width + (size_t)(head * c.head_dim); // [head_dim], of q or, behind all of q, of k
    const float *value = at + c.kv_heads * c.head_dim;           // [head_dim], if this is a head of k
    float cosine[DECODE_LANE_DIMS / 2], sine[DECODE_LANE_DIMS / 2]; // of pair lane, lane + 32
    size_t place = 0;
    if (head >= c.heads)
        place = decode_cache_offset(c, block_table, row, position) + (size_t)((head - c.heads) * c.head_dim);
#pragma unroll
    for (int i = 0; i < DECODE_LANE_DIMS / 2; i++) {
        int d = (int)threadIdx.x + i * DECODE_WARP;
        float angle = (float)position * powf(DECODE_ROPE_BASE, -(float)d / (float)half_dim);
        cosine[i] = cosf(angle);
        sine[i] = sinf(angle);
    }
    decode_wait(); // q, k and v belong to the kernel in front
#pragma unroll
    for (int i = 0; i < DECODE_LANE_DIMS / 2; i++) {
        int d = (int)threadIdx.x + i * DECODE_WARP;
        if (d >= half_dim) continue;
        float low = at[d], high = at[d + half_dim];
        float turned_low = low * cosine[i] - high * sine[i], turned_high = high * cosine[i] + low * sine[i];
        at[d] = turned_low;
        at[d + half_dim] = turned_high;
        if (head < c.heads) continue;
        keys[place + (size_t)d] = __float2half(turned_low);
        keys[place + (size_t)(d + half_dim)] = __float2half(turned_high);
        values[place + (size_t)d] = __float2half(value[d]);
        values[place + (size_t)(d + half_dim)] = __float2half(value[d + half_dim]);
    }
}

/** @brief What a group of lanes has found in its keys: lesson 03's (m, l), and its eight elements of their weighted sum. */
struct decode_found {
    float m;                  /**< largest score; -INFINITY: no key yet */
    float l;                  /**< sum of the weights exp(score - m) */
    float sum[DECODE_VECTOR]; /**< of the values, each times its weight */
};

/** @brief The next DECODE_KEYS keys and values of a group: eight elements of each, zeros behind the last key. */
struct decode_keys {
    uint4 key[DECODE_KEYS];   /**< eight elements of each key */
    uint4 value[DECODE_KEYS]; /**< and of its value */
};

/** @brief m, or 0 where nothing has been found yet: infinities must not be subtracted from each other. */
static __device__ __forceinline__ float decode_reference(float m)
{
    return m == -INFINITY ? 0.0f : m;
}

/** @brief Adds keys. @p q: this lane's eight elements; @p lanes of a group; @p there: how many of the keys there are. */
static __device__ __forceinline__ void decode_add_keys(struct decode_found *found,
                                                       const struct decode_keys *next, const float *q,
                                                       float scale, int lanes, int there)
{
    float score[DECODE_KEYS], part[DECODE_VECTOR], m = found->m;
#pragma unroll
    for (int u = 0; u < DECODE_KEYS; u++) {
        float dot = 0.0f;
        decode_to_floats(part, next->key[u]);
        for (int i = 0; i < DECODE_VECTOR; i++) dot = fmaf(q[i], part[i], dot);
        for (int distance = lanes / 2; distance > 0; distance /= 2)
            dot += __shfl_xor_sync(0xffffffffu, dot, distance);
        score[u] = u < there ? dot * scale : -INFINITY;
        m = fmaxf(m, score[u]);
    }
    float correction = expf(found->m - decode_reference(m));
    found->l *= correction;
    for (int i = 0; i < DECODE_VECTOR; i++) found->sum[i] *= correction;
#pragma unroll
    for (int u = 0; u < DECODE_KEYS; u++) {
        float weight = expf(score[u] - decode_reference(m));
        decode_to_floats(part, next->value[u]);
        found->l += weight;
        for (int i = 0; i < DECODE_VECTOR; i++) found->sum[i] = fmaf(weight, part[i], found->sum[i]);
    }
    found->m = m;
}

/** @brief Merges what the groups of a warp have found, into the first of them, by lesson 03's rule. */
static __device__ __forceinline__ void decode_merge_groups(struct decode_found *found, int lanes)
{
    for (int distance = lanes; distance < DECODE_WARP; distance *= 2) {
        float other_m = __shfl_xor_sync(0xffffffffu, found->m, distance);
        float m = fmaxf(found->m, other_m), reference = decode_reference(m);
        float mine = expf(found->m - reference), others = expf(other_m - reference);
        found->m = m;
        found->l = mine * found->l + others * __shfl_xor_sync(0xffffffffu, found->l, distance);
#pragma unroll
        for (int i = 0; i < DECODE_VECTOR; i++)
            found->sum[i] =
                mine * found->sum[i] + others * __shfl_xor_sync(0xffffffffu, found->sum[i], distance);
    }
}

/** @brief The keys and values of one (row, head), and how its threads share them. */
struct decode_context {
    const __half *keys;   /**< [num_blocks, block_size, kv_heads, head_dim], from its kv head on */
    const __half *values; /**< the same */
    size_t row;           /**< of the batch */
    int length;           /**< keys that the row sees */
    int lanes;            /**< of a group: a power of two, eight elements each */
    int part;             /**< this lane's eight elements, in eights */
    int group;            /**< of this lane, in the block */
    int groups;           /**< of the block */
};

/** @brief Where the keys of this lane's group from @p first on begin, DECODE_KEYS of them, `groups` apart. */
static __device__ __forceinline__ void decode_places(size_t *places, const struct decode_config &c,
                                                     const struct decode_context &k, const int *block_table,
                                                     int first)
{
#pragma unroll
    for (int u = 0; u < DECODE_KEYS; u++) {
        int position = first + u * k.groups;
        if (position < k.length)
            places[u] =
                decode_cache_offset(c, block_table, k.row, position) + (size_t)(k.part * DECODE_VECTOR);
    }
}

/** @brief This group's keys: group, group + groups, ...; DECODE_KEYS of them, and their values, are asked for at once. */
static __device__ __forceinline__ void decode_find(struct decode_found *found, const struct decode_config &c,
                                                   const struct decode_context &k, const int *block_table,
                                                   const float *q) // [head_dim]
{
    const uint4 none = make_uint4(0, 0, 0, 0);
    const bool busy = k.part * DECODE_VECTOR < c.head_dim; // of head_dim 96 a group has lanes to spare
    size_t places[DECODE_KEYS] = {0};
    float mine[DECODE_VECTOR] = {0.0f};
    decode_places(places, c, k, block_table, k.group);
    decode_wait(); // q and the newest key and value belong to the kernel in front
    if (busy)
        for (int i = 0; i < DECODE_VECTOR; i++) mine[i] = q[k.part * DECODE_VECTOR + i];
    int first_of_warp = k.group - k.group % (DECODE_WARP / k.lanes);
    for (int first = k.group; first_of_warp < k.length; first += DECODE_KEYS * k.groups) {
        struct decode_keys next;
#pragma unroll
        for (int u = 0; u < DECODE_KEYS; u++) {
            bool there = busy && first + u * k.groups < k.length;
            next.key[u] = there ? *(const uint4 *)(k.keys + places[u]) : none;
            next.value[u] = there ? *(const uint4 *)(k.values + places[u]) : none;
        }
        int there = (k.length - first + k.groups - 1) / k.groups; // at most 0 behind the last
        first_of_warp += DECODE_KEYS * k.groups;
        decode_places(places, c, k, block_table, first + DECODE_KEYS * k.groups);
        decode_add_keys(found, &next, mine, rsqrtf((float)c.head_dim), k.lanes, first < k.length ? there : 0);
    }
}

/**
 * @brief A block for every (head, row). A group of lanes takes a key, eight elements a lane, so that a warp reads whole
 * lines; all groups of the block share the keys. What they found is merged: in the warp, then warp by warp.
 */
static __global__ void decode_attention_kernel(struct decode_config c, const int *positions, // [rows]
                                               const int *block_table, // [rows, max_blocks]
                                               const float *qkv,       // [rows, qkv_width]
                                               const __half *keys,     // [num_blocks, block_size, ...]
                                               const __half *values,   // the same
                                               float *out)             // [rows, heads, head_dim]
{
    __shared__ float m_of[DECODE_KEY_WARPS], l_of[DECODE_KEY_WARPS];
    __shared__ float sum_of[DECODE_KEY_WARPS][DECODE_LANE_DIMS * DECODE_WARP]; // [warp][head_dim]
    decode_start_next();
    size_t row = blockIdx.y;
    int head = (int)blockIdx.x, warp = (int)threadIdx.x / DECODE_WARP, warps = (int)blockDim.x / DECODE_WARP;
    int lanes = c.head_dim <= 32 ? 4 : c.head_dim <= 64 ? 8 : 16, lane = (int)threadIdx.x % DECODE_WARP;
    size_t of_head = (size_t)(head / (c.heads / c.kv_heads) * c.head_dim);
    const struct decode_context context = {
        keys + of_head,           values + of_head,       row, positions[row] + 1, lanes, lane % lanes,
        (int)threadIdx.x / lanes, (int)blockDim.x / lanes};
    const float *q = qkv + row * (size_t)((c.heads + 2 * c.kv_heads) * c.head_dim) + head * c.head_dim;
    struct decode_found found = {-INFINITY, 0.0f, {0.0f}};
    decode_find(&found, c, context, block_table, q);
    decode_merge_groups(&found, lanes);
    if (lane == 0) {
        m_of[warp] = found.m;
        l_of[warp] = found.l;
    }
    if (lane < lanes && lane * DECODE_VECTOR < c.head_dim)
        for (int i = 0; i < DECODE_VECTOR; i++) sum_of[warp][lane * DECODE_VECTOR + i] = found.sum[i];
    __syncthreads();   // what every warp found is there
    float m = m_of[0]; // the first warp has a key: position 0
    for (int w = 1; w < warps; w++) m = fmaxf(m, m_of[w]);
    for (int d = (int)threadIdx.x; d < c.head_dim; d += (int)blockDim.x) {
        float l = 0.0f, sum = 0.0f;
        for (int w = 0; w < warps; w++) { // without keys: m is -infinity, so that it counts 0 times
            l += expf(m_of[w] - m) * l_of[w];
            sum += expf(m_of[w] - m) * sum_of[w][d];
        }
        out[(row * (size_t)c.heads + (size_t)head) * (size_t)c.head_dim + (size_t)d] = sum / l;
    }
}

/** @brief Threads of its blocks: no more warps than the longest context has groups of keys; the same for every batch. */
static inline int decode_attention_threads(const struct decode_config *c)
{
    int groups = (int)(((size_t)c->max_blocks * (size_t)c->block_size + DECODE_WARP - 1) / DECODE_WARP);
    return DECODE_WARP * (groups < DECODE_KEY_WARPS ? groups : (int)DECODE_KEY_WARPS);
}

#endif
