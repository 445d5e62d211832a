/**
 * @file 10_register_tiled_gemm.c
 * @brief Lesson 10: from an item to calls of the entry points of `register_tiled_gemm.h`.
 */
#include "runner/gemm_call.h"

enum { PART_F32, PART_F16 };

#include "register_tiled_gemm.h"
#include "runner/runner.h"

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    struct gemm_args args;
    gemm_args_of(item, buffers, &args);
    const struct gemm_args *given = item->value[GEMM_NULL_ARGS] ? NULL : &args;
    enum gemm_tile tile = (enum gemm_tile)item->value[GEMM_CHOICE];
    return item->part == PART_F32 ? register_tiled_gemm_f32(given, tile, stream)
                                  : register_tiled_gemm_f16(given, tile, stream);
}

/* No workspace. */
size_t lesson_workspace_bytes(const struct wire_case *item)
{
    (void)item;
    return 0;
}
