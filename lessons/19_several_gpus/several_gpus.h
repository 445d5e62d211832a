/**
 * @file several_gpus.h
 * @brief Lesson 19: one layer of a decoder, and attention over one long sequence, on several GPUs.
 *
 * Rank r of `ranks` is a GPU with a communicator, streams, and its share of the data: a *shard*. A process calls for `count` of the
 * ranks, those in `at`: for all of them (one process, several GPUs) or for one (a process per GPU). It calls an entry point once; the
 * processes of the other ranks call it with the same sizes.
 *
 * Nothing is allocated or waited for. NCCL's calls of one process for several ranks are grouped, so that none waits for the next.
 * @see https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/groups.html
 */
#ifndef WARPWISE_SEVERAL_GPUS_H
#define WARPWISE_SEVERAL_GPUS_H

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "kernel_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @brief Ranks at most. */
enum { MOST_GPUS = 8 };

/** @brief A rank that this process calls for. */
struct gpu_rank {
    int rank;        /**< which shard it has: 0 .. ranks - 1 */
    int device;      /**< for cudaSetDevice() */
    ncclComm_t comm; /**< its communicator, of all ranks */
    /** The entry point's work comes after what is there, and is over when this stream is done */
    cudaStream_t stream;
    cudaStream_t transfer; /**< another one, for transfers beside kernels: ring_attention() only */
    cudaEvent_t arrived;   /**< to be recorded in `transfer`: ring_attention() only */
    cudaEvent_t used;      /**< to be recorded in `stream`: ring_attention() only */
};

/** @brief All ranks that this process calls for. */
struct gpu_ranks {
    int ranks;                     /**< of the communicators: 1, 2, 4 or 8 */
    int count;                     /**< of `at` */
    struct gpu_rank at[MOST_GPUS]; /**< in any order of ranks */
};

/** @brief Sizes of a layer and of a step. `own` = heads / ranks * head_dim below. */
struct layer_sizes {
    int rows;     /**< tokens, each of a request of its own: 1 .. 65535 */
    int width;    /**< elements of x, a multiple of 4 */
    int heads;    /**< a multiple of ranks, at most 65535 */
    int head_dim; /**< a multiple of 4, at most 128 */
    int inner;    /**< hidden units of the MLP, a multiple of 4 * ranks */
    int position; /**< of the tokens: so many keys are in the cache before */
    int room;     /**< keys that the cache has room for, more than position */
};

/** @brief What a rank has of a layer, all on its device and aligned to 16 bytes. Weights are [outputs, inputs]. */
struct layer_shard {
    const float *qkv; /**< [3, own, width] query, key and value of heads rank * heads / ranks and following */
    const float *o;   /**< [width, own] the columns of these heads */
    const float *gate_up; /**< [2, inner / ranks, width] units rank * inner / ranks and following */
    const float *down;    /**< [width, inner / ranks] the columns of these units */
    float *cache;         /**< [2, rows, heads / ranks, room, head_dim] keys, then values of these heads */
    float *x;             /**< [rows, width] the whole state: the same bits on every rank, before and after */
    void *workspace;      /**< tensor_parallel_workspace_bytes() */
    size_t workspace_bytes; /**< of it */
};

/** @brief Shards of the ranks in gpu_ranks::at, in that order. */
struct layer_shards {
    struct layer_shard at[MOST_GPUS]; /**< the first gpu_ranks::count of them count */
};

/** @brief Sizes of attention over a sequence of ranks * part tokens. */
struct ring_sizes {
    int heads;    /**< at least 1 */
    int part;     /**< tokens of a rank: rank * part and following; at least 1 */
    int head_dim; /**< a multiple of 4, at most 128 */
    int causal;   /**< 1: query i sees keys 0 .. i of the whole sequence; 0: all */
    float scale;  /**< on every score; 0 stands for 1 / sqrt(head_dim) */
};

/** @brief What a rank has of the sequence, all on its device and aligned to 16 bytes. */
struct ring_part {
    const float *q;         /**< [heads, part, head_dim] */
    const float *k;         /**< [heads, part, head_dim] */
    const float *v;         /**< [heads, part, head_dim] */
    float *out;             /**< [heads, part, head_dim] */
    float *lse;             /**< [heads, part] logsumexp of all scores of a row */
    void *workspace;        /**< ring_attention_workspace_bytes() */
    size_t workspace_bytes; /**< of it */
};

/** @brief Parts of the ranks in gpu_ranks::at, in that order. */
struct ring_parts {
    struct ring_part at[MOST_GPUS]; /**< the first gpu_ranks::count of them count */
};

/**
 * @brief Bytes of scratch memory of each rank.
 * @return the size, no more than 4 * rows * (width + 2 * own + inner / ranks) + 1024: one activation; 0 if @p sizes is NULL or not
 *         valid for so many ranks
 */
size_t tensor_parallel_workspace_bytes(const struct layer_sizes *sizes, int ranks);

/**
 * @brief Takes the state of each row through a layer: x += W_o attention(W_q x, W_k x, W_v x), then
 *        x += W_down (silu(W_gate x) * W_up x). Each sum is of f32, norms and positions are left out.
 *
 * Keys and values of the rows are appended to the cache at `position`; a query sees positions 0 .. position of its own row, scores
 * times 1 / sqrt(head_dim).
 * @param[in] ranks  those that this process calls for
 * @param[in] sizes  the same on all ranks
 * @param[in] shards theirs
 * @return what tensor_parallel_check() says; ::KERNEL_CUDA_ERROR if a launch or a call of NCCL fails, as it does when another rank
 *         has died. A step that is refused leaves no trace; after an error x is of no use
 * @launch 7 kernels and 2 all-reduces per rank; one more kernel where a long context is cut into spans
 * @cost 2 operations per weight and row, shared out; each rank sends 2 * 2 (ranks - 1) / ranks * rows * width floats, no more
 * @see oracle: ref_layer_step() in reference/qwen3.h; Shoeybi and others 2019, Megatron-LM, section 3
 */
enum kernel_status tensor_parallel_step(const struct gpu_ranks *ranks, const struct layer_sizes *sizes,
                                        const struct layer_shards *shards);

/**
 * @brief Bytes of scratch memory of each rank.
 * @return the size, no more than 16 * heads * part * head_dim + 1024: K and V of two parts; 0 if there is one rank, or if @p sizes is
 *         NULL or not valid
 */
size_t ring_attention_workspace_bytes(const struct ring_sizes *sizes, int ranks);

/**
 * @brief Attention of the whole sequence: each rank gets the output of its own queries.
 *
 * K and V of the parts go round a ring, from rank r to rank r + 1, while each rank attends to those that it has. No rank holds more
 * than its own and two others. Scores are finite, or NaN.
 * @param[in] ranks  those that this process calls for
 * @param[in] sizes  the same on all ranks
 * @param[in] parts  theirs
 * @return what ring_attention_check() says; ::KERNEL_CUDA_ERROR if a launch or a call of NCCL fails, as it does when another rank
 *         has died. A call that is refused leaves no trace; after an error out and lse are of no use
 * @launch 1 kernel per part that a rank's queries see, ranks - 1 transfers
 * @cost 4 * heads * (ranks * part)^2 * head_dim operations, half of it if causal; each rank sends 2 (ranks - 1) * heads * part *
 *       head_dim floats
 * @see oracle: ref_attention() in reference/attention.h; Liu and others 2023, Ring Attention
 */
enum kernel_status ring_attention(const struct gpu_ranks *ranks, const struct ring_sizes *sizes,
                                  const struct ring_parts *parts);

#ifdef __cplusplus
}
#endif
#endif
