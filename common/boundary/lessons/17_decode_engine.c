/**
 * @file 17_decode_engine.c
 * @brief Lesson 17: its entry points, in the other process.
 */
#include "decode_engine.h"

#include "boundary/boundary.h"

ENTRY(size_t, engine_workspace_bytes, (const struct engine_config *config), GIVEN(config))
ENTRY(enum kernel_status, engine_step,
      (const struct engine_model *model, const struct engine_batch *batch, cudaStream_t stream), GIVEN(model),
      GIVEN(batch), STREAM(stream))
