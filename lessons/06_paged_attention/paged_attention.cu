// [student: head]
/*
 * Lesson 06, your desk. Read README.md beside this file, then write what stands between the lines
 * `[student: ...]` and `[/student]`, in the order of the page. Everything else is given: leave it as it is.
 * You may add functions and constants inside your regions and declare shared memory as you like.
 *
 *     build/bin/warpwise check 06                 judges what is there
 *     build/bin/warpwise check 06 --case NAME     looks at one case
 */
// [/student]
#include "paged_attention.h"

#include <cuda_fp16.h>

enum {
    WARP = 32,
    WARPS = 4,              // that share the keys of a block
    THREADS = WARPS * WARP, // of v1, v2 and the merge
    VECTOR = 8,             // halves in the 16 bytes that a lane loads at once
    STEP_KEYS = 8,          // keys a warp takes at a time
    BATCH = 4,              // query heads whose scores are added up together, at most
    GROUP_MAX = 8,          // query heads a block of v2 serves, at most
    BLOCKS_PER_SM = 4,      // of v2, that an SM is to hold at once
    PARTITION_KEYS = 64,    // a partition is a multiple of this; the contract's workspace counts on it
    VALIDATE_THREADS = 1024
};

static_assert(16 % STEP_KEYS == 0, "a step lies in one page, whatever its size");
static_assert(WARPS * STEP_KEYS % 32 == 0, "all steps of a warp begin at the same row of a page");
static_assert(PARTITION_KEYS % 32 == 0, "a partition begins with a page");

/* ---- pairs (lesson 03) ------------------------------------------------------------------------------ */

/** What is known of some scores: their maximum and their sum relative to it; (-infinity, 0) for none. */
struct softmax_pair {
    float m; // largest score
    float l; // sum of exp(score - m)
};

/** What to subtract before exp: m, but 0 where nothing was seen, for -inf - -inf would be NaN. */
__device__ inline float shift_of(float m)
{
    return m == -INFINITY ? 0.0f : m;
}

/** The pair of two pieces together. */
__device__ inline struct softmax_pair merge_pairs(struct softmax_pair a, struct softmax_pair b)
{
    struct softmax_pair both;
    both.m = fmaxf(a.m, b.m);
    float shift = shift_of(both.m);
    both.l = a.l * expf(a.m - shift) + b.l * expf(b.m - shift);
    return both;
}

/** What turns a sum of exp(score - m) * v into an output; 0 for a sequence without keys. */
__device__ inline float factor_of(float l)
{
    return l == 0.0f ? 0.0f : 1.0f / l;
}

/** What a launch just made of itself. */
inline enum kernel_status launch_status(void)
{
    return cudaGetLastError() == cudaSuccess ? KERNEL_OK : KERNEL_CUDA_ERROR;
}

/* ---- part "validate" -------------------------------------------------------------------------------- */

/** One block looks at every context length and at every table entry that one of them makes use of. */
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

/* ---- some keys of one sequence, by one block -------------------------------------------------------- */

/** The keys that a block sees, and the query heads it serves: those of one sequence and one K/V head. */
struct share {
    int b;          // sequence
    int kv_head;    // K/V head
    int first_head; // first query head, of all heads
    int heads;      // query heads, at most GROUP
    int begin, end; // keys begin .. end - 1
    int length;     // keys of the whole sequence
};

/** What a lane knows of the query heads that it works for. */
template <int GROUP> struct queries {
    float q[GROUP][VECTOR];               // scale * q, the columns of this lane
    float slope[(GROUP - 1) / BATCH + 1]; // ALiBi, of this lane's head in each batch; 0 for none
};

/**
 * What was found in the keys seen so far. The rows of a warp see different keys: each has its own sums and
 * pairs, until merge_rows(). In a row each lane holds VECTOR columns of the sums, and the score of one
 * (head, key) at a time, so it has one pair a batch: m is that of its head, l counts its own keys.
 */
template <int GROUP> struct partial {
    float sum[GROUP][VECTOR]; // of exp(score - m) * v
    struct softmax_pair pair[(GROUP - 1) / BATCH + 1];
};

/** What the warps of a block leave for each other. */
template <int HEAD_DIM, int GROUP> struct found {
    struct softmax_pair pair[WARPS][GROUP];
    alignas(16) float sum[WARPS][GROUP][HEAD_DIM];
};

/** How a warp is laid over STEP_KEYS keys: ROWS of them at once, LANES lanes each, LOADS times. */
template <int HEAD_DIM, int GROUP> struct layout {
    enum {
        LANES = HEAD_DIM / VECTOR,
        ROWS = WARP / LANES,
        LOADS = STEP_KEYS / ROWS,
        HEADS = GROUP < BATCH ? GROUP : BATCH, // whose scores are added up together
        BATCHES = GROUP / HEADS,
        SCORES = HEADS * LOADS,  // of a row, in a batch: number head * LOADS + load
        SPREAD = LANES / SCORES, // lanes that hold the same score after fold()
        PER_HEAD = LANES / HEADS // lanes that hold scores of the same head
    };
    static_assert(SCORES <= LANES, "a lane holds one score");
    static_assert(BATCHES * HEADS == GROUP, "every batch is full");
};

