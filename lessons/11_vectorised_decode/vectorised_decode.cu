// Generated, but for what stands between [student: ...] and [/student]: that is yours.
// [student: head]
/*
 * TODO (student): when it works, say here in your own words how the three kernels differ.
 */
// [/student]
#include "vectorised_decode.h"

#include <cuda_fp16.h>

#include "attention_rows.h"
#include "kernel_launch.h"
#include "query_row.h" // the query, keys and values of a block of flash_1 and mha
#include "warp_step.h" // flash_2: a warp over the keys of a step, and a block's shared memory

enum {
    THREADS = 256,       // of a block that keeps the scores of all keys
    TILE_THREADS = 128,  // of one that goes from tile to tile: a thread per column of head_dim 128
    DECODE_TILE = 256,   // keys of a tile in decode
    PREFILL_TILE = 1024, // and in prefill
    MOST_SCORES = 8192,  // kept in shared memory at once: 32 KiB
    TILE_COLUMNS = DECODE_MOST_HEAD_DIM / TILE_THREADS
};

/* ---- what flash_1 and mha have in common --------------------------------------------------------------------- */

/** How many keys this block's query sees; 0 where its position is not valid, and then *device_status says so. */
__device__ inline int count_keys(const struct decode_args &args)
{
    // [student: count_keys]
    // TODO (student): from args.position, or from args.device_positions where that is given; a position outside of the
    // cache: *args.device_status, and 0.
    (void)args;
    return 0;
    // [/student]
}

/** q . k, LOAD_BYTES of each at a time. */
template <typename T, int LOAD_BYTES> __device__ inline float dot(const T *q, const T *k, int head_dim)
{
    // [student: dot]
    // TODO (student): LOAD_BYTES of q and of k in one load each, as floats.
    (void)q;
    (void)k;
    (void)head_dim;
    return 0.0f;
    // [/student]
}

/** Writes the scores of @p count keys, a thread per key, and returns the largest that this thread wrote. */
template <typename T, int LOAD_BYTES>
__device__ inline float score_keys(float *scores, const T *q, const struct query_row<T> &row, int first,
                                   int count)
{
    // [student: score_keys]
    // TODO (student): thread i takes keys i, i + blockDim.x, ...
    (void)scores;
    (void)q;
    (void)row;
    (void)first;
    (void)count;
    return -INFINITY;
    // [/student]
}

/** The largest @p x of the block, in every thread. A shuffle reaches one warp only: slots carry it to the others. */
__device__ inline float block_max(float x, float *slots) // [warps]
{
    // [student: block_max]
    // TODO (student): shuffles within each warp, then one slot per warp, so that every thread of the block gets it.
    (void)slots;
    return x;
    // [/student]
}

/** The sum of all @p x of the block. Every thread gets it, with the same bits. */
__device__ inline float block_sum(float x, float *slots) // [warps]
{
    // [student: block_sum]
    // TODO (student): the same with a sum.
    (void)slots;
    return x;
    // [/student]
}

/** Column @p d of the output: weights times values. Neighbouring threads have neighbouring columns. */
template <typename T>
__device__ inline float add_values(const float *weights, const struct query_row<T> &row, int first, int count,
                                   int d)
{
    // [student: add_values]
    // TODO (student): the sum over count keys of weight times element d of the value.
    (void)weights;
    (void)row;
    (void)first;
    (void)count;
    (void)d;
    return 0.0f;
    // [/student]
}

/* ---- flash_1: one block per query and head, scores in shared memory ------------------------------------------ */

/** Shared memory: the query, eight slots for maxima and eight for sums, the scores of all keys. */
template <typename T, int LOAD_BYTES>
__global__ void __launch_bounds__(THREADS) all_scores_kernel(struct decode_args args, float scale)
{
    // [student: all_scores_kernel]
    // TODO (student): query into shared memory; scores; maximum of the block; weights and their sum; columns.
    (void)args;
    (void)scale;
    // [/student]
}

/** Online softmax over tiles of keys: shared memory has the same size whatever the position, as a graph needs it. */
template <typename T, int LOAD_BYTES, int TILE>
__global__ void __launch_bounds__(TILE_THREADS) tiles_kernel(struct decode_args args, float scale)
{
    // [student: tiles_kernel]
    // TODO (student): the same for one tile of keys after the other, by lesson 03's rule.
    (void)args;
    (void)scale;
    // [/student]
}

/** Shared memory is sized by the position only where the host knows it, and it does not grow past MOST_SCORES. */
template <typename T, int LOAD_BYTES>
static void launch_flash_1(const struct decode_args *args, cudaStream_t stream)
{
    // [student: flash_1_launch]
    // TODO (student): (heads, q_len, batch) blocks. One query and a position that the host knows: all_scores_kernel, with
    // shared memory for all its keys, up to MOST_SCORES. Else tiles_kernel, whose shared memory never changes.
    (void)args;
    (void)stream;
    // [/student]
}

