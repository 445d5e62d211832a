// [student: head]
/*
 * Decode: one query per sequence, and a long cache of keys and values, each used once: only bytes count. The
 * cache lies in pages anywhere in memory, found through a block table; and since one block cannot ask for
 * bytes fast enough, many blocks share a sequence and merge their partial results, by the rule of lesson 03.
 *
 *      block_table[b]  7   2   5   9   0   4            a warp's step: STEP_KEYS keys of one page,
 *                     |_______|_______|_______|          16 bytes per lane, LANES lanes per key
 *      v2              block 0 block 1 block 2           one partition of the keys each, for the whole group
 *                          \      |      /
 *                       (m, l, sum) in the workspace     a second kernel merges them
 *
 * Papers: Kwon et al. 2023, "Efficient Memory Management for Large Language Model Serving with
 *         PagedAttention", section 4; Milakov and Gimelshein 2018, section 3.1.
 * Run:    build/bin/warpwise check 06 --kernel solutions/06_paged_attention/paged_attention.cu
 */
// [/student]
#include "paged_attention.h"

#include <cuda_fp16.h>

#include "attention_rows.h"
#include "kernel_launch.h"
#include "lane_layout.h"     // a warp over the keys of a step
#include "partial_results.h" // what is known of some keys: in a warp, a block, the workspace

enum {
    GROUP_MAX = 8,       // query heads a block of v2 serves, at most
    BLOCKS_PER_SM = 4,   // of v2, that an SM is to hold at once
    PARTITION_KEYS = 64, // a partition is a multiple of this; the contract's workspace counts on it
    VALIDATE_THREADS = 1024
};
static_assert(PARTITION_KEYS % 32 == 0, "a partition begins with a page");

/** How the work is split over blocks. The host decides it without knowing context_lens. */
struct split {
    int heads;      // query heads a block serves, 1 .. GROUP_MAX
    int chunks;     // blocks that share the group of a K/V head: 1, unless the group is larger than GROUP_MAX
    int keys;       // keys of a partition
    int partitions; // of max_context_len keys
};

/* ---- some keys of one sequence, by one block -------------------------------------------------------- */

/**
 * Loads this lane's part of STEP_KEYS rows of K or V, 16 bytes of each; rows past the first @p left: zeros.
 */
template <int HEAD_DIM>
__device__ inline void load_rows(uint4 *part,        // [LOADS]
                                 const __half *from, // this lane's columns of the first key of its lane group
                                 size_t row_elems, int left)
{
    // [student: load_rows]
    using shape = struct layout<HEAD_DIM, 1>;
    int lane_group = (int)threadIdx.x % WARP / shape::LANES;
    if (left >= STEP_KEYS) { // nearly always, and cheaper without tests
        for (int i = 0; i < shape::LOADS; i++)
            part[i] = *(const uint4 *)(from + i * shape::LANE_GROUPS * row_elems);
    } else {
        for (int i = 0; i < shape::LOADS; i++) {
            // What lies past the end is not read, so a NaN in the rest of a page cannot come through.
            part[i] = make_uint4(0, 0, 0, 0);
            if (i * shape::LANE_GROUPS + lane_group < left)
                part[i] = *(const uint4 *)(from + i * shape::LANE_GROUPS * row_elems);
        }
    }
    // [/student]
}

/**
 * Adds up COUNT values over LANES lanes with little more than COUNT - 1 shuffles: at each step two lanes that are
 * to add up the same values each do half of them. Lane number i of the lane group is left with sum number
 * i / (LANES / COUNT). All lanes must call it.
 */
template <int COUNT, int LANES> __device__ inline float warp_reduce_scatter(float x[COUNT])
{
    // [student: warp_reduce_scatter]
    int count = COUNT;
#pragma unroll
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
        int upper = (threadIdx.x & distance) != 0, half = count / 2;
#pragma unroll
        for (int i = 0; i < COUNT / 2; i++) {
            if (i >= half) continue; // known when compiling, as is half
            float kept = upper ? x[i + half] : x[i], given = upper ? x[i] : x[i + half];
            x[i] = kept + __shfl_xor_sync(0xffffffffu, given, distance);
        }
        if (count == 1) x[0] += __shfl_xor_sync(0xffffffffu, x[0], distance); // nothing left to share
        if (count > 1) count = half;
    }
    return x[0];
    // [/student]
}

