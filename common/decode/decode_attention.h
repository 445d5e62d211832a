/**
 * @file decode_attention.h
 * @brief Rotation, the append to the cache, and attention: part of decode_kernels.h.
 */
#pragma once

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
 * @brief The partial result of a group of lanes: lesson 03's (m, l) of its keys, and its eight elements of their
 * weighted sum.
 */
struct decode_found {
    float m;                  /**< largest score; -INFINITY: no key yet */
    float l;                  /**< sum of the weights exp(score - m) */
    float sum[DECODE_VECTOR]; /**< of the values, each times its weight */
};

/**
 * @brief The next DECODE_KEYS keys and values of a group: eight elements of each, zeros past the last
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
    int part;       /**< this lane's eight elements, in eights; LANES lanes are a group, a power of two */
    int group;      /**< of this lane, in the block */
    int groups;     /**< of the block */
    bool busy;      /**< whether it has any: with head_dim 96 some lanes of a group have none */
};

/** @brief A lane's eight elements of the newest key and of its value. */
struct decode_newest {
    uint4 key;   /**< rotated; halves, as they are in the cache from now on */
    uint4 value; /**< the same */
};

/**
 * @brief Adds keys. @p q: this lane's eight elements; @p first: position of the first of its group's keys,
 * @p first_of_warp: of the first of all keys of the warp. What no group of the warp has is skipped.
 */
template <int LANES>
static __device__ __forceinline__ void
decode_add_keys(struct decode_found *found, const struct decode_keys &keys,
                const struct decode_newest &newest, const float *q, float scale,
                const struct decode_context &k, int first, int first_of_warp)
{
    float score[DECODE_KEYS], part[DECODE_VECTOR], m = found->m;
#pragma unroll
    for (int u = 0; u < DECODE_KEYS; u++) {
        float dot = 0.0f;
        score[u] = -INFINITY;
        if (first_of_warp + u * k.groups > k.position) continue;
        decode_to_floats(part, first + u * k.groups == k.position ? newest.key : keys.key[u]);
        for (int i = 0; i < DECODE_VECTOR; i++) dot = fmaf(q[i], part[i], dot);
#pragma unroll
        for (int distance = LANES / 2; distance > 0; distance /= 2)
            dot += __shfl_xor_sync(0xffffffffu, dot, distance);
        if (first + u * k.groups <= k.position) score[u] = dot * scale;
        m = fmaxf(m, score[u]);
    }
#pragma unroll
    for (int distance = LANES; distance < DECODE_WARP; distance *= 2)
        m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, distance));
    if (found->m != -INFINITY) { // what was found before has a new reference
        float correction = expf(found->m - m);
        found->l *= correction;
        for (int i = 0; i < DECODE_VECTOR; i++) found->sum[i] *= correction;
    }
#pragma unroll
    for (int u = 0; u < DECODE_KEYS; u++) {
        if (first_of_warp + u * k.groups > k.position) continue;
        float weight = expf(score[u] - decode_reference(m));
        decode_to_floats(part, first + u * k.groups == k.position ? newest.value : keys.value[u]);
        found->l += weight;
        for (int i = 0; i < DECODE_VECTOR; i++) found->sum[i] = fmaf(weight, part[i], found->sum[i]);
    }
    found->m = m;
}

