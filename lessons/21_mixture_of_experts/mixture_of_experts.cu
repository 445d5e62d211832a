// Generated, but for what stands between [student: ...] and [/student]: that is yours.
// [student: head]
/*
 * Lesson 21: the file you write. Read README.md beside it, then fill in what stands between the lines
 * `[student: ...]` and `[/student]`, in the order of the page. Everything else is given: leave it as it is.
 * You may add functions and constants inside your regions and declare shared memory as you like.
 *
 *     build/bin/warpwise check 21                 judges what is there
 *     build/bin/warpwise check 21 --case NAME     looks at one case
 */
// [/student]
#include "mixture_of_experts.h"

#include <limits.h>
#include <math.h>

#include "expert_tiles.h" // sizes, what a block shares, and lesson 15's loop over k
#include "kernel_launch.h"
#include "layer_workspace.h"

enum {
    ROUTE_WARPS = 4,              // of a block: a token each
    LOGITS = MOST_EXPERTS / WARP, // of a lane
    GROUP_WARPS = 32,             // of a block at most: they share the pairs out
    COPY_THREADS = 256            // of a block that gathers or returns a token, at most
};

/** An expert that a token could take. */
struct choice {
    float logit;
    int expert;
};

/* ---- routing ------------------------------------------------------------------------------------------- */

/** 1 if @p a is to be taken before @p b. */
__device__ inline int comes_first(struct choice a, struct choice b)
{
    // [student: comes_first]
    // TODO: the larger logit; of equal ones the smaller index.
    (void)a, (void)b;
    return 0;
    // [/student]
}

/** The choice that comes first of those of a warp's lanes. All 32 lanes must call it. */
__device__ inline struct choice first_of_warp(struct choice mine)
{
    // [student: first_of_warp]
    // TODO: in five steps each lane asks another one for its choice, and keeps what comes first.
    return mine;
    // [/student]
}

/** A warp, a token: lane l has the logits of experts l, l + 32 and so on, and in the end choice number l. */
__global__ void route_kernel(const float *logits, // [tokens, experts]
                             int *chosen,         // [tokens, top_k]
                             float *weights,      // [tokens, top_k]
                             int tokens, int experts, int top_k, int renormalise)
{
    // [student: route_kernel]
    wait_for_kernel_before();
    // TODO: the largest logit and the sum of exp(x - largest); top_k rounds in which the lanes agree on the next choice; weights.
    (void)logits, (void)chosen, (void)weights, (void)tokens, (void)experts, (void)top_k, (void)renormalise;
    // [/student]
}

/* ---- pairs by expert ------------------------------------------------------------------------------------- */

/** A block, an expert: its first row is the number of pairs of smaller experts; then each of its pairs gets the next row. */
__global__ void __launch_bounds__(GROUP_WARPS *WARP) group_kernel(const int *chosen, // [pairs]
                                                                  int *offsets,      // [experts + 1]
                                                                  int *row_of,       // [pairs]
                                                                  int pairs, int experts)
{
    // [student: group_kernel]
    wait_for_kernel_before();
    // TODO: each warp counts in its share of the pairs; what all warps counted says where this expert's rows begin, and those of each
    // warp; then each warp goes through its share again and gives its pairs of this expert the next rows.
    (void)chosen, (void)offsets, (void)row_of, (void)pairs, (void)experts;
    // [/student]
}

/** A block, a token: its row of x goes to the rows of all its pairs. */
__global__ void gather_kernel(const uint4 *x,    // [tokens, chunks]
                              const int *row_of, // [tokens, top_k]
                              uint4 *rows,       // [tokens * top_k, chunks]
                              int top_k, int chunks)
{
    // [student: gather_kernel]
    wait_for_kernel_before();
    // TODO: read each 16 bytes of the token's row once, and write them to the rows of all its pairs.
    (void)x, (void)row_of, (void)rows, (void)top_k, (void)chunks;
    // [/student]
}

/* ---- the product of many rows ------------------------------------------------------------------------------ */

/** Fills first[e] with the number of tiles of the experts before e; first[experts] is that of all. Ends with a barrier. */
__device__ inline void count_tiles(int *first, const struct product &p)
{
    // [student: count_tiles]
    // TODO: one warp adds up the tiles of all experts, 32 at a time; then a barrier.
    (void)first, (void)p;
    // [/student]
}

