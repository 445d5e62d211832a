// Generated, but for what stands between [student: ...] and [/student]: that is yours.
// [student: head]
/*
 * TODO (student): when it works, say here in your own words what stays in registers, and what crosses warps and blocks.
 */
// [/student]
#include "attention_backward.h"

#include "backward_plan.h"    // the workspace, and which block does what
#include "backward_tiles.h"   // sizes, and what lies in shared memory
#include "matrix_fragments.h" // fragments and mma.sync
#include "warp_reduce.h"

/* ---- before: D, and zeros to add to ------------------------------------------------------------------- */

/** The terms of every row, and if blocks will add by atomics, zeros into its accumulator. */
template <typename T, int HEAD_DIM>
__global__ void __launch_bounds__(ROW_THREADS)
    prepare_kernel(struct attention_backward_args args, struct backward_plan plan)
{
    // [student: prepare_kernel]
    // TODO (student): the row that this warp has, counted with the padding of plan.q_tiles * TILE_Q rows per head. D, the
    // sum of dout * out over its columns; plan.terms of it, {infinity, 0} for rows past the end and rows that see nothing.
    // If dq is wanted and blocks add by atomics: zeros into its HEAD_DIM accumulators.
    (void)args;
    (void)plan;
    // [/student]
}

/** A warp per padded row. */
template <typename T, int HEAD_DIM>
static void prepare(const struct attention_backward_args *args, const struct backward_plan &plan,
                    cudaStream_t stream)
{
    int blocks = args->batch * args->heads * plan.q_tiles * (TILE_Q / ROW_WARPS);
    prepare_kernel<T, HEAD_DIM><<<(unsigned)blocks, ROW_THREADS, 0, stream>>>(*args, plan);
}

/* ---- f32: a block of 8 by 16 threads has 32 keys ------------------------------------------------------- */

/** P and dS of a tile. What the mask hides, and what is past the end, is 0. */
template <int HEAD_DIM>
__device__ inline void f32_scores(const struct attention_backward_args &args, const struct row_terms *terms,
                                  int first_query, int first_key, float scale,
                                  struct f32_tiles<HEAD_DIM> *tiles)
{
    // [student: f32_scores]
    // TODO (student): S = Q K^T and dP = dO V^T of this thread's rows and keys; P = exp2(S * scale * LOG2_E - lse) and
    // dS = P * (dP - D) into shared memory, 0 where the query does not see the key.
    (void)args;
    (void)terms;
    (void)first_query;
    (void)first_key;
    (void)scale;
    (void)tiles;
    // [/student]
}

/** sum += weights^T rows: over the queries of the tile. */
template <int HEAD_DIM>
__device__ inline void f32_multiply(float sum[F32_KEYS][f32_sizes<HEAD_DIM>::COLUMNS],
                                    const float (*weights)[F32_TILE_KV + 1],
                                    const float (*rows)[HEAD_DIM + PAD])
{
    // [student: f32_multiply]
    // TODO (student): this thread's keys are down + i * F32_DOWN, its columns across + c * F32_ACROSS.
    (void)sum;
    (void)weights;
    (void)rows;
    // [/student]
}

/** dQ / scale of a tile, dS K, goes to row-major @p accumulator. */
template <int HEAD_DIM>
__device__ inline void f32_add_dq(float *accumulator, const struct f32_tiles<HEAD_DIM> *tiles,
                                  int deterministic, int first_visit)
{
    // [student: f32_add_dq]
    // TODO (student): this thread's rows and columns of dS K, then accumulate() each.
    (void)accumulator;
    (void)tiles;
    (void)deterministic;
    (void)first_visit;
    // [/student]
}

/** This block's tiles of keys, one after another: dK and dV of each, and its addends of dQ. */
template <int HEAD_DIM>
__global__ void __launch_bounds__(F32_THREADS)
    f32_kernel(struct attention_backward_args args, struct backward_plan plan, float scale)
{
    // [student: f32_kernel]
    // TODO (student): for each tile of keys of this block: load K and V; for each tile of queries of the walk, of every head of
    // the group: load Q and dO, f32_scores(), dV += P^T dO, dK += dS^T Q, f32_add_dq(); in the end write dK * scale and dV.
    (void)args;
    (void)plan;
    (void)scale;
    // [/student]
}

/* ---- f16 and bf16: a warp has 16 or 32 keys ------------------------------------------------------------ */

/**
 * sum += K Q^T: this warp's keys by SUB queries from @p first_query of the tile on; V dO^T likewise. @p keys and @p queries
 * are the block's tiles.
 */