enum kernel_status decode_flash_1(const struct decode_args *args, enum decode_loads loads,
                                  cudaStream_t stream)
{
    enum kernel_status status = decode_args_check(args, loads, 0);
    if (status != KERNEL_OK) return status;
    // [student: flash_1_dispatch]
    // TODO (student): launch_flash_1<T, LOAD_BYTES> for the storage type and the loads that are asked for; launch_status().
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/* ---- mha: scores in device memory ---------------------------------------------------------------------------- */

/** One block, one query: scores and weights are in its row of the workspace, [max_len]. */
template <typename T, int LOAD_BYTES>
__global__ void __launch_bounds__(THREADS) mha_kernel(struct decode_args args, float scale)
{
    // [student: mha_kernel]
    // TODO (student): scores into the workspace, lesson 01's softmax of the row there, columns.
    (void)args;
    (void)scale;
    // [/student]
}

enum kernel_status decode_mha(const struct decode_args *args, enum decode_loads loads, cudaStream_t stream)
{
    enum kernel_status status =
        decode_args_check(args, loads, decode_workspace_bytes(args, DECODE_MHA, loads));
    if (status != KERNEL_OK) return status;
    // [student: mha_launch]
    // TODO (student): launch mha_kernel<T, LOAD_BYTES> with (heads, q_len, batch) blocks of THREADS threads and shared
    // memory for the query; return launch_status().
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/* ---- flash_2: many blocks share a sequence, and a block serves four heads ------------------------------------ */

/** The block's warps go through its keys, STEP_KEYS at a time, and leave what they found. A barrier must follow. */
template <int HEAD_DIM>
__device__ inline void attend(struct split_memory<HEAD_DIM> *memory, const struct split_task &task)
{
    // [student: attend]
    // TODO (student): load_queries() while the first keys are on their way; then each warp takes STEP_KEYS keys
    // at a time: loads, scores, weights, values.
    (void)memory;
    (void)task;
    // [/student]
}

/** One block: some keys of one sequence, for up to four query heads of one K/V head. */
template <int HEAD_DIM>
__global__ void __launch_bounds__(SPLIT_THREADS)
    split_kernel(struct decode_args args, int splits, float scale)
{
    // [student: split_kernel]
    // TODO (student): find sequence, K/V head, query heads and keys: a split_task for attend(); then the
    // output, or a partial result.
    (void)args;
    (void)splits;
    (void)scale;
    // [/student]
}

/** One block, one query head: merges what its splits found, MERGE_GROUPS of them at a time, a thread per column. */
__global__ void __launch_bounds__(MERGE_THREADS) merge_kernel(struct decode_args args, int splits)
{
    // [student: flash_2_merge]
    // TODO (student): wait_for_kernel_before(); each group merges every MERGE_GROUPS-th of the splits that have keys, by
    // lesson 03's rule; then one group merges what the groups found.
    (void)args;
    (void)splits;
    // [/student]
}

/** Splits of a sequence: enough to fill the device, but their partial results fit in a hundredth of the cache. */
static int count_splits(const struct decode_args *args)
{
    // [student: flash_2_splits]
    // TODO (student): BLOCKS_PER_SM blocks per SM, but no more splits than the workspace of the contract has room for.
    (void)args;
    return 1;
    // [/student]
}

enum kernel_status decode_flash_2(const struct decode_args *args, cudaStream_t stream)
{
    size_t workspace = decode_workspace_bytes(args, DECODE_FLASH_2, DECODE_LOADS_16_BYTES);
    enum kernel_status status = decode_flash_2_check(args, workspace);
    if (status != KERNEL_OK) return status;
    int splits = count_splits(args);
    // [student: flash_2_launch]
    // TODO (student): a block per split, K/V head and four query heads, and sequence: split_kernel<HEAD_DIM>; then
    // launch_status(), and where there is more than one split launch_early() of merge_kernel.
    (void)splits;
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/* ---- which variant ------------------------------------------------------------------------------------------- */

enum decode_variant decode_choose_variant(const struct decode_args *args, enum decode_loads loads)
{
    // [student: dispatch_choice]
    // TODO (student): DECODE_FLASH_2 where the contract says that it serves these arguments and loads are of 16 bytes,
    // else DECODE_FLASH_1.
    (void)args;
    (void)loads;
    return DECODE_AUTO;
    // [/student]
}

size_t decode_workspace_bytes(const struct decode_args *args, enum decode_variant variant,
                              enum decode_loads loads)
{
    // [student: workspace_bytes]
    // TODO (student): 0 for what is not valid, or does not serve; a float per key and query for mha; nothing for flash_1;
    // for flash_2 a sum and a pair per query head and split, if a sequence is split, rounded up to 256.
    (void)args;
    (void)variant;
    (void)loads;
    return 0;
    // [/student]
}

enum kernel_status decode_attention(const struct decode_args *args, enum decode_variant variant,
                                    enum decode_loads loads, cudaStream_t stream)
{
    // [student: dispatch]
    // TODO (student): refuse what is unknown (KERNEL_INVALID_CONFIG), replace DECODE_AUTO by decode_choose_variant(), and
    // call the entry point of that variant and no other.
    (void)args;
    (void)variant;
    (void)loads;
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}