/** Tile number @p index: of the last expert whose first tile is not after it. Tiles below each other share rows of w. */
__device__ inline struct tile find_tile(const int *first, const struct product &p, int index)
{
    // [student: find_tile]
    // TODO: which expert has it? Which of the expert's rows and columns are its own?
    (void)first, (void)p, (void)index;
    return {0, 0, 0, 0};
    // [/student]
}

/** One thread loads all slices of all tiles of its block, as soon as their stages are empty. */
__device__ inline void load_tiles(const struct product &p, const struct shared_memory &s)
{
    // [student: load_tiles]
    // TODO: for each tile and slice wait until the stage is empty, announce its bytes, start three copies: A, and both halves of w.
    (void)p, (void)s;
    // [/student]
}

/**
 * Writes 64 columns of a warp's 16 rows, by way of @p buffer: what no expert's row or column is stays as it was. @p row is the
 * first of the warpgroup's 64 rows, of which @p rows exist.
 */
template <typename T>
__device__ inline void write_columns(const struct product &p, char *buffer, const float sum[32], int row,
                                     int rows, int column)
{
    // [student: write_columns]
    // TODO: stage_columns(), then 16 bytes per lane from the buffer to C, where the row and the column exist.
    (void)p, (void)buffer, (void)sum, (void)row, (void)rows, (void)column;
    // [/student]
}

/** A warpgroup multiplies 64 rows of every tile of its block, and writes those that exist. */
template <typename T, int SWIGLU>
__device__ inline void multiply_tiles(const struct product &p, const struct shared_memory &s)
{
    // [student: multiply_tiles]
    // TODO: for each tile 64 rows of it: skip them if none exists, else multiply, apply swiglu() and write 64 columns at a time.
    (void)p, (void)s;
    // [/student]
}

/** One block per SM, tile after tile: a producer and two consumers, as in lesson 15. */
template <typename T, int SWIGLU>
__global__ void __launch_bounds__(THREADS, 1) product_kernel(const __grid_constant__ struct product p)
{
#if HOPPER_CODE
    extern __shared__ __align__(1024) char shared[];
    uint64_t *barriers = (uint64_t *)(shared + BARRIERS_AT);
    struct shared_memory s = {shared, shared + OUT_AT, barriers, barriers + STAGES,
                              (int *)(shared + FIRST_AT)};
    start_barriers(s);
    count_tiles(s.first, p); // its barrier is that of the mbarriers, too
    if (threadIdx.x < WARPGROUP) {
        registers_down_to<PRODUCER_REGISTERS>();
        if (threadIdx.x == 0) load_tiles(p, s);
    } else {
        registers_up_to<CONSUMER_REGISTERS>();
        multiply_tiles<T, SWIGLU>(p, s);
    }
#endif
}

