/**
 * @file 07_cuda_graph.c
 * @brief Lesson 07: its entry points, in the other process.
 */
#include "cuda_graph.h"

#include "boundary/boundary.h"

ENTRY(enum kernel_status, decode_graphs_create,
      (const struct decode_model *model, const struct decode_buffers *buffers, cudaStream_t stream,
       struct decode_graphs **graphs),
      GIVEN(model), GIVEN(buffers), STREAM(stream), HANDLE(graphs))
ENTRY(enum kernel_status, decode_graphs_step,
      (struct decode_graphs * graphs, const struct decode_batch *batch, cudaStream_t stream), PLAIN(graphs),
      GIVEN(batch), STREAM(stream))
ENTRY_VOID(decode_graphs_destroy, (struct decode_graphs * graphs), PLAIN(graphs))
ENTRY(enum kernel_status, decode_step_eager,
      (const struct decode_model *model, const struct decode_buffers *buffers,
       const struct decode_batch *batch, cudaStream_t stream),
      GIVEN(model), GIVEN(buffers), GIVEN(batch), STREAM(stream))
