// [student: head]
/*
 * Decode over a contiguous cache, and what the width of a load is worth. A thread that computes a whole score reads the
 * key of its own token: the lanes of a warp read 32 different rows, so every load asks for 32 sectors, whether each lane
 * wants 4 bytes or 16. With 16 there are a quarter of the loads, and of the sectors.
 *
 *      flash_1   lane 0  | row of token 0 ............ |      one load: a sector of each of 32 rows
 *                lane 1  | row of token 1 ............ |      64 loads per key of 4 bytes, or 16 of 16 bytes
 *      flash_2   lanes 0 to 3 read one row, 64 bytes at a time: all bytes of a sector in one request
 * Papers: Dao 2023, "FlashAttention-2"; Milakov and Gimelshein 2018, "Online normalizer calculation for softmax".
 * Run:    build/bin/warpwise check 11 --kernel solutions/11_vectorised_decode/vectorised_decode.cu
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
    if (args.device_positions == NULL) return args.position + (int)blockIdx.y + 1;
    int position = args.device_positions[blockIdx.z]; // now, not when the launch was captured
    if (position >= 0 && position <= args.max_len - args.q_len) return position + (int)blockIdx.y + 1;
    if (threadIdx.x == 0) atomicExch(args.device_status, (int)KERNEL_INVALID_DIMENSION);
    return 0;
    // [/student]
}

/** q . k, LOAD_BYTES of each at a time. */
template <typename T, int LOAD_BYTES> __device__ inline float dot(const T *q, const T *k, int head_dim)
{
    // [student: dot]
    enum { ELEMS = LOAD_BYTES / (int)sizeof(T), FLOATS = LOAD_BYTES / 4 };
    float sum = 0.0f;
#pragma unroll 4
    for (int d = 0; d < head_dim; d += ELEMS) {
        float a[FLOATS], b[FLOATS]; // LOAD_BYTES in one instruction, whatever they hold
        load_floats<FLOATS>(a, (const float *)(q + d));
        load_floats<FLOATS>(b, (const float *)(k + d));
        for (int i = 0; i < ELEMS; i++) sum += to_float(((const T *)a)[i]) * to_float(((const T *)b)[i]);
    }
    return sum;
    // [/student]
}

/** Writes the scores of @p count keys, a thread per key, and returns the largest that this thread wrote. */
template <typename T, int LOAD_BYTES>
__device__ inline float score_keys(float *scores, const T *q, const struct query_row<T> &row, int first,
                                   int count)
{
    // [student: score_keys]
    float most = -INFINITY;
    for (int key = (int)threadIdx.x; key < count; key += (int)blockDim.x) {
        scores[key] = row.scale * dot<T, LOAD_BYTES>(q, row.k + (first + key) * row.stride, row.head_dim);
        most = fmaxf(most, scores[key]);
    }
    return most;
    // [/student]
}

/** The largest @p x of the block, in every thread. A shuffle reaches one warp only: slots carry it to the others. */
__device__ inline float block_max(float x, float *slots) // [warps]
{
    // [student: block_max]
    for (int distance = WARP / 2; distance > 0; distance /= 2)
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, distance));
    if (threadIdx.x % WARP == 0) slots[threadIdx.x / WARP] = x;
    __syncthreads(); // every warp has left its maximum before anybody compares them
    for (int w = 0; w < (int)blockDim.x / WARP; w++) x = fmaxf(x, slots[w]);
    return x;
    // [/student]
}