template <typename T, int HEAD_DIM, int WARPS>
__device__ inline void multiply_rows(typename tensor_sizes<HEAD_DIM, WARPS>::scores &sum, const T *keys,
                                     const T *queries, int first_query)
{
    // [student: multiply_rows]
    // TODO (student): for every 16 columns: load_a() of this warp's keys, load_b_transposed() of the queries, multiply_add().
    (void)sum;
    (void)keys;
    (void)queries;
    (void)first_query;
    // [/student]
}

/**
 * S^T becomes P^T, and dP^T becomes dS^T. What the mask hides, and what is past the end, is 0. @p first_key is the first of the
 * block's tile, @p first_query the first of the SUB queries, both counted in their head; @p terms begins at that query.
 */
template <typename T, int HEAD_DIM, int WARPS>
__device__ inline void weigh(const struct attention_backward_args &args, const struct row_terms *terms,
                             int first_key, int first_query, float scale,
                             typename tensor_sizes<HEAD_DIM, WARPS>::scores &s,
                             typename tensor_sizes<HEAD_DIM, WARPS>::scores &dp)
{
    // [student: weigh]
    // TODO (student): as f32_scores(), for the keys (rows) and queries (columns) of this lane's elements of C.
    (void)args;
    (void)terms;
    (void)first_key;
    (void)first_query;
    (void)scale;
    (void)s;
    (void)dp;
    // [/student]
}

/** sum += weights rows: P^T dO, dS^T Q. The weights are C of one product and A of the next, in the same lane. */
template <typename T, int HEAD_DIM, int WARPS>
__device__ inline void add_rows(typename tensor_sizes<HEAD_DIM, WARPS>::sums &sum,
                                const typename tensor_sizes<HEAD_DIM, WARPS>::scores &weights,
                                const T *queries, int first_query)
{
    // [student: add_rows]
    // TODO (student): for every 16 queries: pack() the weights of two C into an A; load_b() of the queries' rows.
    (void)sum;
    (void)weights;
    (void)queries;
    (void)first_query;
    // [/student]
}

/** dQ / scale of the tile of a step, dS K: a warp has 32 queries by DQ_COLUMNS. Register r goes to element r * THREADS + thread. */
template <typename T, int HEAD_DIM, int WARPS>
__device__ inline void add_dq(const struct attention_backward_args &args, const struct backward_plan &plan,
                              const struct walk &walk, int step,
                              const struct tensor_tiles<T, HEAD_DIM, WARPS> *tiles)
{
    // [student: add_dq]
    // TODO (student): for every 16 keys: load_a_transposed() of dS^T, load_b() of K; in the end accumulate() each register.
    (void)args;
    (void)plan;
    (void)walk;
    (void)step;
    (void)tiles;
    // [/student]
}

/** A tile of keys: all queries that see it, then dK and dV. */
template <typename T, int HEAD_DIM, int WARPS>
__device__ inline void tensor_tile(const struct attention_backward_args &args,
                                   const struct backward_plan &plan, const struct walk &walk, float scale,
                                   struct tensor_tiles<T, HEAD_DIM, WARPS> *tiles)
{
    // [student: tensor_tile]
    // TODO (student): for each step of the walk: wait for its copies and begin those of the next; for each SUB queries S^T,
    // dP^T, weigh(), dV += P^T dO, dS^T to shared memory, dK += dS^T Q. Then dQ, when all warps have stored their dS^T: in this
    // step, or with two DS_STAGES in the next one.
    (void)args;
    (void)plan;
    (void)walk;
    (void)scale;
    (void)tiles;
    // [/student]
}

/** As f32_kernel(), on tensor cores: copies begin here, tensor_tile() does the rest. */
template <typename T, int HEAD_DIM, int WARPS>
__global__ void __launch_bounds__(WARPS * 32, tensor_sizes<HEAD_DIM, WARPS>::BLOCKS)
    tensor_kernel(struct attention_backward_args args, struct backward_plan plan, float scale)
{
#if HAS_MATRIX_FRAGMENTS
    // [student: tensor_kernel]
    // TODO (student): for each tile of keys of this block: begin to copy K, V and the first tile of queries; tensor_tile().
    (void)args;
    (void)plan;
    (void)scale;
    // [/student]
#endif
}

/* ---- after: dq from its accumulators ------------------------------------------------------------------- */

/** Two elements of dq per thread. The slices are added in their order: so the sum has the same bits every time. */
template <typename T, int HEAD_DIM, int WARPS>
__global__ void __launch_bounds__(ROW_THREADS)
    finish_kernel(struct attention_backward_args args, struct backward_plan plan, float scale, int tile_kv)
{
    // [student: finish_kernel]
    // TODO (student): the sum of this pair over the slices that a block has written for this tile of queries (a slice whose first
    // K/V tile none of them sees was never written), times scale, into dq.
    (void)args;
    (void)plan;
    (void)scale;
    (void)tile_kv;
    // [/student]
}

