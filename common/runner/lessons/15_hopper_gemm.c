/**
 * @file 15_hopper_gemm.c
 * @brief Lesson 15: from an item to calls of the entry points of `hopper_gemm.h`.
 */
#include "runner/gemm_call.h"

enum { PART_F16, PART_BF16 };

#include "hopper_gemm.h"
#include "runner/runner.h"

enum kernel_status lesson_call(const struct wire_case *item, void *const *buffers, cudaStream_t stream)
{
    struct gemm_args args;
    gemm_args_of(item, buffers, &args);
    const struct gemm_args *given = item->value[GEMM_NULL_ARGS] ? NULL : &args;
    return item->part == PART_F16 ? hopper_gemm_f16(given, stream) : hopper_gemm_bf16(given, stream);
}

/* No workspace. */
size_t lesson_workspace_bytes(const struct wire_case *item)
{
    (void)item;
    return 0;
}
