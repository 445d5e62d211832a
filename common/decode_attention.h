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
 * @brief What a group of lanes has found in its keys: lesson 03's (m, l), and its eight elements of their
 * weighted sum.
 */
struct decode_found {
    float m;                  /**< largest score; -INFINITY: no key yet */
    float l;                  /**< sum of the weights exp(score - m) */
    float sum[DECODE_VECTOR]; /**< of the values, each times its weight */
};

/**
 * @brief The next DECODE_KEYS keys and values of a group: eight elements of each, zeros behind the last
 * key.
 */
struct decode_keys {
    uint4 key[DECODE_KEYS];   /**< eight elements of each key */
    uint4 value[DECODE_KEYS]; /**< and of its value */
};

/** @brief m, or 0 where nothing has been found yet: infinities must not be subtracted from each other. */
static __device__ __forceinline__ float decode_reference(float m)
{
    return m == -INFINITY ? 0.0f : m;
}

/** @brief The keys and values of one (row, head), and how its threads share them. */
struct decode_context {
    __half *keys;   /**< [num_blocks, block_size, kv_heads, head_dim], from its kv head on */
    __half *values; /**< the same */
    size_t row;     /**< of the batch */
    int position;   /**< of the newest key, which is not in the cache yet: the row sees position + 1 keys */
    int lanes;      /**< of a group: a power of two, eight elements each */
    int part;       /**< this lane's eight elements, in eights */
    int group;      /**< of this lane, in the block */
    int groups;     /**< of the block */
    bool busy;      /**< whether it has any: of head_dim 96 a group has lanes to spare */
};

/**
 * @brief Adds keys. @p q: this lane's eight elements; @p first: position of the first of its group's keys,
 * @p first_of_warp: of the first of all keys of the warp.
 */
static __device__ __forceinline__ void decode_add_keys(struct decode_found *found,
                                                       const struct decode_keys *next, const float *q,
                                                       float scale, const struct decode_context &k, int first,
                                                       int first_of_warp)
{
    float score[DECODE_KEYS], part[DECODE_VECTOR], m = found->m;
#pragma unroll
    for (int u = 0; u < DECODE_KEYS; u++) {
        score[u] = -INFINITY;
        if (first_of_warp + u * k.groups > k.position) continue; // of no group
        float dot = 0.0f;
        decode_to_floats(part, next->key[u]);
        for (int i = 0; i < DECODE_VECTOR; i++) dot = fmaf(q[i], part[i], dot);
        for (int distance = k.lanes / 2; distance > 0; distance /= 2)
            dot += __shfl_xor_sync(0xffffffffu, dot, distance);
        if (first + u * k.groups <= k.position) score[u] = dot * scale;
        m = fmaxf(m, score[u]);
    }
    float correction = expf(found->m - decode_reference(m));
    found->l *= correction;
    for (int i = 0; i < DECODE_VECTOR; i++) found->sum[i] *= correction;
#pragma unroll
    for (int u = 0; u < DECODE_KEYS; u++) {
        if (first_of_warp + u * k.groups > k.position) continue; // of no group
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

/** @brief Where the keys of this lane's group from @p first on begin, DECODE_KEYS of them, `groups` apart. */
static __device__ __forceinline__ void decode_places(size_t *places, const struct decode_config &c,
                                                     const struct decode_context &k, const int *block_table,
                                                     int first)
{
#pragma unroll
    for (int u = 0; u < DECODE_KEYS; u++) {
        int position = first + u * k.groups;
        if (position <= k.position)
            places[u] =
                decode_cache_offset(c, block_table, k.row, position) + (size_t)(k.part * DECODE_VECTOR);
    }
}

/** @brief Asks for the keys of this lane's group from @p first on, and their values, but not the newest. */
static __device__ __forceinline__ void decode_ask(struct decode_keys *next, const struct decode_context &k,
                                                  const size_t *places, int first)
{
    const uint4 none = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int u = 0; u < DECODE_KEYS; u++) {
        bool there = k.busy && first + u * k.groups < k.position;
        next->key[u] = there ? *(const uint4 *)(k.keys + places[u]) : none;
        next->value[u] = there ? *(const uint4 *)(k.values + places[u]) : none;
    }
}

/** @brief Cosines and sines of the angles that pairs of elements are turned by; they grow with the position. */
struct decode_angles {
    alignas(16) float cosine[2 * DECODE_WARP]; /**< [head_dim / 2] */
    alignas(16) float sine[2 * DECODE_WARP];   /**< the same */
};

/** @brief Works them out, all threads together. They are there behind the next barrier. */
static __device__ __forceinline__ void decode_find_angles(struct decode_angles *angles, int position,
                                                          int half_dim)
{
    for (int d = (int)threadIdx.x; d < half_dim; d += (int)blockDim.x) {
        float angle = (float)position * powf(DECODE_ROPE_BASE, -(float)d / (float)half_dim);
        angles->cosine[d] = cosf(angle);
        angles->sine[d] = sinf(angle);
    }
}

/** @brief Eight floats. */
static __device__ __forceinline__ void decode_load_eight(float *to, const float *from)
{
    float4 low = ((const float4 *)from)[0], high = ((const float4 *)from)[1];
    const float eight[DECODE_VECTOR] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int i = 0; i < DECODE_VECTOR; i++) to[i] = eight[i];
}