/**
 * The scores of STEP_KEYS keys: turns them into weights p = exp(score - m), one per lane and pass, and
 * corrects what was summed up so far where m has grown.
 */
template <int HEAD_DIM, int GROUP>
__device__ inline void
add_scores(struct partial<GROUP> *part, const struct queries<GROUP> *query,
           const uint4 *k, // [LOADS]
           float *p,       // [PASSES]
           int left,       // keys of this step that there are
           int place)      // the first key's position less that of the sequence's last: 0 or less
{
    // [student: add_scores]
    using shape = struct layout<HEAD_DIM, GROUP>;
    int lane_group = (int)threadIdx.x % WARP / shape::LANES, lane = (int)threadIdx.x % shape::LANES;
    int key = lane / shape::SPREAD % shape::LOADS * shape::LANE_GROUPS + lane_group; // its score
#pragma unroll
    for (int pass = 0; pass < shape::PASSES; pass++) {
        float x[VECTOR], dot[shape::SCORES];
#pragma unroll
        for (int i = 0; i < shape::LOADS; i++) {
            to_floats(x, &k[i]);
            for (int g = 0; g < shape::HEADS; g++) {
                float *sum = &dot[g * shape::LOADS + i];
                *sum = 0.0f;
                for (int c = 0; c < VECTOR; c++) *sum += query->q[pass * shape::HEADS + g][c] * x[c];
            }
        }
        float score = query->scale * warp_reduce_scatter<shape::SCORES, shape::LANES>(dot);
        score += query->slope[pass] * (float)(place + key);
        if (key >= left) score = -INFINITY;
        float most = score; // of this head, in this lane group
        for (int distance = shape::PER_HEAD / 2; distance >= shape::SPREAD; distance /= 2)
            most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, distance));

        struct softmax_pair *pair = &part->pair[pass];
        float old = pair->m;
        pair->m = fmaxf(old, most);
        float shift = shift_of(pair->m), correction = expf(old - shift);
        p[pass] = expf(score - shift);
        pair->l = pair->l * correction + p[pass];
        if (!__any_sync(0xffffffffu, correction != 1.0f))
            continue; // maxima rarely grow: ask, rather than multiply
        for (int g = 0; g < shape::HEADS; g++) {
            float factor = __shfl_sync(0xffffffffu, correction, g * shape::PER_HEAD, shape::LANES);
            for (int c = 0; c < VECTOR; c++) part->sum[pass * shape::HEADS + g][c] *= factor;
        }
    }
    // [/student]
}

/** Adds STEP_KEYS values, each times its weight, to the sums of all heads. */
template <int HEAD_DIM, int GROUP>
__device__ inline void add_values(struct partial<GROUP> *part,
                                  const uint4 *v, // [LOADS]
                                  const float *p) // [PASSES]
{
    // [student: add_values]
    using shape = struct layout<HEAD_DIM, GROUP>;
#pragma unroll
    for (int i = 0; i < shape::LOADS; i++) {
        float x[VECTOR];
        to_floats(x, &v[i]);
        for (int g = 0; g < GROUP; g++) {
            int holder = (g % shape::HEADS * shape::LOADS + i) * shape::SPREAD;
            float weight = __shfl_sync(0xffffffffu, p[g / shape::HEADS], holder, shape::LANES);
            for (int c = 0; c < VECTOR; c++) part->sum[g][c] += weight * x[c];
        }
    }
    // [/student]
}