/** A thread per two elements of dq; nothing without dq. WARPS is that of tensor_kernel, 0 for f32_kernel. */
template <typename T, int HEAD_DIM, int WARPS>
static enum kernel_status finish(const struct attention_backward_args *args, const struct backward_plan &plan,
                                 int tile_kv, cudaStream_t stream)
{
    int blocks = args->batch * args->heads * plan.q_tiles * (TILE_Q * HEAD_DIM / 2 / ROW_THREADS);
    if (args->dq != NULL)
        finish_kernel<T, HEAD_DIM, WARPS>
            <<<(unsigned)blocks, ROW_THREADS, 0, stream>>>(*args, plan, backward_scale(args), tile_kv);
    return launch_status();
}

/* ---- entry points ------------------------------------------------------------------------------------- */

/** The three kernels of f32. */
template <int HEAD_DIM>
static enum kernel_status launch_f32(const struct attention_backward_args *args, cudaStream_t stream)
{
    // [student: launch_f32]
    // TODO (student): make_plan(); ask for the shared memory of struct f32_tiles; prepare(); plan.steps blocks for each K/V
    // head of each sequence; return what finish() says.
    (void)args;
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/** The three kernels of f16 or bf16. */
template <typename T, int HEAD_DIM, int WARPS>
static enum kernel_status launch_tensor(const struct attention_backward_args *args, cudaStream_t stream)
{
    // [student: launch_tensor]
    // TODO (student): as launch_f32(), with the sizes and the kernel of tensor cores.
    (void)args;
    (void)stream;
    return KERNEL_NOT_STARTED;
    // [/student]
}

/** The kernels of a storage type. Where a block cannot have the memory of 8 warps, 4 warps have half as many keys. */
template <typename T, int HEAD_DIM>
static enum kernel_status launch(const struct attention_backward_args *args, cudaStream_t stream)
{
    if constexpr (sizeof(T) == sizeof(float))
        return launch_f32<HEAD_DIM>(args, stream);
    else if (HEAD_DIM == 128 && device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) >=
                                    (int)sizeof(struct tensor_tiles<T, 128, 8>))
        return launch_tensor < T, HEAD_DIM, HEAD_DIM == 128 ? 8 : 4 > (args, stream);
    else
        return launch_tensor<T, HEAD_DIM, 4>(args, stream);
}

/** Checks the arguments and finds the kernels for head_dim. */
template <typename T>
static enum kernel_status backward(const struct attention_backward_args *args, enum dtype dtype,
                                   cudaStream_t stream)
{
    enum kernel_status status = attention_backward_args_check(args, sizeof(uint4), 0);
    if (status != KERNEL_OK) return status;
    if (args->dtype != dtype) return KERNEL_UNSUPPORTED_DTYPE;
    if (args->head_dim != 32 && args->head_dim != 64 && args->head_dim != 128)
        return KERNEL_INVALID_DIMENSION;
    if (dtype != DTYPE_F32 && device_attribute(cudaDevAttrComputeCapabilityMajor) < 8)
        return KERNEL_UNSUPPORTED_ARCHITECTURE;
    status = attention_backward_args_check(args, sizeof(uint4), attention_backward_workspace_bytes(args));
    if (status != KERNEL_OK) return status;
    switch (args->head_dim) { // tile sizes must be known when compiling
    case 32:
        return launch<T, 32>(args, stream);
    case 64:
        return launch<T, 64>(args, stream);
    default:
        return launch<T, 128>(args, stream);
    }
}

size_t attention_backward_workspace_bytes(const struct attention_backward_args *args)
{
    // [student: workspace_bytes]
    // TODO (student): row_terms of every padded row; if dq is wanted, count_slices() accumulators of head_dim floats.
    (void)args;
    return 0;
    // [/student]
}

enum kernel_status attention_backward_f32(const struct attention_backward_args *args, cudaStream_t stream)
{
    return backward<float>(args, DTYPE_F32, stream);
}

enum kernel_status attention_backward_f16(const struct attention_backward_args *args, cudaStream_t stream)
{
    return backward<__half>(args, DTYPE_F16, stream);
}

enum kernel_status attention_backward_bf16(const struct attention_backward_args *args, cudaStream_t stream)
{
    return backward<__nv_bfloat16>(args, DTYPE_BF16, stream);
}
