// Generated, but for what stands between [student: ...] and [/student]: that is yours.
// [student: head]
/*
 * Lesson 06: the file you write. Read README.md beside it, then fill in what stands between the lines
 * `[student: ...]` and `[/student]`, in the order of the page. Everything else is given: leave it as it is.
 * You may add functions and constants inside your regions and declare shared memory as you like.
 *
 *     build/bin/warpwise check 06                 judges what is there
 *     build/bin/warpwise check 06 --case NAME     looks at one case
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
    /* TODO: part[i] = the 16 bytes that lie i * LANE_GROUPS rows after from, as one uint4. They belong to key
     * i * LANE_GROUPS + lane group of the step: if that is not below left, do not read, but write zeros. */
    for (int i = 0; i < layout<HEAD_DIM, 1>::LOADS; i++) part[i] = make_uint4(0, 0, 0, 0);
    (void)from, (void)row_elems, (void)left;
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
    /* TODO: begin with distance LANES / 2. Of the values that are left, a lane with that bit set keeps the
     * upper half and gives the lower half to the lane across (__shfl_xor_sync); the other does the reverse.
     * Halve, and go on. With one value left, both lanes simply add up. Correct first: let every lane add up
     * all values over all lanes, and return the one with number lane / (LANES / COUNT). */
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
    /* TODO: in each of the PASSES passes compute the dot products of this lane's columns for HEADS heads and
     * LOADS keys, number head * LOADS + load; call warp_reduce_scatter(), so that this lane holds one of them,
     * number lane / SPREAD; multiply it with query->scale, and add the ALiBi term: the score. Take -infinity
     * for a key that does not exist. Then find the maximum over the lanes of the same head, and go on as in
     * lesson 03: new m, correction, p, l. Last, correct every sum of every head by the factor that a lane of
     * that head holds (__shfl_sync with width LANES). */
    for (int i = 0; i < layout<HEAD_DIM, GROUP>::PASSES; i++) p[i] = 0.0f;
    (void)part, (void)query, (void)k, (void)left, (void)place;
    // [/student]
}

/** Adds STEP_KEYS values, each times its weight, to the sums of all heads. */
template <int HEAD_DIM, int GROUP>
__device__ inline void add_values(struct partial<GROUP> *part,
                                  const uint4 *v, // [LOADS]
                                  const float *p) // [PASSES]
{
    // [student: add_values]
    /* TODO: sum[g] += p * v for every head g and every load. The weight of (head, load) is held by lane
     * (head * LOADS + load) * SPREAD of the lane group, head counted within its pass. */
    (void)part, (void)v, (void)p;
    // [/student]
}

/** Merges the partial results of a warp's lane groups for head @p g; the first group is left with the sum. */
template <int HEAD_DIM, int GROUP>
__device__ inline struct softmax_pair merge_lane_groups(struct partial<GROUP> *part, int g)
{
    // [student: merge_lane_groups]
    /* TODO: the pair of head g: add up l over the lanes that hold scores of it, each score once (SPREAD lanes
     * hold the same), then let all lanes of the lane group know m and l. Then merge with the lane groups that
     * are LANES, 2 * LANES, ... lanes away: pairs and sums. */
    return part->pair[g / layout<HEAD_DIM, GROUP>::HEADS];
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
    /* TODO: load_queries(), and nothing seen yet. This warp's steps begin at keys begin + warp * STEP_KEYS
     * and are WARPS * STEP_KEYS apart: look up the page, load K and V, add_scores(), add_values(). At the
     * end merge_lane_groups() for every head and leave pairs and sums in *partials. When it works: load the
     * next K before the values of this step are added. */
    (void)partials, (void)args, (void)kv, (void)scale;
    // [/student]
}

/** Merges what the warps found for query head @p g: the pair of all, and column @p d of the sum. */
template <int HEAD_DIM, int GROUP>
__device__ inline float merge_warps(const struct warp_partials<HEAD_DIM, GROUP> *partials, int g, int d,
                                    struct softmax_pair *all)
{
    // [student: merge_warps]
    /* TODO: lesson 03 once more: the pair of all warps, and the sum of their sums, each corrected. */
    (void)partials, (void)g, (void)d;
    all->m = all->l = 0.0f;
    return 0.0f;
    // [/student]
}

/* ---- part "validate" -------------------------------------------------------------------------------- */