/** Eight halves as floats. */
__device__ inline void to_floats(float x[VECTOR], const uint4 *halves)
{
    const __half2 *pair = (const __half2 *)halves;
    for (int i = 0; i < VECTOR / 2; i++) {
        float2 two = __half22float2(pair[i]);
        x[2 * i] = two.x;
        x[2 * i + 1] = two.y;
    }
}

/** Loads what this lane needs of the block's query heads; heads that the block does not have get zeros. */
template <int HEAD_DIM, int GROUP>
__device__ inline void load_queries(struct queries<GROUP> *query, const struct paged_attention_args &args,
                                    const struct share &share, float scale)
{
    using shape = struct layout<HEAD_DIM, GROUP>;
    int lane = (int)threadIdx.x % shape::LANES;
    size_t row = (size_t)share.b * args.heads + share.first_head;
    const __half *q_row = (const __half *)args.q + row * HEAD_DIM; // [share.heads, HEAD_DIM]
    for (int g = 0; g < GROUP; g++) {
        uint4 halves = make_uint4(0, 0, 0, 0);
        if (g < share.heads) halves = *(const uint4 *)(q_row + (size_t)g * HEAD_DIM + lane * VECTOR);
        to_floats(query->q[g], &halves);
        for (int i = 0; i < VECTOR; i++) query->q[g][i] *= scale;
    }
    for (int batch = 0; batch < shape::BATCHES; batch++) {
        int g = batch * shape::HEADS + lane / shape::PER_HEAD;
        int biased = args.alibi_slopes != NULL && g < share.heads;
        query->slope[batch] = biased ? args.alibi_slopes[share.first_head + g] : 0.0f;
    }
}

/**
 * Loads this lane's part of STEP_KEYS rows of K or V, 16 bytes of each; of rows behind the @p left, zeros.
 */
template <int HEAD_DIM>
__device__ inline void load_rows(uint4 *part,        // [LOADS]
                                 const __half *from, // this lane's columns of its row of the warp
                                 size_t row_elems, int left)
{
    // [student: load_rows]
    /* TODO: part[i] = the 16 bytes at row i * ROWS of from, as one uint4. This lane's row number in step is
     * i * ROWS + its row of the warp: if that is not below left, do not read, but put zeros. */
    for (int i = 0; i < layout<HEAD_DIM, 1>::LOADS; i++) part[i] = make_uint4(0, 0, 0, 0);
    (void)from, (void)row_elems, (void)left;
    // [/student]
}

/**
 * Adds up COUNT values over LANES lanes with COUNT - 1 shuffles and a few: at each step two lanes that are
 * to add up the same values share the work, half of the values each. Lane number i of the row is left with
 * sum number i / (LANES / COUNT). All lanes must call it.
 */
template <int COUNT, int LANES> __device__ inline float fold(float x[COUNT])
{
    // [student: fold]
    /* TODO: begin with distance LANES / 2. Of the values that are left, a lane with that bit set keeps the
     * upper half and gives the lower half to the lane across (__shfl_xor_sync); the other does the reverse.
     * Halve, and go on. With one value left, both lanes simply add up. Correct first: let every lane add up
     * all values over all lanes, and return the one with number lane / (LANES / COUNT). */
    return x[0];
    // [/student]
}

/**
 * The scores of STEP_KEYS keys: turns them into weights p = exp(score - m), one a lane and batch, and
 * corrects what was summed up so far where m has grown.
 */
template <int HEAD_DIM, int GROUP>
__device__ inline void add_scores(struct partial<GROUP> *part, const struct queries<GROUP> *query,
                                  const uint4 *k, // [LOADS]
                                  float *p,       // [BATCHES]
                                  int left,       // keys of this step that there are
                                  int place) // of the first key, from the last of the sequence: 0 or less
{
    // [student: add_scores]
    /* TODO: for each batch of heads: the dot products of this lane's columns, number head * LOADS + load;
     * fold() them, so that this lane holds one score, number lane / SPREAD; add the ALiBi term; -infinity for
     * a key that is not there. The maximum of the lanes of the same head, then lesson 03: new m, correction,
     * p, l. Last, every sum of every head is corrected by the factor that a lane of that head holds
     * (__shfl_sync with width LANES). */
    for (int i = 0; i < layout<HEAD_DIM, GROUP>::BATCHES; i++) p[i] = 0.0f;
    (void)part, (void)query, (void)k, (void)left, (void)place;
    // [/student]
}

/** Adds STEP_KEYS values, each times its weight, to the sums of all heads. */
template <int HEAD_DIM, int GROUP>
__device__ inline void add_values(struct partial<GROUP> *part,
                                  const uint4 *v, // [LOADS]
                                  const float *p) // [BATCHES]
{
    // [student: add_values]
    /* TODO: sum[g] += p * v for every head g and every load. The weight of (head, load) is held by lane
     * (head * LOADS + load) * SPREAD of the row, head counted within its batch. */
    (void)part, (void)v, (void)p;
    // [/student]
}

