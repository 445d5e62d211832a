/*
 * A correct solution of another shape, and the fastest here: lesson 11's warp over a cache in pages. v1 is the same kernel with one
 * partition.
 *
 *     keys    four lanes load one, 16 bytes each at a time: a lane's halves are what mma.sync wants of the columns of B,
 *             if queries, the rows of A, are loaded in the same order. A query head is a row, so scores of up to
 *             eight heads cost the same, and each is left in the four lanes of its head
 *     values  HEAD_DIM / 8 lanes load one; weights come to them through shared memory
 *     pages   a lane looks up the page of one step, and the warp passes them on for 32 steps
 *
 * Loads of a step's values are under way while its scores are computed, and those of the next keys while values are added.
 */
#include "paged_attention.h"

#include <cuda_fp16.h>

#include "attention_rows.h"
#include "kernel_launch.h"

enum {
    LANES = 32,
    WARPS = 6,                       // of a block, which share its keys
    BLOCKS = 2,                      // that an SM holds: 168 registers
    HEADS = 4,                       // query heads of a block
    VECTOR = 8,                      // halves in 16 bytes
    KEY_LANES = 4,                   // that load a key
    KEY_ROWS = LANES / KEY_LANES,    // keys that a warp loads at once
    KEYS_PER_LANE = 2,               // of a step, KEY_ROWS apart
    STEP = KEY_ROWS * KEYS_PER_LANE, // keys of a warp's step: of one page, whatever its size
    ROUND = WARPS * STEP,            // and of all warps
    GROUPS = 8                       // of partitions that a block merges at a time, at most
};
static_assert(16 % STEP == 0 && ROUND % 32 == 0, "all steps of a warp begin at the same row of a page");

/** How the keys of every sequence are divided. */
struct division {
    int keys;       /* of a partition, a multiple of ROUND */
    int partitions; /* of the longest sequence */
    int chunks;     /* blocks for the query heads of a K/V head */
};

/** What a block works on. */
struct work {
    int b, kv_head, partition; /* of sequence b */
    int first_head, heads;     /* query heads */
    int begin, end, length;    /* its keys, and all of the sequence */
};

/** What the warps of a block leave in shared memory. */
template <int HEAD_DIM> struct block_memory {
    uint4 q[HEAD_DIM / VECTOR / KEY_LANES][LANES]; /* fragments of A; zeros for rows that are no head */
    alignas(16) float weight[WARPS][STEP][HEADS];  /* of a warp's step */
    alignas(16) float sum[WARPS][HEADS][HEAD_DIM]; /* of weights times values */
    struct softmax_pair pair[WARPS][HEADS];        /* and their pairs */
};

static __device__ inline uint4 load(const __half *from, int there)
{
    return there ? *(const uint4 *)from : make_uint4(0, 0, 0, 0); // what is not there is not read
}

/** C += A * B for 16 columns of A, eight heads (the other rows are zeros) and eight keys. */
static __device__ inline void multiply(float c[4], unsigned a_low, unsigned a_high, unsigned b_low,
                                       unsigned b_high)
{
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %5}, {%7, %8}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a_low), "r"(0), "r"(a_high), "r"(b_low), "r"(b_high));
#else
    const unsigned a[2] = {a_low, a_high}, b[2] = {b_low, b_high};
    for (int i = 0; i < 2; i++)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[i]), "r"(0), "r"(b[i]));
#endif
}

/** The lane's keys of a step: KEYS_PER_LANE rows, every fourth 16 bytes of each. */
template <int HEAD_DIM>
static __device__ inline void load_keys(uint4 (*k)[HEAD_DIM / VECTOR / KEY_LANES], const __half *from,
                                        size_t stride, int left)
{
    int row = (int)threadIdx.x % LANES / KEY_LANES;
#pragma unroll
    for (int r = 0; r < KEYS_PER_LANE; r++)
#pragma unroll
        for (int c = 0; c < HEAD_DIM / VECTOR / KEY_LANES; c++)
            k[r][c] = load(from + r * KEY_ROWS * stride + c * KEY_LANES * VECTOR, row + r * KEY_ROWS < left);
}