/** A block per SM: all of them have something to do, or find that there are fewer tiles. */
template <typename T, int SWIGLU>
static enum kernel_status launch_many(const struct grouped_gemm_args *args, cudaStream_t stream)
{
    // [student: launch_many]
    // TODO: describe_product(), then one block per SM with SHARED_BYTES of shared memory: launch_in_clusters(), clusters of 1.
    (void)args, (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/* ---- the product of few rows ------------------------------------------------------------------------------- */

/**
 * A warp's share of k, of 16 + 16 rows of w times 8 rows of A: fragments straight from memory, 16 bytes of a row per lane. Which
 * of the eight k of a lane a product takes first does not matter, if A and w agree. @p line is the first row of w, counted over
 * all experts; @p lines: how many the expert has from there on, with swiglu of gate; @p row and @p rows: the same of A.
 */
template <typename T, int SWIGLU>
__device__ inline void multiply_few(float sum[2][4], const struct grouped_gemm_args &args, size_t line,
                                    int lines, int row, int rows)
{
    // [student: multiply_few]
    // TODO: this warp's steps along k: a chunk of A, four of w, and two products for each of the two 16 rows of w.
    (void)sum, (void)args, (void)line, (void)lines, (void)row, (void)rows;
    // [/student]
}

/** A block, 16 + 16 rows of w of one expert: 8 rows of A at a time, and k shared out among its warps. */
template <typename T, int SWIGLU>
__global__ void __launch_bounds__(FEW_THREADS) few_kernel(struct grouped_gemm_args args)
{
    // [student: few_kernel]
    wait_for_kernel_before();
    // TODO: which expert and which rows of w? For 8 rows at a time: multiply, add the warps' sums up in order, write what exists.
    (void)args;
    // [/student]
}

/** As many blocks as could have something to do: no more experts have rows than there are rows. */
template <typename T, int SWIGLU>
static enum kernel_status launch_few(const struct grouped_gemm_args *args, cudaStream_t stream)
{
    // [student: launch_few]
    // TODO: a block for each piece of the rows of w, times as many experts as could have rows.
    (void)args, (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/* ---- back to tokens ---------------------------------------------------------------------------------------- */

/** A block, a token: the weighted sum of the rows of its pairs, in the order of its choices; 8 columns per thread. */
template <typename T>
__global__ void return_kernel(const uint4 *rows,    // [tokens * top_k, chunks]
                              const int *row_of,    // [tokens, top_k]
                              const float *weights, // [tokens, top_k]
                              uint4 *out,           // [tokens, chunks]
                              int top_k, int chunks)
{
    // [student: return_kernel]
    wait_for_kernel_before();
    // TODO: eight columns per thread: the sum over the token's choices, in order, of weight times row; rounded once.
    (void)rows, (void)row_of, (void)weights, (void)out, (void)top_k, (void)chunks;
    // [/student]
}

/* ---- entry points -------------------------------------------------------------------------------------- */

enum kernel_status experts_route(const float *logits, int *chosen, float *weights, int tokens, int experts,
                                 int top_k, int renormalise, cudaStream_t stream)
{
    enum kernel_status status =
        experts_route_check(logits, chosen, weights, tokens, experts, top_k, renormalise);
    if (status != KERNEL_OK) return status;
    if (!is_hopper()) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    // [student: launch_route]
    // TODO: a warp per token, ROUTE_WARPS of them in a block: launch_early().
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

enum kernel_status experts_group(const int *chosen, int *offsets, int *row_of, int pairs, int experts,
                                 cudaStream_t stream)
{
    enum kernel_status status = experts_group_check(chosen, offsets, row_of, pairs, experts);
    if (status != KERNEL_OK) return status;
    if (!is_hopper()) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    // [student: launch_group]
    // TODO: a block per expert, of as many warps as there are 32 pairs for, at most GROUP_WARPS.
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/** Few rows per expert, and weights are what takes time: then blocks for every 16 of their rows. Else tiles of 128 rows. */
template <typename T>
static enum kernel_status launch_product(const struct grouped_gemm_args *args, cudaStream_t stream)
{
    int few = args->rows <= FEW_ROWS / 2 * args->experts;
    if (args->swiglu) return few ? launch_few<T, 1>(args, stream) : launch_many<T, 1>(args, stream);
    return few ? launch_few<T, 0>(args, stream) : launch_many<T, 0>(args, stream);
}

enum kernel_status experts_product(const struct grouped_gemm_args *args, cudaStream_t stream)
{
    enum kernel_status status = grouped_gemm_args_check(args);
    if (status != KERNEL_OK) return status;
    if (!is_hopper()) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    return args->dtype == DTYPE_F16 ? launch_product<__half>(args, stream)
                                    : launch_product<__nv_bfloat16>(args, stream);
}

size_t mixture_of_experts_workspace_bytes(const struct experts_args *args)
{
    struct scratch scratch;
    return args != NULL && experts_extents_fit(args) ? divide_workspace(args, NULL, &scratch) : 0;
}

enum kernel_status mixture_of_experts(const struct experts_args *args, cudaStream_t stream)
{
    struct scratch s;
    enum kernel_status status = experts_args_check(args, mixture_of_experts_workspace_bytes(args));
    if (status != KERNEL_OK) return status;
    if (!is_hopper()) return KERNEL_UNSUPPORTED_ARCHITECTURE;
    divide_workspace(args, (char *)args->workspace, &s);
    // [student: launch_layer]
    // TODO: route, group, gather, two products (product_in(), product_out()), return; stop at the first that fails.
    (void)s, (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}
