/**
 * @file backward_steps.h
 * @brief Lesson 14: the functions that attention_backward.cu consists of, in the order of their calls, and what is given of the
 *        way from an entry point to them.
 */
#ifndef WARPWISE_BACKWARD_STEPS_H
#define WARPWISE_BACKWARD_STEPS_H

#include "attention_backward.h"
#include "backward_plan.h"
#include "backward_tiles.h"

/* ---- in attention_backward.cu -------------------------------------------------------------------------- */

/** The three kernels of f32. */
template <int HEAD_DIM>
static enum kernel_status launch_f32(const struct attention_backward_args *args, cudaStream_t stream);
/** The three kernels of f16 or bf16. */
template <typename T, int HEAD_DIM, int WARPS>
static enum kernel_status launch_tensor(const struct attention_backward_args *args, cudaStream_t stream);
template <typename T, int HEAD_DIM>
__global__ void prepare_kernel(struct attention_backward_args args, struct backward_plan plan);
template <int HEAD_DIM>
__global__ void f32_kernel(struct attention_backward_args args, struct backward_plan plan, float scale);
template <int HEAD_DIM>
__device__ inline void f32_scores(const struct attention_backward_args &args, const struct row_terms *terms,
                                  int first_query, int first_key, float scale,
                                  struct f32_tiles<HEAD_DIM> *tiles);
template <int HEAD_DIM>
__device__ inline void f32_multiply(float sum[F32_KEYS][f32_sizes<HEAD_DIM>::COLUMNS],
                                    const float (*weights)[F32_TILE_KV + 1],
                                    const float (*rows)[HEAD_DIM + PAD]);
template <int HEAD_DIM>
__device__ inline void f32_add_dq(float *accumulator, const struct f32_tiles<HEAD_DIM> *tiles,
                                  int deterministic, int first_visit);
template <typename T, int HEAD_DIM, int WARPS>
__global__ void tensor_kernel(struct attention_backward_args args, struct backward_plan plan, float scale);
template <typename T, int HEAD_DIM, int WARPS>
__device__ inline void tensor_tile(const struct attention_backward_args &args,
                                   const struct backward_plan &plan, const struct walk &walk, float scale,
                                   struct tensor_tiles<T, HEAD_DIM, WARPS> *tiles);
template <typename T, int HEAD_DIM, int WARPS>
__device__ inline void multiply_rows(typename tensor_sizes<HEAD_DIM, WARPS>::scores &sum, const T *keys,
                                     const T *queries, int first_query);
template <typename T, int HEAD_DIM, int WARPS>
__device__ inline void weigh(const struct attention_backward_args &args, const struct row_terms *terms,
                             int first_key, int first_query, float scale,
                             typename tensor_sizes<HEAD_DIM, WARPS>::scores &s,
                             typename tensor_sizes<HEAD_DIM, WARPS>::scores &dp);
template <typename T, int HEAD_DIM, int WARPS>
__device__ inline void add_rows(typename tensor_sizes<HEAD_DIM, WARPS>::sums &sum,
                                const typename tensor_sizes<HEAD_DIM, WARPS>::scores &weights,
                                const T *queries, int first_query);
template <typename T, int HEAD_DIM, int WARPS>
__device__ inline void add_dq(const struct attention_backward_args &args, const struct backward_plan &plan,
                              const struct walk &walk, int step,
                              const struct tensor_tiles<T, HEAD_DIM, WARPS> *tiles);
template <typename T, int HEAD_DIM, int WARPS>
__global__ void finish_kernel(struct attention_backward_args args, struct backward_plan plan, float scale,
                              int tile_kv);

/* ---- given: from an entry point to its kernels ---------------------------------------------------------- */

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

/** What comes first: a warp per padded row. */
template <typename T, int HEAD_DIM>
static void prepare(const struct attention_backward_args *args, const struct backward_plan &plan,
                    cudaStream_t stream)
{
    int blocks = args->batch * args->heads * plan.q_tiles * (TILE_Q / ROW_WARPS);
    prepare_kernel<T, HEAD_DIM><<<(unsigned)blocks, ROW_THREADS, 0, stream>>>(*args, plan);
}

/** What comes last: a thread per two elements of dq; nothing without dq. WARPS is that of tensor_kernel, 0 for f32_kernel. */
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

#endif