/** One block checks every context length, and every table entry that a sequence uses. */
__global__ void __launch_bounds__(VALIDATE_THREADS) validate_kernel(struct paged_attention_args args)
{
    // [student: validate_kernel]
    /* TODO: let the threads share all (sequence, page) pairs that max_context_len allows. Look at every
     * context length, and at a table entry only if its sequence has a token in that page. __syncthreads_or()
     * makes one verdict of all; one thread writes it, also when it is KERNEL_OK. */
    (void)args;
    // [/student]
}

enum kernel_status paged_attention_validate(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    // [student: validate_launch]
    /* TODO: launch validate_kernel with one block; then return launch_status(). */
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/* ---- part "v1" -------------------------------------------------------------------------------------- */

/** One block, one query head of one sequence, all keys. */
template <int HEAD_DIM>
__global__ void __launch_bounds__(THREADS) v1_kernel(struct paged_attention_args args, float scale)
{
    // [student: v1_kernel]
    /* TODO: fill in a struct kv_split with all keys of this block's sequence. If *device_status is KERNEL_OK:
     * attend(), a barrier, and out from merge_warps() and factor_of(). A sequence without keys gives
     * zeros. */
    (void)args, (void)scale;
    // [/student]
}

enum kernel_status paged_attention_v1_f16(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    // [student: v1_launch]
    /* TODO: launch v1_kernel<head_dim> with one block per (sequence, query head). */
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/* ---- part "v2" -------------------------------------------------------------------------------------- */

/** One block, one partition, all query heads of a K/V head: K and V come once. Leaves partial results. */
template <int HEAD_DIM, int GROUP>
__global__ void __launch_bounds__(THREADS, GROUP <= PASS_HEADS ? BLOCKS_PER_SM : BLOCKS_PER_SM / 2)
    partition_kernel(struct paged_attention_args args, struct split split, float scale)
{
    // [student: partition_kernel]
    /* TODO: find this block's sequence, K/V head and partition; it ends where the sequence ends. If there is
     * a key in it and *device_status is KERNEL_OK: attend(), a barrier, and for every head pair and sum into
     * the workspace, not divided. */
    (void)args, (void)split, (void)scale;
    // [/student]
}

/** The pair of the partial results @p pairs, in every lane. All 32 lanes must call it. */
__device__ inline struct softmax_pair merge_partitions(const struct softmax_pair *pairs, int count)
{
    // [student: merge_partitions]
    /* TODO: lanes share the pairs, then merge over the warp. */
    struct softmax_pair all = {0.0f, 0.0f};
    (void)pairs, (void)count;
    return all;
    // [/student]
}

/** One block, one query head of one sequence: merges the partial results of its partitions. */
template <int HEAD_DIM>
__global__ void __launch_bounds__(THREADS) merge_kernel(struct paged_attention_args args, struct split split)
{
    // [student: merge_kernel]
    /* TODO: as v1_kernel, but what is merged comes from the workspace: only partitions that have a key. Let
     * the warps share them. Nothing may be written to out unless *device_status is KERNEL_OK. */
    (void)args, (void)split;
    // [/student]
}

/**
 * As many blocks as the device holds at once, but no more: each costs a start, an end and a partial result.
 */
static struct split choose_split(const struct paged_attention_args *args)
{
    struct split split;
    // [student: choose_split]
    /* TODO: how many heads a block serves, how many blocks a group needs then, and how many keys make a
     * partition: begin with PARTITION_KEYS. When it works: as many blocks as BLOCKS_PER_SM *
     * max(device_attribute(cudaDevAttrMultiProcessorCount), 1) asks for. */
    (void)args, (void)max(device_attribute(cudaDevAttrMultiProcessorCount), 1);
    split.heads = split.chunks = split.keys = split.partitions = 1;
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
    /* TODO: partition_kernel<HEAD_DIM, 1, 2, 4 or 8>, one block per (sequence, partition, K/V head, chunk of
     * its group); after it merge_kernel<HEAD_DIM>, one block per (sequence, query head). */
    (void)args, (void)split, (void)stream;
    // [/student]
}

size_t paged_attention_v2_workspace_bytes(const struct paged_attention_args *args)
{
    if (args == NULL || !paged_attention_extents_fit(args)) return 0;
    // [student: workspace_bytes]
    /* TODO: a sum of head_dim floats and a pair for every (sequence, query head, partition). */
    (void)choose_split(args);
    return 0;
    // [/student]
}

enum kernel_status paged_attention_v2_f16(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, paged_attention_v2_workspace_bytes(args));
    if (status != KERNEL_OK) return status;
    // [student: v2_dispatch]
    /* TODO: choose_split(), then launch_v2<head_dim>(), then return launch_status(). */
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}