/** @brief Eight floats as halves. */
static __device__ __forceinline__ uint4 decode_to_halves(const float *from)
{
    uint4 halves;
    __half2 *pair = (__half2 *)&halves;
#pragma unroll
    for (int i = 0; i < DECODE_VECTOR / 2; i++) pair[i] = __floats2half2_rn(from[2 * i], from[2 * i + 1]);
    return halves;
}

/** @brief How a lane turns its eight elements: each is half of a pair, the other half is half_dim away. */
struct decode_turn {
    float cosine[DECODE_VECTOR]; /**< times the element */
    float sine[DECODE_VECTOR];   /**< times the other of its pair; negative for the first half of a head */
    int at;                      /**< the first of the eight */
    int other;                   /**< the first of the others */
};

/** @brief Fills in @p turn for the lane's elements from @p d on. */
static __device__ __forceinline__ void
decode_prepare_turn(struct decode_turn *turn, const struct decode_angles &angles, int d, int half_dim)
{
    const bool first_half = d < half_dim;
    const int pair = first_half ? d : d - half_dim;
    turn->at = d;
    turn->other = first_half ? d + half_dim : pair;
    decode_load_eight(turn->cosine, angles.cosine + pair);
    decode_load_eight(turn->sine, angles.sine + pair);
#pragma unroll
    for (int i = 0; i < DECODE_VECTOR; i++) turn->sine[i] = first_half ? -turn->sine[i] : turn->sine[i];
}

/** @brief The lane's eight elements of a query or key, turned. */
static __device__ __forceinline__ void decode_load_turned(float *to, const float *head, // [head_dim]
                                                          const struct decode_turn &turn)
{
    float mine[DECODE_VECTOR], other[DECODE_VECTOR];
    decode_load_eight(mine, head + turn.at);
    decode_load_eight(other, head + turn.other);
#pragma unroll
    for (int i = 0; i < DECODE_VECTOR; i++) to[i] = fmaf(mine[i], turn.cosine[i], other[i] * turn.sine[i]);
}

/** @brief What the kernel in front has made of a row, for one head. */
struct decode_fresh {
    const float *query; /**< [head_dim] */
    const float *key;   /**< [head_dim] the newest */
    const float *value; /**< the same */
};

/**
 * @brief This group's keys: group, group + groups, ...; DECODE_KEYS of them, and their values, are asked
 * for at once, the first before decode_wait(). The newest key comes out of registers: its group turns it,
 * and appends it to the cache if @p appends.
 */
static __device__ __forceinline__ void decode_find(struct decode_found *found, const struct decode_config &c,
                                                   const struct decode_context &k, const int *block_table,
                                                   const struct decode_fresh &fresh,
                                                   const struct decode_turn &turn, bool appends)
{
    const int stride = DECODE_KEYS * k.groups;
    const bool newest = k.busy && k.position % k.groups == k.group;
    const size_t place = decode_cache_offset(c, block_table, k.row, k.position) + (size_t)turn.at;
    const float scale = rsqrtf((float)c.head_dim);
    size_t places[DECODE_KEYS] = {0};
    float query[DECODE_VECTOR] = {0.0f};
    uint4 key = make_uint4(0, 0, 0, 0), value = key;
    struct decode_keys next;
    decode_places(places, c, k, block_table, k.group);
    decode_ask(&next, k, places, k.group);
    decode_wait(); // query, key and value belong to the kernel in front
    if (k.busy) decode_load_turned(query, fresh.query, turn);
    if (newest) {
        float eight[DECODE_VECTOR];
        decode_load_turned(eight, fresh.key, turn);
        key = decode_to_halves(eight);
        decode_load_eight(eight, fresh.value + turn.at);
        value = decode_to_halves(eight);
    }
    if (newest && appends) {
        *(uint4 *)(k.keys + place) = key;
        *(uint4 *)(k.values + place) = value;
    }
    int first_of_warp = k.group - k.group % (DECODE_WARP / k.lanes);
    for (int first = k.group; first_of_warp <= k.position; first += stride) {
        struct decode_keys now = next;
#pragma unroll
        for (int u = 0; u < DECODE_KEYS; u++) {
            if (first + u * k.groups != k.position) continue;
            now.key[u] = key;
            now.value[u] = value;
        }
        if (first_of_warp + stride <= k.position) {
            decode_places(places, c, k, block_table, first + stride);
            decode_ask(&next, k, places, first + stride);
        }
        decode_add_keys(found, &now, query, scale, k, first, first_of_warp);
        first_of_warp += stride;
    }
}