/** The sum of all @p x of the block. Every thread gets it, with the same bits. */
__device__ inline float block_sum(float x, float *slots) // [warps]
{
    // [student: block_sum]
    for (int distance = WARP / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(0xffffffffu, x, distance);
    if (threadIdx.x % WARP == 0) slots[threadIdx.x / WARP] = x;
    __syncthreads(); // every warp has left its sum, and written its weights, before anybody reads them
    float sum = 0.0f;
    for (int w = 0; w < (int)blockDim.x / WARP; w++) sum += slots[w];
    return sum;
    // [/student]
}

/** Column @p d of the output: weights times values. Neighbouring threads have neighbouring columns. */
template <typename T>
__device__ inline float add_values(const float *weights, const struct query_row<T> &row, int first, int count,
                                   int d)
{
    // [student: add_values]
    float sum = 0.0f;
#pragma unroll 8 // eight loads are on their way at once
    for (int key = 0; key < count; key++)
        sum += weights[key] * to_float(row.v[(first + key) * row.stride + d]);
    return sum;
    // [/student]
}

/* ---- flash_1: one block per query and head, scores in shared memory ------------------------------------------ */

/** Shared memory: the query, eight slots for maxima and eight for sums, the scores of all keys. */
template <typename T, int LOAD_BYTES>
__global__ void __launch_bounds__(THREADS) all_scores_kernel(struct decode_args args, float scale)
{
    // [student: all_scores_kernel]
    extern __shared__ float4 memory[];
    T *q = (T *)memory;                          // [head_dim]
    float *slots = (float *)(q + args.head_dim); // [2, THREADS / WARP]
    float *scores = slots + 2 * (THREADS / WARP);
    struct query_row<T> row = find_row<T>(args, scale);
    load_query(q, row); // and a barrier
    int keys = count_keys(args);
    float shift = shift_of(block_max(score_keys<T, LOAD_BYTES>(scores, q, row, 0, keys), slots));
    float sum = block_sum(weigh_keys(scores, keys, shift), slots + THREADS / WARP);
    for (int d = (int)threadIdx.x; d < args.head_dim; d += THREADS)
        from_float(&row.out[d], add_values(scores, row, 0, keys, d) * factor_of(sum));
    // [/student]
}

/** Online softmax over tiles of keys: shared memory has the same size whatever the position, as a graph needs it. */
template <typename T, int LOAD_BYTES, int TILE>
__global__ void __launch_bounds__(TILE_THREADS) tiles_kernel(struct decode_args args, float scale)
{
    // [student: tiles_kernel]
    extern __shared__ float4 memory[];
    T *q = (T *)memory;                           // [head_dim]
    float *scores = (float *)(q + args.head_dim); // [TILE]
    float *slots = scores + TILE;                 // [2, TILE_THREADS / WARP]
    struct query_row<T> row = find_row<T>(args, scale);
    int keys = count_keys(args);
    load_query(q, row); // and a barrier
    struct softmax_pair all = {-INFINITY, 0.0f};
    float acc[TILE_COLUMNS] = {0.0f};
    for (int first = 0; first < keys; first += TILE) {
        int count = min(keys - first, (int)TILE);
        float most = score_keys<T, LOAD_BYTES>(scores, q, row, first, count), old = all.m;
        all.m = fmaxf(old, block_max(most, slots));
        float shift = shift_of(all.m), correction = expf(old - shift);
        float sum = block_sum(weigh_keys(scores, count, shift), slots + TILE_THREADS / WARP);
        all.l = all.l * correction + sum;
#pragma unroll // an index known when compiling keeps the sums in registers
        for (int i = 0; i < TILE_COLUMNS; i++) {
            int d = (int)threadIdx.x + i * TILE_THREADS;
            if (d < args.head_dim) acc[i] = acc[i] * correction + add_values(scores, row, first, count, d);
        }
        __syncthreads(); // everybody has used the weights before the next tile's scores replace them
    }
#pragma unroll
    for (int i = 0; i < TILE_COLUMNS; i++) {
        int d = (int)threadIdx.x + i * TILE_THREADS;
        if (d < args.head_dim && keys > 0) from_float(&row.out[d], acc[i] * factor_of(all.l));
    }
    // [/student]
}

/** Shared memory is sized by the position only where the host knows it, and it does not grow past MOST_SCORES. */
template <typename T, int LOAD_BYTES>
static void launch_flash_1(const struct decode_args *args, cudaStream_t stream)
{
    // [student: flash_1_launch]
    dim3 grid(args->heads, args->q_len, args->batch);
    float scale = decode_scale(args);
    size_t query = args->head_dim * sizeof(T), tile = query + 2 * (TILE_THREADS / WARP) * sizeof(float);
    int known = args->device_positions == NULL && args->q_len == 1 && args->position < MOST_SCORES;
    int padded = known ? divide_up(args->position + 1, THREADS) * THREADS : 0;
    size_t all = (padded + 2 * (THREADS / WARP)) * sizeof(float);
    size_t decode = tile + DECODE_TILE * sizeof(float), prefill = tile + PREFILL_TILE * sizeof(float);
    if (known)
        all_scores_kernel<T, LOAD_BYTES><<<grid, THREADS, query + all, stream>>>(*args, scale);
    else if (args->q_len == 1)
        tiles_kernel<T, LOAD_BYTES, DECODE_TILE><<<grid, TILE_THREADS, decode, stream>>>(*args, scale);
    else
        tiles_kernel<T, LOAD_BYTES, PREFILL_TILE><<<grid, TILE_THREADS, prefill, stream>>>(*args, scale);
    // [/student]
}

enum kernel_status decode_flash_1(const struct decode_args *args, enum decode_loads loads,
                                  cudaStream_t stream)
{
    enum kernel_status status = decode_args_check(args, loads, 0);
    if (status != KERNEL_OK) return status;
    // [student: flash_1_dispatch]
    int f16 = args->dtype == DTYPE_F16, wide = loads == DECODE_LOADS_16_BYTES;
    if (f16 && wide) launch_flash_1<__half, 16>(args, stream);
    if (f16 && !wide) launch_flash_1<__half, 4>(args, stream);
    if (!f16 && wide) launch_flash_1<float, 16>(args, stream);
    if (!f16 && !wide) launch_flash_1<float, 4>(args, stream);
    return launch_status();
    // [/student]
}

/* ---- mha: scores in device memory ---------------------------------------------------------------------------- */

/** One block, one query: scores and weights are in its row of the workspace, [max_len]. */
template <typename T, int LOAD_BYTES>
__global__ void __launch_bounds__(THREADS) mha_kernel(struct decode_args args, float scale)
{
    // [student: mha_kernel]
    extern __shared__ float4 memory[];
    __shared__ float slots[2 * (THREADS / WARP)];
    T *q = (T *)memory; // [head_dim]
    struct query_row<T> row = find_row<T>(args, scale);
    int keys = count_keys(args);
    size_t query = ((size_t)blockIdx.z * args.q_len + blockIdx.y) * args.heads + blockIdx.x;
    float *scores = (float *)args.workspace + query * args.max_len; // [keys]
    load_query(q, row);                                             // and a barrier
    score_keys<T, LOAD_BYTES>(scores, q, row, 0, keys);
    // Lesson 01's softmax of a row: a pass for the maximum, one for the sum, one to divide.
    float most = -INFINITY;
    for (int key = (int)threadIdx.x; key < keys; key += THREADS) most = fmaxf(most, scores[key]);
    float shift = shift_of(block_max(most, slots));
    float factor = factor_of(block_sum(weigh_keys(scores, keys, shift), slots + THREADS / WARP));
    for (int key = (int)threadIdx.x; key < keys; key += THREADS) scores[key] *= factor;
    __syncthreads(); // all weights are written before anybody adds values
    for (int d = (int)threadIdx.x; d < args.head_dim && keys > 0; d += THREADS)
        from_float(&row.out[d], add_values(scores, row, 0, keys, d));
    // [/student]
}

enum kernel_status decode_mha(const struct decode_args *args, enum decode_loads loads, cudaStream_t stream)
{
    enum kernel_status status =
        decode_args_check(args, loads, decode_workspace_bytes(args, DECODE_MHA, loads));
    if (status != KERNEL_OK) return status;
    // [student: mha_launch]
    dim3 grid(args->heads, args->q_len, args->batch);
    int f16 = args->dtype == DTYPE_F16, wide = loads == DECODE_LOADS_16_BYTES;
    size_t bytes = args->head_dim * (f16 ? sizeof(__half) : sizeof(float));
    float scale = decode_scale(args);
    if (f16 && wide) mha_kernel<__half, 16><<<grid, THREADS, bytes, stream>>>(*args, scale);
    if (f16 && !wide) mha_kernel<__half, 4><<<grid, THREADS, bytes, stream>>>(*args, scale);
    if (!f16 && wide) mha_kernel<float, 16><<<grid, THREADS, bytes, stream>>>(*args, scale);
    if (!f16 && !wide) mha_kernel<float, 4><<<grid, THREADS, bytes, stream>>>(*args, scale);
    return launch_status();
    // [/student]
}

/* ---- flash_2: many blocks share a sequence, and a block serves four heads ------------------------------------ */

/** The block's warps go through its keys, STEP_KEYS at a time, and leave what they found. A barrier must follow. */
template <int HEAD_DIM>
__device__ inline void attend(struct split_memory<HEAD_DIM> *memory, const struct split_task &task)
{
    // [student: attend]
    using step = struct warp_step<HEAD_DIM>;
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    int k_row = lane / KEY_LANES, v_row = lane / step::V_LANES, end = task.end;
    int key = task.begin + warp * STEP_KEYS;
    size_t stride = task.stride;
    const __half *k_lane = task.k + k_row * stride + lane % KEY_LANES * VECTOR;
    const __half *v_lane = task.v + v_row * stride + lane % step::V_LANES * VECTOR;
    uint4 k[KEYS_PER_LANE * step::K_LOADS], v[step::V_LOADS];
    float sum[HEADS][VECTOR] = {{0.0f}}, score[KEYS_PER_LANE];
    struct softmax_pair pair = {-INFINITY, 0.0f}; // of head lane % HEADS; l counts this lane's keys only
    if (key < end)
        load_rows<KEYS_PER_LANE, step::K_LOADS>(k, k_lane + key * stride, stride, k_row, KEY_ROWS, end - key);
    load_queries<HEAD_DIM>(memory, task); // and a barrier; the first keys are on their way meanwhile
    while (key < end) {
        // Values are on their way while scores are computed, and the next keys while values are added.
        load_rows<step::V_LOADS, 1>(v, v_lane + key * stride, stride, v_row, step::V_ROWS, end - key);
        score_step<HEAD_DIM>(score, k, memory->q, task.scale);
        int next = key + SPLIT_KEYS_LEAST;
        if (next < end)
            load_rows<KEYS_PER_LANE, step::K_LOADS>(k, k_lane + next * stride, stride, k_row, KEY_ROWS,
                                                    end - next);
        float correction = weigh_step(memory->weight[warp], score, &pair, end - key);
        for (int h = 0; h < HEADS && __any_sync(0xffffffffu, correction != 1.0f); h++) {
            float factor = __shfl_sync(0xffffffffu, correction, h); // lane h has head h
            for (int c = 0; c < VECTOR; c++) sum[h][c] *= factor;
        }
        __syncwarp(); // all weights of the step are written before a lane reads those of other lanes
        add_step<HEAD_DIM>(sum, v, memory->weight[warp]);
        __syncwarp(); // and read before the next step's replace them
        key = next;
    }
    leave_partial<HEAD_DIM>(memory, sum, pair);
    // [/student]
}

/** One block: some keys of one sequence, for up to four query heads of one K/V head. */
template <int HEAD_DIM>
__global__ void __launch_bounds__(SPLIT_THREADS)
    split_kernel(struct decode_args args, int splits, float scale)
{
    // [student: split_kernel]
    __shared__ struct split_memory<HEAD_DIM> memory;
    int group = args.heads / args.kv_heads, chunks = divide_up(group, HEADS);
    int chunk = (int)blockIdx.x % chunks, kv_head = (int)blockIdx.x / chunks % args.kv_heads;
    int split = (int)blockIdx.x / chunks / args.kv_heads, heads = min(group - chunk * HEADS, (int)HEADS);
    size_t first_row = (size_t)blockIdx.z * args.heads + kv_head * group + chunk * HEADS;
    int keys = count_keys(args), each = keys_per_split(keys, splits);
    int begin = split * each, end = min(keys, begin + each);
    if (begin >= end) return; // nothing for the whole block: nobody reads what it would have left
    size_t cache = (size_t)blockIdx.z * args.max_len * args.kv_stride + (size_t)kv_head * HEAD_DIM;
    const __half *q = (const __half *)args.q + first_row * HEAD_DIM,
                 *k = (const __half *)args.k_cache + cache, *v = (const __half *)args.v_cache + cache;
    struct split_task task = {q, k, v, (size_t)args.kv_stride, begin, end, heads, scale};
    attend<HEAD_DIM>(&memory, task);
    __syncthreads(); // every warp has left what it found before anybody merges it
    for (int i = (int)threadIdx.x; i < heads * HEAD_DIM; i += SPLIT_THREADS) {
        struct softmax_pair all;
        int d = i % HEAD_DIM;
        float sum = merge_warps<HEAD_DIM>(&memory, i / HEAD_DIM, d, &all);
        size_t row = first_row + i / HEAD_DIM;
        if (splits == 1) from_float((__half *)args.out + row * HEAD_DIM + d, sum * factor_of(all.l));
        if (splits > 1) partial_sums(args)[(row * splits + split) * HEAD_DIM + d] = sum;
        if (splits > 1 && d == 0) partial_pairs(args, splits)[row * splits + split] = all;
    }
    // [/student]
}

/** One block, one query head: merges what its splits found, MERGE_GROUPS of them at a time, a thread per column. */
__global__ void __launch_bounds__(MERGE_THREADS) merge_kernel(struct decode_args args, int splits)
{
    // [student: flash_2_merge]
    int group = (int)threadIdx.y, d = (int)threadIdx.x;
    int keys = count_keys(args), used = divide_up(keys, keys_per_split(keys, splits));
    size_t row = (size_t)blockIdx.z * args.heads + blockIdx.x, first = row * splits; // partial result
    const float *partial = partial_sums(args) + first * args.head_dim + d;           // of column d
    const struct softmax_pair *pairs = partial_pairs(args, splits) + first;          // [splits]
    float most = -INFINITY, l = 0.0f, sum = 0.0f;
    wait_for_kernel_before(); // the launch may be early, what the splits found is not
    for (int i = d % WARP; i < used; i += WARP) most = fmaxf(most, pairs[i].m);
    warp_max<1>(&most);
#pragma unroll 4
    for (int i = group; i < used; i += MERGE_GROUPS) {
        float weight = expf(pairs[i].m - shift_of(most));
        l += pairs[i].l * weight;
        sum += partial[(size_t)i * args.head_dim] * weight;
    }
    add_groups(&sum, &l);
    if (group == 0 && used > 0) from_float((__half *)args.out + row * args.head_dim + d, sum * factor_of(l));
    // [/student]
}

/** Splits of a sequence: enough to fill the device, but their partial results fit in a hundredth of the cache. */
static int count_splits(const struct decode_args *args)
{
    // [student: flash_2_splits]
    int64_t group = args->heads / args->kv_heads, chunks = (group + HEADS - 1) / HEADS;
    int64_t blocks = args->batch * chunks * args->kv_heads; // without a split
    int64_t fill = device_attribute(cudaDevAttrMultiProcessorCount) * (int64_t)BLOCKS_PER_SM / blocks;
    int64_t most = (int64_t)args->max_len * args->head_dim / (100 * group * (args->head_dim + 2));
    return (int)(fill <= 1 || most <= 1 ? 1 : fill < most ? fill : most);
    // [/student]
}

enum kernel_status decode_flash_2(const struct decode_args *args, cudaStream_t stream)
{
    size_t workspace = decode_workspace_bytes(args, DECODE_FLASH_2, DECODE_LOADS_16_BYTES);
    enum kernel_status status = decode_flash_2_check(args, workspace);
    if (status != KERNEL_OK) return status;
    int splits = count_splits(args);
    // [student: flash_2_launch]
    int chunks = divide_up(args->heads / args->kv_heads, HEADS);
    dim3 grid(splits * args->kv_heads * chunks, 1, args->batch), rows(args->heads, 1, args->batch);
    float scale = decode_scale(args);
    if (args->head_dim == 64) split_kernel<64><<<grid, SPLIT_THREADS, 0, stream>>>(*args, splits, scale);
    if (args->head_dim == 128) split_kernel<128><<<grid, SPLIT_THREADS, 0, stream>>>(*args, splits, scale);
    if ((status = launch_status()) != KERNEL_OK || splits == 1) return status;
    return launch_early(merge_kernel, rows, dim3(args->head_dim, MERGE_GROUPS), stream, *args, splits);
    // [/student]
}

/* ---- which variant ------------------------------------------------------------------------------------------- */

enum decode_variant decode_choose_variant(const struct decode_args *args, enum decode_loads loads)
{
    // [student: dispatch_choice]
    int fits = (args->head_dim == 64 || args->head_dim == 128) && loads == DECODE_LOADS_16_BYTES;
    return fits && args->dtype == DTYPE_F16 && args->q_len == 1 ? DECODE_FLASH_2 : DECODE_FLASH_1;
    // [/student]
}

size_t decode_workspace_bytes(const struct decode_args *args, enum decode_variant variant,
                              enum decode_loads loads)
{
    // [student: workspace_bytes]
    if (args == NULL || !decode_extents_fit(args)) return 0;
    if (loads != DECODE_LOADS_4_BYTES && loads != DECODE_LOADS_16_BYTES) return 0;
    size_t rows = (size_t)args->batch * args->heads * args->q_len;
    if (variant == DECODE_AUTO) variant = decode_choose_variant(args, loads);
    if (variant == DECODE_MHA) return rows * args->max_len * sizeof(float);
    if (variant != DECODE_FLASH_2 || decode_choose_variant(args, loads) != DECODE_FLASH_2) return 0;
    size_t results = count_splits(args) > 1 ? rows * count_splits(args) : 0;
    return (results * (args->head_dim + 2) * sizeof(float) + 255) / 256 * 256;
    // [/student]
}

enum kernel_status decode_attention(const struct decode_args *args, enum decode_variant variant,
                                    enum decode_loads loads, cudaStream_t stream)
{
    // [student: dispatch]
    if (args == NULL || (loads != DECODE_LOADS_4_BYTES && loads != DECODE_LOADS_16_BYTES))
        return KERNEL_INVALID_CONFIG;
    if (variant == DECODE_AUTO) variant = decode_choose_variant(args, loads);
    switch (variant) {
    case DECODE_MHA:
        return decode_mha(args, loads, stream);
    case DECODE_FLASH_1:
        return decode_flash_1(args, loads, stream);
    case DECODE_FLASH_2:
        return loads == DECODE_LOADS_16_BYTES ? decode_flash_2(args, stream) : KERNEL_INVALID_CONFIG;
    default:
        return KERNEL_INVALID_CONFIG; // an unknown choice must not run another kernel
    }
    // [/student]
}