/** Merges the partial results of a warp's lane groups for head @p g; the first group is left with the sum. */
template <int HEAD_DIM, int GROUP>
__device__ inline struct softmax_pair merge_lane_groups(struct partial<GROUP> *part, int g)
{
    // [student: merge_lane_groups]
    using shape = struct layout<HEAD_DIM, GROUP>;
    struct softmax_pair pair = part->pair[g / shape::HEADS];
    for (int distance = shape::PER_HEAD / 2; distance >= shape::SPREAD; distance /= 2)
        pair.l += __shfl_xor_sync(0xffffffffu, pair.l, distance); // m is the same in all of them
    int holder = g % shape::HEADS * shape::PER_HEAD;
    pair.m = __shfl_sync(0xffffffffu, pair.m, holder, shape::LANES);
    pair.l = __shfl_sync(0xffffffffu, pair.l, holder, shape::LANES);
    for (int distance = shape::LANES; distance < WARP; distance *= 2) {
        struct softmax_pair mine = pair, other;
        other.m = __shfl_xor_sync(0xffffffffu, mine.m, distance);
        other.l = __shfl_xor_sync(0xffffffffu, mine.l, distance);
        pair = merge_pairs(mine, other);
        float shift = shift_of(pair.m);
        float of_mine = expf(mine.m - shift), of_other = expf(other.m - shift);
        for (int c = 0; c < VECTOR; c++) {
            float sum = __shfl_xor_sync(0xffffffffu, part->sum[g][c], distance);
            part->sum[g][c] = part->sum[g][c] * of_mine + sum * of_other;
        }
    }
    return pair;
    // [/student]
}

/**
 * The block's warps go through its keys, STEP_KEYS at a time, and leave what they found. A barrier must
 * follow.
 */
template <int HEAD_DIM, int GROUP>
__device__ inline void attend(struct warp_partials<HEAD_DIM, GROUP> *partials,
                              const struct paged_attention_args &args, const struct kv_split &kv, float scale)
{
    // [student: attend]
    using shape = struct layout<HEAD_DIM, GROUP>;
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    struct queries<GROUP> query;
    struct partial<GROUP> part = {
    };
    load_queries<HEAD_DIM, GROUP>(&query, args, kv, scale);
    for (int pass = 0; pass < shape::PASSES; pass++) part.pair[pass].m = -INFINITY; // nothing seen yet

    // All steps of a warp begin at the same row of a page: only the page has to be looked up.
    int key = kv.begin + warp * STEP_KEYS, row = key % args.block_size + lane / shape::LANES;
    size_t row_elems = (size_t)args.kv_heads * HEAD_DIM; // from token to token
    size_t offset = row * row_elems + (size_t)kv.kv_head * HEAD_DIM + lane % shape::LANES * VECTOR;
    const __half *k_lane = (const __half *)args.k_cache + offset,
                 *v_lane = (const __half *)args.v_cache + offset;
    const int *entry = args.block_table + (size_t)kv.b * args.max_blocks + key / args.block_size;

    uint4 k[shape::LOADS], v[shape::LOADS];
    float p[shape::PASSES];
    size_t page_elems = row_elems * args.block_size, page = 0;
    if (key < kv.end) {
        page = *entry * page_elems;
        load_rows<HEAD_DIM>(k, k_lane + page, row_elems, kv.end - key);
    }
    while (key < kv.end) {
        // Keys are asked for one step ahead: they are on their way while values are added, and values are
        // while scores are.
        load_rows<HEAD_DIM>(v, v_lane + page, row_elems, kv.end - key);
        int next = key + WARPS * STEP_KEYS, number = 0;
        entry += WARPS * STEP_KEYS / args.block_size;
        if (next < kv.end) number = *entry;
        add_scores<HEAD_DIM, GROUP>(&part, &query, k, p, kv.end - key, key - (kv.length - 1));
        page = number * page_elems;
        if (next < kv.end) load_rows<HEAD_DIM>(k, k_lane + page, row_elems, kv.end - next);
        add_values<HEAD_DIM, GROUP>(&part, v, p);
        key = next;
    }
#pragma unroll // an index known when compiling keeps sums in registers
    for (int g = 0; g < GROUP; g++) {
        struct softmax_pair pair = merge_lane_groups<HEAD_DIM, GROUP>(&part, g);
        if (lane == 0) partials->pair[warp][g] = pair;
        const float *sum = part.sum[g];
        for (int c = 0; c < VECTOR && lane < shape::LANES; c += 4) // 16 bytes at a time
            *(float4 *)&partials->sum[warp][g][lane * VECTOR + c] =
                make_float4(sum[c], sum[c + 1], sum[c + 2], sum[c + 3]);
    }
    // [/student]
}

