/*
 * Attention of more than 16 rows on tensor cores, as in lesson 12: a row gives other bits there than in a step of fewer rows.
 */
#include "decode_engine.h"

#define launch_prompt launch_prompt_by_lanes // that of the lesson
#include "engine_prompt.h"
#undef launch_prompt

#include "attend_tiles.h"

inline enum kernel_status launch_prompt(const struct layer_attention &a, cudaStream_t stream)
{
    return launch_attend_tiles(a, stream);
}

#include "../../../solutions/17_decode_engine/decode_engine.cu"