/** @brief What the warps of a block know of each other. */
struct decode_of_block {
    struct decode_angles angles;                                 /**< for all of them */
    float m[DECODE_KEY_WARPS];                                   /**< what each has found */
    float l[DECODE_KEY_WARPS];                                   /**< the same */
    float sum[DECODE_KEY_WARPS][DECODE_LANE_DIMS * DECODE_WARP]; /**< [head_dim] of each */
};

/**
 * @brief out = what the first @p used warps have found, merged, which is in @p mine for this lane's group of
 * each warp. With few keys that is one warp, and nothing to merge. All threads must call it.
 */
static __device__ __forceinline__ void decode_write(float *out, // [head_dim]
                                                    struct decode_of_block *block,
                                                    const struct decode_found &mine,
                                                    const struct decode_context &k, int head_dim, int used)
{
    const int warp = (int)threadIdx.x / DECODE_WARP, lane = (int)threadIdx.x % DECODE_WARP;
    const bool holds = lane < k.lanes && k.busy && warp < used;
    float *sum_of = used == 1 ? out : block->sum[warp];
    float share = used == 1 ? 1.0f / mine.l : 1.0f;
#pragma unroll
    for (int i = 0; i < DECODE_VECTOR; i++)
        if (holds) sum_of[lane * DECODE_VECTOR + i] = mine.sum[i] * share;
    if (used == 1) return; // all threads of the block
    if (lane == 0) {
        block->m[warp] = mine.m;
        block->l[warp] = mine.l;
    }
    __syncthreads(); // what every warp found is there
    float m = block->m[0];
    for (int w = 1; w < used; w++) m = fmaxf(m, block->m[w]);
    for (int d = (int)threadIdx.x; d < head_dim; d += (int)blockDim.x) {
        float l = 0.0f, sum = 0.0f;
        for (int w = 0; w < used; w++) {
            float weight = expf(block->m[w] - m);
            l += weight * block->l[w];
            sum += weight * block->sum[w][d];
        }
        out[d] = sum * (1.0f / l);
    }
}

/**
 * @brief Attention of the newest token, whose key and value it appends to the cache. A block for every
 * (head, row). A group of lanes takes a key, eight elements a lane, so that a warp reads whole lines; all
 * groups of the block share the keys. What they found is merged: in the warp, then warp by warp.
 */
static __global__ void __launch_bounds__(DECODE_KEY_WARPS *DECODE_WARP)
    decode_attention_kernel(struct decode_config c, const int *positions, // [rows]
                            const int *block_table,                       // [rows, max_blocks]
                            const float *qkv,                             // [rows, qkv_width]
                            __half *keys,                                 // [num_blocks, block_size, ...]
                            __half *values,                               // the same
                            float *out)                                   // [rows, heads, head_dim]
{
    __shared__ struct decode_of_block block;
    decode_start_next();
    size_t row = blockIdx.y;
    int head = (int)blockIdx.x, warp = (int)threadIdx.x / DECODE_WARP, warps = (int)blockDim.x / DECODE_WARP;
    int lanes = c.head_dim <= 32 ? 4 : c.head_dim <= 64 ? 8 : 16, part = (int)threadIdx.x % lanes;
    int sharers = c.heads / c.kv_heads, kv_head = head / sharers; // the first of those that share appends
    const struct decode_context k = {keys + kv_head * c.head_dim,
                                     values + kv_head * c.head_dim,
                                     row,
                                     positions[row],
                                     lanes,
                                     part,
                                     (int)threadIdx.x / lanes,
                                     (int)blockDim.x / lanes,
                                     part * DECODE_VECTOR < c.head_dim};
    const float *of_row = qkv + row * (size_t)((c.heads + 2 * c.kv_heads) * c.head_dim);
    const float *key = of_row + (c.heads + kv_head) * c.head_dim;
    const struct decode_fresh fresh = {of_row + head * c.head_dim, key, key + c.kv_heads * c.head_dim};
    const int used = min(warps, k.position / (DECODE_WARP / lanes) + 1); // warps with keys
    struct decode_found found = {-INFINITY, 0.0f, {0.0f}};
    struct decode_turn turn;
    decode_find_angles(&block.angles, k.position, c.head_dim / 2);
    __syncthreads(); // the angles are there
    decode_prepare_turn(&turn, block.angles, k.busy ? part * DECODE_VECTOR : 0, c.head_dim / 2);
    decode_find(&found, c, k, block_table, fresh, turn, head % sharers == 0);
    if (warp < used) decode_merge_groups(&found, lanes);
    out += (row * (size_t)c.heads + (size_t)head) * (size_t)c.head_dim;
    decode_write(out, &block, found, k, c.head_dim, used);
}

/**
 * @brief Threads of its blocks: no more warps than the longest context has groups of keys; the same for
 * every batch.
 */
static inline int decode_attention_threads(const struct decode_config *c)
{
    int groups = (int)(((size_t)c->max_blocks * (size_t)c->block_size + DECODE_WARP - 1) / DECODE_WARP);
    return DECODE_WARP * (groups < DECODE_KEY_WARPS ? groups : (int)DECODE_KEY_WARPS);
}

#endif