/** Merges what the warps found for query head @p g: the pair of all, and column @p d of the sum. */
template <int HEAD_DIM, int GROUP>
__device__ inline float merge_warps(const struct warp_partials<HEAD_DIM, GROUP> *partials, int g, int d,
                                    struct softmax_pair *all)
{
    // [student: merge_warps]
    all->m = -INFINITY;
    all->l = 0.0f;
    for (int w = 0; w < WARPS; w++) *all = merge_pairs(*all, partials->pair[w][g]);
    float shift = shift_of(all->m), sum = 0.0f;
    for (int w = 0; w < WARPS; w++) sum += partials->sum[w][g][d] * expf(partials->pair[w][g].m - shift);
    return sum;
    // [/student]
}

/* ---- part "validate" -------------------------------------------------------------------------------- */

/** One block checks every context length, and every table entry that a sequence uses. */
__global__ void __launch_bounds__(VALIDATE_THREADS) validate_kernel(struct paged_attention_args args)
{
    // [student: validate_kernel]
    int pages = (args.max_context_len - 1) / args.block_size + 1; // that a sequence may need
    size_t count = (size_t)args.batch * pages;
    int bad = 0;
    for (size_t i = threadIdx.x; i < count; i += VALIDATE_THREADS) {
        size_t b = i / pages, page = i % pages;
        int length = args.context_lens[b];
        if (length < 0 || length > args.max_context_len) {
            bad = 1;
        } else if (page * args.block_size < (size_t)length) {
            int entry = args.block_table[b * args.max_blocks + page];
            if (entry < 0 || entry >= args.num_blocks) bad = 1;
        }
    }
    bad = __syncthreads_or(bad); // one verdict of all threads, known to the one that writes it
    if (threadIdx.x == 0) *args.device_status = bad ? KERNEL_INVALID_BLOCK_TABLE : KERNEL_OK;
    // [/student]
}

enum kernel_status paged_attention_validate(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    // [student: validate_launch]
    validate_kernel<<<1, VALIDATE_THREADS, 0, stream>>>(*args);
    return launch_status();
    // [/student]
}

/* ---- part "v1" -------------------------------------------------------------------------------------- */

/** One block, one query head of one sequence, all keys. */
template <int HEAD_DIM>
__global__ void __launch_bounds__(THREADS) v1_kernel(struct paged_attention_args args, float scale)
{
    // [student: v1_kernel]
    __shared__ struct warp_partials<HEAD_DIM, 1> partials;
    struct kv_split kv;
    kv.b = (int)blockIdx.x / args.heads;
    kv.first_head = (int)blockIdx.x % args.heads;
    kv.kv_head = kv.first_head / (args.heads / args.kv_heads);
    kv.heads = 1;
    kv.begin = 0;
    kv.end = kv.length = args.context_lens[kv.b];
    if (*args.device_status == KERNEL_OK) { // else out stays as it is
        attend<HEAD_DIM, 1>(&partials, args, kv, scale);
        __syncthreads(); // every warp has left what it found before anybody merges it
        for (int d = (int)threadIdx.x; d < HEAD_DIM; d += THREADS) {
            struct softmax_pair all;
            float sum = merge_warps<HEAD_DIM, 1>(&partials, 0, d, &all);
            ((__half *)args.out)[(size_t)blockIdx.x * HEAD_DIM + d] = __float2half(sum * factor_of(all.l));
        }
    }
    // [/student]
}

enum kernel_status paged_attention_v1_f16(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    // [student: v1_launch]
    int rows = args->batch * args->heads; // fits: paged_attention_args_check() saw to it
    float scale = paged_attention_scale(args);
    switch (args->head_dim) { // a lane's share of a row must be known when compiling
    case 32:
        v1_kernel<32><<<rows, THREADS, 0, stream>>>(*args, scale);
        break;
    case 64:
        v1_kernel<64><<<rows, THREADS, 0, stream>>>(*args, scale);
        break;
    default:
        v1_kernel<128><<<rows, THREADS, 0, stream>>>(*args, scale);
        break;
    }
    return launch_status();
    // [/student]
}

