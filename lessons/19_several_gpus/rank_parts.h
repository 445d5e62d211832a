/**
 * @file rank_parts.h
 * @brief Given in lesson 19: the checks of arguments, where a rank's intermediate results lie, and how NCCL's answers become a
 *        status.
 */
#ifndef WARPWISE_RANK_PARTS_H
#define WARPWISE_RANK_PARTS_H

#include "several_gpus.h"

#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

/** @brief ::KERNEL_OK, or ::KERNEL_CUDA_ERROR for whatever else NCCL says. */
static inline enum kernel_status nccl_status(ncclResult_t result)
{
    return result == ncclSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/** @brief The same for a call of CUDA. The runtime forgets the error: it is reported once. */
static inline enum kernel_status cuda_status(cudaError_t result)
{
    if (result == cudaSuccess) return KERNEL_OK;
    (void)cudaGetLastError();
    return KERNEL_CUDA_ERROR;
}

/* ---- four elements of a lane, and the queries of a warp of the ring ------------------------------------------------- */

enum { QUERIES = 8 /* of a warp of the ring */ };
#define ALL_LANES 0xffffffffu ///< of a warp

/** @brief @p a times a factor. */
__device__ inline float4 scaled(float4 a, float factor)
{
    return make_float4(a.x * factor, a.y * factor, a.z * factor, a.w * factor);
}

/** @brief @p a, plus @p b times a factor. */
__device__ inline float4 plus_scaled(float4 a, float4 b, float factor)
{
    return make_float4(a.x + b.x * factor, a.y + b.y * factor, a.z + b.z * factor, a.w + b.w * factor);
}

/**
 * @brief Adds up each of QUERIES values over the warp; a lane is left with the sum of query lane % QUERIES. Two lanes that are to
 *        add up the same values do half of them each: 9 shuffles, not 40. All lanes must call it.
 */
__device__ inline float sum_of_query(float value[QUERIES])
{
    static_assert(QUERIES == 8, "halved three times");
#pragma unroll
    for (int half = QUERIES / 2; half > 0; half /= 2) {
        const bool upper = (threadIdx.x & half) != 0;
#pragma unroll
        for (int i = 0; i < half; i++) {
            const float kept = upper ? value[i + half] : value[i], given = upper ? value[i] : value[i + half];
            value[i] = kept + __shfl_xor_sync(ALL_LANES, given, half);
        }
    }
    for (int distance = QUERIES; distance < 32; distance *= 2)
        value[0] += __shfl_xor_sync(ALL_LANES, value[0], distance);
    return value[0];
}

/* ---- a layer --------------------------------------------------------------------------------------------------- */

/** @brief Elements of the heads of one rank. */
static inline int own_width(const struct layer_sizes *s, int ranks)
{
    return s->heads / ranks * s->head_dim;
}

/** @brief What the kernels of a rank hand to each other; all of it in the workspace. */
struct layer_buffers {
    float *q;        /**< [rows, own] */
    float *attended; /**< [rows, own] */
    float *gated;    /**< [rows, inner / ranks] silu(gate) * up */
    float *partial;  /**< [rows, width] this rank's part of a sum; after the all-reduce the sum */
    size_t bytes;    /**< of all of them */
};

/** @brief Takes @p floats from @p memory, and moves on to the next multiple of 256 bytes. */
static inline float *take_floats(void *memory, size_t *used, size_t floats)
{
    float *taken = (float *)((char *)memory + *used);
    *used += (floats * sizeof(float) + 255) / 256 * 256;
    return taken;
}

/** @brief Lays them out in @p memory, which may be NULL if only their size is wanted. */
static inline struct layer_buffers place_buffers(const struct layer_sizes *s, int ranks, void *memory)
{
    const size_t rows = (size_t)s->rows, own = (size_t)own_width(s, ranks);
    struct layer_buffers b = {};
    b.q = take_floats(memory, &b.bytes, rows * own);
    b.attended = take_floats(memory, &b.bytes, rows * own);
    b.gated = take_floats(memory, &b.bytes, rows * (size_t)(s->inner / ranks));
    b.partial = take_floats(memory, &b.bytes, rows * (size_t)s->width);
    return b;
}

/** @brief What a lane knows of the keys that its warp has seen: m and l are the same in every lane. */
struct seen {
    float m;  /**< the largest score; -infinity before the first key */
    float l;  /**< sum of exp(score - m) */
    float4 o; /**< four columns of the sum of exp(score - m) * value */
};

/** @brief What both have seen; NaN if neither has seen a key. */
__device__ inline struct seen joined(struct seen x, struct seen y)
{
    const float m = fmaxf(x.m, y.m), a = expf(x.m - m), b = expf(y.m - m);
    return {m, x.l * a + y.l * b, plus_scaled(scaled(x.o, a), y.o, b)};
}

/**
 * @brief Into how many spans the keys of a head are cut, each read by a block of its own: a few heads would not keep a GPU busy.
 *        More where there are more keys, as long as pieces of head_dim + 4 floats find room where gated and partial will lie.
 */
static inline int spans_of(const struct layer_sizes *s, int ranks)
{
    enum { SPAN_KEYS = 512, MOST_SPANS = 16 };
    const int most = (s->inner / ranks + s->width) / (s->heads / ranks * (s->head_dim + 4));
    int spans = (s->position + 1) / SPAN_KEYS;
    if (spans > most) spans = most;
    return spans < 1 ? 1 : spans > MOST_SPANS ? MOST_SPANS : spans;
}

/** @brief Block row, warp head: [rows, heads, spans, head_dim + 4] pieces, each an o followed by its m and l, become [rows, heads, head_dim]. */
template <int WARP>
__global__ void join_kernel(float *attended, const float *pieces, int heads, int spans, int dim)
{
    const int head = (int)(blockIdx.x * blockDim.x + threadIdx.x) / WARP, at = 4 * (int)(threadIdx.x % WARP);
    if (head >= heads || at >= dim) return;
    const size_t line = (size_t)blockIdx.y * heads + head;
    struct seen all = {-INFINITY, 0.0f, make_float4(0.0f, 0.0f, 0.0f, 0.0f)};
    for (int i = 0; i < spans; i++) {
        const float *piece = pieces + (line * spans + i) * (dim + 4);
        all = joined(all, {piece[dim], piece[dim + 1], *(const float4 *)(piece + at)});
    }
    const float4 o = scaled(all.o, 1.0f / all.l);
    *(float4 *)(attended + line * dim + at) = o;
}

/** @brief What becomes of a product's sums. */
enum product_kind {
    TO_QKV,     /**< q is stored in the workspace, k and v are appended to the cache */
    TO_PARTIAL, /**< stored: part of a sum over all ranks */
    TO_GATED    /**< of the sums of gate and up, silu(gate) * up is stored */
};

/** @brief A product of rows with a shard of weights, [outputs, inputs]. */
struct product {
    const float *weights;     /**< [outputs, inputs]; for TO_GATED [2 * outputs, inputs] */
    const float *x;           /**< [rows, inputs] */
    float *out;               /**< [rows, outputs]; for TO_QKV [rows, own] */
    float *cache;             /**< for TO_QKV, else NULL: see layer_shard */
    int inputs;               /**< elements of a row of x, a multiple of 4 */
    int outputs;              /**< elements of a row of out; for TO_QKV 3 * own */
    struct layer_sizes sizes; /**< of the layer */
    int heads;                /**< of this rank */
};

/* ---- checks ---------------------------------------------------------------------------------------------------- */

/** @brief 1 if there can be so many ranks. */
static inline int ranks_fit(int ranks)
{
    return ranks == 1 || ranks == 2 || ranks == 4 || ranks == 8;
}

/** @brief 1 if a layer of these sizes can be shared out to @p ranks. */
static inline int layer_fits(const struct layer_sizes *s, int ranks)
{
    enum { MOST = 1 << 22 };
    if (s->rows < 1 || s->rows > 65535 || s->width < 4 || s->width > MOST || s->width % 4 != 0) return 0;
    if (s->heads < 1 || s->heads > 65535 || s->heads % ranks != 0) return 0;
    if (s->head_dim < 4 || s->head_dim > 128 || s->head_dim % 4 != 0) return 0;
    if (s->inner < 1 || s->inner > MOST || s->inner % (4 * ranks) != 0) return 0;
    if ((int64_t)s->rows * s->width > INT32_MAX || s->heads * s->head_dim > MOST) return 0;
    return s->position >= 0 && s->room >= 1 && s->position < s->room;
}

/** @brief 1 if attention of these sizes can be computed. */
static inline int ring_fits(const struct ring_sizes *s)
{
    enum { MOST = 1 << 26 };
    if (s->heads < 1 || s->part < 1 || (int64_t)s->heads * s->part > MOST) return 0;
    return s->head_dim >= 4 && s->head_dim <= 128 && s->head_dim % 4 == 0;
}

/** @brief 1 if the ranks have what every entry point needs. */
static inline int ranks_are_whole(const struct gpu_ranks *ranks, int ring)
{
    if (!ranks_fit(ranks->ranks) || ranks->count < 1 || ranks->count > ranks->ranks) return 0;
    for (int i = 0; i < ranks->count; i++) {
        const struct gpu_rank *r = &ranks->at[i];
        if (r->rank < 0 || r->rank >= ranks->ranks || r->comm == NULL) return 0;
        if (ring && (r->transfer == NULL || r->arrived == NULL || r->used == NULL)) return 0;
    }
    return 1;
}

/** @brief 1 if @p pointer is a multiple of 16. */
static inline int is_aligned(const void *pointer)
{
    return (uintptr_t)pointer % 16 == 0;
}

/** @brief The workspace of a rank: there, aligned, large enough? */
static inline enum kernel_status check_workspace(const void *workspace, size_t bytes, size_t needed)
{
    if (needed == 0) return KERNEL_OK;
    if (workspace == NULL || bytes < needed) return KERNEL_OUT_OF_MEMORY;
    return is_aligned(workspace) ? KERNEL_OK : KERNEL_ALIGNMENT_ERROR;
}

/**
 * @brief Checks what tensor_parallel_step() is given; @p needed bytes of workspace.
 * @return ::KERNEL_INVALID_CONFIG for a null pointer or ranks that there cannot be; ::KERNEL_INVALID_DIMENSION for sizes that cannot
 *         be shared out; then rank by rank ::KERNEL_INVALID_CONFIG, ::KERNEL_ALIGNMENT_ERROR, ::KERNEL_OUT_OF_MEMORY
 */
static inline enum kernel_status tensor_parallel_check(const struct gpu_ranks *ranks,
                                                       const struct layer_sizes *sizes,
                                                       const struct layer_shards *shards, size_t needed)
{
    if (ranks == NULL || sizes == NULL || shards == NULL || !ranks_are_whole(ranks, 0))
        return KERNEL_INVALID_CONFIG;
    if (!layer_fits(sizes, ranks->ranks)) return KERNEL_INVALID_DIMENSION;
    for (int i = 0; i < ranks->count; i++) {
        const struct layer_shard *s = &shards->at[i];
        const void *const given[] = {s->qkv, s->o, s->gate_up, s->down, s->cache, s->x};
        for (const void *pointer : given)
            if (pointer == NULL) return KERNEL_INVALID_CONFIG;
        for (const void *pointer : given)
            if (!is_aligned(pointer)) return KERNEL_ALIGNMENT_ERROR;
        enum kernel_status status = check_workspace(s->workspace, s->workspace_bytes, needed);
        if (status != KERNEL_OK) return status;
    }
    return KERNEL_OK;
}

/** @brief The same for ring_attention(). A causal that is neither 0 nor 1, or a scale that is no number, is
 *         ::KERNEL_INVALID_CONFIG, too. */
static inline enum kernel_status ring_attention_check(const struct gpu_ranks *ranks,
                                                      const struct ring_sizes *sizes,
                                                      const struct ring_parts *parts, size_t needed)
{
    if (ranks == NULL || sizes == NULL || parts == NULL || !ranks_are_whole(ranks, 1))
        return KERNEL_INVALID_CONFIG;
    if ((sizes->causal != 0 && sizes->causal != 1) || !isfinite(sizes->scale)) return KERNEL_INVALID_CONFIG;
    if (!ring_fits(sizes)) return KERNEL_INVALID_DIMENSION;
    for (int i = 0; i < ranks->count; i++) {
        const struct ring_part *p = &parts->at[i];
        const void *const given[] = {p->q, p->k, p->v, p->out, p->lse};
        for (const void *pointer : given)
            if (pointer == NULL) return KERNEL_INVALID_CONFIG;
        for (const void *pointer : given)
            if (!is_aligned(pointer)) return KERNEL_ALIGNMENT_ERROR;
        enum kernel_status status = check_workspace(p->workspace, p->workspace_bytes, needed);
        if (status != KERNEL_OK) return status;
    }
    return KERNEL_OK;
}

#endif