/** Merges what the rows of a warp have found for head @p g; the first row is left with the sum of all. */
template <int HEAD_DIM, int GROUP>
__device__ inline struct softmax_pair merge_rows(struct partial<GROUP> *part, int g)
{
    // [student: merge_rows]
    /* TODO: the pair of head g: add up l over the lanes that hold scores of it, each score once (SPREAD lanes
     * hold the same), then let all lanes of the row know m and l. Then merge with the rows LANES, 2 * LANES,
     * ... lanes away: pairs and sums. */
    return part->pair[g / layout<HEAD_DIM, GROUP>::HEADS];
    // [/student]
}

/**
 * The block's warps go through its keys, STEP_KEYS at a time, and leave what they found. A barrier must
 * follow.
 */
template <int HEAD_DIM, int GROUP>
__device__ inline void attend(struct found<HEAD_DIM, GROUP> *found, const struct paged_attention_args &args,
                              const struct share &share, float scale)
{
    // [student: attend]
    /* TODO: load_queries(), and nothing seen yet. This warp's steps begin at keys begin + warp * STEP_KEYS
     * and are WARPS * STEP_KEYS apart: look up the page, load K and V, add_scores(), add_values(). At the
     * end merge_rows() for every head and leave pairs and sums in *found. When it works: ask for the next K
     * before the values of this step are added. */
    (void)found, (void)args, (void)share, (void)scale;
    // [/student]
}

/** Merges what the warps found for query head @p g: the pair of all, and column @p d of the sum. */
template <int HEAD_DIM, int GROUP>
__device__ inline float merge_warps(const struct found<HEAD_DIM, GROUP> *found, int g, int d,
                                    struct softmax_pair *all)
{
    // [student: merge_warps]
    /* TODO: lesson 03 once more: the pair of all warps, and the sum of their sums, each corrected. */
    (void)found, (void)g, (void)d;
    all->m = all->l = 0.0f;
    return 0.0f;
    // [/student]
}

/* ---- part "v1" -------------------------------------------------------------------------------------- */

/** One block, one query head of one sequence, all keys. */
template <int HEAD_DIM>
__global__ void __launch_bounds__(THREADS) v1_kernel(struct paged_attention_args args, float scale)
{
    // [student: v1_kernel]
    /* TODO: fill in a struct share with all keys of this block's sequence. If *device_status is KERNEL_OK:
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
    /* TODO: launch v1_kernel<head_dim> with one block a (sequence, query head). */
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/* ---- part "v2" -------------------------------------------------------------------------------------- */

/** How the work is split over blocks. The host decides it without knowing context_lens. */
struct split {
    int heads;      // query heads a block serves, 1 .. GROUP_MAX
    int chunks;     // blocks that share the group of a K/V head: 1, unless the group is larger than GROUP_MAX
    int keys;       // keys of a partition
    int partitions; // of max_context_len keys
};

/** Multiprocessors of the current device. Asking does not wait for it. */
static int multiprocessors(void)
{
    int device = 0, count = 0;
    if (cudaGetDevice(&device) != cudaSuccess) return 1;
    if (cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) return 1;
    return count > 0 ? count : 1;
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
     * multiprocessors() asks for. */
    (void)args, (void)multiprocessors();
    split.heads = split.chunks = split.keys = split.partitions = 1;
    // [/student]
    return split;
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

/** Partial sums in the workspace: [batch, heads, partitions, head_dim]. */
__host__ __device__ inline float *partial_sums(const struct paged_attention_args &args)
{
    return (float *)args.workspace;
}

/** Partial pairs in the workspace, behind the sums: [batch, heads, partitions]. */
__host__ __device__ inline struct softmax_pair *partial_pairs(const struct paged_attention_args &args,
                                                              int partitions)
{
    size_t results = (size_t)args.batch * args.heads * partitions;
    return (struct softmax_pair *)(partial_sums(args) + results * args.head_dim);
}

/** One block, one partition, all query heads of a K/V head: K and V come once. Leaves partial results. */
template <int HEAD_DIM, int GROUP>
__global__ void __launch_bounds__(THREADS, GROUP <= BATCH ? BLOCKS_PER_SM : BLOCKS_PER_SM / 2)
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
 * Launches both kernels for one head_dim. Registers for a group must be known when compiling: 1, 2, 4 or 8.
 */
template <int HEAD_DIM>
static void launch_v2(const struct paged_attention_args *args, struct split split, cudaStream_t stream)
{
    // [student: v2_launch]
    /* TODO: partition_kernel<HEAD_DIM, 1, 2, 4 or 8>, one block a (sequence, partition, K/V head, chunk of
     * its group); behind it merge_kernel<HEAD_DIM>, one block a (sequence, query head). */
    (void)args, (void)split, (void)stream;
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