/** The lane's values of a step. */
template <int HEAD_DIM>
static __device__ inline void load_values(uint4 *v, const __half *from, size_t stride, int left)
{
    enum { ROWS = LANES * VECTOR / HEAD_DIM };
    int row = (int)threadIdx.x % LANES / (HEAD_DIM / VECTOR);
#pragma unroll
    for (int r = 0; r < STEP / ROWS; r++) v[r] = load(from + r * ROWS * stride, row + r * ROWS < left);
}

/** Scores of a step: lane 4 h + i gets those of head h and keys 2 i and 2 i + 1 of every KEY_ROWS. */
template <int HEAD_DIM>
static __device__ inline void score_keys(float (*score)[2], const uint4 (*k)[HEAD_DIM / VECTOR / KEY_LANES],
                                         const uint4 (*q)[LANES])
{
#pragma unroll
    for (int r = 0; r < KEYS_PER_LANE; r++) {
        float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int i = 0; i < HEAD_DIM / VECTOR / KEY_LANES; i++) {
            uint4 a = q[i][threadIdx.x % LANES], b = k[r][i];
            multiply(c, a.x, a.y, b.x, b.y);
            multiply(c, a.z, a.w, b.z, b.w);
        }
        score[r][0] = c[0];
        score[r][1] = c[1];
    }
}

/** Scores become weights, in shared memory; returns the correction of what was summed up before. */
static __device__ inline float weigh_keys(float (*weight)[HEADS], float (*score)[2],
                                          struct softmax_pair *pair, float scale, float slope, int left,
                                          int place)
{
    int lane = (int)threadIdx.x % LANES, head = lane / KEY_LANES;
    float most = -INFINITY, old = pair->m;
#pragma unroll
    for (int i = 0; i < 2 * KEYS_PER_LANE; i++) {
        int key = i / 2 * KEY_ROWS + lane % KEY_LANES * 2 + i % 2;
        float biased = scale * score[i / 2][i % 2] + slope * (float)(place + key);
        score[i / 2][i % 2] = key < left ? biased : -INFINITY;
        most = fmaxf(most, score[i / 2][i % 2]);
    }
    for (int distance = 1; distance < KEY_LANES; distance *= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, distance));
    pair->m = fmaxf(old, most);
    float shift = shift_of(pair->m), correction = expf(old - shift);
    pair->l *= correction; // l is of this lane's keys only
#pragma unroll
    for (int i = 0; i < 2 * KEYS_PER_LANE; i++) {
        float w = expf(score[i / 2][i % 2] - shift);
        pair->l += w;
        if (head < HEADS) weight[i / 2 * KEY_ROWS + lane % KEY_LANES * 2 + i % 2][head] = w;
    }
    return correction;
}

/** Values times weights are added to the sums of all heads. */
template <int HEAD_DIM>
static __device__ inline void add_values(float (*sum)[VECTOR], const uint4 *v, const float (*weight)[HEADS])
{
    enum { ROWS = LANES * VECTOR / HEAD_DIM };
    int row = (int)threadIdx.x % LANES / (HEAD_DIM / VECTOR);
#pragma unroll
    for (int r = 0; r < STEP / ROWS; r++) {
        const float4 four = *(const float4 *)weight[row + r * ROWS];
        const float w[HEADS] = {four.x, four.y, four.z, four.w};
        const __half2 *two = (const __half2 *)&v[r];
#pragma unroll
        for (int c = 0; c < VECTOR; c += 2) {
            float2 x = __half22float2(two[c / 2]);
#pragma unroll
            for (int h = 0; h < HEADS; h++) {
                sum[h][c] += w[h] * x.x;
                sum[h][c + 1] += w[h] * x.y;
            }
        }
    }
}