/** @brief Adds up what the groups of a warp have found: m is the same in all of them. */
template <int LANES> static __device__ __forceinline__ void decode_merge_groups(struct decode_found *found)
{
#pragma unroll
    for (int distance = LANES; distance < DECODE_WARP; distance *= 2) {
        found->l += __shfl_xor_sync(0xffffffffu, found->l, distance);
#pragma unroll
        for (int i = 0; i < DECODE_VECTOR; i++)
            found->sum[i] += __shfl_xor_sync(0xffffffffu, found->sum[i], distance);
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

/** @brief Cosines and sines of the angles that pairs of elements are rotated by. */
struct decode_angles {
    alignas(16) float cosine[2 * DECODE_WARP]; /**< [head_dim / 2] */
    alignas(16) float sine[2 * DECODE_WARP];   /**< the same */
};

/** @brief Computes them, all threads together. They are there after the next barrier. */
static __device__ __forceinline__ void decode_find_angles(struct decode_angles *angles, int position,
                                                          int half_dim)
{
    for (int d = (int)threadIdx.x; d < half_dim; d += (int)blockDim.x) {
        float angle = (float)position * powf(DECODE_ROPE_BASE, -(float)d / (float)half_dim), sine, cosine;
        sincosf(angle, &sine, &cosine);
        angles->sine[d] = sine;
        angles->cosine[d] = cosine;
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

/** @brief How a lane rotates its eight elements: each is half of a pair, the other half is half_dim away. */
struct decode_rotation {
    float cosine[DECODE_VECTOR]; /**< times the element */
    float sine[DECODE_VECTOR];   /**< times the other of its pair; negative for the first half of a head */
    int at;                      /**< the first of the eight */
    int other;                   /**< the first of the others */
};

/** @brief Fills in @p rotation for the lane's elements from @p d on. */
static __device__ __forceinline__ void decode_prepare_rotation(struct decode_rotation *rotation,
                                                               const struct decode_angles &angles, int d,
                                                               int half_dim)
{
    const bool first_half = d < half_dim;
    const int pair = first_half ? d : d - half_dim;
    rotation->at = d;
    rotation->other = first_half ? d + half_dim : pair;
    decode_load_eight(rotation->cosine, angles.cosine + pair);
    decode_load_eight(rotation->sine, angles.sine + pair);
#pragma unroll
    for (int i = 0; i < DECODE_VECTOR; i++)
        rotation->sine[i] = first_half ? -rotation->sine[i] : rotation->sine[i];
}

/** @brief What the preceding kernel has made of a row, for one head. */
struct decode_fresh {
    const float *query; /**< [head_dim] */
    const float *key;   /**< [head_dim] the newest */
    const float *value; /**< the same */
};

/** @brief A lane's eight elements of it, and of query and key the other halves of their pairs, on their way. */
struct decode_asked {
    float query[2][DECODE_VECTOR]; /**< the lane's own, and the others */
    float key[2][DECODE_VECTOR];   /**< the same */
    float value[DECODE_VECTOR];    /**< the lane's own */
};

/** @brief Asks for all of it at once: what waits for none of it is asked for while it is on its way. */
static __device__ __forceinline__ void decode_ask_fresh(struct decode_asked *asked,
                                                        const struct decode_fresh &fresh,
                                                        const struct decode_rotation &rotation)
{
    decode_load_eight(asked->query[0], fresh.query + rotation.at);
    decode_load_eight(asked->query[1], fresh.query + rotation.other);
    decode_load_eight(asked->key[0], fresh.key + rotation.at);
    decode_load_eight(asked->key[1], fresh.key + rotation.other);
    decode_load_eight(asked->value, fresh.value + rotation.at);
}

/** @brief The lane's eight elements of a query or key, rotated. */
static __device__ __forceinline__ void decode_rotate(float *to, const float (*pair)[DECODE_VECTOR],
                                                     const struct decode_rotation &rotation)
{
#pragma unroll
    for (int i = 0; i < DECODE_VECTOR; i++)
        to[i] = fmaf(pair[0][i], rotation.cosine[i], pair[1][i] * rotation.sine[i]);
}

/**
 * @brief This group's keys: group, group + groups, ...; DECODE_KEYS of them, and their values, are asked
 * for at once, the first before decode_wait(): no kernel of a step writes to them. The newest key comes from
 * the preceding kernel; its group rotates it, and appends it to the cache if @p appends. All threads must call
 * it.
 */
template <int LANES>
static __device__ __forceinline__ void decode_find(struct decode_found *found, const struct decode_config &c,
                                                   const struct decode_context &k, const int *block_table,
                                                   const struct decode_fresh &fresh,
                                                   struct decode_angles *angles, bool appends)
{
    const int stride = DECODE_KEYS * k.groups, at = k.part * DECODE_VECTOR;
    const bool has_newest = k.busy && k.position % k.groups == k.group;
    const float scale = rsqrtf((float)c.head_dim);
    size_t places[DECODE_KEYS] = {0};
    float query[DECODE_VECTOR], rotated[DECODE_VECTOR];
    struct decode_newest newest;
    struct decode_keys next;
    struct decode_rotation rotation;
    decode_places(places, c, k, block_table, k.group);
    decode_ask(&next, k, places, k.group);
    const size_t place = decode_cache_offset(c, block_table, k.row, k.position) + (size_t)at;
    decode_find_angles(angles, k.position, c.head_dim / 2);
    __syncthreads(); // the angles are there
    decode_prepare_rotation(&rotation, *angles, k.busy ? at : 0, c.head_dim / 2);
    decode_wait(); // query, newest key and value belong to the preceding kernel
    struct decode_asked asked;
    decode_ask_fresh(&asked, fresh, rotation);
    decode_rotate(query, asked.query, rotation);
#pragma unroll
    for (int i = 0; i < DECODE_VECTOR; i++) query[i] = k.busy ? query[i] : 0.0f;
    decode_rotate(rotated, asked.key, rotation);
    newest.key = decode_to_halves(rotated);
    newest.value = decode_to_halves(asked.value);
    if (has_newest && appends) {
        *(uint4 *)(k.keys + place) = newest.key;
        *(uint4 *)(k.values + place) = newest.value;
    }
    int first_of_warp = k.group - k.group % (DECODE_WARP / LANES);
    for (int first = k.group; first_of_warp <= k.position; first += stride) {
        const struct decode_keys now = next;
        if (first_of_warp + stride <= k.position) {
            decode_places(places, c, k, block_table, first + stride);
            decode_ask(&next, k, places, first + stride);
        }
        decode_add_keys<LANES>(found, now, newest, query, scale, k, first, first_of_warp);
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
 * @brief out = what the first @p used warps have found, merged; @p mine is that of this lane's warp. With few
 * keys that is one warp, and nothing to merge. All threads must call it.
 */
template <int LANES>
static __device__ __forceinline__ void decode_write(float *out, // [head_dim]
                                                    struct decode_of_block *block,
                                                    const struct decode_found &mine,
                                                    const struct decode_context &k, int head_dim, int used)
{
    const int warp = (int)threadIdx.x / DECODE_WARP, lane = (int)threadIdx.x % DECODE_WARP;
    const bool holds = lane < LANES && k.busy && warp < used;
    float *to = used == 1 ? out : block->sum[warp]; // [head_dim]
    float share = used == 1 ? 1.0f / mine.l : 1.0f;
#pragma unroll
    for (int i = 0; i < DECODE_VECTOR; i++)
        if (holds) to[lane * DECODE_VECTOR + i] = mine.sum[i] * share;
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
 * (head, row). A group of LANES lanes takes a key, eight elements a lane, so that a warp reads whole lines;
 * all groups of the block share the keys. What they found is merged: in the warp, then warp by warp.
 */
template <int LANES>
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
    int sharers = c.heads / c.kv_heads, kv_head = head / sharers; // the first of those that share appends
    int part = (int)threadIdx.x % LANES;
    const struct decode_context k = {keys + kv_head * c.head_dim,
                                     values + kv_head * c.head_dim,
                                     row,
                                     positions[row],
                                     part,
                                     (int)threadIdx.x / LANES,
                                     (int)blockDim.x / LANES,
                                     part * DECODE_VECTOR < c.head_dim};
    const float *of_row = qkv + row * (size_t)((c.heads + 2 * c.kv_heads) * c.head_dim);
    const float *key = of_row + (c.heads + kv_head) * c.head_dim;
    const struct decode_fresh fresh = {of_row + head * c.head_dim, key, key + c.kv_heads * c.head_dim};
    const int used = min(warps, k.position / (DECODE_WARP / LANES) + 1); // warps with keys
    struct decode_found found = {-INFINITY, 0.0f, {0.0f}};
    decode_find<LANES>(&found, c, k, block_table, fresh, &block.angles, head == kv_head * sharers);
    if (warp < used) decode_merge_groups<LANES>(&found);
    out += (row * (size_t)c.heads + (size_t)head) * (size_t)c.head_dim;
    decode_write<LANES>(out, &block, found, k, c.head_dim, used);
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

/** @brief The launch itself, with so many lanes for a key. */
template <int LANES>
static inline void decode_launch_attention(const struct decode_config *c, const struct decode_buffers *b,
                                           __half *keys, __half *values, int rows, cudaStream_t stream)
{
    dim3 grid((unsigned)c->heads, (unsigned)rows);
    struct decode_launch launch;
    cudaLaunchKernelEx(decode_launch_early(&launch, grid, decode_attention_threads(c), stream),
                       decode_attention_kernel<LANES>, *c, b->positions, b->block_table, b->qkv, keys, values,
                       b->attended);
}

/** @brief Attention of every row and head, the append of the new keys and values included. One launch. */
static inline void decode_attention(const struct decode_config *c, const struct decode_buffers *b,
                                    __half *keys, __half *values, int rows, cudaStream_t stream)
{
    if (c->head_dim <= 32)
        decode_launch_attention<4>(c, b, keys, values, rows, stream);
    else if (c->head_dim <= 64)
        decode_launch_attention<8>(c, b, keys, values, rows, stream);
    else
        decode_launch_attention<16>(c, b, keys, values, rows, stream);
}