/* ---- part "v2" -------------------------------------------------------------------------------------- */

/** One block, one partition, all query heads of a K/V head: K and V come once. Leaves partial results. */
template <int HEAD_DIM, int GROUP>
__global__ void __launch_bounds__(THREADS, GROUP <= PASS_HEADS ? BLOCKS_PER_SM : BLOCKS_PER_SM / 2)
    partition_kernel(struct paged_attention_args args, struct split split, float scale)
{
    // [student: partition_kernel]
    __shared__ struct warp_partials<HEAD_DIM, GROUP> partials;
    // K/V heads run fastest, so that blocks which run together read memory that lies together.
    int chunk = (int)blockIdx.x % split.chunks, rest = (int)blockIdx.x / split.chunks;
    int group = args.heads / args.kv_heads;
    struct kv_split kv;
    kv.kv_head = rest % args.kv_heads;
    int partition = rest / args.kv_heads % split.partitions;
    kv.b = rest / args.kv_heads / split.partitions;
    kv.first_head = kv.kv_head * group + chunk * split.heads;
    kv.heads = min(group - chunk * split.heads, split.heads);
    kv.length = args.context_lens[kv.b];
    kv.begin = partition * split.keys;
    kv.end = min(kv.length, kv.begin + split.keys);
    // A partition past the end of its sequence writes nothing, and nothing reads it; all threads agree.
    if (*args.device_status == KERNEL_OK && kv.begin < kv.end) {
        attend<HEAD_DIM, GROUP>(&partials, args, kv, scale);
        __syncthreads(); // every warp has left what it found before anybody merges it
        for (int i = (int)threadIdx.x; i < kv.heads * HEAD_DIM; i += THREADS) {
            struct softmax_pair all;
            float sum = merge_warps<HEAD_DIM, GROUP>(&partials, i / HEAD_DIM, i % HEAD_DIM, &all);
            size_t row = (size_t)kv.b * args.heads + kv.first_head + i / HEAD_DIM;
            size_t result = row * split.partitions + partition;
            partial_sums(args)[result * HEAD_DIM + i % HEAD_DIM] = sum;
            if (i % HEAD_DIM == 0) partial_pairs(args, split.partitions)[result] = all;
        }
    }
    // [/student]
}

/** The pair of the partial results @p pairs, in every lane. All 32 lanes must call it. */
__device__ inline struct softmax_pair merge_partitions(const struct softmax_pair *pairs, int count)
{
    // [student: merge_partitions]
    struct softmax_pair all = {-INFINITY, 0.0f}, other;
    for (int i = (int)threadIdx.x % WARP; i < count; i += WARP) all = merge_pairs(all, pairs[i]);
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        other.m = __shfl_xor_sync(0xffffffffu, all.m, distance);
        other.l = __shfl_xor_sync(0xffffffffu, all.l, distance);
        all = merge_pairs(all, other);
    }
    return all;
    // [/student]
}