/** Writes what a warp found to shared memory, its sums added up over lanes. */
template <int HEAD_DIM>
static __device__ inline void leave(struct block_memory<HEAD_DIM> *memory, float (*sum)[VECTOR],
                                    struct softmax_pair pair)
{
    enum { VALUE_LANES = HEAD_DIM / VECTOR };
    int warp = (int)threadIdx.x / LANES, lane = (int)threadIdx.x % LANES;
    for (int distance = 1; distance < KEY_LANES; distance *= 2)
        pair.l += __shfl_xor_sync(0xffffffffu, pair.l, distance);
    if (lane % KEY_LANES == 0 && lane / KEY_LANES < HEADS) memory->pair[warp][lane / KEY_LANES] = pair;
#pragma unroll
    for (int i = 0; i < HEADS * VECTOR; i++)
#pragma unroll
        for (int distance = VALUE_LANES; distance < LANES; distance *= 2)
            sum[i / VECTOR][i % VECTOR] +=
                __shfl_xor_sync(0xffffffffu, sum[i / VECTOR][i % VECTOR], distance);
#pragma unroll
    for (int i = 0; i < HEADS * VECTOR; i += 4) {
        const float *four = &sum[i / VECTOR][i % VECTOR];
        if (lane < VALUE_LANES)
            *(float4 *)&memory->sum[warp][i / VECTOR][lane * VECTOR + i % VECTOR] =
                make_float4(four[0], four[1], four[2], four[3]);
    }
}

/** The warps of a block go through its keys and leave what they found. A barrier must follow. */
template <int HEAD_DIM>
static __device__ inline void attend(struct block_memory<HEAD_DIM> *memory,
                                     const struct paged_attention_args &args, const struct work &work,
                                     float scale)
{
    enum { KEY_LOADS = HEAD_DIM / VECTOR / KEY_LANES, VALUE_LANES = HEAD_DIM / VECTOR };
    int warp = (int)threadIdx.x / LANES, lane = (int)threadIdx.x % LANES, head = lane / KEY_LANES;
    int key = work.begin + warp * STEP, steps = work.end > key ? divide_up(work.end - key, ROUND) : 0;
    size_t stride = (size_t)args.kv_heads * HEAD_DIM, page_elems = stride * args.block_size;
    size_t first = key % args.block_size * stride + (size_t)work.kv_head * HEAD_DIM; // in every page
    const __half *keys = (const __half *)args.k_cache + first + head * stride + lane % KEY_LANES * VECTOR;
    const __half *values =
        (const __half *)args.v_cache + first + lane / VALUE_LANES * stride + lane % VALUE_LANES * VECTOR;
    const int *entry = args.block_table + (size_t)work.b * args.max_blocks + key / args.block_size;
    int apart = ROUND / args.block_size, pages = lane < steps ? entry[lane * apart] : 0; // of step lane
    uint4 k[KEYS_PER_LANE][KEY_LOADS], v[STEP * VALUE_LANES / LANES];
    float sum[HEADS][VECTOR] = {{0.0f}}, score[KEYS_PER_LANE][2];
    struct softmax_pair pair = {-INFINITY, 0.0f};
    size_t page = __shfl_sync(0xffffffffu, pages, 0) * page_elems;
    load_keys<HEAD_DIM>(k, keys + page, stride, steps > 0 ? work.end - key : 0);
    const __half *q =
        (const __half *)args.q + ((size_t)work.b * args.heads + work.first_head + head) * HEAD_DIM;
    for (int c = warp; c < KEY_LOADS; c += WARPS)
        memory->q[c][lane] = load(q + (c * KEY_LANES + lane % KEY_LANES) * VECTOR, head < work.heads);
    float slope =
        args.alibi_slopes != NULL && head < work.heads ? args.alibi_slopes[work.first_head + head] : 0.0f;
    __syncthreads(); // the queries are there before anybody multiplies with them
#pragma unroll 1
    for (int i = 1; i <= steps; i++) {
        int left = work.end - key;
        load_values<HEAD_DIM>(v, values + page, stride, left);
        score_keys<HEAD_DIM>(score, k, memory->q);
        if (i % LANES == 0) pages = i + lane < steps ? entry[(size_t)(i + lane) * apart] : 0;
        page = __shfl_sync(0xffffffffu, pages, i % LANES) * page_elems;
        load_keys<HEAD_DIM>(k, keys + page, stride, i < steps ? left - ROUND : 0);
        float correction =
            weigh_keys(memory->weight[warp], score, &pair, scale, slope, left, key - (work.length - 1));
        for (int h = 0; h < HEADS && __any_sync(0xffffffffu, correction != 1.0f); h++) {
            float factor = __shfl_sync(0xffffffffu, correction, h * KEY_LANES);
            for (int c = 0; c < VECTOR; c++) sum[h][c] *= factor;
        }
        __syncwarp(); // all weights of the step are written before a lane reads those of other lanes
        add_values<HEAD_DIM>(sum, v, memory->weight[warp]);
        __syncwarp(); // and read before the next step's replace them
        key += ROUND;
    }
    leave<HEAD_DIM>(memory, sum, pair);
}

