/**
 * @file 11_vectorised_decode.c
 * @brief Lesson 11: its entry points, in the other process.
 */
#include "vectorised_decode.h"

#include "boundary/boundary.h"

ENTRY(enum kernel_status, decode_flash_1,
      (const struct decode_args *args, enum decode_loads loads, cudaStream_t stream), GIVEN(args),
      PLAIN(loads), STREAM(stream))
ENTRY(enum kernel_status, decode_mha,
      (const struct decode_args *args, enum decode_loads loads, cudaStream_t stream), GIVEN(args),
      PLAIN(loads), STREAM(stream))
ENTRY(enum kernel_status, decode_flash_2, (const struct decode_args *args, cudaStream_t stream), GIVEN(args),
      STREAM(stream))
ENTRY(size_t, decode_workspace_bytes,
      (const struct decode_args *args, enum decode_variant variant, enum decode_loads loads), GIVEN(args),
      PLAIN(variant), PLAIN(loads))
ENTRY(enum decode_variant, decode_choose_variant, (const struct decode_args *args, enum decode_loads loads),
      GIVEN(args), PLAIN(loads))
ENTRY(enum kernel_status, decode_attention,
      (const struct decode_args *args, enum decode_variant variant, enum decode_loads loads,
       cudaStream_t stream),
      GIVEN(args), PLAIN(variant), PLAIN(loads), STREAM(stream))
