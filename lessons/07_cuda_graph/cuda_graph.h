/**
 * @file cuda_graph.h
 * @brief Lesson 07: a whole decode step, captured once for every size of batch and replayed with one launch.
 *
 *     decode_graphs_create     a graph for each of 1, 2, 4 ... max_rows rows
 *     decode_graphs_step       inputs to where the graphs read them; replay of the smallest large enough
 *     decode_graphs_destroy    destroys what create has made
 *
 * @see decode_model.h for the step, decode_kernels.h for its kernels; oracle: ref_decode_step() in
 *      reference/decode_step.h
 */
#ifndef WARPWISE_CUDA_GRAPH_H
#define WARPWISE_CUDA_GRAPH_H

#include <cuda_runtime_api.h>

#include "decode_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @brief The graphs of a model; made by decode_graphs_create(). */
struct decode_graphs;

/**
 * @brief Captures the step for every bucket and makes it executable. Nothing runs: no buffer is touched, no
 * kernel and no graph is launched.
 *
 * A graph may also be captured later, by the first step that needs it, or anew by every step; and there may
 * be graphs of other sizes as well, so that fewer rows pad.
 *
 * May use host memory, but allocates no device memory and waits for nothing. @p stream is usable afterwards,
 * whatever came of it, and a capture of it that the caller had begun is as it was. A failure leaves nothing
 * behind, and no error for cudaGetLastError() either. Any number of graphs may be alive at once, those of other
 * models among them.
 *
 * @param[in]  model   sizes and weights; copied, but what its pointers point to must stay
 * @param[in]  buffers device memory that every step will work in; copied likewise. Between two steps others
 *                     may use it, an eager step for one: only the cache is kept
 * @param[in]  stream  what to capture on; not the legacy default stream, cudaStreamPerThread may be. It may be gone
 *                     when steps are taken
 * @param[out] graphs  receives what has been made; NULL on failure
 * @return ::KERNEL_OK; else the first that applies: ::KERNEL_INVALID_CONFIG if an argument or a buffer is
 *         NULL or @p stream is the legacy default stream; what decode_config_check() says;
 *         ::KERNEL_INVALID_CONFIG if a weight is missing; ::KERNEL_CUDA_ERROR
 */
enum kernel_status decode_graphs_create(const struct decode_model *model,
                                        const struct decode_buffers *buffers, cudaStream_t stream,
                                        struct decode_graphs **graphs);

/**
 * @brief One decode step of a batch: the cache is appended to, the logits are written.
 *
 * Every step launches one graph, once: that of its bucket, the smallest with room for `batch->rows` rows. All
 * kernels of the model are in it: those of decode_kernels.h, so that cache and logits have the same bits as from
 * decode_step_eager(). Beside it the step launches one kernel at most, which stages or pads the inputs, and
 * copies. It waits for nothing.
 *
 * A row that pads the batch to its bucket is token 0 at position 0, and its block table is its own scratch
 * page throughout, scratch_block + row: it may write there only, and no two rows to the same page. Only
 * `batch->rows` rows of the batch are read, and of logits written.
 *
 * @param[in] graphs made by decode_graphs_create()
 * @param[in] batch  what to compute; its arrays may lie elsewhere at every call, and must stay until @p
 *                   stream has got so far
 * @param[in] stream where to work, in order with what is there; may be another one at every call, the legacy
 *                   default stream among them, which cannot be captured
 * @return ::KERNEL_OK; else the first that applies: ::KERNEL_INVALID_CONFIG if a pointer is NULL;
 *         ::KERNEL_INVALID_DIMENSION if the batch is empty or larger than max_rows; ::KERNEL_CUDA_ERROR. A
 *         step that is refused leaves no trace
 * @launch three copies, a kernel for the rows that pad, one graph of 2 + 5 * layers nodes, one copy
 * @cost that of the step, for the rows of the bucket
 */
enum kernel_status decode_graphs_step(struct decode_graphs *graphs, const struct decode_batch *batch,
                                      cudaStream_t stream);

/** @brief Destroys what decode_graphs_create() has made, once no step runs any more. Does nothing for NULL. */
void decode_graphs_destroy(struct decode_graphs *graphs);

/** @brief Given, to compare with: the same step with a launch for every kernel, and no padding. */
enum kernel_status decode_step_eager(const struct decode_model *model, const struct decode_buffers *buffers,
                                     const struct decode_batch *batch, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