/** What the warps found for head @p h, merged: the pair, and column @p d of the sum. */
template <int HEAD_DIM>
static __device__ inline float merge_warps(const struct block_memory<HEAD_DIM> *memory, int h, int d,
                                           struct softmax_pair *all)
{
    all->m = -INFINITY;
    all->l = 0.0f;
    for (int w = 0; w < WARPS; w++) all->m = fmaxf(all->m, memory->pair[w][h].m);
    float sum = 0.0f, shift = shift_of(all->m);
    for (int w = 0; w < WARPS; w++) {
        float factor = expf(memory->pair[w][h].m - shift);
        all->l += memory->pair[w][h].l * factor;
        sum += memory->sum[w][h][d] * factor;
    }
    return sum;
}

static __device__ inline struct softmax_pair *pairs_of(const struct paged_attention_args &args,
                                                       int partitions)
{
    return (struct softmax_pair *)((float *)args.workspace +
                                   (size_t)args.batch * args.heads * partitions * args.head_dim);
}

/** A block: one partition of one sequence, up to HEADS query heads of one K/V head. */
template <int HEAD_DIM>
__global__ void __launch_bounds__(WARPS *LANES, BLOCKS)
    part_kernel(struct paged_attention_args args, struct division of, float scale)
{
    __shared__ struct block_memory<HEAD_DIM> memory;
    int rest = (int)blockIdx.x, group = args.heads / args.kv_heads, chunk = rest % of.chunks;
    struct work work;
    rest /= of.chunks;
    work.kv_head = rest % args.kv_heads; // varies fast: blocks that run together read what lies together
    rest /= args.kv_heads;
    work.partition = rest % of.partitions;
    work.b = rest / of.partitions;
    work.first_head = work.kv_head * group + chunk * HEADS;
    work.heads = min(group - chunk * HEADS, (int)HEADS);
    work.length = args.context_lens[work.b];
    work.begin = work.partition * of.keys;
    work.end = min(work.length, work.begin + of.keys);
    if (*args.device_status != KERNEL_OK) return;            // all threads agree
    if (work.begin >= work.end && of.partitions > 1) return; // merge_kernel does not read it
    attend<HEAD_DIM>(&memory, args, work, scale);
    __syncthreads(); // every warp has left what it found
    for (int i = (int)threadIdx.x; i < work.heads * HEAD_DIM; i += WARPS * LANES) {
        struct softmax_pair all;
        float sum = merge_warps<HEAD_DIM>(&memory, i / HEAD_DIM, i % HEAD_DIM, &all);
        size_t row = (size_t)work.b * args.heads + work.first_head + i / HEAD_DIM;
        size_t result = row * of.partitions + work.partition;
        if (of.partitions == 1)
            ((__half *)args.out)[row * HEAD_DIM + i % HEAD_DIM] = __float2half(sum * factor_of(all.l));
        else
            ((float *)args.workspace)[result * HEAD_DIM + i % HEAD_DIM] = sum;
        if (of.partitions > 1 && i % HEAD_DIM == 0) pairs_of(args, of.partitions)[result] = all;
    }
}

/** A block: one query head, as many of its partitions at a time as it has groups of threads. */
template <int HEAD_DIM>
__global__ void __launch_bounds__(GROUPS *HEAD_DIM)
    whole_kernel(struct paged_attention_args args, struct division of)
{
    __shared__ float sums[GROUPS][HEAD_DIM], ls[GROUPS];
    int group = (int)threadIdx.y, groups = (int)blockDim.y, d = (int)threadIdx.x;
    size_t row = blockIdx.x;
    int length = args.context_lens[row / args.heads], used = length > 0 ? divide_up(length, of.keys) : 0;
    const struct softmax_pair *pairs = pairs_of(args, of.partitions) + row * of.partitions;
    const float *partial = (const float *)args.workspace + row * of.partitions * HEAD_DIM + d;
    float most = -INFINITY, l = 0.0f, sum = 0.0f;
    wait_for_kernel_before(); // its launch is early, what the partitions leave is not
    if (*args.device_status != KERNEL_OK) return;
    for (int i = d % LANES; i < used; i += LANES) most = fmaxf(most, pairs[i].m);
    for (int distance = LANES / 2; distance > 0; distance /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, distance));