/** One block, one query head of one sequence: merges the partial results of its partitions. */
template <int HEAD_DIM>
__global__ void __launch_bounds__(THREADS) merge_kernel(struct paged_attention_args args, struct split split)
{
    // [student: merge_kernel]
    enum { PER_LANE = HEAD_DIM / WARP };
    __shared__ float sum_of[WARPS][HEAD_DIM];
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    int length = args.context_lens[blockIdx.x / args.heads];
    int used = length > 0 ? (length - 1) / split.keys + 1 : 0; // partitions that left something
    size_t first = (size_t)blockIdx.x * split.partitions;
    const struct softmax_pair *pairs = partial_pairs(args, split.partitions) + first; // [partitions]
    const float *sums = partial_sums(args) + first * HEAD_DIM; // [partitions, HEAD_DIM]
    if (*args.device_status == KERNEL_OK) {                    // else out stays as it is
        // Once the common maximum is known, partitions wait for nothing: their loads are in flight together.
        struct softmax_pair all = merge_partitions(pairs, used);
        float shift = shift_of(all.m), sum[PER_LANE] = {0.0f};
#pragma unroll 4
        for (int i = warp; i < used; i += WARPS) {
            float weight = expf(pairs[i].m - shift);
            for (int c = 0; c < PER_LANE; c++)
                sum[c] += sums[(size_t)i * HEAD_DIM + lane + c * WARP] * weight;
        }
        for (int c = 0; c < PER_LANE; c++) sum_of[warp][lane + c * WARP] = sum[c];
        __syncthreads(); // every warp has left its sum before anybody adds them up
        for (int d = (int)threadIdx.x; d < HEAD_DIM; d += THREADS) {
            float merged = 0.0f;
            for (int w = 0; w < WARPS; w++) merged += sum_of[w][d];
            ((__half *)args.out)[(size_t)blockIdx.x * HEAD_DIM + d] = __float2half(merged * factor_of(all.l));
        }
    }
    // [/student]
}

/**
 * As many blocks as the device holds at once, but no more: each costs a start, an end and a partial result.
 */
static struct split choose_split(const struct paged_attention_args *args)
{
    struct split split;
    // [student: choose_split]
    int group = args->heads / args->kv_heads;
    split.heads = group < GROUP_MAX ? group : GROUP_MAX;
    split.chunks = (group - 1) / split.heads + 1;
    int most = (args->max_context_len - 1) / PARTITION_KEYS + 1;
    int wanted = (BLOCKS_PER_SM * max(device_attribute(cudaDevAttrMultiProcessorCount), 1) - 1) /
                     (args->batch * args->kv_heads * split.chunks) +
                 1;
    int steps = (most - 1) / (wanted < most ? wanted : most) + 1; // of PARTITION_KEYS keys, a partition
    split.keys = steps * PARTITION_KEYS;
    split.partitions = (args->max_context_len - 1) / split.keys + 1;
    // [/student]
    return split;
}

/**
 * Launches both kernels for one head_dim. Registers for a group must be known when compiling: 1, 2, 4 or 8.
 */
template <int HEAD_DIM>
static void launch_v2(const struct paged_attention_args *args, struct split split, cudaStream_t stream)
{
    // [student: v2_launch]
    int blocks = args->batch * args->kv_heads * split.chunks * split.partitions;
    float scale = paged_attention_scale(args);
    if (split.heads == 1)
        partition_kernel<HEAD_DIM, 1><<<blocks, THREADS, 0, stream>>>(*args, split, scale);
    else if (split.heads == 2)
        partition_kernel<HEAD_DIM, 2><<<blocks, THREADS, 0, stream>>>(*args, split, scale);
    else if (split.heads <= 4)
        partition_kernel<HEAD_DIM, 4><<<blocks, THREADS, 0, stream>>>(*args, split, scale);
    else
        partition_kernel<HEAD_DIM, 8><<<blocks, THREADS, 0, stream>>>(*args, split, scale);
    merge_kernel<HEAD_DIM><<<args->batch * args->heads, THREADS, 0, stream>>>(*args, split);
    // [/student]
}

size_t paged_attention_v2_workspace_bytes(const struct paged_attention_args *args)
{
    if (args == NULL || !paged_attention_extents_fit(args)) return 0;
    // [student: workspace_bytes]
    size_t results = (size_t)args->batch * args->heads * choose_split(args).partitions;
    size_t bytes = results * (args->head_dim * sizeof(float) + sizeof(struct softmax_pair));
    return (bytes + 255) / 256 * 256;
    // [/student]
}

enum kernel_status paged_attention_v2_f16(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, paged_attention_v2_workspace_bytes(args));
    if (status != KERNEL_OK) return status;
    // [student: v2_dispatch]
    struct split split = choose_split(args);
    switch (args->head_dim) {
    case 32:
        launch_v2<32>(args, split, stream);
        break;
    case 64:
        launch_v2<64>(args, split, stream);
        break;
    default:
        launch_v2<128>(args, split, stream);
        break;
    }
    return launch_status();
    // [/student]
}