#pragma unroll 4
    for (int i = group; i < used; i += groups) {
        float factor = expf(pairs[i].m - shift_of(most));
        l += pairs[i].l * factor;
        sum += partial[(size_t)i * HEAD_DIM] * factor;
    }
    sums[group][d] = sum;
    if (d == 0) ls[group] = l;
    __syncthreads(); // every group has left its sum
    if (group > 0) return;
    for (int i = 1; i < groups; i++) {
        sum += sums[i][d];
        l += ls[i];
    }
    ((__half *)args.out)[row * HEAD_DIM + d] = __float2half(sum * factor_of(l));
}

/** Blocks for all SMs, BLOCKS on each; one partition where the sequences alone are as many. */
static struct division divide(const struct paged_attention_args *args, int split)
{
    struct division of;
    of.chunks = divide_up(args->heads / args->kv_heads, HEADS);
    int room = BLOCKS * device_attribute(cudaDevAttrMultiProcessorCount),
        rounds = divide_up(args->max_context_len, ROUND);
    int wanted = split ? min(max(room / (args->batch * args->kv_heads * of.chunks), 1), rounds) : 1;
    of.keys = divide_up(rounds, wanted) * ROUND;
    of.partitions = divide_up(args->max_context_len, of.keys);
    return of;
}

template <int HEAD_DIM>
static enum kernel_status launch(const struct paged_attention_args *args, struct division of,
                                 cudaStream_t stream)
{
    int blocks = args->batch * args->kv_heads * of.chunks * of.partitions;
    part_kernel<HEAD_DIM><<<blocks, WARPS * LANES, 0, stream>>>(*args, of, paged_attention_scale(args));
    enum kernel_status status = launch_status();
    if (status != KERNEL_OK || of.partitions == 1) return status;
    dim3 rows(args->batch * args->heads), threads(HEAD_DIM, min(of.partitions, (int)GROUPS));
    return launch_early(whole_kernel<HEAD_DIM>, rows, threads, stream, *args, of);
}

static enum kernel_status attend_all(const struct paged_attention_args *args, struct division of,
                                     cudaStream_t stream)
{
    if (args->head_dim == 32) return launch<32>(args, of, stream);
    return args->head_dim == 64 ? launch<64>(args, of, stream) : launch<128>(args, of, stream);
}

size_t paged_attention_v2_workspace_bytes(const struct paged_attention_args *args)
{
    if (args == NULL || !paged_attention_extents_fit(args)) return 0;
    size_t partitions = divide(args, 1).partitions, rows = (size_t)args->batch * args->heads;
    return partitions == 1 ? 0 : (rows * partitions * (args->head_dim + 2) * sizeof(float) + 255) / 256 * 256;
}

enum kernel_status paged_attention_v2_f16(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, paged_attention_v2_workspace_bytes(args));
    return status != KERNEL_OK ? status : attend_all(args, divide(args, 1), stream);
}

enum kernel_status paged_attention_v1_f16(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, 0);
    return status != KERNEL_OK ? status : attend_all(args, divide(args, 0), stream);
}

/** A warp per sequence; the first fault is reason enough. */
__global__ void fault_kernel(struct paged_attention_args args)
{
    int bad = 0;
    for (int b = 0; b < args.batch; b++) {
        int length = args.context_lens[b], wrong = length < 0 || length > args.max_context_len;
        for (int i = (int)threadIdx.x; !wrong && i < length; i += (int)blockDim.x)
            bad |= (unsigned)args.block_table[(size_t)b * args.max_blocks + i / args.block_size] >=
                   (unsigned)args.num_blocks;
        bad |= wrong;
    }
    bad = __syncthreads_or(bad);
    if (threadIdx.x == 0) *args.device_status = bad ? KERNEL_INVALID_BLOCK_TABLE : KERNEL_OK;
}

enum kernel_status paged_attention_validate(const struct paged_attention_args *args, cudaStream_t stream)
{
    enum kernel_status status = paged_attention_args_check(args, 0);
    if (status != KERNEL_OK) return status;
    fault_kernel<<<1, 256, 0, stream>>>(*args);
    return launch_status();
}
